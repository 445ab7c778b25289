"""Addresses of a tile's elements, and masks of those that may be touched.

Elements outside of the tensor, or of this block's frame, are masked off. No index can wrap around
into the tensor: coordinates are 64-bit, or 32-bit where any that wraps is negative.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from ....analysis.ranges import Interval
from ....base.cuda_abi import POINTER_ALIGNMENT
from ....base.dtypes import i32, int_range
from ....ir.core import Op
from ....ir.signature import OutputSpec, TensorSpec
from ....ir.types import ViewType
from ..bytecode.enums import ComparisonCode, Signedness
from ..bytecode.program import DivBy, Val
from ..bytecode.types import I32, I64, ScalarType, TileValueType
from .emitter import TensorMemory, TileEmitter, tile

MOST = int_range(i32)[1]


def elements(em: TileEmitter, op: Op) -> tuple[Val, Val | None]:
    """Return the addresses of a tile's elements, and a mask of those that may be touched."""
    value = op.one("view")
    view, memory = value.view, em.memory[value]
    guard = op.maybe("guard")
    mask = None if guard is None else em.spread(em.get(guard), view.tile)
    if _is_near(em, op, view):
        return _near(em, op, view, memory, mask)
    offsets: Val | None = None
    for k, index in enumerate(op.all("index")):
        coords, inside = _along(em, view, memory, k, em.get(index))
        stride = memory.strides[view.dim_map[k]]
        offsets = _plus(em, offsets, _laid_out(em, _scaled(em, coords, stride), view, k))
        mask = both(em, mask, _laid_out(em, inside, view, k))
    base = em.spread(memory.base, view.tile)
    pointers = base if offsets is None else em.one("offset", base.kind, base, offsets)
    return pointers, mask


def _along(
    em: TileEmitter, view: ViewType, memory: TensorMemory, k: int, index: Val
) -> tuple[Val, Val]:
    """Return the coordinates along one axis of the tile, and which of them are inside."""
    axis, row = view.dim_map[k], TileValueType(I64, (view.tile[k],))
    if k == view.sparse:
        coords = em.widened(index)
    else:
        step = 1 if view.sparse is not None else (view.step or view.tile)[k]
        start = _scaled(em, em.widened(index), step)
        coords = em.same("addi", em.spread(start, row.shape), em.one("iota", row))
    inside = None
    if view.frame is not None:
        length = view.frame[axis]
        inside = _within(em, coords, em.number(length, row))
        first = _scaled(em, em.widened(em.block[axis]), length)
        coords = em.same("addi", coords, em.spread(first, row.shape))
    extent = memory.extents[axis]
    limit = em.number(extent, row) if isinstance(extent, int) else _row_of(em, extent, row)
    return coords, both(em, inside, _within(em, coords, limit))


def _row_of(em: TileEmitter, value: Val, row: TileValueType) -> Val:
    return em.spread(em.widened(value), row.shape)


def _within(em: TileEmitter, coords: Val, limit: Val) -> Val:
    below = em.compare(ComparisonCode.LESS_THAN, coords, limit)
    return em.same(
        "andi",
        below,
        em.compare(ComparisonCode.GREATER_THAN_OR_EQUAL, coords, em.number(0, tile(coords))),
    )


def _scaled(em: TileEmitter, value: Val, by: Val | int, width: ScalarType = I64) -> Val:
    if isinstance(by, int):
        return value if by == 1 else em.same("muli", value, em.number(by, tile(value)))
    return em.same("muli", value, em.spread(em.widened(by, width), tile(value).shape))


def _laid_out(em: TileEmitter, row: Val, view: ViewType, k: int) -> Val:
    """Return a row of values along one axis of the tile, repeated along the others."""
    ones = tuple(n if i == k else 1 for i, n in enumerate(view.tile))
    kind = tile(row)
    shaped = row if kind.shape == ones else em.one("reshape", kind.shaped(ones), row)
    return shaped if ones == view.tile else em.one("broadcast", kind.shaped(view.tile), shaped)


def _plus(em: TileEmitter, a: Val | None, b: Val) -> Val:
    return b if a is None else em.same("addi", a, b)


def both(em: TileEmitter, a: Val | None, b: Val) -> Val:
    """Return whether two conditions hold; the second one if there is no first."""
    return b if a is None else em.same("andi", a, b)


# --- tiles at any place in a tensor whose offsets have 31 bits -----------------------------------
#
# What is the same for all elements is added to the base address, in 64 bits and once for the tile;
# per element there are 32-bit numbers, and tiles that differ by their place alone share them.


def _is_near(em: TileEmitter, op: Op, view: ViewType) -> bool:
    """Return whether each index is a coordinate of 32 bits, and offsets have as many."""
    name: str | None = view.tensor.param
    specs = [s for s in em.func.signature.params if s.name == name]
    if not specs or view.frame is not None or not view.tile:
        return False
    if not isinstance(specs[0], TensorSpec | OutputSpec) or not specs[0].facts.near:
        return False
    steps = [1] * len(view.tile) if view.sparse is not None else view.step or view.tile
    return all(
        tile(em.get(index)).elem == I32 and (step == 1 or k == view.sparse)
        for k, (index, step) in enumerate(zip(op.all("index"), steps, strict=True))
    )


