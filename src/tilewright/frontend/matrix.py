"""Slices as rows of a matrix, cut into tiles: how many there are, and where one begins."""

from __future__ import annotations

from typing import Any

from ..base.dtypes import i32
from ..base.errors import Code
from ..ir.attrs import Place, Rounding
from ..ir.core import Value
from .describe import describe
from .emit import Emitter
from .launch_expr_builder import expression
from .operands import parts
from .values import TileRef, TilesRef


def along(em: Emitter, axis: int) -> Value:
    """A thread's number along an axis of the launch."""
    block, size, thread = (
        em.emit("place", what=what, axis=axis)
        for what in (Place.BLOCK, Place.BLOCK_SIZE, Place.THREAD)
    )
    return em.emit("addi", em.emit("muli", block, size), thread)


def tiles_across(em: Emitter, ref: TilesRef) -> Value:
    """How many whole tiles stand beside each other."""
    return _divided(em, ref.columns, em.number(ref.shape[1], i32))


def tiles_down(em: Emitter, ref: TilesRef) -> Value:
    """How many whole tiles stand below each other."""
    rows = _divided(em, em.emit("length", ref.slice.value), ref.columns)
    return _divided(em, rows, em.number(ref.shape[0], i32))


def tiles_in(em: Emitter, ref: TilesRef) -> Value:
    """How many whole tiles there are."""
    return em.emit("muli", tiles_down(em, ref), tiles_across(em, ref))


def _divided(em: Emitter, a: Value, b: Value) -> Value:
    return em.emit("divi", a, b, rounding=Rounding.NEG_INF)


def tile_by_number(em: Emitter, ref: TilesRef, index: Value) -> TileRef:
    """A tile by its number, counted along the rows, which is looked at once for all of it."""
    there = em.emit("check_index", index, tiles_in(em, ref), slice=ref.name)
    across = tiles_across(em, ref)
    if em.witnesses.get(index) is not None:  # its rows are as long as those of tiles
        return _tile(em, ref, along(em, 1), along(em, 0), there)
    row = _divided(em, index, across)
    column = em.emit("subi", index, em.emit("muli", row, across))
    return _tile(em, ref, row, column, there)


def tile_at(em: Emitter, ref: TilesRef, row: Value, column: Value) -> TileRef:
    """A tile by its row and its column."""
    there = [
        em.emit("check_index", index, count, slice=ref.name)
        for index, count in ((row, tiles_down(em, ref)), (column, tiles_across(em, ref)))
    ]
    return _tile(em, ref, row, column, em.emit("andi", *there))


def _tile(em: Emitter, ref: TilesRef, row: Value, column: Value, there: Value) -> TileRef:
    rows, columns = (em.number(n, i32) for n in ref.shape)
    above = em.emit("muli", em.emit("muli", row, rows), ref.columns)
    return TileRef(ref, em.emit("addi", above, em.emit("muli", column, columns)), there)


def place_in_tile(em: Emitter, ref: TileRef, index: Any) -> tuple[Value, Value]:
    """An element of a tile: its index in the slice, and whether it is there."""
    numbers = parts(index)
    if len(numbers) != 2:
        em.fail(
            Code.RANK,
            f"{describe(ref)} has rows and columns",
            expected=f"two indices: {ref.name}[row, column]",
            got=describe(index),
        )
    there = ref.there
    places: list[Value] = []
    for number, size, axis in zip(numbers, ref.tiles.shape, ("row", "column"), strict=True):
        if isinstance(number, int) and not 0 <= number < size:
            em.fail(
                Code.INDEX,
                f"{describe(ref)} has no {axis} {number}",
                expected=f"0 to {size - 1}",
                got=str(number),
            )
        places.append(em.index(number, f"a {axis} of `{ref.name}`"))
        if not isinstance(number, int):
            inner = em.emit("check_index", places[-1], em.number(size, i32), slice=ref.name)
            there = em.emit("andi", there, inner)
    below = em.emit("muli", places[0], ref.tiles.columns)
    return em.emit("addi", em.emit("addi", ref.start, below), places[1]), there


def width_expression(em: Emitter, ref: TilesRef) -> Any:
    """How many tiles stand beside each other, as the launch knows it."""
    return expression(em, tiles_across(em, ref))
