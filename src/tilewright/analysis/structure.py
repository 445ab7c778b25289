"""Structure of a function: nesting, definitions and uses of values, guards, memory effects.

A kernel names an identity, and for a sum it is usually 0.0, although -0.0 + 0.0 is 0.0. Where a
single op combines the elements, its exact identity is known (-0.0 for a sum), and no result depends
on the one that was named.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from ..ir.attrs import Predicate
from ..ir.core import Block, Func, Op, Value
from ..ir.opdef import Effect, OpDef, Trait
from ..ir.ops.control import BREAK, CONTINUE, FOR, IF, LEAVE, LOOP, RETURN, SCOPE, YIELD
from ..ir.ops.elementwise import CMPI, NOTI
from ..ir.ops.reduction import REDUCE, SCAN
from ..ir.types import SharedType, TensorType, ViewType

# -------------------------------------------------------------------------------------------------
# Nesting: the op that holds each op, the op that defines each value, the target of each terminator.

TARGETS: dict[OpDef, tuple[OpDef, ...]] = {
    YIELD: (IF, REDUCE, SCAN),
    CONTINUE: (FOR, LOOP),
    BREAK: (FOR, LOOP),
    LEAVE: (SCOPE,),
}
"""Which ops each terminator speaks to: the innermost of these. `return` speaks to the function."""


@dataclass(frozen=True, eq=False)
class Structure:
    """The nesting of one function, by op and by value.

    `owner` of a value is the op it is a result or a region argument of; parameters have none.
    `target` of a terminator is the op it speaks to, and `exits` of an op all that speak to it;
    `return` has no target and is listed in `returns`.
    """

    parent: dict[Op, Op] = field(default_factory=dict[Op, Op])
    block: dict[Op, Block] = field(default_factory=dict[Op, Block])
    owner: dict[Value, Op] = field(default_factory=dict[Value, Op])
    target: dict[Op, Op] = field(default_factory=dict[Op, Op])
    exits: dict[Op, list[Op]] = field(default_factory=dict[Op, list[Op]])
    returns: list[Op] = field(default_factory=list[Op])

    def ancestors(self, op: Op) -> Iterator[Op]:
        """Yield the ops that hold this one, from the inside out."""
        outer = self.parent.get(op)
        while outer is not None:
            yield outer
            outer = self.parent.get(outer)

    def inside(self, value: Value, op: Op) -> bool:
        """Return whether a value is defined in the regions of an op (its own results are not)."""
        owner = self.owner.get(value)
        if owner is None:
            return False
        if owner is op:
            return not any(value is r for r in op.results)
        return any(outer is op for outer in self.ancestors(owner))

    def definer(self, value: Value) -> Op | None:
        """Return the op that defines a value; None for parameters and region arguments."""
        owner = self.owner.get(value)
        return owner if owner is not None and any(value is r for r in owner.results) else None

    def leaves(self, op: Op) -> Iterator[Op]:
        """Yield the terminators inside an op that go somewhere outside it."""
        held = [inner for region in op.regions for inner in region.walk()]
        known = {*held, op}
        for inner in held:
            if inner.defn.terminator and self.target.get(inner) not in known:
                yield inner


def arguments(op: Op) -> tuple[Value, ...]:
    """Return the carried arguments of a loop's body; empty for other ops."""
    if not op.has(Trait.LOOP):
        return ()
    args = op.regions[0].args
    return args[1:] if op.is_a(FOR) else args


def carried(op: Op) -> tuple[Value, ...]:
    """Return the initial values of a loop's carried variables; empty for other ops."""
    return op.all("init") if op.has(Trait.LOOP) else ()


def structure(func: Func) -> Structure:
    """Find out how a function nests."""
    found = Structure()
    _enter(found, func.body, ())
    return found


def _enter(found: Structure, block: Block, outer: tuple[Op, ...]) -> None:
    for op in block.ops:
        found.block[op] = block
        if outer:
            found.parent[op] = outer[-1]
        if op.defn.terminator:
            _aim(found, op, outer)
        for region in op.regions:
            found.owner.update((arg, op) for arg in region.args)
            _enter(found, region, (*outer, op))
        found.owner.update((result, op) for result in op.results)


def _aim(found: Structure, op: Op, outer: tuple[Op, ...]) -> None:
    if op.is_a(RETURN):
        found.returns.append(op)
        return
    target = next(o for o in reversed(outer) if o.is_a(*TARGETS[op.defn]))
    found.target[op] = target
    found.exits.setdefault(target, []).append(op)


