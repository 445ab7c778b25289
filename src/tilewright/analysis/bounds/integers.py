"""What is known of the integers of a function: bounds, and which numbers they take where.

Ops are given one by one, in program order. Equal ops give one value, so what a branch says of it
holds for all of them; facts are dropped at the end of the scope that they were found in.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager

from ...ir.attrs import Place
from ...ir.core import Func, Op, Value
from ...ir.signature import ScalarSpec
from ...ir.types import TileType
from .linear import ONE, ZERO, Linear, number
from .proofs import LARGEST, Prover
from .sources import SOURCES
from .symbolic_range import Cause, Span, SymbolicRange, few, fitted, point_range, tied, unknown
from .transfer import TRANSFER


class Integers:
    """What is known of the integers of one function, as far as a walk has come."""

    def __init__(self, func: Func, prover: Prover) -> None:
        self.prover = prover
        self.known: dict[Value, SymbolicRange] = {}
        """Of the first of equal values; what is not here is not known, or out of reach."""
        self.first: dict[Value, Value] = {}
        self.made: dict[tuple[object, ...], Value] = {}
        """What equal ops have made first."""
        self.axes: dict[tuple[Place, int], frozenset[Cause]] = {}
        """What makes values differ along each axis of the grid, and of a block of threads."""
        self.causes: list[Cause] = []
        """All there are so far."""
        for spec, value in zip(func.signature.params, func.params, strict=True):
            if isinstance(spec, ScalarSpec) and spec.dtype.is_int:
                self.known[value] = point_range(prover.algebra.of(("scalar", spec.name)))

    def of(self, value: Value) -> SymbolicRange:
        """What is known of an integer."""
        return self.known.get(self.first.get(value, value)) or unknown(value.tile.dtype)

    def note(self, value: Value, known: SymbolicRange) -> None:
        """Let this be known of an integer, to the end of the scope."""
        self.known[self.first.get(value, value)] = known

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

    @contextmanager
    def scope(self) -> Generator[None]:
        """Facts about values from outside that are found in here are forgotten at the end."""
        before = dict(self.known), dict(self.made), self.prover.here
        try:
            yield
        finally:
            self.known, self.made, self.prover.here = before

    def evaluate(self, op: Op) -> None:
        """Note what an op gives; what an equal one has given already is the same."""
        if op.defn.pure and not op.regions:
            equal = [self.first.get(v, v) for v in op.operands]
            key = op.name, *equal, *sorted(op.attrs.items(), key=str)
            self.first[op.result] = self.made.setdefault(key, op.result)
            if self.first[op.result] is not op.result:
                return
        self.known[op.result] = self.result(op)

    def result(self, op: Op) -> SymbolicRange:
        """What is known of the integer that an op gives."""
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
        """Every number below a count, which is at least 1."""
        last = count.shifted(-1)
        if last == ZERO:
            return point_range(ZERO)
        return SymbolicRange((ZERO,), (last,), Span(ZERO, last, varies=varies))

    def along(self, what: Place, axis: int) -> frozenset[Cause]:
        """What makes the blocks of a grid, or the threads of a block, differ along an axis."""
        if (what, axis) not in self.axes:
            self.axes[what, axis] = self.cause()
        return self.axes[what, axis]

    def block_id(self, op: Op) -> SymbolicRange:
        """The number of a block along an axis of the grid."""
        axis = int(op.attrs["axis"])
        return self.below(self.prover.algebra.of(("grid", axis)), self.along(Place.BLOCK, axis))

    def place(self, op: Op) -> SymbolicRange:
        """A place or a size along an axis of threads."""
        what, axis = Place(op.attrs["what"]), int(op.attrs["axis"])
        if what in (Place.LANE, Place.WARP):
            return unknown(op.result.tile.dtype)
        size = self.sizes(axis)[what in (Place.BLOCK, Place.GRID_SIZE)]
        if what in (Place.BLOCK_SIZE, Place.GRID_SIZE):
            return point_range(size)
        return self.below(size, self.along(what, axis))

    def sizes(self, axis: int) -> tuple[Linear, Linear]:
        """The threads of a block along an axis, and the blocks of the grid."""
        signature = self.prover.signature
        used = axis < len(signature.block or ())
        blocks = self.prover.algebra.of(("grid_dim", axis)) if used else ONE
        return number(signature.block_dims[axis]), blocks

    def index_1d(self, op: Op) -> SymbolicRange:
        """The thread's number along x; the largest i32 in a launch of more axes."""
        if len(self.prover.signature.block or ()) > 1:
            return SymbolicRange((ZERO,), (number(LARGEST),))
        threads, blocks = self.sizes(0)
        last = self.prover.algebra.mul(threads, blocks).shifted(-1)
        high = self.prover.algebra.min(last, number(LARGEST))
        own = self.along(Place.THREAD, 0) | self.along(Place.BLOCK, 0)
        return SymbolicRange(
            (ZERO,), (high, number(LARGEST)), Span(ZERO, high, varies=self.cause(own))
        )

    def index_2d(self, op: Op) -> SymbolicRange:
        """The number of a thread in rows of any width."""
        return SymbolicRange((ZERO,), (number(LARGEST),))

    def tile_index(self, op: Op) -> None:
        """The loop takes every number of a tile, so each index takes all its values.

        Whatever one index is, the others take all of theirs.
        """
        starts = [self.of(v) for v in op.all("starts")] or [point_range(ZERO)] * len(op.results)
        number = self.of(op.one("number")).span
        for k, (result, start) in enumerate(zip(op.results, starts, strict=True)):
            tiles = self.of(op.all("counts")[k])
            highs = few(a.plus(b).shifted(-1) for a in start.highs for b in tiles.highs)
            self.known[result] = SymbolicRange((*start.lows, ZERO), highs)
            first, total = start.point, tiles.point
            if first is not None and total is not None and number is not None:
                last = first.plus(total).shifted(-1)
                span = Span(first, last, varies=self.cause(number.varies, op, k))
                self.known[result] = self.known[result].with_span(span)


def is_index(value: Value) -> bool:
    """Whether a value is one integer."""
    kind = value.type
    return (
        isinstance(kind, TileType) and not kind.rank and not kind.is_pointer and kind.dtype.is_int
    )


_PLACES: dict[str, Callable[[Integers, Op], SymbolicRange]] = {
    "block_id": Integers.block_id, "place": Integers.place,
    "index_1d": Integers.index_1d, "index_2d": Integers.index_2d,
}  # fmt: skip
"""What tells blocks and threads apart."""
