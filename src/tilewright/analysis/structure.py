"""How a function nests: which op holds which, who defines a value, where each terminator goes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from ..ir.core import Block, Func, Op, Value

LOOPS = ("for", "loop")
CARRIERS = (*LOOPS, "if", "scope")
"""Ops whose results are what their terminators pass on."""

TARGETS: dict[str, tuple[str, ...]] = {
    "yield": ("if", "reduce", "scan"),
    "continue": LOOPS,
    "break": LOOPS,
    "leave": ("scope",),
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
        """The ops that hold this one, from the inside out."""
        outer = self.parent.get(op)
        while outer is not None:
            yield outer
            outer = self.parent.get(outer)

    def inside(self, value: Value, op: Op) -> bool:
        """Whether a value is defined in the regions of an op (its own results are not)."""
        owner = self.owner.get(value)
        if owner is None:
            return False
        if owner is op:
            return not any(value is r for r in op.results)
        return any(outer is op for outer in self.ancestors(owner))

    def definer(self, value: Value) -> Op | None:
        """The op whose result a value is; None for parameters and region arguments."""
        owner = self.owner.get(value)
        return owner if owner is not None and any(value is r for r in owner.results) else None

    def leaves(self, op: Op) -> Iterator[Op]:
        """The terminators inside an op that go somewhere outside it."""
        held = [inner for region in op.regions for inner in region.walk()]
        known = {*held, op}
        for inner in held:
            if inner.defn.terminator and self.target.get(inner) not in known:
                yield inner


def arguments(op: Op) -> tuple[Value, ...]:
    """The carried arguments of a loop's body; nothing for other ops."""
    if op.name not in LOOPS:
        return ()
    args = op.regions[0].args
    return args[1:] if op.name == "for" else args


def carried(op: Op) -> tuple[Value, ...]:
    """The initial values of what a loop carries; nothing for other ops."""
    return op.all("init") if op.name in LOOPS else ()


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
    if op.name == "return":
        found.returns.append(op)
        return
    target = next(o for o in reversed(outer) if o.name in TARGETS[op.name])
    found.target[op] = target
    found.exits.setdefault(target, []).append(op)
