"""Bounds of integers over all iterations, made of what is known at the entry; monotonicity.

The bound of a loop's variable is the bound of its last value; sums, products, quotients and
extremes of bounded integers are bounded by the same ops on the bounds. So one test at the entry can
tell that every tile a loop will access lies in its tensor.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from ..base.dtypes import i32, i64, int_range
from ..ir.attrs import Rounding
from ..ir.core import Func, Op, Value
from ..ir.opdef import Trait
from ..ir.ops.control import BLOCK_ID, FOR
from ..ir.types import TileType
from .ranges import Ranges, ranges
from .structure import Structure, structure

# --- upper bounds ---------------------------------------------------------------------------


class Step(Enum):
    """Calculations on bounds, on 64-bit integers; results above 31 bits may be any larger one."""

    ADD = "add"
    SUB = "sub"
    MUL = "mul"
    DIV = "div"
    MIN = "min"
    MAX = "max"


@dataclass(frozen=True, slots=True)
class Exact:
    """A value that can be computed at the entry, by pure ops of parameters."""

    value: Value


@dataclass(frozen=True, slots=True)
class Number:
    """A constant."""

    value: int


@dataclass(frozen=True, slots=True)
class Combined:
    """A calculation on two bounds; DIV rounds down, and divides by a positive number."""

    step: Step
    lhs: Bound
    rhs: Bound


Bound: TypeAlias = "Exact | Number | Combined"
BoundRule: TypeAlias = "Callable[[EntryBounds, Op], Bound | None]"


class EntryBounds:
    """Bounds of the integers of one function."""

    def __init__(self, nesting: Structure, found: Ranges) -> None:
        self.nesting = nesting
        self.ranges = found
        self._known: dict[Value, Bound | None] = {}

    def of(self, value: Value) -> Bound | None:
        """Return an upper bound of an integer of 32 or 64 bits, or None."""
        if value not in self._known:
            self._known[value] = self._of(value)
        return self._known[value]

    def _of(self, value: Value) -> Bound | None:
        if value.type not in (TileType(i32), TileType(i64)):
            return None
        if self.is_exact(value):
            return Exact(value)
        owner = self.nesting.owner.get(value)
        if owner is None:
            return None
        if self.nesting.definer(value) is not None:
            rule = BOUND_RULES.get(owner.name)
            return None if rule is None else rule(self, owner)
        if owner.is_a(FOR) and value is owner.regions[0].args[0]:
            return self._last(owner)
        return None

    def is_exact(self, value: Value) -> bool:
        """Return whether pure ops compute a value of parameters."""
        pending, seen = [value], set[Value]()
        while pending:
            each = pending.pop()
            if each in seen:
                continue
            seen.add(each)
            owner = self.nesting.owner.get(each)
            if owner is None:
                continue  # a parameter
            if self.nesting.definer(each) is None or not owner.defn.pure or owner.regions:
                return False
            pending += owner.operands
        return True

    def _last(self, loop: Op) -> Bound | None:
        """Return a bound of a loop's variable: the last multiple of its step below its end."""
        upper = self.of(loop.one("upper"))
        if upper is None:
            return None
        below = Combined(Step.SUB, upper, Number(1))
        step, lower = (self.ranges.of(loop.one(name)) for name in ("step", "lower"))
        if step.low != step.high or step.low <= 1 or lower != (0, 0):
            return below
        trips = Combined(Step.DIV, below, Number(step.low))
        return Combined(Step.MUL, trips, Number(step.low))

    def is_natural(self, value: Value) -> bool:
        """Return whether a value is not negative."""
        return self.ranges.of(value).low >= 0


def _both(step: Step) -> BoundRule:
    def rule(bounds: EntryBounds, op: Op) -> Bound | None:
        lhs, rhs = (bounds.of(v) for v in op.operands)
        return None if lhs is None or rhs is None else Combined(step, lhs, rhs)

    return rule


def _sum(bounds: EntryBounds, op: Op) -> Bound | None:
    # A sum of two negative numbers may wrap to a positive one.
    return _both(Step.ADD)(bounds, op) if any(map(bounds.is_natural, op.operands)) else None


def _product(bounds: EntryBounds, op: Op) -> Bound | None:
    return _both(Step.MUL)(bounds, op) if all(map(bounds.is_natural, op.operands)) else None


