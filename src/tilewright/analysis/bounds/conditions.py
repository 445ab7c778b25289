"""Refines symbolic ranges by the conditions of branches, and tells when branches are taken."""

from __future__ import annotations

from dataclasses import replace

from ...ir.attrs import Predicate
from ...ir.core import Op, Value
from ...ir.launch_expr import Expr
from ..structure import Structure
from .integers import Integers, is_index
from .linear import Linear
from .paths import Limit, Path, both, somewhere
from .symbolic_range import Span, SymbolicRange, few


class Conditions:
    """Reads the conditions of one function, and notes what they say of its integers."""

    def __init__(self, integers: Integers, nesting: Structure) -> None:
        self.integers = integers
        self.nesting = nesting
        self.prover = integers.prover

    def refined(self, cond: Value, path: Path, *, holds: bool) -> Path:
        """Sharpen the facts by a condition; give the path into the branch."""
        expr = self.condition(cond)
        before = tuple(self.integers.causes)
        limit = self.sharpen(cond, holds=holds)
        if expr is not None:
            return replace(path, guards=(*path.guards, expr if holds else ("not", expr)))
        return path.unsure() if limit is None else path.under(limit, before)

    def condition(self, value: Value) -> Expr | None:
        """A condition that the launch decides, as a launch expression."""
        op = self.nesting.definer(value)
        if op is None:
            return None
        if op.name == "constant":
            return ("const", bool(op.attrs["value"]))
        if op.name == "cmpi" and is_index(op.operands[0]):
            points = [self.integers.of(v).point for v in op.operands]
            a, b = points
            predicate = Predicate(op.attrs["predicate"]).value
            return None if a is None or b is None else (predicate, a.expr(), b.expr())
        if op.name == "if":
            return self.chosen(op)
        if op.name not in _LOGIC or not op.result.tile.dtype.is_bool or op.result.tile.rank:
            return None
        parts = [self.condition(v) for v in op.operands]
        return None if None in parts else (_LOGIC[op.name], *parts)

    def chosen(self, op: Op) -> Expr | None:
        """A condition that a branch yields, as `a and b` and `a or b` do."""
        arms = _yielded(op)
        cond = self.condition(op.one("cond"))
        if cond is None or arms is None:
            return None
        then, other = map(self.condition, arms)
        if then is None or other is None:
            return None
        if other == ("const", False):
            return ("and", cond, then)
        if then == ("const", True):
            return ("or", cond, other)
        return ("or", ("and", cond, then), ("and", ("not", cond), other))

    def taken(self, op: Op, *, holds: bool) -> Limit | None:
        """Sharpen by a condition that a branch yields, if only one arm can have yielded it."""
        arms = _yielded(op)
        if arms is None:
            return None
        for taken, other in ((0, 1), (1, 0)):
            if self.condition(arms[other]) == ("const", not holds):
                first = self.sharpen(op.one("cond"), holds=taken == 0)
                for inner in op.regions[taken].ops:
                    if len(inner.results) == 1 and is_index(inner.result):
                        self.integers.evaluate(inner)
                return both(first, self.sharpen(arms[taken], holds=holds))
        return None

    def sharpen(self, cond: Value, *, holds: bool) -> Limit | None:
        """Note what a condition says of integers.

        Gives where it holds; None where that cannot be said exactly.
        """
        op = self.nesting.definer(cond)
        if op is None:
            return None
        if op.name == "noti":
            return self.sharpen(op.operands[0], holds=not holds)
        if op.name == "if":
            return self.taken(op, holds=holds)
        if op.name == ("andi" if holds else "ori"):
            return both(*(self.sharpen(v, holds=holds) for v in op.operands))
        if op.name != "cmpi" or not is_index(op.operands[0]):
            return None
        predicate = Predicate(op.attrs["predicate"])
        return self.compare(predicate if holds else _OPPOSITE[predicate], *op.operands)

    def compare(self, predicate: Predicate, a: Value, b: Value) -> Limit | None:
        """Note that two integers compare so."""
        if predicate in (Predicate.GT, Predicate.GE):
            return self.compare(_FLIPPED[predicate], b, a)
        if predicate is Predicate.EQ:
            self.bound(a, b, 0)
            self.bound(b, a, 0)
            return None
        if predicate is Predicate.NE:
            return None
        return self.bound(a, b, int(predicate is Predicate.LT))

    def bound(self, a: Value, b: Value, less: int) -> Limit | None:
        """Note that a + less <= b."""
        old, other = self.integers.of(a), self.integers.of(b)
        highs = few((*(f.shifted(-less) for f in other.highs), *old.highs))
        lows = few((*(f.shifted(less) for f in old.lows), *other.lows))
        self.integers.note(
            a, SymbolicRange(old.lows, highs, self.lowered(old.span, other.point, less))
        )
        self.integers.note(
            b, SymbolicRange(lows, other.highs, self.raised(other.span, old.point, less))
        )
        self.prover.believe(apart(old, other, less))
        if old.span is not None and other.point is not None:
            return somewhere(old.span, other.point.minus(old.span.low).shifted(-less))
        if other.span is not None and old.point is not None:
            return somewhere(other.span, other.span.high.minus(old.point).shifted(-less))
        return None

    def lowered(self, span: Span | None, limit: Linear | None, less: int) -> Span | None:
        """The range of a value where it is at least `less` below a limit."""
        if span is None or limit is None or not span.varies:
            return span
        high = self.prover.least(span.high, limit.shifted(-less))
        return replace(
            span, high=high, exact=span.dense, varies=self.integers.narrowed(span.varies)
        )

    def raised(self, span: Span | None, limit: Linear | None, less: int) -> Span | None:
        """The range of a value where it is at least `less` above a limit."""
        if span is None or limit is None or not span.varies:
            return span
        low = self.prover.algebra.max(span.low, limit.shifted(less))
        return replace(span, low=low, exact=span.dense, varies=self.integers.narrowed(span.varies))


def apart(a: SymbolicRange, b: SymbolicRange, less: int) -> tuple[Linear, ...]:
    """What the launch must be like where a + less <= b."""
    return few(high.minus(low).shifted(-less) for low in a.lows for high in b.highs)


def _yielded(op: Op) -> tuple[Value, Value] | None:
    """What the arms of a branch with one result yield, if both do."""
    ends = [region.terminator for region in op.regions]
    if len(op.results) != 1 or any(end.name != "yield" for end in ends):
        return None
    (first,), (second,) = (end.operands for end in ends)
    return first, second


_LOGIC = {"andi": "and", "ori": "or", "noti": "not"}
_FLIPPED = {Predicate.GT: Predicate.LT, Predicate.GE: Predicate.LE}
_OPPOSITE: dict[Predicate, Predicate] = {
    Predicate.LT: Predicate.GE, Predicate.GE: Predicate.LT,
    Predicate.LE: Predicate.GT, Predicate.GT: Predicate.LE,
    Predicate.EQ: Predicate.NE, Predicate.NE: Predicate.EQ,
}  # fmt: skip
