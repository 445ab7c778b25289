"""What a debugger sees of a running kernel: functions, and names with their values.

These are attributes of `breakpoint`. They are of one compilation, and have no text that tells them
apart: code that has them is not cached on disk.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, NamedTuple

from ..base.shapes import Shape


class DebugEvent(Enum):
    """Events of a kernel."""

    STOP = "stop"
    """Its program says `breakpoint()`."""
    CALL = "call"
    """A function begins; the names are its arguments."""
    LINE = "line"
    """A statement is about to run."""
    RETURN = "return"
    """The function ends; the only name is its result."""


class OperandRef(NamedTuple):
    """Stands for an operand of the op, which has the value while the kernel runs."""

    number: int
    tile: Shape | None = None
    """Of an output: the shape of the part that a block owns, and is shown."""


@dataclass(frozen=True, eq=False, slots=True)
class DebuggedFunction:
    """A function of the program, as a debugger shows it."""

    file: str
    name: str
    first_line: int
    lines: tuple[int, ...]
    """Those at which a statement begins."""
    globals: Mapping[str, Any]


@dataclass(frozen=True, eq=False, slots=True)
class Scene:
    """The names of a function at an event, and their values: trees with operands as leaves."""

    function: DebuggedFunction
    names: tuple[str, ...]
    trees: tuple[Any, ...]

    def __repr__(self) -> str:
        return ", ".join(self.names)
