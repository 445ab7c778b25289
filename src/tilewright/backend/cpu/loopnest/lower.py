"""Typed IR to plan: walk control flow, schedule segments, materialize tiles, build nests.

A tile that later segments need, or that several nests would compute, gets a buffer unless
rematerializing it is cheaper than reading it back. So does a tile of which one nest needs several
elements per iteration: fused into each other, such tiles would be computed exponentially often. If
a cheap tile is rematerialized, the demand passes on to its operands.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from ....base.errors import InternalError
from ....ir.artifact import reporting_ops
from ....ir.core import Block, Func, Op, Value
from ....ir.opdef import CARRIES, Trait
from ....ir.ops.control import PRINT, YIELD
from ....ir.ops.layout import PERMUTE
from ....ir.ops.memory import TOKEN_OPS
from . import facts as kinds
from .facts import PlanFacts, collect, is_read_only, is_tile, squeezed
from .index import Layout, panels
from .legalize import MATMUL, legalize, share_reciprocals
from .nest import build_nest, build_scalar, needs_nest
from .nodes import (
    For,
    Get,
    If,
    JumpStmt,
    Matmul,
    Plan,
    Print,
    Repeat,
    ScalarStmt,
    ScopeStmt,
    Stmt,
    TileBuffer,
    Transpose,
    Variable,
)
from .schedule import Keep, Key, NestDraft, Segment, State, StepDraft, draft, is_packed, sink_values

# --- decide which lazy tiles of a scheduled segment are materialized ---------------------------

MOST_COPIES = 4
"""The most elements of a tile per iteration of a nest before the tile gets a buffer."""

Reindexing: TypeAlias = tuple[Op, ...]
"""The layout ops between an element of a nest and an element of a tile, the latter's user first."""


def _needs_buffer(user: Op, value: Value) -> bool:
    """Return whether an op works on a tile in memory; an accumulator is copied there anyway."""
    return user.is_a(PRINT) or (user.is_a(MATMUL) and value in user.operands[:2])


def materialize_tiles(segment: Segment) -> None:
    """Add the missing `Keep` sinks to a segment."""
    _keep_what_leaves(segment)
    _keep_what_is_shared(segment)


def _keep_what_leaves(segment: Segment) -> None:
    facts = segment.facts
    needed: list[Value] = []
    leaves: set[Value] = set()
    for op in reversed(_lazy_ops(segment)):
        value = op.result
        outside = [user for user in facts.users_of(value) if user not in segment.members]
        if not outside and value not in leaves:
            continue
        if any(_needs_buffer(user, value) for user in outside) or not recomputed(op, facts):
            needed.append(value)
        else:
            # It is rematerialized outside; its operands are needed there in its place.
            leaves.update(v for v in op.operands if is_tile(v))
    for value in reversed(needed):
        why = "it is used in another part of the program"
        layout = segment.state.panels(value) if is_packed(value, facts) else None
        segment.force(value, why, layout)


def recomputed(op: Op, facts: PlanFacts) -> bool:
    """Return whether a tile is rematerialized at each use, in other segments too."""
    if kinds.is_transparent(op):
        return True
    if facts.cost(op.result) > kinds.CHEAP:
        return False
    if op.is_a(*kinds.READS):
        return is_read_only(op, facts)
    return all(not facts.is_lazy(v) or recomputed(facts.definition[v], facts) for v in op.operands)


def _lazy_ops(segment: Segment) -> list[Op]:
    """Return the lazy ops, except those that got a buffer while scheduling."""
    lazy = [op for op in segment.ops if any(segment.facts.is_lazy(v) for v in op.results)]
    placed = segment.state.buffers.keys() - segment.kept.keys()
    return [op for op in lazy if op.result not in placed]


def _keep_what_is_shared(segment: Segment) -> None:
    """Visit uses before definitions: all demand of a tile is known when it is decided on."""
    # `demand` has the nests that compute a tile; `copies` the distinct index mappings under which
    # one iteration of a nest needs its elements.
    demand = _direct_demand(segment)
    copies: dict[Value, set[Reindexing]] = {value: {()} for value in demand}
    drafts = {step.key: step for step in segment.steps if isinstance(step, NestDraft)}
    for op in reversed(_lazy_ops(segment)):
        value = op.result
        keys, elements = demand.get(value, set()), copies.get(value, {()})
        if value in segment.kept:
            home = segment.kept[value]
            # Nests after the materialization read the buffer; only earlier ones still compute the
            # tile.
            keys, elements = {home, *(key for key in keys if key <= home)}, {()}
        elif keys and _is_worth_keeping(op, segment.facts):
            several = len(elements) > MOST_COPIES
            if several or len(keys) > 1:
                home = _keep(segment, value, drafts[min(keys)], drafts, before=several)
                keys, elements = {home}, {()}
        through = {(op, *each) for each in elements} if op.has(Trait.REARRANGES) else elements
        for operand in op.operands:
            if is_tile(operand):
                demand.setdefault(operand, set()).update(keys)
                copies.setdefault(operand, set()).update(through)


