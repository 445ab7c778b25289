"""The section that says from which line of Python each instruction comes."""

from __future__ import annotations

from pathlib import PurePath
from struct import pack

from ....base.source import Span
from ..program.core import Kernel
from .primitives import Numbering, filled, varint
from .tables import Tables

UNIT, FILE, LOCATION, SUBPROGRAM, CALL_SITE = 1, 2, 4, 5, 6
NOWHERE = 0


class DebugRows:
    """The rows of one file in the making; a row is named by its number, counted from 1."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._rows: Numbering[bytes] = Numbering()
        self._starts: list[int] = []
        self._places: list[int] = []
        self._linkage, self._first_line = "", 0

    @property
    def used(self) -> bool:
        """Whether any kernel has a place."""
        return bool(self._starts)

    def kernel(self, kernel: Kernel) -> int:
        """Note the places of a kernel and its instructions; give its number, 0 without a place."""
        if kernel.span is None:
            return 0
        self._linkage, self._first_line = kernel.name, kernel.span.line
        self._starts.append(len(self._places))
        own = self._place(kernel.span)
        self._places.append(own)
        for instr in kernel.walk():
            self._places.append(own if instr.span is None else self._place(instr.span))
        return len(self._starts)

    def section(self) -> bytes:
        """The bytes of the section."""
        starts = filled(varint(len(self._starts)), 4) + pack(
            f"<{len(self._starts)}I", *self._starts
        )
        counted = filled(starts + varint(len(self._places)), 8)
        places = counted + pack(f"<{len(self._places)}Q", *self._places)
        rows = list(self._rows.rows)
        offsets: list[int] = []
        at = 0
        for row in rows:
            offsets.append(at)
            at += len(row)
        head = filled(places + varint(len(rows)), 4)
        return head + pack(f"<{len(offsets)}I", *offsets) + b"".join(rows)

    def _row(self, tag: int, *fields: int | bytes) -> int:
        parts = [varint(tag), *[f if isinstance(f, bytes) else varint(f) for f in fields]]
        return self._rows[b"".join(parts)] + 1

    def _place(self, span: Span) -> int:
        """A location; one in an inlined function is a call site, down to the kernel itself."""
        kernel = span.caller is None
        scope = self._subprogram(span, self._linkage if kernel else span.function)
        name = self._tables.string(PurePath(span.file.name).name)
        own = self._row(LOCATION, scope, name, span.line, span.column + 1)
        return own if span.caller is None else self._row(CALL_SITE, own, self._place(span.caller))

    def _subprogram(self, span: Span, linkage: str) -> int:
        text = self._tables.string
        path = PurePath(span.file.name)
        file = self._row(FILE, text(path.name), text(str(path.parent)))
        unit = self._row(UNIT, file)
        line = self._first_line
        name = text(span.function or linkage)
        return self._row(SUBPROGRAM, file, line, name, text(linkage), unit, line)