def _near(
    em: TileEmitter, op: Op, view: ViewType, memory: TensorMemory, mask: Val | None
) -> tuple[Val, Val | None]:
    base, offsets = memory.base, None
    for k, index in enumerate(op.all("index")):
        axis, row = view.dim_map[k], TileValueType(I32, (view.tile[k],))
        stride, place = memory.strides[axis], em.get(index)
        if k == view.sparse:
            is_apart, coords = False, place
        else:
            is_apart = _may_be_apart(em.ranges.of(index), view.tile[k], stride)
            # One that exceeds 31 bits wraps, so that it is negative.
            coords = em.same("addi", em.spread(place, row.shape), em.one("iota", row))
        inside = _is_below(em, coords, memory.extents[axis])
        mask = both(em, mask, _laid_out(em, inside, view, k))
        if is_apart:
            start = _scaled(em, em.widened(place), stride)
            base = em.one("offset", base.kind, base, start)
            coords = em.one("iota", row)
        if not is_apart or view.tile[k] > 1:
            steps = _scaled(em, coords, stride, I32)
            offsets = _plus(em, offsets, _laid_out(em, steps, view, k))
    pointers = em.spread(base, view.tile)
    if offsets is not None:
        pointers = em.one("offset", pointers.kind, pointers, offsets)
    return pointers, mask


def _may_be_apart(place: Interval, length: int, stride: Val | int) -> bool:
    """Return whether offsets from the first element of a tile have 31 bits, of those inside.

    Those of a tile that begins before the tensor may be larger than any in the tensor.
    """
    is_short = isinstance(stride, int) and abs(stride) * length <= MOST
    return place.low >= 0 or length == 1 or is_short


def _is_below(em: TileEmitter, coords: Val, extent: Val | int) -> Val:
    """Return a mask of the coordinates inside a tensor: as unsigned numbers, none is negative."""
    kind = tile(coords)
    if isinstance(extent, int):
        limit = em.number(min(extent, MOST), kind)
    else:
        limit = em.spread(_narrowed(em, extent), kind.shape)
    return em.compare(ComparisonCode.LESS_THAN, coords, limit, signed=False)


def _narrowed(em: TileEmitter, extent: Val) -> Val:
    if tile(extent).elem == I32:
        return extent
    most = em.number(MOST, tile(extent))
    least = em.same("mini", extent, most, signedness=Signedness.SIGNED)
    return em.one("trunci", TileValueType(I32), least)


# --- a tile whose index is not negative ----------------------------------------------------------


def near_elements(
    em: TileEmitter, op: Op, place: Sequence[Val], *, inside: bool
) -> tuple[Val, Val | None]:
    """Return the addresses of a tile at a non-negative offset in a tensor that is not too large.

    How many elements along an axis are inside is found by 64-bit numbers, once for all of them.
    Those that are have 31-bit offsets; the others may have any, for they are masked off. `inside`
    promises that all of them are.
    """
    value = op.one("view")
    view, memory = value.view, em.memory[value]
    offsets: Val | None = None
    mask: Val | None = None
    for k, index in enumerate(place):
        axis, row = view.dim_map[k], TileValueType(I32, (view.tile[k],))
        start = _scaled(em, index, view.tile[k])
        coords = em.same("addi", em.spread(start, row.shape), em.one("iota", row))
        steps = _scaled(em, coords, memory.strides[axis], I32)
        offsets = _plus(em, offsets, _laid_out(em, steps, view, k))
        if not inside:
            below = _before_end(em, view, memory, axis, index, view.tile[k])
            mask = both(em, mask, _laid_out(em, below, view, k))
    assert offsets is not None, "a view has an axis"
    base = em.spread(memory.base, view.tile)
    return em.one("offset", base.kind, base, offsets), mask


def _before_end(
    em: TileEmitter, view: ViewType, memory: TensorMemory, axis: int, index: Val, length: int
) -> Val:
    """Return a mask of the elements of this tile that are in bounds along one axis."""
    start = _scaled(em, em.widened(index), length)
    extent = memory.extents[axis]
    end = em.number(extent, tile(start)) if isinstance(extent, int) else em.widened(extent)
    room = em.same("subi", end, start)
    room = em.same("mini", room, em.number(length, tile(room)), signedness=Signedness.SIGNED)
    room = em.same("maxi", room, em.number(0, tile(room)), signedness=Signedness.SIGNED)
    row = TileValueType(I32, (length,))
    short = em.one("trunci", TileValueType(I32), room)
    unit = math.gcd(_extent_unit(em, view, axis), length)
    if unit > 1:
        # So that one test covers a vector.
        short = em.same("assume", short, predicate=DivBy(unit))
    return em.compare(ComparisonCode.LESS_THAN, em.one("iota", row), em.spread(short, row.shape))


def _extent_unit(em: TileEmitter, view: ViewType, axis: int) -> int:
    """Return a power of two that the extent of a tensor is known to be a multiple of."""
    fixed = view.tensor.shape[axis]
    if fixed is not None:
        return fixed & -fixed
    specs = [s for s in em.func.signature.params if s.name == view.tensor.param]
    if not specs or not isinstance(specs[0], TensorSpec | OutputSpec):
        return 1
    known, size = specs[0].facts.extents, view.tensor.dtype.itemsize
    most = em.target.codegen_hints.max_divisibility or POINTER_ALIGNMENT
    return min(known[axis], max(most // size, 1)) if axis < len(known) else 1


def apart(em: TileEmitter, op: Op, where: tuple[Val, Val | None]) -> tuple[Val, Val | None]:
    """Return addresses that tileiras takes for unrelated, so that each thread has single ones."""
    pointers, mask = where
    assert mask is not None, "only elements that may be outside are selected"
    base = em.spread(em.memory[op.one("view")].base, tile(pointers).shape)
    return em.one("select", pointers.kind, mask, pointers, base), mask
