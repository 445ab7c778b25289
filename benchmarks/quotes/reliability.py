"""Blocks about mutation testing, from `mutants.json`, which `tools/mutants.py --publish` writes."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..table import table
from .reading import Block, wrapped


def scores(results: Path) -> Iterator[str]:
    """The score of each draw."""
    data: dict[str, Any] = json.loads((results / "mutants.json").read_text(encoding="utf-8"))
    for draw in data["draws"]:
        yield from wrapped(f"Commit `{draw['commit']}`, {draw['date']}, seed {draw['seed']}:")
        yield ""
        yield from table(
            ("package", "mutants", "noticed", "survived", "untested", "score"),
            [_row(score) for score in draw["scores"]],
        )
        yield ""
    yield from wrapped("A score is the part of the mutants that a test noticed, rounded down.")


def _row(score: dict[str, Any]) -> list[str]:
    counts = [score[name] for name in ("mutants", "noticed", "survived", "untested")]
    percent = math.floor(100 * score["noticed"] / score["mutants"])
    return [score["package"], *map(str, counts), f"{percent} %"]


BLOCKS: dict[str, Block] = {"mutants": scores}
