"""Every check of a function with what is known of its operands: the facts the proof ladder uses.

One walk in program order. A value's facts hold wherever it is used; in a branch on a comparison
they are sharpened by what the comparison says. How surely a check runs is told by its `Path`.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TypeAlias

from ..ir.attrs import Predicate
from ..ir.core import Block, Func, Op, Value
from ..ir.launch_expr import Expr
from ..ir.signature import ScalarSpec
from ..ir.types import TileType
from .known import Cause, Known, Span, depend, few, fitted, known_point, tied, unknown
from .linear import ONE, ZERO, Linear, condition, number
from .proofs import Prover
from .structure import Structure, structure
from .transfer import TRANSFER, union


@dataclass(frozen=True, slots=True)
class Limit:
    """A condition that holds in some block or round if and only if all `guards` hold.

    It does so only where `causes` have some of their values, and if all `needs` are 0 or more.
    """

    guards: tuple[Expr, ...]
    needs: frozenset[Linear]
    causes: frozenset[Cause]


@dataclass(frozen=True, slots=True)
class Path:
    """When control gets to a place.

    It does in some block whenever all `guards` hold (launch expressions), provided that it is
    `sure` and that all `needs` are 0 or more. What `restricted` names varies less here than
    elsewhere.
    """

    guards: tuple[Expr, ...] = ()
    needs: frozenset[Linear] = frozenset()
    restricted: frozenset[Cause] = frozenset()
    sure: bool = True

    def unsure(self) -> Path:
        """The same, but whether control gets there is not for the launch to say."""
        return replace(self, sure=False)

    def under(self, limit: Limit, causes: Sequence[Cause]) -> Path:
        """The path on under a further condition; `causes` are all that were there before it."""
        if limit.causes & self.restricted:
            return self.unsure()  # it may never hold together with those before it
        return replace(
            self,
            guards=(*self.guards, *limit.guards),
            needs=self.needs | limit.needs,
            restricted=self.restricted.union(c for c in causes if depend((c,), limit.causes)),
        )


@dataclass(frozen=True, slots=True)
class Checked:
    """One check, with what is known where it stands."""

    op: Op
    index: Known
    extent: Known
    path: Path


def checked(func: Func, prover: Prover) -> list[Checked]:
    """All checks of a function, in order."""
    walk = _Walk(func, prover)
    walk.block(func.body, Path())
    return walk.found


class _Walk:
    def __init__(self, func: Func, prover: Prover) -> None:
        self.prover = prover
        self.nesting: Structure = structure(func)
        self.known: dict[Value, Known] = {}
        self.passed: dict[Op, list[list[Known]]] = {}
        """What the terminators of branches and scopes pass on."""
        self.found: list[Checked] = []
        self.axes: dict[int, Cause] = {}
        """What makes values differ along each axis of the grid."""
        self.causes: list[Cause] = []
        """All there are so far."""
        for spec, value in zip(func.signature.params, func.params, strict=True):
            if isinstance(spec, ScalarSpec) and spec.dtype.is_int:
                self.known[value] = known_point(prover.algebra.of(("scalar", spec.name)))

    def of(self, value: Value) -> Known:
        """What is known of an integer."""
        return self.known.get(value) or unknown(value.tile.dtype)

    def cause(
        self, varies: frozenset[Cause] = frozenset(), whole: object = None, part: int = 0
    ) -> frozenset[Cause]:
        """A new cause, tied to others."""
        self.causes.append(Cause(tied(varies), whole, part))
        return frozenset(self.causes[-1:])

    def narrowed(self, varies: frozenset[Cause]) -> frozenset[Cause]:
        """The cause of a value where it takes fewer values than elsewhere."""
        first, *others = varies
        return self.cause(varies) if others else self.cause(varies, first.whole, first.part)

    # --- the walk --------------------------------------------------------------------------------

    def block(self, block: Block, path: Path) -> None:
        """All ops of a block; facts that only hold to its end are dropped there."""
        with self.scope():
            for op in block.ops:
                self.op(op, path)
                if op.regions and any(True for _ in self.nesting.leaves(op)):
                    path = path.unsure()
                    self.after_exit(op)

    def op(self, op: Op, path: Path) -> None:
        if op.name == "check":
            index, extent = map(self.of, op.operands)
            self.found.append(Checked(op, index, extent, path))
        elif (enter := _REGIONS.get(op.name)) is not None:
            enter(self, op, path)
        elif op.defn.terminator:
            self.leave(op)
        elif op.name == "tile_index":
            self.tile_index(op)
        elif len(op.results) == 1 and _is_index(op.result):
            self.known[op.result] = self.result(op)

    def result(self, op: Op) -> Known:
        if op.name == "block_id":
            return self.block_id(int(op.attrs["axis"]))
        source = _SOURCES.get(op.name)
        found = None if source is None else source(self.prover, op)
        if found is not None:
            return found
        rule = TRANSFER.get(op.name)
        dtype = op.result.tile.dtype
        operands = [self.of(v) for v in op.operands if _is_index(v)]
        found = None if rule is None else rule(self.prover, op, operands)
        return unknown(dtype) if found is None else fitted(self.prover, dtype, found)

    def block_id(self, axis: int) -> Known:
        """Every number below the size of the grid."""
        last = self.prover.algebra.of(("grid", axis)).shifted(-1)
        if axis not in self.axes:
            (self.axes[axis],) = self.cause()
        return Known((ZERO,), (last,), Span(ZERO, last, varies=frozenset((self.axes[axis],))))

    def tile_index(self, op: Op) -> None:
        """The loop takes every number of a tile, so each index takes all its values.

        Whatever one index is, the others take all of theirs.
        """
        starts = [self.of(v) for v in op.all("starts")] or [known_point(ZERO)] * len(op.results)
        number = self.of(op.one("number")).span
        for k, (result, start) in enumerate(zip(op.results, starts, strict=True)):
            tiles = self.of(op.all("counts")[k])
            highs = few(a.plus(b).shifted(-1) for a in start.highs for b in tiles.highs)
            self.known[result] = Known((*start.lows, ZERO), highs)
            first, total = start.point, tiles.point
            if first is not None and total is not None and number is not None:
                last = first.plus(total).shifted(-1)
                span = Span(first, last, varies=self.cause(number.varies, op, k))
                self.known[result] = self.known[result].with_span(span)

    @contextmanager
    def scope(self) -> Generator[None]:
        """Facts about values from outside that are found in here are forgotten at the end."""
        before = dict(self.known)
        try:
            yield
        finally:
            self.known = before

    # --- control ---------------------------------------------------------------------------------

    def leave(self, end: Op) -> None:
        target = self.nesting.target.get(end)
        if target is not None and end.name in ("yield", "leave"):
            values = [self.of(v) if _is_index(v) else None for v in end.operands]
            self.passed.setdefault(target, []).append([v or ANYTHING for v in values])

    def join(self, op: Op) -> None:
        """Results of a branch or a scope: one of what was passed on."""
        rows = self.passed.get(op, [])
        for k, result in enumerate(op.results):
            if rows and _is_index(result):
                self.known[result] = union(self.prover, [row[k] for row in rows])

    def branch(self, op: Op, path: Path) -> None:
        cond = op.one("cond")
        for region, holds in zip(op.regions, (True, False), strict=True):
            with self.scope():
                inner = self.refined(cond, path, holds=holds)
                self.block(region, inner)
        self.join(op)

    def refined(self, cond: Value, path: Path, *, holds: bool) -> Path:
        """Sharpen the facts by a condition; give the path into the branch."""
        expr = self.condition(cond)
        before = tuple(self.causes)
        limit = self.sharpen(cond, holds=holds)
        if expr is not None:
            return replace(path, guards=(*path.guards, expr if holds else ("not", expr)))
        return path.unsure() if limit is None else path.under(limit, before)

    def after_exit(self, op: Op) -> None:
        """Where one arm of a branch never comes back, the rest runs in the other case alone."""
        if op.name != "if":
            return
        back = [region.terminator.name == "yield" for region in op.regions]
        if back.count(True) == 1:
            self.sharpen(op.one("cond"), holds=back[0])

    def scoped(self, op: Op, path: Path) -> None:
        self.block(op.regions[0], path)
        self.join(op)

    def loop(self, op: Op, path: Path) -> None:
        self.block(op.regions[0], path)

    def for_loop(self, op: Op, path: Path) -> None:
        lower, upper, step = (self.of(op.one(name)) for name in ("lower", "upper", "step"))
        inner = self.forward(self.entered(path, lower, upper), step)
        self.known[op.regions[0].args[0]] = self.induction(op, lower, upper, step)
        exits = self.nesting.exits.get(op, [])
        if any(end.name == "break" for end in exits) or any(True for _ in self.nesting.leaves(op)):
            inner = inner.unsure()
        self.block(op.regions[0], inner)

    def entered(self, path: Path, lower: Known, upper: Known) -> Path:
        """The path into a loop that runs if its bounds let it."""
        if any(self.prover.holds(b.minus(a).shifted(-1)) for a in lower.highs for b in upper.lows):
            return path
        a, b = lower.span, upper.span
        if a is None or b is None or not (a.exact and b.exact and a.apart(b)):
            return path.unsure()
        runs = condition(b.high.minus(a.low).shifted(-1))
        return path.under(Limit((runs,), a.needs | b.needs, a.varies | b.varies), self.causes)

    def forward(self, path: Path, step: Known) -> Path:
        """The path into a loop that runs only if its step is positive."""
        by = step.point
        if by is None:
            return path.unsure()
        return path if self.prover.holds(by.shifted(-1)) else path.under(_if(by.shifted(-1)), ())

    def induction(self, op: Op, lower: Known, upper: Known, step: Known) -> Known:
        """The variable runs from the lower bound to just below the upper one."""
        highs = few(form.shifted(-1) for form in upper.highs)
        found = Known(lower.lows, highs)
        if lower.span is None or upper.span is None:
            return found
        span = lower.span.joined(upper.span, lower.span.low, upper.span.high.shifted(-1))
        # A loop from the least to the greatest bound takes every number between them.
        span = replace(span, dense=span.exact, varies=self.cause(span.varies))
        return found.with_span(self.stepped(span, lower.span, upper.span, step))

    def stepped(self, span: Span, lower: Span, upper: Span, step: Known) -> Span:
        """The range of a variable that does not take every number."""
        by = step.point
        if by == ONE:
            return span
        if by is not None and lower.dense and lower.high.minus(lower.low) == by.shifted(-1):
            return span  # blocks start next to each other, and step over all of them
        start = lower.point
        if by is None or start is None or upper.point is None or not self.prover.holds(by):
            return replace(span, exact=False, dense=False)
        rounds = self.prover.algebra.floordiv(span.high.minus(start), by)
        last = start.plus(self.prover.algebra.mul(rounds, by))
        return replace(span, high=last, dense=False)

    # --- conditions ------------------------------------------------------------------------------

    def condition(self, value: Value) -> Expr | None:
        """A condition that the launch decides, as a launch expression."""
        op = self.nesting.definer(value)
        if op is None:
            return None
        if op.name == "constant":
            return ("const", bool(op.attrs["value"]))
        if op.name == "cmpi" and _is_index(op.operands[0]):
            points = [self.of(v).point for v in op.operands]
            a, b = points
            predicate = Predicate(op.attrs["predicate"]).value
            return None if a is None or b is None else (predicate, a.expr(), b.expr())
        if op.name not in _LOGIC or not op.result.tile.dtype.is_bool or op.result.tile.rank:
            return None
        parts = [self.condition(v) for v in op.operands]
        return None if None in parts else (_LOGIC[op.name], *parts)

    def sharpen(self, cond: Value, *, holds: bool) -> Limit | None:
        """Note what a condition says of integers.

        Gives where it holds; None where that cannot be said exactly.
        """
        op = self.nesting.definer(cond)
        if op is None:
            return None
        if op.name == "noti":
            return self.sharpen(op.operands[0], holds=not holds)
        if op.name == ("andi" if holds else "ori"):
            return _both(*(self.sharpen(v, holds=holds) for v in op.operands))
        if op.name != "cmpi" or not _is_index(op.operands[0]):
            return None
        predicate = Predicate(op.attrs["predicate"])
        return self.compare(predicate if holds else _OPPOSITE[predicate], *op.operands)

    def compare(self, predicate: Predicate, a: Value, b: Value) -> Limit | None:
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
        old, other = self.of(a), self.of(b)
        self.known[a] = replace(
            old, highs=few((*(f.shifted(-less) for f in other.highs), *old.highs)),
            span=self.lowered(old.span, other.point, less),
        )  # fmt: skip
        self.known[b] = replace(
            other, lows=few((*(f.shifted(less) for f in old.lows), *other.lows)),
            span=self.raised(other.span, old.point, less),
        )  # fmt: skip
        if old.span is not None and other.point is not None:
            return _somewhere(old.span, other.point.minus(old.span.low).shifted(-less))
        if other.span is not None and old.point is not None:
            return _somewhere(other.span, other.span.high.minus(old.point).shifted(-less))
        return None

    def lowered(self, span: Span | None, limit: Linear | None, less: int) -> Span | None:
        """The range of a value where it is at least `less` below a limit."""
        if span is None or limit is None or not span.varies:
            return span
        high = self.prover.algebra.min(span.high, limit.shifted(-less))
        return replace(span, high=high, exact=span.dense, varies=self.narrowed(span.varies))

    def raised(self, span: Span | None, limit: Linear | None, less: int) -> Span | None:
        """The range of a value where it is at least `less` above a limit."""
        if span is None or limit is None or not span.varies:
            return span
        low = self.prover.algebra.max(span.low, limit.shifted(less))
        return replace(span, low=low, exact=span.dense, varies=self.narrowed(span.varies))


def _if(form: Linear) -> Limit:
    """The condition that a form, which the launch decides, is 0 or more."""
    return Limit((condition(form),), frozenset(), frozenset())


def _somewhere(span: Span, best: Linear) -> Limit | None:
    """A condition on one value that holds somewhere if it does where it holds best."""
    return Limit((condition(best),), span.needs, span.varies) if span.exact else None


def _both(a: Limit | None, b: Limit | None) -> Limit | None:
    """Two conditions on what varies independently; else they may hold, but never together."""
    if a is None or b is None or depend(a.causes, b.causes):
        return None
    return Limit((*a.guards, *b.guards), a.needs | b.needs, a.causes | b.causes)


def _is_index(value: Value) -> bool:
    kind = value.type
    return (
        isinstance(kind, TileType) and not kind.rank and not kind.is_pointer and kind.dtype.is_int
    )


ANYTHING = Known((), ())
"""Stands for what is no integer."""

Enter: TypeAlias = Callable[[_Walk, Op, Path], None]
_REGIONS: dict[str, Enter] = {
    "if": _Walk.branch, "scope": _Walk.scoped, "loop": _Walk.loop, "for": _Walk.for_loop,
}  # fmt: skip

_LOGIC = {"andi": "and", "ori": "or", "noti": "not"}
_FLIPPED = {Predicate.GT: Predicate.LT, Predicate.GE: Predicate.LE}
_OPPOSITE: dict[Predicate, Predicate] = {
    Predicate.LT: Predicate.GE, Predicate.GE: Predicate.LT,
    Predicate.LE: Predicate.GT, Predicate.GT: Predicate.LE,
    Predicate.EQ: Predicate.NE, Predicate.NE: Predicate.EQ,
}  # fmt: skip


# --- values that come from the launch ------------------------------------------------------------


def _constant(prover: Prover, op: Op) -> Known:
    return known_point(number(int(op.attrs["value"])))


def _extent(prover: Prover, op: Op) -> Known | None:
    return _size(prover, op.one("tensor").tensor.shape, op.one("tensor").tensor.param,
                 op.attrs["axis"], 1)  # fmt: skip


def _num_tiles(prover: Prover, op: Op) -> Known | None:
    view, k = op.one("view").view, int(op.attrs["axis"])
    axis, step = view.dim_map[k], (view.step or view.tile)[k]
    shape = view.tensor.shape if view.frame is None else view.frame
    return _size(prover, shape, view.tensor.param, axis, step)


def _size(
    prover: Prover, shape: Sequence[int | None], param: str | None, axis: int, step: int
) -> Known | None:
    extent = shape[axis]
    if extent is None and param is None:
        return None
    expr: Expr = ("extent", param, axis) if extent is None else ("const", extent)
    return known_point(prover.algebra.of(("ceildiv", expr, ("const", step))))


def _num_blocks(prover: Prover, op: Op) -> Known:
    return known_point(prover.algebra.of(("grid", int(op.attrs["axis"]))))


_SOURCES: dict[str, Callable[[Prover, Op], Known | None]] = {
    "constant": _constant, "extent": _extent, "num_tiles": _num_tiles, "num_blocks": _num_blocks,
}  # fmt: skip
"""Values that come from the launch, by op; an op with bounds of its own is one more row."""