def combiners(op: Op) -> tuple[Op | None, ...]:
    """Return, for each input of a reduction or scan, the one op that combines two elements of it.

    None where more than one op does, or elements of other inputs take part.
    """
    (body,) = op.regions
    makers = {result: inner for inner in body.ops for result in inner.results}
    pairs = zip(body.args[::2], body.args[1::2], strict=True)
    found = [makers.get(end) for end in body.terminator.operands]
    return tuple(
        inner if inner is not None and set(inner.operands) == set(pair) else None
        for inner, pair in zip(found, pairs, strict=True)
    )


# -------------------------------------------------------------------------------------------------
# Uses: the number of uses of each value, and the values that a region captures.


def use_counts(func: Func) -> Counter[Value]:
    """Return the number of uses of each value as an operand in the function."""
    return Counter(value for op in func.walk() for value in op.operands)


def captured(*regions: Block) -> tuple[Value, ...]:
    """Return the values read inside regions but defined outside, in order of first use."""
    inner: set[Value] = {arg for region in regions for arg in region.args}
    found: dict[Value, None] = {}
    for region in regions:
        for op in region.walk():
            found.update((value, None) for value in op.operands if value not in inner)
            inner.update(op.results)
            inner.update(arg for nested in op.regions for arg in nested.args)
    return tuple(found)


# -------------------------------------------------------------------------------------------------
# Guards: comparisons that are equivalent to a < b.


def bound_of(nesting: Structure, cond: Value, truth: bool) -> tuple[Value, Value] | None:
    """Return the sides (a, b) of a comparison that is equivalent to a < b, signed, if `truth`."""
    made = nesting.definer(cond)
    if made is not None and made.is_a(NOTI):
        return bound_of(nesting, made.operands[0], not truth)
    if made is None or not made.is_a(CMPI) or not made.operands[0].tile.dtype.is_signed:
        return None
    predicate = Predicate(made.attrs["predicate"])
    predicate = predicate if truth else predicate.negated
    a, b = made.operands
    return {Predicate.LT: (a, b), Predicate.GT: (b, a)}.get(predicate)


# --- identities of reductions and scans --------------------------------------------------------

Number: TypeAlias = float | int | bool


def identities_of(op: Op) -> tuple[Number, ...]:
    """Return the initial values of a reduction or scan, one for each input."""
    found = [_neutral(inner) for inner in combiners(op)]
    given: tuple[Number, ...] = op.attrs["identities"]
    return tuple(g if f is None else f for g, f in zip(given, found, strict=True))


def _neutral(inner: Op | None) -> Number | None:
    """Return the neutral number of an operation on the elements of one input, if it is one."""
    if inner is None or inner.defn.neutral is None:
        return None
    if not inner.attrs.get("nan", True):  # where NaN loses, all others win
        return math.nan
    return inner.defn.neutral(inner.result.tile.dtype)


# --- memory effects of an op -------------------------------------------------------------------

POINTERS = "*"
"""Stands for memory reached through raw pointers, which may be that of any parameter."""
SHARED = "shared "
"""Stands for an array of a block's own memory, with its number behind."""


@dataclass(frozen=True, slots=True)
class MemoryEffects:
    """Names of the parameters read and written; POINTERS among them stands for any memory."""

    reads: frozenset[str] = frozenset()
    writes: frozenset[str] = frozenset()

    def __or__(self, other: MemoryEffects) -> MemoryEffects:
        return MemoryEffects(self.reads | other.reads, self.writes | other.writes)

    @property
    def all(self) -> frozenset[str]:
        """All that is touched."""
        return self.reads | self.writes

    def disturbs(self, place: str) -> bool:
        """Return whether the contents of `place` may differ after these writes."""
        return bool(self.writes) and (
            place in self.writes or POINTERS in self.writes or place == POINTERS
        )


NOTHING = MemoryEffects()


def place_of(op: Op) -> str:
    """Return the parameter that a memory op accesses, or POINTERS."""
    for value in op.operands:
        if isinstance(value.type, ViewType):
            return value.type.tensor.param or POINTERS
        if isinstance(value.type, TensorType):
            return value.type.param or POINTERS
        if isinstance(value.type, SharedType):
            return f"{SHARED}{value.type.number}"
    return POINTERS


def memory_of(op: Op) -> MemoryEffects:
    """Return the memory that an op may read and write, its regions included."""
    own = NOTHING
    if op.defn.effects & (Effect.READ | Effect.WRITE):
        place = frozenset((place_of(op),))
        own = MemoryEffects(
            place if op.defn.effects & Effect.READ else frozenset(),
            place if op.defn.effects & Effect.WRITE else frozenset(),
        )
    return own | memory_of_all(inner for region in op.regions for inner in region.ops)


def memory_of_all(ops: Iterable[Op]) -> MemoryEffects:
    """Return the memory that several ops may read and write."""
    total = NOTHING
    for op in ops:
        total |= memory_of(op)
    return total
