"""Rematerializes large tiles after a reduction, instead of holding them in registers until then.

Goals: a row of 32768 elements, as f32, takes 128 registers of each thread of a block, so one block
fills a multiprocessor, and nothing is loaded while it computes. What is needed again once a
reduction has given its answer (the row itself, differences, exponentials) can be made again: from
elements of half the size that it was converted from, which are kept instead, or from memory, which
is close by, for the row has just been read. Then several blocks share a multiprocessor. The same
ops on the same numbers give the same bits. For GPUs, and after `cse`, which undoes it.

Non-goals: tiles that are small, and so cheap to keep (below LEAST elements, or below LONG where
there is one reduction only); what needs a product, a branch, a loop or a reduction of large tiles
to be made, memory that the kernel writes, guarded loads; what is used inside regions.

Rules (all ops stand in one block; %s is a reduction of something large, of %y or another one):

1. An op behind a reduction that uses a large tile from before it uses one that is made again. What
   was loaded with elements of at most half of f32 is kept.
       %x = load_view ...; %y = ftof %x; %s = reduce %y; mulf %y, ...
    -> %x = load_view ...; %y = ftof %x; %s = reduce %y; %w = ftof %x; mulf %w
2. Elements that are not converted from such are read again, if tiles have LONG elements or more and
   there are SEVERAL reductions: keeping them was as fast otherwise.
       %x = load_view ...; %y = mulf %x, ...; %s = reduce %y; mulf %y, ...
    -> %x = load_view ...; %y = mulf %x, ...; %s = reduce %y; %v = load_view ...; %w = mulf %v, ...
3. Small operands are used as they are; nothing is made twice between two reductions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..analysis.structure import Structure, structure
from ..base.dtypes import f32
from ..ir.core import Block, Func, Op, Value
from ..ir.ops.matmul import PRODUCTS
from ..ir.ops.memory import LOAD_VIEW
from ..ir.ops.reduction import REDUCE, SCAN
from ..ir.rewrite import Rewriter, rewrite
from ..ir.types import TileType

LEAST, LONG = 16384, 32768
"""Elements from which on a tile is made again, where there are several reductions, or one."""
SEVERAL = 2
"""Reductions of such tiles in one block that are several."""
NARROW = f32.itemsize // 2
"""Bytes of elements that are kept."""


def rematerialize(func: Func) -> Func:
    """Make large tiles again wherever the rules above allow."""
    return rewrite(func, _Remaker(structure(func)).visit)


def _is_large(value: Value) -> bool:
    return isinstance(value.type, TileType) and value.type.size >= LEAST


def _large(values: Sequence[Value]) -> Iterator[Value]:
    return (v for v in values if _is_large(v))


def _is_kept(maker: Op) -> bool:
    """Whether an op loads a tile that takes so few registers that it is not made again."""
    return maker.is_a(LOAD_VIEW) and maker.results[0].tile.dtype.itemsize <= NARROW


def _is_there(load: Op) -> bool:
    """Whether memory still holds what was loaded."""
    return not load.one("view").view.tensor.mutable and load.maybe("guard") is None


def _reduces(op: Op) -> bool:
    return op.is_a(REDUCE, SCAN) and any(_large(op.operands))


class _Remaker:
    """Copies the function, and knows behind how many reductions each large tile was made."""

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
            if self.made.get(value, now) < now and self.can_be_made(value, here):
                self.make(r, value, now)
        self.made.update(dict.fromkeys(_large(op.results), now))
        if _reduces(op):
            self.passed[here] += 1

    def can_be_made(self, value: Value, here: Block) -> bool:
        """Whether kept tiles, memory and small values are all that a tile is made of, here."""
        maker = self.nesting.definer(value)
        if maker is None or self.nesting.block[maker] is not here:
            return False
        if maker.is_a(LOAD_VIEW):
            return self.is_worth(maker, here) and (_is_kept(maker) or _is_there(maker))
        if not maker.defn.pure or maker.regions or maker.is_a(*PRODUCTS):
            return False
        return all(self.can_be_made(v, here) for v in _large(maker.operands))

    def is_worth(self, load: Op, here: Block) -> bool:
        """Whether two of three hold: it is half in size, needed several times, very long."""
        several = self.reducing.count(here) >= SEVERAL
        return _is_kept(load) + several + (load.results[0].tile.size >= LONG) >= 2

    def make(self, r: Rewriter, value: Value, now: int) -> None:
        """Make a tile again, and what it is made of, but for what is kept or has just been made."""
        maker = self.nesting.definer(value)
        assert maker is not None, "only the result of an op is rematerialized"
        if self.made[value] == now or _is_kept(maker):
            return
        for operand in _large(maker.operands):
            self.make(r, operand, now)
        r.bind(maker.results, r.put(maker, r.many(maker.operands)).results)
        self.made.update(dict.fromkeys(_large(maker.results), now))
