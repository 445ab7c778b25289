"""Where in the grid this block stands: computed from its linear number, the last axis fastest."""

from __future__ import annotations

from collections.abc import Callable

from ....base.cpu_abi import LaunchWord
from ....base.tile_order import Numbers, tile_index
from ....ir.core import Op, Value
from ..functions.text import Value as Vec
from ..functions.text import where
from .emitter import Emitter


def launch_word(emitter: Emitter, word: int) -> Vec:
    """The address of a word of the launch record."""
    return emitter.body.emit(f"getelementptr i64, ptr %launch, i64 {word}", "ptr", 1)


def grid_axis(emitter: Emitter, axis: int) -> Vec:
    """The grid's size along an axis."""
    return emitter.load(launch_word(emitter, LaunchWord.GRID + axis), "i64", align=8)


def block_ids(emitter: Emitter, number: Vec, sizes: list[Vec]) -> list[Vec]:
    """The logical index of a block from its linear number."""
    ids: list[Vec] = []
    for size in reversed(sizes):
        rest = number.binary("udiv", size)
        ids.insert(0, number - rest * size)
        number = rest
    return ids


def place(emitter: Emitter, number: Vec, sizes: list[Vec]) -> tuple[Vec, list[Vec]]:
    """The linear number and the index of the block that runs at a turn."""
    ids = block_ids(emitter, number, sizes)
    grouping = emitter.plan.grouping
    if grouping is None:
        return number, ids
    rows, columns = (sizes[axis] for axis in (grouping.row_axis, grouping.column_axis))
    turn = ids[grouping.row_axis] * columns + ids[grouping.column_axis]
    row, column = grouped(turn, rows, columns, grouping.rows)
    ids[grouping.row_axis], ids[grouping.column_axis] = row, column
    linear = emitter.integer(0)
    for at, size in zip(ids, sizes, strict=True):
        linear = linear * size + at
    return linear, ids


def grouped(turn: Vec, rows: Vec, columns: Vec, together: int) -> tuple[Vec, Vec]:
    """The row and column of a turn, where so many rows are walked column after column."""
    group = turn.binary("udiv", columns * together)
    first = group * together
    height = (rows - first).intrinsic("umin", together)
    inside = turn - first * columns
    column = inside.binary("udiv", height)
    return first + (inside - column * height), column


def neighbours(emitter: Emitter, axis: int, number: Vec, sizes: list[Vec]) -> Vec:
    """How many blocks from this one on follow each other along an axis, as far as this run goes."""
    left = sizes[axis] - emitter.block_ids[axis]
    left = left.intrinsic("smin", Vec(emitter.body, "%end", "i64", 1) - number)
    inner = emitter.integer(1)
    for size in sizes[axis + 1 :]:
        inner = inner * size
    return where(inner.eq(1), left, emitter.integer(1))


def _block_id(emitter: Emitter, op: Op) -> None:
    axis: int = op.attrs["axis"]
    emitter.names[op.result] = emitter.block_ids[axis].cast("trunc", "i32")


def _num_blocks(emitter: Emitter, op: Op) -> None:
    emitter.names[op.result] = grid_axis(emitter, op.attrs["axis"]).cast("trunc", "i32")


def _tile_index(emitter: Emitter, op: Op) -> None:
    number, *counts = (_wide(emitter, v) for v in (op.one("number"), *op.all("counts")))
    index = tile_index(number, counts, op.attrs["groups"], _numbers(emitter))
    starts = [_wide(emitter, v) for v in op.all("starts")] or [emitter.integer(0)] * len(index)
    for result, at, start in zip(op.results, index, starts, strict=True):
        emitter.names[result] = (at + start).cast("trunc", "i32")


def _wide(emitter: Emitter, value: Value) -> Vec:
    return emitter.scalar(value).cast("zext", "i64")


def _numbers(emitter: Emitter) -> Numbers[Vec]:
    return Numbers(
        constant=emitter.integer,
        add=lambda a, b: a + b,
        subtract=lambda a, b: a - b,
        multiply=lambda a, b: a * b,
        # The index of a loop that does not run may be computed before it: nothing may trap.
        divide=lambda a, b: a.binary("udiv", b.intrinsic("umax", 1)),
        least=lambda a, b: a.intrinsic("umin", b),
    )


TABLE: dict[str, Callable[[Emitter, Op], None]] = {
    "block_id": _block_id,
    "num_blocks": _num_blocks,
    "tile_index": _tile_index,
}
