"""Insert memory tokens: plain accesses in, accesses ordered by chains of tokens out.

Tile IR may execute memory accesses in any order; tokens are its dependence edges. This pass builds
the memory dependence graph of a function, as LLVM's MemorySSA does.

Goals: accesses happen in program order where the order is observable, and only there: reads do not
wait for reads, and iterations of a loop that access different tiles do not wait for each other. It
runs last, on the result of `lower_control_flow`.

Non-goals: ordering accesses of memory that the kernel only reads; distinguishing stores by their
values or by index arithmetic; ordering prints and checks, which do not touch the user's memory.

Rules (a chain is a set of accesses that must be ordered among themselves):

1. Each parameter that the kernel writes has a chain, whichever view it is written through, so that
   a new view of it comes after the stores through an old one. Where raw pointers are used they may
   reach any memory: then all of it is one chain. A chain begins with a token at the start.
       store_view %a, %v, %i              ->  %t = make_token; %u = store_view_tko %a, %v, %i, %t
2. A read waits for the last write, a write for the last write and all reads since.
       load; load; store   ->  %a, %s = load %t; %b, %u = load %t; store (join_tokens %s, %u)
3. A branch whose arms access a chain yields its token.
       if %c {store; yield} else {yield}  ->  %u = if %c {%s = store %t; yield %s} else {yield %t}
4. A loop carries the token of each chain that it accesses.
       for ... {store; continue}          ->  for ..., %t {%u = store %a; continue %u}
5. But if all accesses of a chain in the loop are reads, or all use one index along one axis (or
   one tile of a mapped partition) which no two iterations share, then every iteration starts from
   the token before the loop, and the tokens at its ends are joined. In nested loops this applies
   to each level where it holds.
       for ..., %t {%u = store %t; %s = join_tokens %acc, %u; continue %s}
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from ..analysis.ranges import Ranges, ranges
from ..analysis.structure import POINTERS, Structure, memory_of, memory_of_all, place_of, structure
from ..base.dtypes import i32, int_range
from ..ir.builder import Rewriter, with_body
from ..ir.core import Block, Func, Op, Value
from ..ir.opdef import Effect, Trait
from ..ir.ops.control import FOR, LEAVE, TILE_INDEX
from ..ir.ops.elementwise import ADDI, MULI, SUBI
from ..ir.types import TOKEN, ViewType

ACCESS = Effect.READ | Effect.WRITE


def insert_tokens(func: Func) -> Func:
    """Chain the accesses as the rules above say."""
    chains = _Chains.of(func)
    orderer = _Orderer(chains, _Independence(chains, structure(func), ranges(func)))
    r = Rewriter(orderer.visit)
    body = Block()
    with r.at(body):
        for chain in chains.names:
            orderer.places[chain] = _ChainState(r.emit("make_token"))
        r.ops(func.body.ops)
    return with_body(func, body)


@dataclass(frozen=True, slots=True)
class _Chains:
    """The chains of rule 1: which memory is ordered, and by which chain."""

    names: tuple[str, ...]

    @classmethod
    def of(cls, func: Func) -> _Chains:
        memory = memory_of_all(func.body.ops)
        if not memory.writes:
            return cls(())
        # Parameters never alias (launches reject it), so each has its own chain; a raw pointer may
        # alias any of them, which collapses all chains into one. Memory that is only read needs no
        # chain.
        return cls((POINTERS,) if POINTERS in memory.all else tuple(sorted(memory.writes)))

    def of_op(self, op: Op) -> str | None:
        """Return the chain of a single access."""
        if not op.defn.effects & ACCESS or not self.names:
            return None
        if self.names == (POINTERS,):
            return POINTERS
        place = place_of(op)
        return place if place in self.names else None

    def inside(self, op: Op) -> tuple[str, ...]:
        """Return the chains that an op with regions accesses."""
        touched = memory_of(op).all
        if self.names == (POINTERS,):
            return self.names if touched else ()
        return tuple(name for name in self.names if name in touched)


# Rule 5: loops whose iterations are independent.


@dataclass(frozen=True, slots=True)
class _Independence:
    chains: _Chains
    nesting: Structure
    ranges: Ranges

    def holds(self, loop: Op, chain: str) -> bool:
        """Return whether iterations of a loop do not see each other's accesses in a chain."""
        if any(end.is_a(LEAVE) for end in self.nesting.leaves(loop)):
            return False
        accesses = [o for o in loop.regions[0].walk() if self.chains.of_op(o) == chain]
        if not any(o.defn.effects & Effect.WRITE for o in accesses):
            return True
        if not loop.is_a(FOR) or chain == POINTERS:
            return False
        # Independent if all accesses share a key: then each iteration stays in its own slab of the
        # tensor, and slabs of different iterations are disjoint.
        first, *others = (self.keys(loop, access) for access in accesses)
        return bool(first.intersection(*others))

    def keys(self, loop: Op, access: Op) -> frozenset[tuple[object, ...]]:
        """Return the axes along which an access stays in a separate slab in every iteration.

        Slab number `index` along a tensor axis is what lies from index * step to one step further.
        """
        view = next(v.type for v in access.operands if isinstance(v.type, ViewType))
        if view.sparse is not None:
            return frozenset()
        steps = view.step or view.tile
        slabs: dict[tuple[object, ...], Value] = {
            (view.dim_map[k], steps[k], view.frame, index): index
            for k, index in enumerate(access.all("index"))
            # Overlapping tiles (a step smaller than the tile) leave their slab.
            if view.tile[k] <= steps[k]
        }
        alone = {slab for slab, index in slabs.items() if self.varies(loop, index)}
        return frozenset([*alone, *self.together(loop, slabs)])

    def together(
        self, loop: Op, slabs: Mapping[tuple[object, ...], Value]
    ) -> Iterator[tuple[object, ...]]:
        """Yield slabs that intersect in one tile per iteration: a mapped index."""
        parts = {slab: self.part(loop, index) for slab, index in slabs.items()}
        for op in {maker for maker, _ in filter(None, parts.values())}:
            own = {slab: part[1] for slab, part in parts.items() if part and part[0] is op}
            # The coordinates of a mapped tile repeat one by one; only all of them together identify
            # the tile, and `tile_index` is one to one in the tile's number.
            if set(own.values()) == set(op.results) and self.varies(loop, op.one("number")):
                yield ("tile", frozenset(own))

    def part(self, loop: Op, value: Value) -> tuple[Op, Value] | None:
        """Return the index of a mapped partition that a value is a number of, and which number."""
        op = self.nesting.definer(value)
        if op is None or not op.is_a(TILE_INDEX):
            return None
        # The tiles that are counted must be the same in all iterations.
        fixed = not any(self.nesting.inside(v, loop) for v in op.operands[1:])
        return (op, value) if fixed else None

    def varies(self, loop: Op, value: Value) -> bool:
        """Return whether a value differs in any two iterations: it is affine in the counter."""
        if value is loop.regions[0].args[0]:
            return True
        op = self.nesting.definer(value)
        if op is None or not op.is_a(ADDI, SUBI, MULI):
            return False
        pairs = (op.operands, op.operands[::-1])
        # counter + invariant and counter * invariant are injective in the counter (wrapping
        # addition is, multiplication only if it is exact and the factor is not 0).
        parts = [(a, b) for a, b in pairs if not self.nesting.inside(b, loop)]
        if op.is_a(MULI):
            parts = [(a, b) for a, b in parts if self.scales(a, b)]
        return any(self.varies(loop, a) for a, _ in parts)

    def scales(self, value: Value, factor: Value) -> bool:
        """Return whether a product is exact and its factor not zero."""
        a, b = self.ranges.of(value), self.ranges.of(factor)
        products = [x * y for x in a for y in b]
        low, high = int_range(i32)
        nonzero = b.low > 0 or b.high < 0
        return nonzero and low <= min(products) and max(products) <= high


