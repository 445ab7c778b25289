"""What a comparison says of two numbers: that the first is below the second."""

from __future__ import annotations

from ..ir.attrs import Predicate
from ..ir.core import Value
from .structure import Structure

OPPOSITE = {
    Predicate.LT: Predicate.GE, Predicate.GE: Predicate.LT, Predicate.GT: Predicate.LE,
    Predicate.LE: Predicate.GT, Predicate.EQ: Predicate.NE, Predicate.NE: Predicate.EQ,
}  # fmt: skip


def bound_of(nesting: Structure, cond: Value, truth: bool) -> tuple[Value, Value] | None:
    """The two sides of a comparison that says no more than a < b (signed), where it is `truth`."""
    made = nesting.definer(cond)
    if made is not None and made.name == "noti":
        return bound_of(nesting, made.operands[0], not truth)
    if made is None or made.name != "cmpi" or not made.operands[0].tile.dtype.is_signed:
        return None
    predicate = Predicate(made.attrs["predicate"])
    predicate = predicate if truth else OPPOSITE[predicate]
    a, b = made.operands
    return {Predicate.LT: (a, b), Predicate.GT: (b, a)}.get(predicate)
