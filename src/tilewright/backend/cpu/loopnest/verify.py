"""Verify a well-formed plan before code is generated from it."""

from __future__ import annotations

from .buffers import interference
from .index import Index, Layout, Loop, NeedSplit, check_sizes, offset, panels, row_major
from .nodes import (
    AtomicPointer,
    Combine,
    Effect,
    Matmul,
    Nest,
    Plan,
    Read,
    ReadBuffer,
    ReadView,
    Reg,
    SharedStmt,
    TileBuffer,
    Transpose,
    WriteBuffer,
    WriteView,
    operands_of,
    walk,
    writes_of,
)


class InvalidPlan(Exception):  # noqa: N818 - names the thing, as InvalidIR does
    """A plan that breaks its own rules: a bug in the planner."""


def verify_plan(plan: Plan) -> None:
    """Reject a plan that is not well formed."""
    for statement in walk(plan.body):
        match statement:
            case Nest():
                _nest(statement)
            case Matmul():
                _matmul(statement)
            case Transpose():
                _transpose(statement)
            case SharedStmt():
                _shared(statement)
            case _:
                pass
    _places(plan)


def _need(ok: bool, message: str) -> None:
    if not ok:
        raise InvalidPlan(message)


def _nest(nest: Nest) -> None:
    lane, step = nest.lane_loop, nest.lanes * nest.unroll
    _need(lane is None or lane.size % step == 0, "lanes do not divide the last loop")
    jammed = nest.loops[-2].size if len(nest.loops) > 1 else 1
    _need(jammed % nest.jam == 0, "steps side by side do not divide their loop")
    known: set[Reg] = set()
    for read in nest.reads:
        _operands(read, known)
        _index(read, nest.loops)
        known.add(read.result)
        _need(read.result.loops <= set(nest.loops), "a register depends on a foreign loop")
    for effect in nest.effects:
        _operands(effect, known)
        _index(effect, nest.loops)


def _operands(statement: Read | Effect, known: set[Reg]) -> None:
    for operand in operands_of(statement):
        unset = isinstance(operand, Reg) and operand not in known
        _need(not unset, f"{type(statement).__name__} reads a register before it is set")


def _index(statement: object, loops: tuple[Loop, ...]) -> None:
    match statement:
        case ReadBuffer():
            _fits(statement.index, statement.buffer.layout, statement.buffer)
        case WriteBuffer() if statement.part is None:
            _fits(statement.index, statement.buffer.layout, statement.buffer)
        case ReadView() | WriteView():
            check_sizes(statement.index, statement.access.view.tile)
        case Combine():
            _need(set(statement.loops) <= set(loops), "a reduction over foreign loops")
        case AtomicPointer() if isinstance(statement.target, TileBuffer):
            _fits(statement.index, statement.target.layout, statement.target)
        case _:
            pass


def _fits(index: Index, layout: Layout, buffer: TileBuffer) -> None:
    try:
        check_sizes(index, buffer.shape)
        offset(index, layout)
    except (NeedSplit, ValueError, IndexError) as error:
        raise InvalidPlan(f"{buffer.name}: {error}") from None


def _matmul(step: Matmul) -> None:
    lhs, rhs, result = step.lhs, step.rhs, step.result
    _need(lhs.elem == rhs.elem == result.elem, "a multiply of mixed element types")
    _need(lhs.shape[-1] == rhs.shape[-2], "a multiply whose inner extents differ")
    wanted = (*lhs.shape[:-1], rhs.shape[-1])
    _need(result.shape == wanted, f"a multiply into {result.shape}, expected {wanted}")
    for name, buffer in (("left side", lhs), ("result", result)):
        plain = buffer.layout == row_major(buffer.shape)
        _need(plain, f"a multiply whose {name} {buffer.name} is not row-major")
    width = rhs.layout[-1][-1].size
    packed = rhs.layout == panels(rhs.shape, width)
    _need(packed, f"a multiply whose right side {rhs.name} is neither row-major nor in panels")


def _transpose(step: Transpose) -> None:
    source, target = step.source, step.target
    _need(source.layout == row_major(source.shape), "a tile that is turned is not row-major")
    wanted = tuple(source.shape[k] for k in step.order)
    _need(target.shape == wanted, f"a tile turned into {target.shape}, expected {wanted}")
    _need(source.elem == target.elem, "a tile that is turned changes its element type")


def _shared(step: SharedStmt) -> None:
    _need(step.buffer.copies % step.sets == 0, "copies of a tile that rows do not share evenly")
    _need(step.number in step.key, "a tile whose copy is chosen by what it does not depend on")
    wanted = (step.buffer.copies, 1 + len(step.key))
    _need(step.tags.shape == wanted, f"tags of {step.tags.shape}, expected {wanted}")
    filled = any(step.buffer in writes_of(inner) for inner in step.body)
    _need(filled, f"{step.buffer.name} is shared and not filled")


def _places(plan: Plan) -> None:
    for buffer, at in plan.offsets.items():
        inside = at >= 0 and _end(plan, buffer) <= plan.scratch_bytes
        _need(inside, f"{buffer.name} is not inside the scratch memory")
    graph = interference(plan.body, lambda nest, written, read: False)
    for buffer, others in graph.items():
        for other in others:
            apart = _end(plan, buffer) <= plan.offsets[other]
            apart = apart or _end(plan, other) <= plan.offsets[buffer]
            _need(apart, f"{buffer.name} and {other.name} overlap while both are in use")


def _end(plan: Plan, buffer: TileBuffer) -> int:
    return plan.offsets[buffer] + buffer.bytes
