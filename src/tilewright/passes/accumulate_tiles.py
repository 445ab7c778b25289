"""Accumulate tiles in loops, and reduce them once afterwards, instead of in each iteration.

The reassociation of reductions (Rauchwerger and Padua, "The LRPD test", 1995, call the partial
results of each processor private accumulators), with threads as the processors.

Goals: to reduce a tile to a number, the threads of a block exchange numbers through shared memory,
and wait for each other several times. Elements of equal place lie in one thread, so adding tiles
takes no exchange. Order inside a reduction is unspecified, and so is that of the reductions of a
loop whose results are combined by the same op. For targets with threads; before tokens.

Non-goals: accumulators that the loop uses for anything else; loops with products, which need the
registers; more elements than threads have registers for.

Rules (%a is carried by a loop and used once there, %t is a tile, %e the neutral number):

1. Results of reductions are combined by the op of the reduction.
       %r = for ... %i {(%a) %n = reduce %t {addf}; %b = addf %a, %n; continue %b}
    -> %s = for ... %e {(%c) %d = addf %c, %t; continue %d}; %n = reduce %s; %r = addf %i, %n
2. Sums that are scaled before they are added to; %i is zero.
       %r = for ... %i {(%a) %n = reduce %t {addf}; %b = fma %a, %f, %n; continue %b}
    -> %s = for ... %e {(%c) %g = broadcast %f; %d = fma %c, %g, %t; continue %d}; ...
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from ..analysis.structure import Structure, combiners, identities_of, structure, use_counts
from ..ir.builder import Rewriter, rewrite
from ..ir.core import Block, Func, Op, Value
from ..ir.opdef import Trait
from ..ir.ops.control import FOR
from ..ir.ops.elementwise import ADDF, FMA
from ..ir.ops.layout import CONSTANT, RESHAPE
from ..ir.ops.matmul import PRODUCTS
from ..ir.ops.reduction import REDUCE

MOST = 8192
"""Elements of all tiles that one loop accumulates: 64 registers of each of 128 threads."""
LEAST = 4
"""The least elements of a tile for each one of its reduction: one or two threads have fewer."""


def accumulate_tiles(func: Func) -> Func:
    """Accumulate tiles wherever the rules above allow."""
    found = _AccumulatorFinder(func).accumulators()
    return rewrite(func, _Accumulating(found).visit) if found else func


@dataclass(frozen=True, slots=True)
class _Accumulator:
    """What a loop carries, and how each iteration changes it."""

    at: int
    """Its position among the carried values."""
    given: Value
    """What an iteration is given."""
    combined: Op
    """What makes the value of the next iteration."""
    combiner: Op
    """The op inside the reduction."""
    tile: Value
    chain: tuple[Op, ...]
    """What reduces the tile, and lays the result out."""
    scale: Value | None
    neutral: float | int | bool


class _AccumulatorFinder:
    def __init__(self, func: Func) -> None:
        self.func = func
        self.nesting: Structure = structure(func)
        self.uses = use_counts(func)

    def accumulators(self) -> dict[Op, list[_Accumulator]]:
        """Return the accumulators of each loop that are to become tiles."""
        found: dict[Op, list[_Accumulator]] = {}
        for loop in (op for op in self.func.walk() if op.is_a(FOR)):
            room = MOST
            for each in self._of_loop(loop):
                room -= each.tile.tile.size
                if room >= 0:
                    found.setdefault(loop, []).append(each)
        return found

    def _of_loop(self, loop: Op) -> Iterator[_Accumulator]:
        body = loop.regions[0]
        is_simple = len(self.nesting.exits.get(loop, ())) == 1 and not any(
            self.nesting.leaves(loop)
        )
        if not is_simple or any(op.is_a(*PRODUCTS) or op.has(Trait.LOOP) for op in body.walk()):
            return
        for at, (given, last) in enumerate(
            zip(body.args[1:], body.terminator.operands, strict=True)
        ):
            combined = self.nesting.definer(last)
            if combined is None or self.nesting.block.get(combined) is not body:
                continue
            if self.uses[given] != 1 or self.uses[last] != 1 or given not in combined.operands:
                continue
            found = self._accumulator(loop, at, given, combined)
            if found is not None:
                yield found

    def _accumulator(self, loop: Op, at: int, given: Value, combined: Op) -> _Accumulator | None:
        """Return the accumulator by rule 1 or 2, or None."""
        scale = None
        others = [v for v in combined.operands if v is not given]
        if combined.is_a(FMA):
            if given is combined.operands[2] or len(others) != 2 or not self._is_zero(loop, at):
                return None
            scale, reduced = others
        elif combined.has(Trait.ASSOCIATIVE) and len(others) == 1:
            (reduced,) = others
        else:
            return None
        chain = self._chain(reduced)
        reductions = [op for op in chain if op.is_a(REDUCE)]
        if not reductions:
            return None
        makers = [combiners(op)[0] for op in reductions]
        wanted = ADDF if scale is not None else combined.defn
        inner = makers[0]
        if inner is None or any(m is None or not _are_alike(m, inner) for m in makers):
            return None
        if not inner.is_a(wanted) or (scale is None and not _are_alike(inner, combined)):
            return None
        tile = chain[0].operands[0]
        if tile.tile.size < LEAST * max(given.tile.size, 1):
            return None
        (neutral,) = identities_of(reductions[0])
        return _Accumulator(at, given, combined, inner, tile, chain, scale, neutral)

    def _chain(self, value: Value) -> tuple[Op, ...]:
        """Return the reductions and reshapes that make a value, the first of them first."""
        found: list[Op] = []
        while True:
            maker = self.nesting.definer(value)
            if maker is None or not maker.is_a(REDUCE, RESHAPE) or len(maker.operands) != 1:
                break
            found.append(maker)
            value = maker.operands[0]
        while found and found[-1].is_a(RESHAPE):
            found.pop()
        return tuple(reversed(found))

    def _is_zero(self, loop: Op, at: int) -> bool:
        maker = self.nesting.definer(loop.all("init")[at])
        return maker is not None and maker.is_a(CONSTANT) and maker.attrs["value"] == 0


def _are_alike(a: Op, b: Op) -> bool:
    return a.defn is b.defn and a.attrs == b.attrs


class _Accumulating:
    """A copy of the function whose loops carry tiles."""

    def __init__(self, found: dict[Op, list[_Accumulator]]) -> None:
        self.found = found
        self.combined = {each.combined: each for some in found.values() for each in some}

    def visit(self, r: Rewriter, op: Op) -> Sequence[Value] | None:
        """Append a loop with tiles for one of `found`, and what combines tiles inside it."""
        if op in self.combined:
            return (self.combine(r, self.combined[op]),)
        return self.loop(r, op) if op in self.found else None

    def combine(self, r: Rewriter, each: _Accumulator) -> Value:
        """Append what adds a tile to its accumulator."""
        op, given, tile = each.combined, r.get(each.given), r.get(each.tile)
        if each.scale is None:
            return r.op(op.name, given, tile, **op.attrs).result
        scale = _spread(r, r.get(each.scale), each.chain)
        return r.op(op.name, given, scale, tile, **op.attrs).result

    def loop(self, r: Rewriter, op: Op) -> Sequence[Value]:
        """Append a loop that carries tiles, and the reductions of its results."""
        body, some = op.regions[0], self.found[op]
        inits = list(r.many(op.all("init")))
        before = list(inits)
        args = [Value(a.type, a.name) for a in body.args]
        for each in some:
            kind = each.tile.tile
            inits[each.at] = r.constant(each.neutral, kind.dtype, kind.shape)
            args[each.at + 1] = Value(kind, body.args[each.at + 1].name)
        new = Block(tuple(args))
        r.bind(body.args, new.args)
        with r.at(new):
            r.ops(body.ops)
        bounds = [r.get(op.one(name)) for name in ("lower", "upper", "step")]
        kinds = [v.type for v in inits]
        results = tuple(Value(t, v.name) for t, v in zip(kinds, op.results, strict=True))
        made = replace(op, operands=(*bounds, *inits), results=results, regions=(new,))
        r.block.ops.append(made)
        found = list(made.results)
        for each in some:
            found[each.at] = self.reduced(r, each, before[each.at], found[each.at])
        return found

    def reduced(self, r: Rewriter, each: _Accumulator, init: Value, value: Value) -> Value:
        """Append the reductions of an accumulated tile, and its combination with what it began."""
        for op in each.chain:
            regions = [r.region(region) for region in op.regions]
            value = r.put(op, [value], regions).result
        return r.op(each.combiner.name, init, value, **each.combiner.attrs).result


def _spread(r: Rewriter, value: Value, chain: Sequence[Op]) -> Value:
    """Append a tile that has, for each element of a tile, the element of its reduction."""
    for op in reversed(chain):
        shape = op.operands[0].tile.shape
        if op.is_a(REDUCE):
            axis = op.attrs["axis"]
            ones = tuple(1 if k == axis else n for k, n in enumerate(shape))
            value = r.emit("reshape", value, shape=ones)
            value = r.emit("broadcast", value, shape=shape)
        else:
            value = r.emit("reshape", value, shape=shape)
    return value
