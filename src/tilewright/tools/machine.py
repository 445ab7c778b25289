"""What this machine has for CUDA: asked of the driver in another process, so that nothing hangs."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

SELF = "tilewright"
PROBE = Path(__file__).with_name("driver_probe.py")
PATIENCE_SECONDS = 20.0


def own_version() -> str:
    """Return the version of this package; it has none if it is not installed."""
    try:
        return version(SELF)
    except PackageNotFoundError:
        return "from sources"


@dataclass(frozen=True, slots=True)
class Gpu:
    """One device."""

    name: str
    arch: str
    memory: int
    processors: int


@dataclass(frozen=True, slots=True)
class Driver:
    """What the driver said: the CUDA version it supports, its devices, or what went wrong."""

    version: tuple[int, int] | None = None
    gpus: tuple[Gpu, ...] = ()
    error: str = ""
    missing: bool = False
    """Whether there is no driver at all."""


@cache
def ask_driver(probe: Path = PROBE, patience: float = PATIENCE_SECONDS) -> Driver:
    """Return the driver of this machine; found once per process."""
    try:
        done = subprocess.run(
            [sys.executable, "-I", str(probe)],
            capture_output=True, text=True, timeout=patience, check=False,
            stdin=subprocess.DEVNULL,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return Driver(error=f"it did not answer within {patience:.0f} seconds")
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or ["it says nothing"])[-1]
        return Driver(error=f"asking it ended with status {done.returncode}: {last}")
    return _driver(json.loads(done.stdout))


def _driver(said: Mapping[str, Any]) -> Driver:
    number = said.get("version")
    return Driver(
        None if number is None else (number // 1000, number % 1000 // 10),
        tuple(Gpu(**device) for device in said.get("devices", ())),
        said.get("error", ""),
        said.get("missing", False),
    )
