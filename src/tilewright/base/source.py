"""Source files and locations in them, for the pictures of diagnostics."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from typing import Any


def file_text(name: str) -> str:
    """Return the name of a file as messages show it: `Cell In[2]` for the cell of a notebook.

    IPython compiles each cell under another name, and knows its number.
    """
    ipython: Any = sys.modules.get("IPython")
    shell = ipython.get_ipython() if hasattr(ipython, "get_ipython") else None
    find = getattr(getattr(shell, "compile", None), "format_code_name", None)
    label = None if find is None else find(name)
    return " ".join(label) if label else name


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
        return f"{file_text(self.file.name)}:{self.line}:{self.column + 1}"


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
        where = f"{file_text(self.filename)}:{self.line}"
        return f"{where}: {self.text}" if self.text else where
