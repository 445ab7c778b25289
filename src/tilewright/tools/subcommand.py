"""One subcommand: its name, what it takes, what it does. It writes to standard output by `say`."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

Run: TypeAlias = Callable[[Namespace], int]
"""Does what was asked; gives the exit status."""

FINE, WRONG, MISUSED = 0, 1, 2
"""Exit statuses."""


class UsageError(Exception):
    """A command line that cannot be understood; says how it should look."""


@dataclass(frozen=True, slots=True)
class Subcommand:
    """A row of the table of subcommands."""

    name: str
    about: str
    add_arguments: Callable[[ArgumentParser], None]
    run: Run
    more: str = ""
    """What its help says at the end."""


def say(text: str = "") -> None:
    """Write a line to standard output."""
    sys.stdout.write(f"{text}\n")


def aligned(rows: Sequence[Sequence[str]], indent: str = "") -> list[str]:
    """Format rows as lines with aligned columns."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        (indent + "  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True))).rstrip()
        for row in rows
    ]


UNITS = ("B", "KiB", "MiB", "GiB", "TiB")


def in_bytes(count: int) -> str:
    """Format a size with a binary unit.

    >>> in_bytes(512), in_bytes(1 << 30), in_bytes(1500)
    ('512 B', '1.0 GiB', '1.5 KiB')
    """
    size, unit = float(count), 0
    while size >= 1024 and unit + 1 < len(UNITS):
        size, unit = size / 1024, unit + 1
    return f"{size:.1f} {UNITS[unit]}" if unit else f"{count} B"
