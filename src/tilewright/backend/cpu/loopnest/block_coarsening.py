"""Block coarsening: adjacent blocks run as one loop if no element depends on its block.

If all tensors are partitioned alike, the tiles of adjacent blocks are adjacent in memory, and the
computation of an element does not depend on the block, then several blocks are one longer loop.
Small tiles then cost what large ones cost, and rows are walked from end to end. Kernels with
atomics, prints, checks or materialized tiles run block by block.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ....ir.core import Value
from ....ir.opdef import Effect
from ....ir.ops.control import BLOCK_ID
from .index import IndexField, Loop, loops_in
from .nodes import (
    Compute,
    ElementAccess,
    Joined,
    JumpStmt,
    Nest,
    Plan,
    Position,
    Read,
    ReadView,
    ScalarStmt,
    Stmt,
    WriteView,
    itemsize,
    operands_of,
)

REACH = 64 << 10
"""Bytes of a row that a worker had better walk at a time: memory is slow where rows are left and
begun, and whole rows that follow each other are one long row."""


def coarsen_blocks(plan: Plan) -> None:
    """Choose the grid axis along which blocks are joined, if there is one."""
    nests = [s for s in plan.body if isinstance(s, Nest)]
    if nests and all(map(_is_simple, plan.body)):
        axes = _grid_axes(plan.body)
        for axis in sorted(set(axes.values())):
            found = _spread(nests, _Numbers(plan.body, axis))
            if found:
                plan.joined = Joined(axis, found)
                plan.together = max(1, REACH // _row_bytes(found))
                return


def _row_bytes(spread: dict[ElementAccess, int]) -> int:
    """Return bytes that a block's part of a row has, in the tensor of the smallest elements."""
    return min(
        access.view.tile[k] * itemsize(access.view.tensor.dtype) for access, k in spread.items()
    )


def _is_simple(statement: Stmt) -> bool:
    """Return whether a statement may be done once for several blocks, as far as its kind goes."""
    match statement:
        case ScalarStmt(op):
            return op.defn.effects is Effect.NONE
        case Nest():
            stores = all(isinstance(effect, WriteView) for effect in statement.effects)
            reads = all(isinstance(r, Compute | Position | ReadView) for r in statement.reads)
            return stores and reads and statement.lanes > 1 and not statement.descending
        case JumpStmt():
            return statement.kind == "return"
        case _:
            return False


def _grid_axes(body: Iterable[Stmt]) -> dict[Value, int]:
    """Return the scalars that are a block's place in the grid."""
    ops = [s.op for s in body if isinstance(s, ScalarStmt)]
    return {op.result: op.attrs["axis"] for op in ops if op.is_a(BLOCK_ID)}


class _Numbers:
    """The scalars that are the block's position along one grid axis, and those derived from it."""

    def __init__(self, body: Iterable[Stmt], axis: int) -> None:
        self.own = {value for value, k in _grid_axes(body).items() if k == axis}
        self.dependent = set(self.own)
        for statement in body:
            if isinstance(statement, ScalarStmt) and self.touches(statement.op.operands):
                self.dependent.update(statement.op.results)

    def touches(self, values: Iterable[object]) -> bool:
        """Return whether one of some values depends on the place."""
        return any(value in self.dependent for value in values)


def _spread(nests: Sequence[Nest], numbers: _Numbers) -> dict[ElementAccess, int] | None:
    """Return, for each access, the axis along which tiles of adjacent blocks are adjacent.

    None if blocks cannot run together; accesses that are the same for all blocks are left out.
    """
    spread: dict[ElementAccess, int] = {}
    for nest in nests:
        if any(_depends(read, nest.loops[-1], numbers) for read in nest.reads):
            return None
        for statement in (*nest.reads, *nest.effects):
            if isinstance(statement, ReadView | WriteView):
                places = _places(statement, nest.loops[-1], numbers)
                if places is None or (isinstance(statement, WriteView) and not places):
                    return None
                spread.update(dict.fromkeys([statement.access], places[0]) if places else {})
    return spread


def _depends(read: Read, lanes: Loop, numbers: _Numbers) -> bool:
    """Return whether a statement uses the position of the block, or of an element in its tile."""
    if isinstance(read, Position):
        return lanes in loops_in([read.axis])
    return numbers.touches(operands_of(read))


def _places(statement: ReadView | WriteView, lanes: Loop, numbers: _Numbers) -> list[int] | None:
    """Return the axis along which the tiles of neighbouring blocks follow each other: one or none.

    None if an access has another relation between its block, its lanes and memory.
    """
    access, view = statement.access, statement.access.view
    if view.frame is not None or view.sparse is not None or numbers.touches([access.guard]):
        return None
    found: list[int] = []
    for k, (axis, where) in enumerate(zip(statement.index, access.where, strict=True)):
        follows = axis == (IndexField(lanes, view.tile[k]),)
        adjacent = (view.step or view.tile)[k] == view.tile[k]
        if where in numbers.own and follows and adjacent:
            found.append(k)
        elif numbers.touches([where]) or lanes in loops_in([axis]):
            return None
    return found
