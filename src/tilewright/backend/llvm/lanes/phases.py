"""A kernel cut at its barriers: what the threads of a block do between two of them is a phase.

A phase runs for one group of threads after the other. What holds a barrier is control flow of the
whole block: all threads take the same way there, so it is written once for all of them. So are
jumps to its ends. Phases may be cut further, since nothing orders threads but barriers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from ....analysis.structure import LOOPS, Structure, arguments, carried
from ....analysis.uniformity import Uniformity
from ....ir.core import Block, Func, Op, Value, walk


@dataclass(eq=False, slots=True)
class Phase:
    """Ops that every group runs on its own, then what is passed on, then perhaps a jump."""

    ops: list[Op] = field(default_factory=list[Op])
    moves: list[tuple[Value, Value]] = field(default_factory=list[tuple[Value, Value]])
    """Values, and the results and arguments of control flow that they become."""
    jump: Op | None = None

    @property
    def returns(self) -> bool:
        """Whether threads may return in it."""
        return any(inner.name == "return" for inner in self.walk())

    def walk(self) -> Iterator[Op]:
        """All its ops, those in regions included."""
        return walk(self.ops)


@dataclass(eq=False, slots=True)
class Together:
    """Control flow of the whole block: an `if`, a loop or a scope, with its regions cut."""

    op: Op
    regions: list[list[Node]]
    over: Phase
    """What a `for` passes on when its rounds are over."""
    walks: bool = False
    """Whether it is a loop that does little but go over memory, and holds no barrier."""

    @property
    def sole_phase(self) -> Phase | None:
        """All that a round of a loop over memory does, if each of its rounds does all of it."""
        nodes = self.regions[0]
        if not self.walks or len(nodes) != 1 or not isinstance(nodes[0], Phase):
            return None
        end = nodes[0].jump
        return nodes[0] if end is not None and end.name == "continue" else None


Node: TypeAlias = Phase | Together


SMALL = 48
"""A loop with more ops has enough to do with what it reads."""
FEW = 4
"""A loop that carries more is better off with registers."""
STREAMED = ("load_slice", "store_slice", "load_ptr", "store_ptr")


def cut(func: Func, facts: Uniformity, nesting: Structure, *, several: bool) -> list[Node]:
    """The phases of a kernel, and the control flow around them.

    `facts` are about blocks, which have `several` groups or one.
    """
    meetings = [op for op in func.walk() if op.name == "sync_threads"]
    leaving = [op for op in func.walk() if op.name == "return" and not parts(op, facts, nesting)]
    found = {outer for op in (*meetings, *leaving) for outer in nesting.ancestors(op)}
    found = _closed(found, func, nesting)
    walks: set[Op] = set()
    if several:
        walking = [op for op in func.walk() if op not in found and _walks_memory(op, facts)]
        walks = {op for op in walking if all(o in found for o in nesting.ancestors(op))}
    nodes = _cut(func.body, _closed(found | walks, func, nesting), nesting)
    for node in togethers(nodes):
        node.walks = node.op in walks
    return nodes


def _walks_memory(op: Op, facts: Uniformity) -> bool:
    """Whether a loop does little but go over long memory, all threads side by side.

    Group after group, the memory of a round comes in order; in a loop of each group it would come
    in pieces, and all of it again for the next group.
    """
    if op.name != "for" or op in facts.uneven:
        return False
    held = list(op.regions[0].walk())
    plain = not any(o.name in (*LOOPS, "return") for o in held) and len(held) <= SMALL
    few = sum(facts.varies(arg) for arg in arguments(op)) <= FEW
    streams = any(o.name in STREAMED and _is_apart(o, facts) for o in held)
    return plain and few and streams


def _is_apart(op: Op, facts: Uniformity) -> bool:
    """Whether threads access different elements."""
    return any(facts.varies(v) for v in op.operands)


def _closed(found: set[Op], func: Func, nesting: Structure) -> set[Op]:
    """Together with all that jumps out of, or to the next round of, one of them."""
    while True:
        before = len(found)
        for op in func.walk():
            if op.defn.terminator and nesting.target.get(op) in found:
                found.update(_up_to(nesting.ancestors(op), nesting.target[op]))
        if len(found) == before:
            return found


def parts(op: Op, facts: Uniformity, nesting: Structure) -> bool:
    """Whether only some of the threads that run may get to an op."""
    return any(
        facts.varies(outer.one("cond")) if outer.name == "if" else outer in facts.uneven
        for outer in nesting.ancestors(op)
    )


def _up_to(ops: Iterable[Op], last: Op) -> Iterator[Op]:
    for op in ops:
        if op is last:
            return
        yield op


def _cut(block: Block, of_block: set[Op], nesting: Structure) -> list[Node]:
    nodes: list[Node] = []
    open_ = Phase()

    def end(jump: Op | None = None) -> None:
        nonlocal open_
        open_.jump = jump
        if open_.ops or open_.moves or jump is not None:
            nodes.append(open_)
        open_ = Phase()

    for op in block.ops[:-1]:
        if op in of_block:
            open_.moves += zip(carried(op), arguments(op), strict=True)
            end()
            regions = [_cut(region, of_block, nesting) for region in op.regions]
            over = Phase(moves=list(zip(arguments(op), op.results, strict=False)))
            nodes.append(Together(op, regions, over))
        elif op.name == "sync_threads":
            end()
        else:
            open_.ops.append(op)
    open_.moves += _passed(block.terminator, nesting)
    end(block.terminator)
    return nodes


def _passed(end: Op, nesting: Structure) -> Iterator[tuple[Value, Value]]:
    """What a terminator passes on, and to whom."""
    target = nesting.target.get(end)
    if target is not None:
        taken = arguments(target) if end.name == "continue" else target.results
        yield from zip(end.operands, taken, strict=True)


def phases(nodes: Sequence[Node]) -> Iterator[Phase]:
    """All phases, in order."""
    for node in nodes:
        if isinstance(node, Phase):
            yield node
        else:
            for region in node.regions:
                yield from phases(region)
            yield node.over


def togethers(nodes: Sequence[Node]) -> Iterator[Together]:
    """All control flow of the whole block, in order."""
    for node in nodes:
        if isinstance(node, Together):
            yield node
            for region in node.regions:
                yield from togethers(region)