def _difference(bounds: EntryBounds, op: Op) -> Bound | None:
    lhs, rhs = op.operands
    if not bounds.is_natural(lhs) or not bounds.is_exact(rhs):
        return None
    return _both(Step.SUB)(bounds, op)


def _quotient(bounds: EntryBounds, op: Op) -> Bound | None:
    lhs, divisor = bounds.of(op.operands[0]), bounds.ranges.of(op.operands[1])
    is_down = op.attrs["rounding"] is not Rounding.POS_INF and bounds.is_natural(op.operands[0])
    if lhs is None or not is_down or divisor.low != divisor.high or divisor.low <= 0:
        return None
    return Combined(Step.DIV, lhs, Number(divisor.low))


def _least(bounds: EntryBounds, op: Op) -> Bound | None:
    found = [each for each in map(bounds.of, op.operands) if each is not None]
    if len(found) < 2:
        return found[0] if found else None
    return Combined(Step.MIN, *found)


def _same(bounds: EntryBounds, op: Op) -> Bound | None:
    """Return the bound of an integer of another size, of which no bits are lost."""
    found = bounds.ranges.of(op.operands[0])
    low, high = int_range(op.result.tile.dtype)
    return bounds.of(op.operands[0]) if low <= found.low and found.high <= high else None


BOUND_RULES: dict[str, BoundRule] = {
    "addi": _sum, "subi": _difference, "muli": _product, "divi": _quotient,
    "mini": _least, "maxi": _both(Step.MAX), "exti": _same, "trunci": _same,
}  # fmt: skip


# --- monotonicity ------------------------------------------------------------------------------


class Monotonicity(Enum):
    """The direction in which a number changes from one block to the next."""

    NONE = "none"
    UP = "up"
    UNKNOWN = "unknown"


GrowthRule: TypeAlias = "Callable[[_BoundFinder, Op], Monotonicity]"


def axis_of_growing_loops(func: Func) -> int | None:
    """Return the last grid axis along which later blocks have longer loops, or None."""
    loops = [op for op in func.walk() if op.is_a(FOR)]
    axes = sorted({op.attrs["axis"] for op in func.walk() if op.is_a(BLOCK_ID)})
    nesting, found = structure(func), ranges(func)
    for axis in reversed(axes):
        finder = _BoundFinder(nesting, found, axis)
        if any(finder.grows(loop) for loop in loops):
            return int(axis)
    return None


class _BoundFinder:
    def __init__(self, nesting: Structure, found: Ranges, axis: int) -> None:
        self.nesting = nesting
        self.ranges = found
        self.axis = axis
        self.known: dict[Value, Monotonicity] = {}

    def grows(self, loop: Op) -> bool:
        """Return whether a loop ends later in later blocks, and begins where it always does."""
        lower, upper = self.of(loop.one("lower")), self.of(loop.one("upper"))
        return lower is Monotonicity.NONE and upper is Monotonicity.UP

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
        rule = GROWTH_RULES.get(owner.name)
        return Monotonicity.UNKNOWN if rule is None else rule(self, owner)


def _all_up(finder: _BoundFinder, op: Op) -> Monotonicity:
    """Return the direction of a sum or an extreme: up if no operand goes down."""
    known = all(finder.of(v) is not Monotonicity.UNKNOWN for v in op.operands)
    return Monotonicity.UP if known else Monotonicity.UNKNOWN


def _first_up(finder: _BoundFinder, op: Op, least: int | None = None) -> Monotonicity:
    """Return the direction of the first operand; the second one must not go up."""
    first, second = op.operands
    same = finder.of(second) is Monotonicity.NONE
    enough = least is None or finder.ranges.of(second).low >= least
    return finder.of(first) if same and enough else Monotonicity.UNKNOWN


def _product_up(finder: _BoundFinder, op: Op) -> Monotonicity:
    first, second = op.operands
    other = second if finder.of(second) is Monotonicity.NONE else first
    grows = first if other is second else second
    if finder.of(other) is not Monotonicity.NONE or finder.ranges.of(other).low < 0:
        return Monotonicity.UNKNOWN
    return finder.of(grows)


GROWTH_RULES: dict[str, GrowthRule] = {
    **dict.fromkeys(("addi", "mini", "maxi"), _all_up),
    "subi": _first_up,
    "divi": lambda finder, op: _first_up(finder, op, 1),
    "muli": _product_up,
}
"""Ops that keep the order of numbers; wrapping around is not expected of what counts iterations."""
