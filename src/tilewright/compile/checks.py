"""The bounds checks of a compiled kernel, reported: counts and texts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from ..analysis.bounds.check_placement import named
from ..base.showing import table
from ..base.source import Span, file_text
from ..ir.core import BoundsCheck, Placement

IN_KERNEL = (Placement.HOISTED, Placement.IN_PLACE)


class Checks(NamedTuple):
    """The number of bounds checks by placement: one for each access and axis of the source."""

    proved: int = 0
    at_launch: int = 0
    hoisted: int = 0
    in_place: int = 0

    @classmethod
    def of(cls, obligations: Sequence[BoundsCheck]) -> Checks:
        """Count them."""
        found = Counter(o.placement for o in obligations)
        return cls(*(found[placement] for placement in Placement))

    @property
    def in_kernel(self) -> int:
        """How many are left for the kernel to make."""
        return self.hoisted + self.in_place

    def _repr_html_(self) -> str:
        pairs = zip(Placement, self, strict=True)
        return table("checks", [(placement.value, number) for placement, number in pairs])

    def __str__(self) -> str:
        pairs = zip(Placement, self, strict=True)
        return "  ".join(f"{placement.value}: {number}" for placement, number in pairs)


def lines(obligations: Sequence[BoundsCheck]) -> Iterator[str]:
    """Yield every access, where each of its checks went and why, and the totals."""
    for span, group in groupby(obligations, key=lambda o: o.span):
        yield f"access {_place(span)}"
        for o in group:
            yield f"  {named(o.tensor, o.axis)}, {o.placement.value}: {o.reason}"
            if o.advice:
                yield f"    to avoid it, {o.advice}"
    yield str(Checks.of(obligations))


def _place(span: Span | None) -> str:
    if span is None:
        return "somewhere"
    line = span.file.line(span.line) or ""
    end = span.end_column if span.end_line == span.line else len(line)
    name = file_text(span.file.name).rsplit("/", 1)[-1]
    return f"{name}:{span.line}: {line[span.column : end].strip()}"
