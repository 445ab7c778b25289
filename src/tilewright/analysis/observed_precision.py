"""Observed precision: which results are only used rounded to 16 bits or fewer.

A backward dataflow analysis (demanded bits). A value is observed in full where memory, control
flow, an index, a comparison or an integer depends on it other than through a conversion to a
narrower float.
"""

from __future__ import annotations

from ..base.dtypes import AnyDType
from ..ir.core import Func, Op, Value
from ..ir.opdef import CARRIES
from ..ir.ops.elementwise import FTOF
from ..ir.types import TileType
from .structure import Structure, arguments, carried, structure

WIDEST = 2
"""Bytes of the widest float that counts as narrow."""


def is_narrow(dtype: AnyDType) -> bool:
    """Return whether a type is a float of 16 bits or fewer."""
    return dtype.is_float and dtype.itemsize <= WIDEST


def observed_in_full(func: Func) -> frozenset[Value]:
    """Return the values whose every bit may matter; all others end as narrow floats, or nowhere."""
    marker = _PrecisionMarker(structure(func))
    for op in func.walk():
        marker.root(op)
    return frozenset(marker.finish())


class _PrecisionMarker:
    """A backward marking of needs: each is followed once from its use to its sources."""

    def __init__(self, nesting: Structure) -> None:
        self.nesting = nesting
        self.todo: list[Value] = []

    def root(self, op: Op) -> None:
        """Mark the operands that are needed whatever the uses of the op's results are."""
        if op.has(CARRIES):
            self.todo += op.operands[: len(op.operands) - len(carried(op))]
        elif op in self.nesting.target:
            return  # passes on what is needed where it arrives
        elif not op.defn.pure or not all(_is_float(value) for value in op.results):
            self.whole(op)

    def whole(self, op: Op) -> None:
        """Mark all operands of an op, and what the region of a reduction yields."""
        self.todo += op.operands
        self.todo += [v for end in self.nesting.exits.get(op, []) for v in end.operands]

    def finish(self) -> set[Value]:
        found: set[Value] = set()
        while self.todo:
            value = self.todo.pop()
            if value not in found:
                found.add(value)
                self.follow(value)
        return found

    def follow(self, value: Value) -> None:
        owner = self.nesting.owner.get(value)
        if owner is None:
            return
        if owner.has(CARRIES):
            self.follow_slot(owner, value)
        elif not (owner.is_a(FTOF) and is_narrow(owner.attrs["to"])):
            self.whole(owner)

    def follow_slot(self, owner: Op, value: Value) -> None:
        """Mark what each path passes on for a carried value."""
        rows = (owner.results, arguments(owner)) if arguments(owner) else (owner.results,)
        for k, slot in enumerate(zip(*rows, strict=True)):
            if any(value is v for v in slot):
                self.todo += [end.operands[k] for end in self.nesting.exits.get(owner, [])]
                self.todo += carried(owner)[k : k + 1]


def _is_float(value: Value) -> bool:
    kind = value.type
    return isinstance(kind, TileType) and not kind.is_pointer and kind.dtype.is_float
