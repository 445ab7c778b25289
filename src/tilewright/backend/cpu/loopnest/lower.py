"""Typed IR to plan: walk control flow, schedule each segment, build its nests."""

from __future__ import annotations

from collections.abc import Callable

from ....base.errors import InternalError
from ....ir.artifact import reporting_ops
from ....ir.core import Block, Func, Op, Value
from ....ir.opdef import CARRIES, Trait
from ....ir.ops.control import PRINT, YIELD
from ....ir.ops.layout import PERMUTE
from ....ir.ops.memory import TOKEN_OPS
from .facts import PlanFacts, collect, is_tile
from .index import Layout, panels
from .legalize import legalize, share_reciprocals
from .materialize import materialize_tiles
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
from .schedule import NestDraft, Segment, State, StepDraft

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
        """Return the statements of a block; what it yields goes to `yields`."""
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
        """Return a terminator: values go to their targets, control goes on."""
        targets = {
            "yield": yields,
            "continue": self.loops[-1] if self.loops else [],
            "break": self.loops[-1] if self.loops else [],
            "leave": self.scopes[-1] if self.scopes else [],
            "return": [],
        }[op.name]
        segment.assign(list(zip(targets, op.operands, strict=True)))
        tail: list[Stmt] = [] if op.is_a(YIELD) else [JumpStmt(op.name, op.span)]
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
        """Return where a carried or yielded value lives."""
        if is_tile(value):
            return self.state.buffer(value, f"it is the result of a {op.name}", op.span)
        if value.tile.rank:
            raise InternalError(f"cannot carry {value.type}")
        return self.state.variable(value.tile.elem)

    def loop_body(self, block: Block, args: tuple[Value, ...], targets: list[Target]) -> list[Stmt]:
        """Return the body of a loop; its arguments are what the targets hold."""
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
    return Repeat(lowering.loop_body(block, block.args, targets), op.span)


def _if(lowering: Lowering, op: Op, targets: list[Target]) -> Stmt:
    then, orelse = (lowering.block(region, targets) for region in op.regions)
    return If(op.one("cond"), then, orelse, op.span)


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
    """Return how many columns of a product are computed together: two vectors."""
    return 2 * vector_bytes // itemsize
