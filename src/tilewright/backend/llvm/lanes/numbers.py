"""Numbers in lanes: constants, elementwise ops, and where the threads stand."""

from __future__ import annotations

from ....base.dtypes import i32, int_range
from ....ir.attrs import Place
from ....ir.core import Op
from ..emit.kernel import COMPUTE
from ..functions.text import Value as Vec
from ..functions.text import where
from .machine import Lanes, Write

NOWHERE = int_range(i32)[1]
"""An index beyond every slice."""


def _constant(lanes: Lanes, op: Op) -> None:
    lanes.put(op.result, lanes.emitter.literal(op.attrs["dtype"], op.attrs["value"], 1))


def _compute(lanes: Lanes, op: Op) -> None:
    """An elementwise op: of scalars where all operands are alike in all threads."""
    if op.result in lanes.known:
        lanes.put(op.result, lanes.emitter.body.constant("i1", 1, lanes.known[op.result]))
        return
    width = lanes.lanes(op.result)
    args = [lanes.fitted(lanes.get(v), width) for v in op.operands]
    lanes.put(op.result, COMPUTE[op.name](lanes.emitter, op, args))
    if op.name in ("addi", "subi"):
        _row(lanes, op)


def _row(lanes: Lanes, op: Op) -> None:
    """A row of numbers moved by a number is a row again; what wraps is outside of every slice."""
    a, b = op.operands
    if op.result.tile.dtype is not i32:
        return
    if op.name == "addi" and b in lanes.rows:
        a, b = b, a
    if a in lanes.rows and b not in lanes.facts.varying:
        first = lanes.rows[a]
        by = lanes.scalar(b)
        lanes.rows[op.result] = first + by if op.name == "addi" else first - by
        if a in lanes.gaps:
            lanes.gaps.add(op.result)


def _spread(lanes: Lanes, op: Op, first: Vec) -> Vec:
    """A number per lane; the first one (i64), from which the others follow, or all of them."""
    if first.lanes > 1:
        return first.cast("trunc", "i32")
    start = first.cast("trunc", "i32")
    lanes.rows[op.result] = start
    wide = lanes.emitter.splat(start, lanes.width)
    return wide + lanes.emitter.lanes_of("i32", lanes.width)


def _index_1d(lanes: Lanes, op: Op) -> None:
    # The host lets no launch have threads along y or z.
    lanes.put(op.result, _spread(lanes, op, lanes.place.index))


def _index_2d(lanes: Lanes, op: Op) -> None:
    place, emitter = lanes.place, lanes.emitter
    size = lanes.func.signature.block_dims
    width = lanes.scalar(op.one("width")).cast("sext", "i64")
    above = place.thread[1]
    row = emitter.splat(place.block[1] * size[1], above.lanes) + above
    start = row * emitter.splat(width, above.lanes) + emitter.splat(place.index, above.lanes)
    if above.lanes == 1:
        along = emitter.lanes_of("i64", lanes.width)
        column = emitter.splat(place.index, lanes.width) + along
        number = emitter.splat(start, lanes.width) + along
        # Lanes without an element are beyond every slice, so nothing is done for them.
        lanes.rows[op.result] = start.cast("trunc", "i32")
        lanes.gaps.add(op.result)
    else:
        column, number = place.index, start
    valid = column.compare("", "slt", emitter.splat(width, lanes.width))
    valid = valid & number.compare("", "slt", number.like(NOWHERE))
    nowhere = emitter.body.constant("i32", lanes.width, NOWHERE)
    lanes.put(op.result, where(valid, number.cast("trunc", "i32"), nowhere))


def _place(lanes: Lanes, op: Op) -> None:
    what: Place = op.attrs["what"]
    axis: int = op.attrs["axis"]
    place, emitter = lanes.place, lanes.emitter
    first = {Place.THREAD: place.thread[0], Place.LANE: emitter.integer(0)}
    if what in first and axis == 0:
        lanes.put(op.result, _spread(lanes, op, first[what]))
        return
    sizes = [emitter.integer(n) for n in lanes.func.signature.block_dims]
    known = {
        Place.THREAD: place.thread, Place.BLOCK: place.block, Place.BLOCK_SIZE: sizes,
        Place.GRID_SIZE: place.grid, Place.WARP: [place.group],
    }  # fmt: skip
    lanes.put(op.result, known[what][axis].cast("trunc", "i32"))


TABLE: dict[str, Write] = {
    "constant": _constant,
    "index_1d": _index_1d,
    "index_2d": _index_2d,
    "place": _place,
    **dict.fromkeys(COMPUTE, _compute),
}
