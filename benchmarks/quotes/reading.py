"""What all blocks use: where results were made, and numbers that never flatter."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

from ..table import down

Block: TypeAlias = Callable[[Path], Iterable[str]]
"""Takes the folder of results, returns lines of Markdown."""

WIDTH = 120


def judged(ratio: float | None) -> str:
    """Return a ratio, in bold where Tilewright is slower."""
    if ratio is None:
        return ""
    return f"**{down(ratio)}**" if ratio < 1 else down(ratio, 2 if ratio < 10 else 1)


def spread(ratios: Sequence[float]) -> str:
    """Return the least, the median and the greatest of some ratios."""
    if not ratios:
        return ""
    ordered = sorted(ratios)
    middle = ordered[(len(ordered) - 1) // 2]
    return " / ".join(judged(r) for r in (ordered[0], middle, ordered[-1]))


def origin(machine: Mapping[str, str]) -> str:
    """Return which commit was measured, when and where."""
    place = machine.get("gpu") or f"{machine['cpu']}, {machine['cores']} cores"
    load = f", load {machine['load before']} before" if "load before" in machine else ""
    return f"commit `{machine['commit']}`, {machine['date']}, {place}{load}"


def wrapped(text: str, *, indent: str = "") -> list[str]:
    """Break a paragraph into lines; a further line begins with `indent`."""
    lines: list[str] = []
    line = ""
    for word in text.split():
        if line and len(line) + 1 + len(word) > WIDTH:
            lines.append(line)
            line = indent + word
        else:
            line = f"{line} {word}" if line else word
    return [*lines, line]
