"""Split long scans into two levels: within vectors of a thread, then over the sums of vectors.

The reduce-then-scan scheme of Merrill and Grimshaw ("Parallel Scan for Stream Architectures",
2009), at the level of tiles.

Goals: an assembler scans a row by exchanging each element with other threads, five times in a warp.
Elements that are neighbours in memory lie in one thread, as they were loaded in vectors, so their
scan takes no exchange, and only one number for each vector is exchanged. For targets with threads;
after `cse`.

Non-goals: scans along another axis than the last one, whose neighbours lie in other threads; scans
by a function of the user's, or of several tiles together.

Rule (%u is %t with a neutral element before each one, so that every other sum of its scan is of
what comes before; v elements are a vector):

1. A scan of n elements, by an op that has a neutral element.
       %s = scan %x {axis=last}
    -> %y = reshape %x {(..., n / v, v)}; %i = scan %y {axis=last}; %t = reduce %y {axis=last};
       %e = every other element of (scan %u {axis=last}); %s = %e + %i
"""

from __future__ import annotations

from collections.abc import Sequence

from ..analysis.structure import Structure, combiners, identities_of, structure
from ..base.dtypes import i32
from ..ir.attrs import Predicate
from ..ir.builder import Rewriter, rewrite
from ..ir.core import Func, Op, Value
from ..ir.ops.elementwise import FTOF
from ..ir.ops.reduction import SCAN

VECTOR_BYTES = 16
"""What a thread loads at once."""
VECTORS = 8
"""The least vectors of a scan that is worth splitting."""


def split_scans(func: Func) -> Func:
    """Split scans wherever the rule above allows."""
    return rewrite(func, _ScanSplitter(structure(func)).visit)


class _ScanSplitter:
    def __init__(self, nesting: Structure) -> None:
        self.nesting = nesting

    def visit(self, r: Rewriter, op: Op) -> Sequence[Value] | None:
        """Append two scans for one."""
        if not op.is_a(SCAN) or len(op.operands) != 1:
            return None
        kind, (combiner,) = op.operands[0].tile, combiners(op)
        vector = self.vector(op.operands[0])
        if combiner is None or combiner.defn.neutral is None or op.attrs["axis"] != kind.rank - 1:
            return None
        *outer, n = kind.shape
        if vector == 1 or n < vector * VECTORS:
            return None
        cut = r.emit("reshape", r.get(op.operands[0]), shape=(*outer, n // vector, vector))
        common = {"identities": identities_of(op)}
        within = r.op(
            "scan", [cut], regions=[r.region(op.regions[0])],
            axis=kind.rank, reverse=op.attrs["reverse"], **common,
        ).result  # fmt: skip
        sums = r.op(
            "reduce", [cut], regions=[r.region(op.regions[0])], axis=kind.rank, **common
        ).result
        before = self.before(r, op, combiner, sums)
        before = r.emit("reshape", before, shape=(*outer, n // vector, 1))
        before = r.emit("broadcast", before, shape=(*outer, n // vector, vector))
        joined = r.op(combiner.name, before, within, **combiner.attrs).result
        return (r.emit("reshape", joined, shape=kind.shape),)

    def vector(self, value: Value) -> int:
        """Return how many elements a thread has loaded at once, if what is scanned was loaded."""
        maker = self.nesting.definer(value)
        while maker is not None and maker.is_a(FTOF):
            value = maker.operands[0]
            maker = self.nesting.definer(value)
        return VECTOR_BYTES // value.tile.dtype.itemsize

    def before(self, r: Rewriter, op: Op, combiner: Op, sums: Value) -> Value:
        """Append the scan of what comes before each vector; of the first one that is neutral."""
        (neutral,) = identities_of(op)
        kind, back = sums.tile, op.attrs["reverse"]
        pairs, last = (*kind.shape, 2), kind.rank
        places = r.emit("iota", size=2, dtype=i32)
        is_empty = r.emit("cmpi", places, r.constant(int(back), i32, (2,)), predicate=Predicate.EQ)
        is_empty = r.emit("reshape", is_empty, shape=(*(1,) * kind.rank, 2))
        is_empty = r.emit("broadcast", is_empty, shape=pairs)
        nothing = r.constant(neutral, kind.dtype, pairs)
        each = r.emit("broadcast", r.emit("reshape", sums, shape=(*kind.shape, 1)), shape=pairs)
        spaced = r.emit("select", is_empty, nothing, each)
        joined = (*kind.shape[:-1], 2 * kind.shape[-1])
        scanned = r.op(
            "scan", [r.emit("reshape", spaced, shape=joined)], regions=[r.region(op.regions[0])],
            axis=kind.rank - 1, reverse=back, identities=(neutral,),
        ).result  # fmt: skip
        kept = r.emit("select", is_empty, r.emit("reshape", scanned, shape=pairs), nothing)
        return r.op(
            "reduce", [kept], regions=[r.region(op.regions[0])], axis=last, identities=(neutral,)
        ).result
