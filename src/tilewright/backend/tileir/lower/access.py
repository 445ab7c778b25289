"""Tiles of a view element by element: addresses, and which of them are inside.

Coordinates are 64-bit, so no index can wrap around into the tensor; what lies outside of the
tensor, or of this block's frame, is masked off.
"""

from __future__ import annotations

from ....ir.core import Op
from ....ir.types import ViewType
from ..program.core import Val
from ..program.types import I64, Pointer, Tile
from .emitter import Emitter, Memory, tile

LESS, GREATER_OR_EQUAL = 2, 5


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
    below = em.compare(LESS, coords, limit)
    return em.same("andi", below, em.compare(GREATER_OR_EQUAL, coords, em.number(0, tile(coords))))


def _scaled(em: Emitter, value: Val, by: Val | int) -> Val:
    if isinstance(by, int):
        return value if by == 1 else em.same("muli", value, em.number(by, tile(value)))
    return em.same("muli", value, em.spread(em.widened(by), tile(value).shape))


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


def pointee(pointers: Val) -> Tile:
    """The type of what a tile of pointers points to."""
    elem = tile(pointers).elem
    assert isinstance(elem, Pointer), f"expected pointers, got {pointers.kind}"
    return tile(pointers).of(elem.to)