def _is_worth_keeping(op: Op, facts: PlanFacts) -> bool:
    return not kinds.is_transparent(op) and facts.cost(op.result) > kinds.CHEAP


def _direct_demand(segment: Segment) -> dict[Value, set[Key]]:
    demand: dict[Value, set[Key]] = {}
    for step in segment.steps:
        if isinstance(step, StepDraft):
            continue
        for value in (v for sink in step.sinks for v in sink_values(sink)):
            if is_tile(value):
                demand.setdefault(value, set()).add(step.key)
    return demand


def _keep(
    segment: Segment, value: Value, first: NestDraft, drafts: dict[Key, NestDraft], *, before: bool
) -> Key:
    """Keep a tile in the first nest that computes it, or in a new one just before.

    It must be a new one (`before`) where that nest needs other elements than the one at hand.
    """
    op = segment.facts.definition[value]
    buffer = segment.state.buffer(value, "several loops use it", op.span)
    sink = Keep(value, buffer)
    # The first nest that computes the tile can also write it; no separate loop is needed.
    if not (before or first.exclusive) and first.dims == squeezed(value.tile.shape):
        first.sinks.append(sink)
        home = first.key
    else:
        step = segment.steps[first.key[0]]
        home = (first.key[0], -1 - len(step.before))
        new = draft(sink, home)
        step.before.insert(0, new)
        drafts[home] = new
    segment.state.buffers[value] = buffer
    segment.kept[value] = home
    return home


# --- typed IR to plan --------------------------------------------------------------------------

Target = TileBuffer | Variable
FIRST = -(1 << 30)
"""Sorts before every nest of a step."""


