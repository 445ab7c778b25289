"""Source files and locations in them, for the pictures of diagnostics."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class SourceFile:
    """The text of one captured function, and the number of its first line in its file."""

    name: str
    text: str = field(repr=False)
    first_line: int = 1

    def line(self, number: int) -> str | None:
        """Return line `number` of the file, or None if it is outside the captured text."""
        lines = self.text.splitlines()
        index = number - self.first_line
        return lines[index] if 0 <= index < len(lines) else None


@dataclass(frozen=True, slots=True)
class Span:
    """A range of source; `caller` is the call that inlined the function around it."""

    file: SourceFile
    line: int
    column: int
    end_line: int
    end_column: int
    function: str = ""
    caller: Span | None = None

    @property
    def place(self) -> str:
        """The place as `file:line:column`, the column counted from 1."""
        return f"{self.file.name}:{self.line}:{self.column + 1}"


def where(span: Span | None) -> str:
    """Return a location as the end of a message line; the empty text where none is known."""
    return f" ({span.place})" if span is not None else ""


@dataclass(frozen=True, slots=True)
class HostLocation:
    """A line of the user's host program, remembered without keeping its frame alive."""

    filename: str
    line: int
    text: str = ""

    def __str__(self) -> str:
        where = f"{self.filename}:{self.line}"
        return f"{where}: {self.text}" if self.text else where
