"""Reads large tiles again after a reduction, instead of keeping them in registers until then.

Goals: a row of 32768 elements takes 128 registers of each thread of a block, so one block fills a
multiprocessor, and nothing is loaded while it computes. What is needed again once a reduction has
given its answer (the row itself, differences, exponentials) can be made again from memory, which is
close by: the row has just been read. Then two blocks share a multiprocessor. The same ops on the
same numbers give the same bits. For GPUs, and after `cse`, which undoes it.

Non-goals: tiles below LEAST elements, and blocks with less than SEVERAL reductions, where keeping
the tile was as fast; what needs a product, a branch, a loop or a reduction of large tiles to be
made, memory that the kernel writes, guarded loads; what is used inside regions.

Rules (all ops stand in one block; %s is a reduction of something large, of %y or another one):

1. An op behind a reduction that uses a large tile from before it uses one that is made again.
       %x = load_view ...; %y = ftof %x; %s = reduce %y; mulf %y, ...
    -> %x = load_view ...; %y = ftof %x; %s = reduce %y; %v = load_view ...; %w = ftof %v; mulf %w
2. Small operands are used as they are; nothing is made twice between two reductions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..analysis.structure import Structure, structure
from ..ir.core import Block, Func, Op, Value
from ..ir.rewrite import Rewriter, rewrite
from ..ir.types import TileType

LEAST = 32768
"""Elements from which on a tile is made again."""
SEVERAL = 2
"""Reductions of such tiles in one block, from which on they are."""
PRODUCTS = ("mmaf", "mmai", "mmaf_scaled")


def reread_tiles(func: Func) -> Func:
    """Make large tiles again wherever the rules above allow."""
    return rewrite(func, _Rereader(structure(func)).visit)


def _is_large(value: Value) -> bool:
    return isinstance(value.type, TileType) and value.type.size >= LEAST


def _large(values: Sequence[Value]) -> Iterator[Value]:
    return (v for v in values if _is_large(v))


def _reduces(op: Op) -> bool:
    return op.name in ("reduce", "scan") and any(_large(op.operands))


class _Rereader:
    """Copies the function, and knows behind how many reductions each large tile was made."""

    def __init__(self, nesting: Structure) -> None:
        self.nesting = nesting
        reducing = [nesting.block[op] for op in nesting.block if _reduces(op)]
        self.worth = {block for block in reducing if reducing.count(block) >= SEVERAL}
        self.passed: dict[Block, int] = {}
        """Reductions of large tiles in a block so far."""
        self.made: dict[Value, int] = {}

    def visit(self, r: Rewriter, op: Op) -> None:
        here = self.nesting.block[op]
        if here not in self.worth:
            return
        now = self.passed.setdefault(here, 0)
        for value in _large(op.operands):
            if self.made.get(value, now) < now and self.can_be_made(value, here):
                self.make(r, value, now)
        self.made.update(dict.fromkeys(_large(op.results), now))
        if _reduces(op):
            self.passed[here] += 1

    def can_be_made(self, value: Value, here: Block) -> bool:
        """Whether memory and small values are all that a tile is made of, in this block."""
        maker = self.nesting.definer(value)
        if maker is None or self.nesting.block[maker] is not here:
            return False
        if maker.name == "load_view":
            return not maker.one("view").view.tensor.mutable and maker.maybe("guard") is None
        if not maker.defn.pure or maker.regions or maker.name in PRODUCTS:
            return False
        return all(self.can_be_made(v, here) for v in _large(maker.operands))

    def make(self, r: Rewriter, value: Value, now: int) -> None:
        """Make a tile again, and what it is made of, but for what has just been made."""
        if self.made[value] == now:
            return
        maker = self.nesting.definer(value)
        assert maker is not None, "only what an op has made is made again"
        for operand in _large(maker.operands):
            self.make(r, operand, now)
        r.bind(maker.results, r.put(maker, r.many(maker.operands)).results)
        self.made.update(dict.fromkeys(_large(maker.results), now))
