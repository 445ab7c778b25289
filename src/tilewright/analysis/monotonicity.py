"""Monotonicity: whether an integer grows from block to block along an axis of the grid."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import TypeAlias

from ..ir.core import Func, Op, Value
from ..ir.opdef import Trait
from ..ir.ops.control import BLOCK_ID, FOR
from .ranges import Ranges, ranges
from .structure import Structure, structure


class Monotonicity(Enum):
    """The direction in which a number changes from one block to the next."""

    NONE = "none"
    UP = "up"
    UNKNOWN = "unknown"


Rule: TypeAlias = "Callable[[_Finder, Op], Monotonicity]"


def axis_of_growing_loops(func: Func) -> int | None:
    """Return the last grid axis along which later blocks have longer loops, or None."""
    uppers = [op.one("upper") for op in func.walk() if op.is_a(FOR)]
    axes = sorted({op.attrs["axis"] for op in func.walk() if op.is_a(BLOCK_ID)})
    nesting, found = structure(func), ranges(func)
    for axis in reversed(axes):
        finder = _Finder(nesting, found, axis)
        if any(finder.of(upper) is Monotonicity.UP for upper in uppers):
            return int(axis)
    return None


class _Finder:
    def __init__(self, nesting: Structure, found: Ranges, axis: int) -> None:
        self.nesting = nesting
        self.ranges = found
        self.axis = axis
        self.known: dict[Value, Monotonicity] = {}

    def of(self, value: Value) -> Monotonicity:
        if value not in self.known:
            self.known[value] = self._of(value)
        return self.known[value]

    def _of(self, value: Value) -> Monotonicity:
        owner = self.nesting.owner.get(value)
        if owner is None:
            return Monotonicity.NONE  # a parameter
        if owner.has(Trait.LOOP) or owner.regions or not owner.defn.pure:
            return Monotonicity.UNKNOWN
        if owner.is_a(BLOCK_ID):
            return Monotonicity.UP if owner.attrs["axis"] == self.axis else Monotonicity.UNKNOWN
        if all(self.of(v) is Monotonicity.NONE for v in owner.operands):
            return Monotonicity.NONE
        rule = RULES.get(owner.name)
        return Monotonicity.UNKNOWN if rule is None else rule(self, owner)


def _all_up(finder: _Finder, op: Op) -> Monotonicity:
    """Return the direction of a sum or an extreme: up if no operand goes down."""
    known = all(finder.of(v) is not Monotonicity.UNKNOWN for v in op.operands)
    return Monotonicity.UP if known else Monotonicity.UNKNOWN


def _first_up(finder: _Finder, op: Op, least: int | None = None) -> Monotonicity:
    """Return the direction of the first operand; the second one must not go up."""
    first, second = op.operands
    same = finder.of(second) is Monotonicity.NONE
    enough = least is None or finder.ranges.of(second).low >= least
    return finder.of(first) if same and enough else Monotonicity.UNKNOWN


def _product(finder: _Finder, op: Op) -> Monotonicity:
    first, second = op.operands
    other = second if finder.of(second) is Monotonicity.NONE else first
    grows = first if other is second else second
    if finder.of(other) is not Monotonicity.NONE or finder.ranges.of(other).low < 0:
        return Monotonicity.UNKNOWN
    return finder.of(grows)


RULES: dict[str, Rule] = {
    **dict.fromkeys(("addi", "mini", "maxi"), _all_up),
    "subi": _first_up,
    "divi": lambda finder, op: _first_up(finder, op, 1),
    "muli": _product,
}
"""Ops that keep the order of numbers; wrapping around is not expected of what counts iterations."""
