"""Rematerialize large tiles after a reduction, instead of holding them in registers.

The trade of Briggs, Cooper and Torczon ("Rematerialization", 1992), at the level of tiles.

Goals: a row of 32768 f32 elements takes 128 registers of each thread of a block, so one block fills
a multiprocessor, and nothing is loaded while it computes. The tiles used after the reduction (the
row itself, differences, exponentials) are computed a second time: from the elements of half the
size that they were converted from, which stay in registers instead, or from memory, which is in the
cache, as the row has just been read. Then several blocks share a multiprocessor. The same ops on
the same numbers compute the same bits. For GPUs, and after `cse`, which would undo it.

Non-goals: small tiles, which are cheap to hold (below LEAST elements, or below LONG if there is
only one reduction); tiles whose computation needs a product, a branch, a loop or a reduction of
large tiles, memory that the kernel writes, guarded loads; uses inside regions.

Rules (all ops are in one block; %s is a reduction of something large, of %y or another one):

1. An op after a reduction that uses a large tile from before it uses a rematerialized one. Tiles
   loaded with elements of at most half the size of f32 stay in registers.
       %x = load_view ...; %y = ftof %x; %s = reduce %y; mulf %y, ...
    -> %x = load_view ...; %y = ftof %x; %s = reduce %y; %w = ftof %x; mulf %w
2. Elements that are not converted from such tiles are loaded a second time, if tiles have LONG
   elements or more and there are SEVERAL reductions: otherwise holding them was as fast.
       %x = load_view ...; %y = mulf %x, ...; %s = reduce %y; mulf %y, ...
    -> %x = load_view ...; %y = mulf %x, ...; %s = reduce %y; %v = load_view ...; %w = mulf %v, ...
3. Small operands are used as they are; nothing is computed twice between two reductions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..analysis.structure import Structure, structure
from ..base.dtypes import f32
from ..ir.builder import Rewriter, rewrite
from ..ir.core import Block, Func, Op, Value
from ..ir.ops.matmul import PRODUCTS
from ..ir.ops.memory import LOAD_VIEW
from ..ir.ops.reduction import REDUCE, SCAN
from ..ir.types import TileType

LEAST, LONG = 16384, 32768
"""The least elements of a rematerialized tile, with several reductions, or with one."""
SEVERAL = 2
"""Reductions of such tiles in one block that are several."""
NARROW = f32.itemsize // 2
"""Bytes of elements that are kept."""


def rematerialize(func: Func) -> Func:
    """Rematerialize large tiles wherever the rules above allow."""
    return rewrite(func, _Remaker(structure(func)).visit)


def _is_large(value: Value) -> bool:
    return isinstance(value.type, TileType) and value.type.size >= LEAST


def _large(values: Sequence[Value]) -> Iterator[Value]:
    return (v for v in values if _is_large(v))


def _is_kept(maker: Op) -> bool:
    """Return whether an op loads a tile so narrow that it stays in registers."""
    return maker.is_a(LOAD_VIEW) and maker.results[0].tile.dtype.itemsize <= NARROW


def _is_there(load: Op) -> bool:
    """Return whether memory still holds the loaded value."""
    return not load.one("view").view.tensor.mutable and load.maybe("guard") is None


def _reduces(op: Op) -> bool:
    return op.is_a(REDUCE, SCAN) and any(_large(op.operands))


class _Remaker:
    """A copy of the function that knows the number of reductions before each large tile."""

    def __init__(self, nesting: Structure) -> None:
        self.nesting = nesting
        self.reducing = [nesting.block[op] for op in nesting.block if _reduces(op)]
        self.passed: dict[Block, int] = {}
        """Reductions of large tiles in a block so far."""
        self.made: dict[Value, int] = {}

    def visit(self, r: Rewriter, op: Op) -> None:
        here = self.nesting.block[op]
        if here not in self.reducing:
            return
        now = self.passed.setdefault(here, 0)
        for value in _large(op.operands):
            # The tile was computed before an earlier reduction and would be live across it.
            if self.made.get(value, now) < now and self.can_be_made(value, here):
                self.make(r, value, now)
        self.made.update(dict.fromkeys(_large(op.results), now))
        if _reduces(op):
            self.passed[here] += 1

    def can_be_made(self, value: Value, here: Block) -> bool:
        """Return whether a tile can be rematerialized from live tiles, memory and small values."""
        maker = self.nesting.definer(value)
        # A tile from another block would be recomputed in each iteration, or under another guard.
        if maker is None or self.nesting.block[maker] is not here:
            return False
        if maker.is_a(LOAD_VIEW):
            return self.is_worth(maker, here) and (_is_kept(maker) or _is_there(maker))
        if not maker.defn.pure or maker.regions or maker.is_a(*PRODUCTS):
            return False
        return all(self.can_be_made(v, here) for v in _large(maker.operands))

    def is_worth(self, load: Op, here: Block) -> bool:
        """Return whether two of three hold: it is half in size, needed several times, very long."""
        several = self.reducing.count(here) >= SEVERAL
        return _is_kept(load) + several + (load.results[0].tile.size >= LONG) >= 2

    def make(self, r: Rewriter, value: Value, now: int) -> None:
        """Rematerialize a tile and its operands, except for those kept or just rematerialized."""
        maker = self.nesting.definer(value)
        assert maker is not None, "only the result of an op is rematerialized"
        # Narrow tiles stay in registers and are the leaves of the recomputation.
        if self.made[value] == now or _is_kept(maker):
            return
        for operand in _large(maker.operands):
            self.make(r, operand, now)
        r.bind(maker.results, r.put(maker, r.many(maker.operands)).results)
        self.made.update(dict.fromkeys(_large(maker.results), now))