# Rules 2 to 5: tokens.


@dataclass(frozen=True, slots=True)
class _ChainState:
    """How far a chain has come: what reads wait for, the reads since, and, in a loop of
    independent iterations, the token they all start from and that of the iterations before."""

    after: Value
    reads: tuple[Value, ...] = ()
    start: Value | None = None
    rounds: Value | None = None


class _Orderer:
    def __init__(self, chains: _Chains, independence: _Independence) -> None:
        self.chains = chains
        self.independence = independence
        self.places: dict[str, _ChainState] = {}
        self.slots: dict[Op, tuple[str, ...]] = {}

    def visit(self, r: Rewriter, op: Op) -> Sequence[Value] | None:
        chain = self.chains.of_op(op)
        if chain is not None:
            return self.access(r, op, chain)
        if op.defn.terminator:
            return self.terminator(r, op)
        touched = self.chains.inside(op) if op.regions else ()
        if not touched:
            return None
        self.slots[op] = touched
        return self.loop(r, op, touched) if op.has(Trait.LOOP) else self.branch(r, op, touched)

    def access(self, r: Rewriter, op: Op, chain: str) -> Sequence[Value]:
        """Apply rule 2."""
        place = self.places[chain]
        writes = bool(op.defn.effects & Effect.WRITE)
        # Reads wait for the last write only, so they stay unordered among themselves; a write waits
        # for all reads since (anti-dependence).
        token = self.arrived(r, place) if writes else place.after
        given = [r.many(op.all(operand.name)) for operand in op.defn.operands]
        *results, done = r.op(f"{op.name}_tko", *given, token, **op.attrs).results
        if writes:
            self.places[chain] = replace(place, after=done, reads=())
        else:
            self.places[chain] = replace(place, reads=(*place.reads, done))
        return results

    def arrived(self, r: Rewriter, place: _ChainState) -> Value:
        """Return a token for all that was done; reads have waited for the write before them."""
        return self.joined(r, place.reads or (place.after,))

    def joined(self, r: Rewriter, tokens: Sequence[Value]) -> Value:
        return tokens[0] if len(tokens) == 1 else r.emit("join_tokens", tokens)

    def at_end_of_round(self, r: Rewriter, place: _ChainState) -> Value:
        done = self.arrived(r, place)
        if place.rounds is None:
            return done
        # An independent iteration starts from the token before the loop and only adds its own token
        # to the joined tokens of the iterations before.
        return place.rounds if done is place.start else self.joined(r, (place.rounds, done))

    def terminator(self, r: Rewriter, op: Op) -> Sequence[Value] | None:
        target = self.independence.nesting.target.get(op)
        if target is None or target not in self.slots:
            return None
        end = self.at_end_of_round if target.has(Trait.LOOP) else self.arrived
        tokens = [end(r, self.places[chain]) for chain in self.slots[target]]
        r.op(op.name, (*r.many(op.operands), *tokens))
        return ()

    @contextmanager
    def inside(self, places: Mapping[str, _ChainState]) -> Generator[None]:
        outer = self.places
        self.places = {**outer, **places}
        try:
            yield
        finally:
            self.places = outer

    def advance(self, chains: Sequence[str], tokens: Sequence[Value]) -> None:
        for chain, token in zip(chains, tokens, strict=True):
            self.places[chain] = replace(self.places[chain], after=token, reads=())

    def branch(self, r: Rewriter, op: Op, touched: Sequence[str]) -> Sequence[Value]:
        """Apply rule 3, also to scopes."""
        regions: list[Block] = []
        for region in op.regions:
            with self.inside({}):
                regions.append(r.region(region))
        types = (*(v.type for v in op.results), *(TOKEN for _ in touched))
        results = r.op(op.name, *r.many(op.operands), regions=regions, types=types).results
        self.advance(touched, results[len(op.results) :])
        return results[: len(op.results)]

    def loop(self, r: Rewriter, op: Op, touched: Sequence[str]) -> Sequence[Value]:
        """Apply rules 4 and 5."""
        (old,) = op.regions
        before = [self.arrived(r, self.places[chain]) for chain in touched]
        tokens = tuple(Value(TOKEN) for _ in touched)
        new = Block((*(Value(a.type, a.name) for a in old.args), *tokens))
        r.bind(old.args, new.args[: len(old.args)])
        places = {
            # The carried token collects the ends of independent iterations; dependent ones wait for
            # it.
            chain: _ChainState(start, (), start, carried)
            if self.independence.holds(op, chain)
            else _ChainState(carried)
            for chain, start, carried in zip(touched, before, tokens, strict=True)
        }
        with self.inside(places), r.at(new):
            r.ops(old.ops)
        bounds = r.many(op.operands[: len(op.operands) - len(op.all("init"))])
        inits = (*r.many(op.all("init")), *before)
        results = r.op(op.name, *bounds, inits, regions=(new,), **op.attrs).results
        self.advance(touched, results[len(op.results) :])
        return results[: len(op.results)]
