"""Read the examples of functions, `function_examples.toml`: one of every function of kernels."""

from __future__ import annotations

import tomllib
from pathlib import Path

_TABLES: dict[str, dict[str, str]] = tomllib.loads(
    Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")
)
INPUTS = _TABLES["inputs"]
EXPRESSIONS = _TABLES["expressions"]
POINTERS = _TABLES["pointers"]
THREADS = _TABLES["threads"]
BODIES = _TABLES["bodies"]
ELSEWHERE = _TABLES["elsewhere"]
HOST = _TABLES["host"]