class Lowering:
    """The lowering of one function to plan statements."""

    def __init__(
        self, facts: PlanFacts, lane_bytes: int, panel: Callable[[Value], Layout], *, in_order: bool
    ) -> None:
        self.facts = facts
        self.lane_bytes = lane_bytes
        self.state = State(facts, panel)
        self.in_order = in_order
        """Whether ops keep their order: SIMT threads have only scalars, and synchronize."""
        self.loops: list[list[Target]] = []
        self.scopes: list[list[Target]] = []

    # Straight runs.

    def block(self, block: Block, yields: list[Target]) -> list[Stmt]:
        """Lower a block to statements; yielded values go to `yields`."""
        body: list[Stmt] = []
        start = 0
        for number, op in enumerate(block.ops):
            if not op.has(CARRIES) and not op.defn.terminator:
                continue
            if self.in_order:
                for inner in block.ops[start:number]:
                    body += self.alone(inner)
                start = number
            segment = Segment(self.state, block.ops[start : number + 1])
            for inner in block.ops[start:number]:
                segment.add(inner)
            body += self.region(op, segment) if op.regions else self.jump(op, segment, yields)
            start = number + 1
        return body

    def alone(self, op: Op) -> list[Stmt]:
        """Return an op that neither overtakes another nor is overtaken."""
        segment = Segment(self.state, [op])
        segment.add(op)
        return self.finish(segment)

    def finish(self, segment: Segment) -> list[Stmt]:
        """Return the statements of a scheduled segment."""
        materialize_tiles(segment)
        body: list[Stmt] = []
        for number in range(len(segment.steps) + 1):
            for op in segment.early[number]:
                body += self.scalar(op, segment, number)
            if number == len(segment.steps):
                break
            step = segment.steps[number]
            for nest in step.before:
                body += build_nest(self.state, segment.kept, nest, self.lane_bytes)
            body += self.step(step, segment)
        return [*body, *segment.late]

    def scalar(self, op: Op, segment: Segment, number: int) -> list[Stmt]:
        """Return a scalar op."""
        if needs_nest(op):
            return build_scalar(self.state, segment.kept, (number, FIRST), op)
        return [ScalarStmt(op)]

    def step(self, step: NestDraft | StepDraft, segment: Segment) -> list[Stmt]:
        """Return a nest, a multiply or a print."""
        if isinstance(step, NestDraft):
            return build_nest(self.state, segment.kept, step, self.lane_bytes)
        buffers = self.state.buffers
        if step.op.is_a(PRINT):
            return [Print(step.op, tuple(buffers.get(v, v) for v in step.args))]
        if step.op.is_a(PERMUTE):
            source, target = (buffers[v] for v in step.args)
            return [Transpose(source, target, step.op.attrs["order"])]
        lhs, rhs, result = (buffers[v] for v in step.args)
        return [Matmul(lhs, rhs, result, step.op.span)]

    def jump(self, op: Op, segment: Segment, yields: list[Target]) -> list[Stmt]:
        """Lower a terminator: assign values to their targets, and jump."""
        targets = {
            "yield": yields,
            "continue": self.loops[-1] if self.loops else [],
            "break": self.loops[-1] if self.loops else [],
            "leave": self.scopes[-1] if self.scopes else [],
            "return": [],
        }[op.name]
        segment.assign(list(zip(targets, op.operands, strict=True)))
        tail: list[Stmt] = [] if op.is_a(YIELD) else [JumpStmt(op.name)]
        return [*self.finish(segment), *tail]

    # Ops with bodies.

    def region(self, op: Op, segment: Segment) -> list[Stmt]:
        """Return an op with bodies, after the run before it."""
        targets = [self.target(v, op) for v in op.results]
        if op.has(Trait.LOOP):
            segment.assign(list(zip(targets, op.all("init"), strict=True)))
        before = self.finish(segment)
        after: list[Stmt] = []
        for value, target in zip(op.results, targets, strict=True):
            if isinstance(target, Variable):
                after.append(Get(value, target))
            else:
                self.state.buffers[value] = target
        return [*before, BODIES[op.name](self, op, targets), *after]

    def target(self, value: Value, op: Op) -> Target:
        """Return the location of a carried or yielded value."""
        if is_tile(value):
            return self.state.buffer(value, f"it is the result of a {op.name}", op.span)
        if value.tile.rank:
            raise InternalError(f"cannot carry {value.type}")
        return self.state.variable(value.tile.elem)

    def loop_body(self, block: Block, args: tuple[Value, ...], targets: list[Target]) -> list[Stmt]:
        """Lower the body of a loop, whose arguments are read from the targets."""
        gets: list[Stmt] = []
        for arg, target in zip(args, targets, strict=True):
            if isinstance(target, Variable):
                gets.append(Get(arg, target))
            else:
                self.state.buffers[arg] = target
                self.state.carried[arg] = target
        self.loops.append(targets)
        body = self.block(block, [])
        self.loops.pop()
        return [*gets, *body]


def _for(lowering: Lowering, op: Op, targets: list[Target]) -> Stmt:
    (block,) = op.regions
    iv, *carried = block.args
    return For(op, iv, lowering.loop_body(block, tuple(carried), targets))


def _loop(lowering: Lowering, op: Op, targets: list[Target]) -> Stmt:
    (block,) = op.regions
    return Repeat(lowering.loop_body(block, block.args, targets))


def _if(lowering: Lowering, op: Op, targets: list[Target]) -> Stmt:
    then, orelse = (lowering.block(region, targets) for region in op.regions)
    return If(op.one("cond"), then, orelse)


def _scope(lowering: Lowering, op: Op, targets: list[Target]) -> Stmt:
    lowering.scopes.append(targets)
    body = lowering.block(op.regions[0], [])
    lowering.scopes.pop()
    return ScopeStmt(body)


BODIES: dict[str, Callable[[Lowering, Op, list[Target]], Stmt]] = {
    "for": _for, "loop": _loop, "if": _if, "scope": _scope,
}  # fmt: skip


def lower(func: Func, lane_bytes: int, vector_bytes: int) -> Plan:
    """Return the plan of a function, with buffers that have no place yet."""
    for op in func.walk():
        if op.is_a(*TOKEN_OPS):
            raise InternalError(f"`{op.name}` orders memory for a GPU; a CPU keeps program order")
    legal = share_reciprocals(legalize(func))

    def panel(value: Value) -> Layout:
        tile = value.tile
        return panels(tile.shape, panel_width(tile.dtype.itemsize, vector_bytes))

    in_order = func.signature.block is not None
    lowering = Lowering(collect(legal), lane_bytes, panel, in_order=in_order)
    body = lowering.block(legal.body, [])
    sites = {op: number for number, op in enumerate(reporting_ops(legal))}
    return Plan(func, legal.params, body, sites)


def panel_width(itemsize: int, vector_bytes: int) -> int:
    """Return the number of columns of a product that are computed together: two vectors."""
    return 2 * vector_bytes // itemsize
