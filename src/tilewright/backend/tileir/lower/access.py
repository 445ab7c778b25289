"""Tiles of a view element by element: addresses, and which of them are inside.

Coordinates are 64-bit, so no index can wrap around into the tensor; what lies outside of the
tensor, or of this block's frame, is masked off.
"""

from __future__ import annotations

from collections.abc import Sequence

from ....ir.core import Op
from ....ir.types import ViewType
from ..encoding.enums import Comparison, Signedness
from ..program.core import Val
from ..program.types import I32, I64, Pointer, Scalar, Tile
from .emitter import Emitter, Memory, tile


def elements(em: Emitter, op: Op) -> tuple[Val, Val | None]:
    """The addresses of a tile's elements, and a mask of those that may be touched."""
    value = op.one("view")
    view, memory = value.view, em.memory[value]
    guard = op.maybe("guard")
    mask = None if guard is None else em.spread(em.get(guard), view.tile)
    offsets: Val | None = None
    for k, index in enumerate(op.all("index")):
        coords, inside = _along(em, view, memory, k, em.get(index))
        stride = memory.strides[view.dim_map[k]]
        offsets = _plus(em, offsets, _laid_out(em, _scaled(em, coords, stride), view, k))
        mask = _and(em, mask, _laid_out(em, inside, view, k))
    base = em.spread(memory.base, view.tile)
    pointers = base if offsets is None else em.one("offset", base.kind, base, offsets)
    return pointers, mask


def _along(em: Emitter, view: ViewType, memory: Memory, k: int, index: Val) -> tuple[Val, Val]:
    """The coordinates along one axis of the tile, and which of them are inside."""
    axis, row = view.dim_map[k], Tile(I64, (view.tile[k],))
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
    return coords, _and(em, inside, _within(em, coords, limit))


def _row_of(em: Emitter, value: Val, row: Tile) -> Val:
    return em.spread(em.widened(value), row.shape)


def _within(em: Emitter, coords: Val, limit: Val) -> Val:
    below = em.compare(Comparison.LESS_THAN, coords, limit)
    return em.same(
        "andi",
        below,
        em.compare(Comparison.GREATER_THAN_OR_EQUAL, coords, em.number(0, tile(coords))),
    )


def _scaled(em: Emitter, value: Val, by: Val | int, width: Scalar = I64) -> Val:
    if isinstance(by, int):
        return value if by == 1 else em.same("muli", value, em.number(by, tile(value)))
    return em.same("muli", value, em.spread(em.widened(by, width), tile(value).shape))


def _laid_out(em: Emitter, row: Val, view: ViewType, k: int) -> Val:
    """A row of values along one axis of the tile, repeated along the others."""
    ones = tuple(n if i == k else 1 for i, n in enumerate(view.tile))
    kind = tile(row)
    shaped = row if kind.shape == ones else em.one("reshape", kind.shaped(ones), row)
    return shaped if ones == view.tile else em.one("broadcast", kind.shaped(view.tile), shaped)


def _plus(em: Emitter, a: Val | None, b: Val) -> Val:
    return b if a is None else em.same("addi", a, b)


def _and(em: Emitter, a: Val | None, b: Val) -> Val:
    return b if a is None else em.same("andi", a, b)


# --- a tile of a tensor whose offsets have 31 bits -----------------------------------------------


def near_elements(em: Emitter, op: Op, place: Sequence[Val]) -> tuple[Val, Val]:
    """The same for a tile at a place that is not negative, in a tensor that is not too large.

    How many elements along an axis are inside is found by 64-bit numbers, once for all of them.
    Those that are have 31-bit offsets; the others may have any, for they are masked off.
    """
    value = op.one("view")
    view, memory = value.view, em.memory[value]
    offsets: Val | None = None
    mask: Val | None = None
    for k, index in enumerate(place):
        axis, row = view.dim_map[k], Tile(I32, (view.tile[k],))
        start = _scaled(em, index, view.tile[k])
        coords = em.same("addi", em.spread(start, row.shape), em.one("iota", row))
        steps = _scaled(em, coords, memory.strides[axis], I32)
        inside = _before_end(em, memory, axis, index, view.tile[k])
        offsets = _plus(em, offsets, _laid_out(em, steps, view, k))
        mask = _and(em, mask, _laid_out(em, inside, view, k))
    assert offsets is not None, "a view has an axis"
    assert mask is not None, "and so it has a mask"
    base = em.spread(memory.base, view.tile)
    return em.one("offset", base.kind, base, offsets), mask


def _before_end(em: Emitter, memory: Memory, axis: int, index: Val, length: int) -> Val:
    """Which elements of the tile with this index are inside, along one axis."""
    start = _scaled(em, em.widened(index), length)
    extent = memory.extents[axis]
    end = em.number(extent, tile(start)) if isinstance(extent, int) else em.widened(extent)
    room = em.same("subi", end, start)
    room = em.same("mini", room, em.number(length, tile(room)), signedness=Signedness.SIGNED)
    room = em.same("maxi", room, em.number(0, tile(room)), signedness=Signedness.SIGNED)
    row = Tile(I32, (length,))
    short = em.one("trunci", Tile(I32), room)
    return em.compare(Comparison.LESS_THAN, em.one("iota", row), em.spread(short, row.shape))


def pointee(pointers: Val) -> Tile:
    """The type of what a tile of pointers points to."""
    elem = tile(pointers).elem
    assert isinstance(elem, Pointer), f"expected pointers, got {pointers.kind}"
    return tile(pointers).of(elem.to)
