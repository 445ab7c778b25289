"""Symbolic ranges of integers: an interval analysis whose bounds are linear forms.

Sections: the lattice (`SymbolicRange`, `SymbolicSpan`), sources (ops whose value the launch
decides), transfer functions of elementwise ops, and the state of a walk (`Integers`).
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import product
from typing import TypeAlias

from ...base.dtypes import AnyDType, int_range
from ...ir.attrs import Rounding, ThreadCoordinate
from ...ir.core import Func, Op, Value
from ...ir.launch_expr import Expr
from ...ir.signature import ScalarSpec
from ...ir.types import TileType
from .proofs import LARGEST, ONE, ZERO, Linear, Prover, number

# -------------------------------------------------------------------------------------------------
# The lattice: bounds of an integer as linear forms over launch values.
#
# `lows` and `highs` are a may-analysis: they hold in every block. A `span` is a must-analysis: its
# ends occur in some block, which is what lets the host reject exactly the launches that would fail.

MOST = 4
"""Bounds kept of one value on each side."""


@dataclass(frozen=True, eq=False, slots=True)
class Cause:
    """A source of differences between blocks and iterations: a grid axis, a loop.

    `ties` are the causes that it depends on in turn. Causes with the same `whole` belong to values
    that take all their combinations, as the coordinates of one tile do; `part` distinguishes them.
    """

    ties: frozenset[Cause] = frozenset()
    whole: object = None
    part: int = 0

    def depends(self, other: Cause) -> bool:
        """Return whether one cause may determine something about the other."""
        # The coordinates of one tile index take all combinations: only equal parts depend.
        if self.whole is not None and self.whole is other.whole:
            return self.part == other.part
        return not ({self, *self.ties}).isdisjoint((other, *other.ties))


def tied(causes: frozenset[Cause]) -> frozenset[Cause]:
    """Return causes with all causes that they depend on."""
    return causes.union(*(cause.ties for cause in causes))


def depend(some: Iterable[Cause], others: Iterable[Cause]) -> bool:
    """Return whether any of some causes may depend on any of the others."""
    return any(a.depends(b) for a in some for b in others)


@dataclass(frozen=True, slots=True)
class SymbolicSpan:
    """The range of a value over all blocks and iterations, if all `needs` are 0 or more.

    `varies` has what it depends on besides the launch. It is `exact` if both ends are values that
    occur, `dense` if every number between them occurs too.
    """

    low: Linear
    high: Linear
    needs: frozenset[Linear] = frozenset()
    varies: frozenset[Cause] = frozenset()
    exact: bool = True
    dense: bool = True

    @property
    def point(self) -> Linear | None:
        """The value, where the launch alone decides it."""
        return self.low if self.low == self.high and not self.varies else None

    def apart(self, other: SymbolicSpan) -> bool:
        """Return whether two values vary independently of each other."""
        return not depend(self.varies, other.varies)

    def moved(self, move: Callable[[Linear], Linear], *, dense: bool = False) -> SymbolicSpan:
        """Return the range of a growing function of the value."""
        return replace(self, low=move(self.low), high=move(self.high), dense=self.dense and dense)

    def turned(self) -> SymbolicSpan:
        """Return the range of the negated value."""
        return replace(self, low=self.high.times(-1), high=self.low.times(-1))

    def joined(self, other: SymbolicSpan, low: Linear, high: Linear) -> SymbolicSpan:
        """Return the range of a function of two values that is monotone in each."""
        # Two correlated values need not reach their extremes in the same block (i - i is 0, not 2 *
        # i).
        apart = self.apart(other)
        return SymbolicSpan(
            low, high, self.needs | other.needs, self.varies | other.varies,
            exact=apart and self.exact and other.exact, dense=apart and self.dense and other.dense,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class SymbolicRange:
    """The facts about a value: each of `lows` and `highs` is a bound; `span` may be None."""

    lows: tuple[Linear, ...]
    highs: tuple[Linear, ...]
    span: SymbolicSpan | None = None

    @property
    def point(self) -> Linear | None:
        """The value, where the launch alone decides it without wrapping."""
        return None if self.span is None or self.span.needs else self.span.point

    def with_span(self, span: SymbolicSpan | None) -> SymbolicRange:
        """Return a copy of the bounds with another constant range."""
        return replace(self, span=span)


def unknown(dtype: AnyDType) -> SymbolicRange:
    """Return the range of the type."""
    low, high = int_range(dtype)
    return SymbolicRange((number(low),), (number(high),))


def point_range(form: Linear) -> SymbolicRange:
    """Return a value that the launch decides."""
    return SymbolicRange((form,), (form,), SymbolicSpan(form, form))


def few(forms: Iterable[Linear]) -> tuple[Linear, ...]:
    """Return the first few different ones."""
    return tuple(dict.fromkeys(forms))[:MOST]


def fitted(prover: Prover, dtype: AnyDType, exact: SymbolicRange) -> SymbolicRange:
    """Return the range of a result that wraps where it leaves its type."""
    low, high = int_range(dtype)
    # The rules compute exact integers. If the result provably fits its type, nothing wraps and the
    # bounds stay; otherwise the type is all that is known.
    fits = _granted(prover, [form.shifted(-low) for form in exact.lows]) and _granted(
        prover, [number(high).minus(form) for form in exact.highs]
    )
    bounds = exact if fits else unknown(dtype)
    span = exact.span
    if span is not None and not fits:
        # A span stays usable under the condition that its ends fit, which the launch can check.
        needs = (span.low.shifted(-low), number(high).minus(span.high))
        unproved = frozenset(form for form in needs if not prover.holds(form))
        span = replace(span, needs=span.needs | unproved)
    return bounds.with_span(span)


def _granted(prover: Prover, forms: Sequence[Linear]) -> bool:
    """Return whether one of some forms holds, or may be required of launches."""
    # Proofs first: a condition on the grid is requested only if nothing else suffices.
    return any(map(prover.holds, forms)) or any(map(prover.granted, forms))


# -------------------------------------------------------------------------------------------------
# Sources: ops whose value the launch alone decides.


def _constant(prover: Prover, op: Op) -> SymbolicRange:
    return point_range(number(int(op.attrs["value"])))


def _extent(prover: Prover, op: Op) -> SymbolicRange | None:
    return _size(prover, op.one("tensor").tensor.shape, op.one("tensor").tensor.param,
                 op.attrs["axis"], 1)  # fmt: skip


def _num_tiles(prover: Prover, op: Op) -> SymbolicRange | None:
    view, k = op.one("view").view, int(op.attrs["axis"])
    axis, step = view.dim_map[k], (view.step or view.tile)[k]
    shape = view.tensor.shape if view.frame is None else view.frame
    return _size(prover, shape, view.tensor.param, axis, step)


def _size(
    prover: Prover, shape: Sequence[int | None], param: str | None, axis: int, step: int
) -> SymbolicRange | None:
    extent = shape[axis]
    if extent is None and param is None:
        return None
    expr: Expr = ("extent", param, axis) if extent is None else ("const", extent)
    return point_range(prover.algebra.of(("ceildiv", expr, ("const", step))))


def _num_blocks(prover: Prover, op: Op) -> SymbolicRange:
    return point_range(prover.algebra.of(("grid", int(op.attrs["axis"]))))


def _length(prover: Prover, op: Op) -> SymbolicRange:
    return point_range(prover.algebra.of(("length", op.one("slice").tensor.param)))


SOURCES: dict[str, Callable[[Prover, Op], SymbolicRange | None]] = {
    "constant": _constant, "extent": _extent, "num_tiles": _num_tiles, "num_blocks": _num_blocks,
    "length": _length,
}  # fmt: skip
"""Sources by op; a new op whose value the launch decides is one more row."""


# -------------------------------------------------------------------------------------------------
# Transfer functions of elementwise ops: ranges of the operands to the range of the result.
#
# Each rule returns bounds of the exact integer; `fitted` accounts for wrapping afterwards.

Rule: TypeAlias = Callable[[Prover, Op, Sequence[SymbolicRange]], SymbolicRange | None]
Combine: TypeAlias = Callable[[Linear, Linear], Linear]


def _each(combine: Combine, a: Sequence[Linear], b: Sequence[Linear]) -> tuple[Linear, ...]:
    return few(combine(x, y) for x, y in product(a, b))


def _joined(a: SymbolicRange, b: SymbolicRange, low: Combine, high: Combine) -> SymbolicSpan | None:
    if a.span is None or b.span is None:
        return None
    return a.span.joined(b.span, low(a.span.low, b.span.low), high(a.span.high, b.span.high))


def _addi(prover: Prover, op: Op, x: Sequence[SymbolicRange]) -> SymbolicRange:
    a, b = x
    lows, highs = _each(Linear.plus, a.lows, b.lows), _each(Linear.plus, a.highs, b.highs)
    return SymbolicRange(lows, highs, _joined(a, b, Linear.plus, Linear.plus))


def _negi(prover: Prover, op: Op, x: Sequence[SymbolicRange]) -> SymbolicRange:
    (a,) = x
    span = None if a.span is None else a.span.turned()
    return SymbolicRange(
        tuple(f.times(-1) for f in a.highs), tuple(f.times(-1) for f in a.lows), span
    )


def _subi(prover: Prover, op: Op, x: Sequence[SymbolicRange]) -> SymbolicRange:
    return _addi(prover, op, (x[0], _negi(prover, op, x[1:])))


def _muli(prover: Prover, op: Op, x: Sequence[SymbolicRange]) -> SymbolicRange | None:
    a, b = x
    for other, by in ((a, b.point), (b, a.point)):
        # A constant factor keeps a linear form linear, whatever the signs are.
        if by is not None and by.number is not None:
            return _scaled(other, by.number)
    if not (_not_negative(prover, a) and _not_negative(prover, b)):
        return None
    # Bounds of what is not negative: a product of two negative ones would be none.
    a, b, times = _raised(prover, a), _raised(prover, b), prover.algebra.mul
    span = _joined(a, b, times, times)
    return SymbolicRange(
        _each(times, a.lows, b.lows), _each(times, a.highs, b.highs),
        None if span is None else replace(span, dense=False),
    )  # fmt: skip


def _scaled(a: SymbolicRange, factor: int) -> SymbolicRange:
    if factor < 0:
        flipped = _scaled(a, -factor)
        return SymbolicRange(
            tuple(f.times(-1) for f in flipped.highs), tuple(f.times(-1) for f in flipped.lows),
            None if flipped.span is None else flipped.span.turned(),
        )  # fmt: skip
    return _grown(a, lambda f: f.times(factor), dense=factor == 1)


def _grown(
    a: SymbolicRange, move: Callable[[Linear], Linear], *, dense: bool = False
) -> SymbolicRange:
    """Return a function that grows with its operand."""
    span = None if a.span is None else a.span.moved(move, dense=dense)
    return SymbolicRange(few(map(move, a.lows)), few(map(move, a.highs)), span)


def _not_negative(prover: Prover, a: SymbolicRange) -> bool:
    return any(prover.holds(form) for form in a.lows)


def _divi(prover: Prover, op: Op, x: Sequence[SymbolicRange]) -> SymbolicRange | None:
    a, by = x[0], x[1].point
    if by is None or not prover.holds(by):
        return None
    rounding: Rounding = op.attrs["rounding"]
    if rounding is Rounding.POS_INF:
        return _grown(a, lambda f: prover.algebra.ceildiv(f, by), dense=True)
    if rounding is not Rounding.NEG_INF and not _not_negative(prover, a):
        return None
    # Rounding toward zero is rounding down where nothing is negative.
    kept = a if rounding is Rounding.NEG_INF else _raised(prover, a)
    return _grown(kept, lambda f: prover.algebra.floordiv(f, by), dense=True)


def _raised(prover: Prover, a: SymbolicRange) -> SymbolicRange:
    """Return the range of a non-negative value: drop lower bounds that may be negative."""
    span = a.span if a.span is not None and prover.holds(a.span.low) else None
    return SymbolicRange(few((ZERO, *(f for f in a.lows if prover.holds(f)))), a.highs, span)


def _remi(prover: Prover, op: Op, x: Sequence[SymbolicRange]) -> SymbolicRange | None:
    a, by = x[0], x[1].point
    if by is None or not prover.holds(by.shifted(-1)):
        return None
    # A value that is not negative is also a bound of its remainder.
    plain = _not_negative(prover, a)
    if op.attrs["rounding"] is not Rounding.NEG_INF and not plain:
        return None
    highs = few((by.shifted(-1), *(a.highs if plain else ())))
    return SymbolicRange((ZERO,), highs, _remainder(prover, a, by))


def _remainder(prover: Prover, a: SymbolicRange, by: Linear) -> SymbolicSpan | None:
    span = a.span
    if span is None or not prover.holds(span.low):
        return None
    # 0 .. high without gaps meets every remainder up to min(high, by - 1).
    whole = span.dense and span.low == ZERO
    high = prover.algebra.min(span.high, by.shifted(-1))
    return SymbolicSpan(ZERO, high, span.needs, span.varies, exact=whole, dense=whole)


def _mini(prover: Prover, op: Op, x: Sequence[SymbolicRange]) -> SymbolicRange:
    a, b = x
    least = prover.algebra.min
    return SymbolicRange(
        _each(least, a.lows, b.lows), _merged(a.highs, b.highs), _joined(a, b, least, least)
    )


def _maxi(prover: Prover, op: Op, x: Sequence[SymbolicRange]) -> SymbolicRange:
    a, b = x
    most = prover.algebra.max
    return SymbolicRange(
        _merged(a.lows, b.lows), _each(most, a.highs, b.highs), _joined(a, b, most, most)
    )


def _merged(a: Sequence[Linear], b: Sequence[Linear]) -> tuple[Linear, ...]:
    """Return bounds that hold for both values; launch expressions come before plain numbers."""
    return few(sorted((*a, *b), key=lambda f: f.number is not None))


def _absi(prover: Prover, op: Op, x: Sequence[SymbolicRange]) -> SymbolicRange | None:
    return x[0] if _not_negative(prover, x[0]) else None


def _shli(prover: Prover, op: Op, x: Sequence[SymbolicRange]) -> SymbolicRange | None:
    by = _amount(op, x[1])
    return None if by is None else _scaled(x[0], 1 << by)


def _shri(prover: Prover, op: Op, x: Sequence[SymbolicRange]) -> SymbolicRange | None:
    by = _amount(op, x[1])
    if by is None:
        return None
    return _grown(x[0], lambda f: prover.algebra.floordiv(f, number(1 << by)), dense=True)


def _amount(op: Op, x: SymbolicRange) -> int | None:
    n = x.point.number if x.point is not None else None
    return n if n is not None and 0 <= n < op.result.tile.dtype.bits else None


def _unchanged(prover: Prover, op: Op, x: Sequence[SymbolicRange]) -> SymbolicRange | None:
    return x[0] if x else None


def union(prover: Prover, found: Sequence[SymbolicRange]) -> SymbolicRange:
    """Return the range of a value that is one of several."""
    total = found[0]
    for other in found[1:]:
        # No span: which of the alternatives occurs in which block is not known.
        total = SymbolicRange(
            _each(prover.algebra.min, total.lows, other.lows),
            _each(prover.algebra.max, total.highs, other.highs),
        )
    return total


def _select(prover: Prover, op: Op, x: Sequence[SymbolicRange]) -> SymbolicRange:
    return union(prover, x[-2:])


TRANSFER: dict[str, Rule] = {
    "addi": _addi, "subi": _subi, "muli": _muli, "divi": _divi, "remi": _remi,
    "negi": _negi, "absi": _absi, "maxi": _maxi, "mini": _mini,
    "shli": _shli, "shri": _shri, "select": _select,
    "exti": _unchanged, "trunci": _unchanged, "bitcast": _unchanged, "reshape": _unchanged,
}  # fmt: skip


# -------------------------------------------------------------------------------------------------
# The state of a walk in program order: the range of each integer so far.
#
# Equal ops share one value number, so that a branch condition refines all of them. Facts are
# dropped at the end of the scope in which they were found.


class Integers:
    """The facts about the integers of one function, up to the current op of a walk."""

    def __init__(self, func: Func, prover: Prover) -> None:
        self.prover = prover
        self.known: dict[Value, SymbolicRange] = {}
        """Of the first of equal values; what is not here is not known, or out of reach."""
        self.first: dict[Value, Value] = {}
        self.made: dict[tuple[object, ...], Value] = {}
        """What equal ops have made first."""
        self.axes: dict[tuple[ThreadCoordinate, int], frozenset[Cause]] = {}
        """What makes values differ along each axis of the grid, and of a block of threads."""
        self.causes: list[Cause] = []
        """All there are so far."""
        for spec, value in zip(func.signature.params, func.params, strict=True):
            if isinstance(spec, ScalarSpec) and spec.dtype.is_int:
                self.known[value] = point_range(prover.algebra.of(("scalar", spec.name)))

    def of(self, value: Value) -> SymbolicRange:
        """Return the range of an integer."""
        return self.known.get(self.first.get(value, value)) or unknown(value.tile.dtype)

    def note(self, value: Value, known: SymbolicRange) -> None:
        """Assume a fact of an integer, to the end of the scope."""
        self.known[self.first.get(value, value)] = known

    def cause(
        self, varies: frozenset[Cause] = frozenset(), whole: object = None, part: int = 0
    ) -> frozenset[Cause]:
        """Return a new cause, tied to others."""
        self.causes.append(Cause(tied(varies), whole, part))
        return frozenset(self.causes[-1:])

    def narrowed(self, varies: frozenset[Cause]) -> frozenset[Cause]:
        """Return the cause of a value where it takes fewer values than elsewhere."""
        first, *others = varies
        return self.cause(varies) if others else self.cause(varies, first.whole, first.part)

    @contextmanager
    def scope(self) -> Generator[None]:
        """Forget, at the end, the facts about outer values that are found in here."""
        before = dict(self.known), dict(self.made), self.prover.here
        try:
            yield
        finally:
            self.known, self.made, self.prover.here = before

    def evaluate(self, op: Op) -> None:
        """Note the result of an op; equal ops share one result."""
        if op.defn.pure and not op.regions:
            equal = [self.first.get(v, v) for v in op.operands]
            # Value numbering: a refinement of one of two equal expressions must hold for the other
            # one.
            key = op.name, *equal, *sorted(op.attrs.items(), key=str)
            self.first[op.result] = self.made.setdefault(key, op.result)
            if self.first[op.result] is not op.result:
                return
        self.known[op.result] = self.result(op)

    def result(self, op: Op) -> SymbolicRange:
        """Return the range of the integer that an op computes."""
        own = _PLACES.get(op.name)
        if own is not None:
            return own(self, op)
        source = SOURCES.get(op.name)
        found = None if source is None else source(self.prover, op)
        if found is not None:
            return found
        rule = TRANSFER.get(op.name)
        dtype = op.result.tile.dtype
        operands = [self.of(v) for v in op.operands if is_index(v)]
        found = None if rule is None else rule(self.prover, op, operands)
        return unknown(dtype) if found is None else fitted(self.prover, dtype, found)

    def below(self, count: Linear, varies: frozenset[Cause]) -> SymbolicRange:
        """Return the range 0 .. count - 1 of a count that is at least 1."""
        last = count.shifted(-1)
        if last == ZERO:
            return point_range(ZERO)
        return SymbolicRange((ZERO,), (last,), SymbolicSpan(ZERO, last, varies=varies))

    def along(self, what: ThreadCoordinate, axis: int) -> frozenset[Cause]:
        """Return the cause of differences between blocks, or threads, along an axis."""
        if (what, axis) not in self.axes:
            self.axes[what, axis] = self.cause()
        return self.axes[what, axis]

    def block_id(self, op: Op) -> SymbolicRange:
        """Return the number of a block along an axis of the grid."""
        axis = int(op.attrs["axis"])
        return self.below(
            self.prover.algebra.of(("grid", axis)), self.along(ThreadCoordinate.BLOCK, axis)
        )

    def place(self, op: Op) -> SymbolicRange:
        """Return a place or a size along an axis of threads."""
        what, axis = ThreadCoordinate(op.attrs["what"]), int(op.attrs["axis"])
        if what in (ThreadCoordinate.LANE, ThreadCoordinate.WARP):
            return unknown(op.result.tile.dtype)
        size = self.sizes(axis)[what in (ThreadCoordinate.BLOCK, ThreadCoordinate.GRID_SIZE)]
        if what in (ThreadCoordinate.BLOCK_SIZE, ThreadCoordinate.GRID_SIZE):
            return point_range(size)
        return self.below(size, self.along(what, axis))

    def sizes(self, axis: int) -> tuple[Linear, Linear]:
        """Return the threads of a block along an axis, and the blocks of the grid."""
        signature = self.prover.signature
        used = axis < len(signature.block or ())
        blocks = self.prover.algebra.of(("grid_dim", axis)) if used else ONE
        return number(signature.block_dims[axis]), blocks

    def index_1d(self, op: Op) -> SymbolicRange:
        """Return the thread's number along x; the largest i32 in a launch of more axes."""
        if len(self.prover.signature.block or ()) > 1:
            return SymbolicRange((ZERO,), (number(LARGEST),))
        threads, blocks = self.sizes(0)
        last = self.prover.algebra.mul(threads, blocks).shifted(-1)
        high = self.prover.algebra.min(last, number(LARGEST))
        # The index is dense over all threads of the launch, and depends on both coordinates.
        own = self.along(ThreadCoordinate.THREAD, 0) | self.along(ThreadCoordinate.BLOCK, 0)
        return SymbolicRange(
            (ZERO,), (high, number(LARGEST)), SymbolicSpan(ZERO, high, varies=self.cause(own))
        )

    def index_2d(self, op: Op) -> SymbolicRange:
        """Return the number of a thread in rows of any width."""
        return SymbolicRange((ZERO,), (number(LARGEST),))

    def tile_index(self, op: Op) -> None:
        """Note the indices of a visited tile: each of them takes all its values.

        Whatever one index is, the others take all of theirs.
        """
        starts = [self.of(v) for v in op.all("starts")] or [point_range(ZERO)] * len(op.results)
        number = self.of(op.one("number")).span
        for k, (result, start) in enumerate(zip(op.results, starts, strict=True)):
            tiles = self.of(op.all("counts")[k])
            highs = few(a.plus(b).shifted(-1) for a in start.highs for b in tiles.highs)
            self.known[result] = SymbolicRange((*start.lows, ZERO), highs)
            # Exact ends need a first tile and a count that the launch knows.
            first, total = start.point, tiles.point
            if first is not None and total is not None and number is not None:
                last = first.plus(total).shifted(-1)
                span = SymbolicSpan(first, last, varies=self.cause(number.varies, op, k))
                self.known[result] = self.known[result].with_span(span)


def is_index(value: Value) -> bool:
    """Return whether a value is one integer."""
    kind = value.type
    return (
        isinstance(kind, TileType) and not kind.rank and not kind.is_pointer and kind.dtype.is_int
    )


_PLACES: dict[str, Callable[[Integers, Op], SymbolicRange]] = {
    "block_id": Integers.block_id, "place": Integers.place,
    "index_1d": Integers.index_1d, "index_2d": Integers.index_2d,
}  # fmt: skip
"""Ops that differ between blocks and threads."""
