"""Which comparisons surely hold where a check stands: those of the branches it is in, and those of
guard clauses before it (`if i >= n: return`)."""

from __future__ import annotations

from collections.abc import Iterator

from ..ir.attrs import Predicate
from ..ir.core import Block, Op, Value
from .structure import Structure

OPPOSITE = {
    Predicate.LT: Predicate.GE, Predicate.GE: Predicate.LT, Predicate.GT: Predicate.LE,
    Predicate.LE: Predicate.GT, Predicate.EQ: Predicate.NE, Predicate.NE: Predicate.EQ,
}  # fmt: skip


def bounds_of(nesting: Structure, op: Op, index: Value) -> Iterator[Value]:
    """What comparisons say that an index is below, wherever control gets to an op (signed)."""
    for cond, truth in _known_before(nesting, op):
        for less, more in _bounds(nesting, cond, truth):
            if less is index:
                yield more


def bound_of(nesting: Structure, cond: Value, truth: bool) -> tuple[Value, Value] | None:
    """The two sides of a comparison that says no more than a < b (signed)."""
    made = nesting.definer(cond)
    if made is None or made.name == "andi":
        return None
    return next(_bounds(nesting, cond, truth), None)


def _bounds(nesting: Structure, cond: Value, truth: bool) -> Iterator[tuple[Value, Value]]:
    """Pairs of which the first is below the second if a condition holds, or does not."""
    made = nesting.definer(cond)
    if made is None:
        return
    if made.name == "noti":
        yield from _bounds(nesting, made.operands[0], not truth)
    elif made.name == "andi" and truth:
        for part in made.operands:
            yield from _bounds(nesting, part, truth)
    elif made.name == "cmpi" and made.operands[0].tile.dtype.is_signed:
        predicate = Predicate(made.attrs["predicate"])
        predicate = predicate if truth else OPPOSITE[predicate]
        a, b = made.operands
        if predicate is Predicate.LT:
            yield a, b
        elif predicate is Predicate.GT:
            yield b, a


def _known_before(nesting: Structure, op: Op) -> Iterator[tuple[Value, bool]]:
    """Conditions that hold, or do not, on every way to an op."""
    inner: Op | None = op
    while inner is not None:
        block, outer = nesting.block[inner], nesting.parent.get(inner)
        yield from _clauses(block, inner)
        if outer is not None and outer.name == "if":
            yield outer.one("cond"), block is outer.regions[0]
        inner = outer


def _clauses(block: Block, until: Op) -> Iterator[tuple[Value, bool]]:
    """Guard clauses of a block before an op: an arm that never comes back was not taken."""
    for op in block.ops:
        if op is until:
            return
        if op.name == "if":
            then, other = (region.terminator.name == "yield" for region in op.regions)
            if then != other:
                yield op.one("cond"), then
