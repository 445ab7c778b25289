"""`tile.mask()`: which elements of a loaded tile are elements of the tensor."""

from __future__ import annotations

from ..base.dtypes import bool_, i32, i64
from ..base.errors import Code
from ..ir.attrs import Predicate
from ..ir.core import Op, Value
from ..ir.types import ViewType
from .describe import describe
from .emit import Emitter
from .padding import padded_axes


def mask_of(em: Emitter, tile: Value) -> Value:
    """A bool tile that is true where the load that made `tile` found an element."""
    op = em.defining.get(tile)
    if op is None or op.name != "load_view":
        em.fail(
            Code.TYPE,
            "only a loaded tile has a mask",
            expected="the tile that a load returned",
            got=describe(tile),
            hint="take the mask where the tile is loaded: t = p.load(index); m = t.mask()",
        )
    view = op.one("view").view
    mask = _whole(em, op, tile)
    for axis in sorted(_partial_axes(em, op, view)):
        line = _line_mask(em, op, view, axis)
        if view.rank > 1:
            ones = tuple(n if k == axis else 1 for k, n in enumerate(view.tile))
            line = em.broadcast_to(em.emit("reshape", line, shape=ones), view.tile)
        mask = line if mask is None else em.emit("andi", mask, line)
    return em.constant(True, bool_, view.tile) if mask is None else mask


def _whole(em: Emitter, op: Op, tile: Value) -> Value | None:
    guard = op.maybe("guard")
    return None if guard is None else em.broadcast_to(guard, tile.tile.shape)


def _partial_axes(em: Emitter, op: Op, view: ViewType) -> frozenset[int]:
    """Axes to look at: all of them where the index was not checked, for it may lie outside."""
    return frozenset(range(view.rank)) if _is_free(em, op) else padded_axes(em, view)


def _is_free(em: Emitter, op: Op) -> bool:
    return op.result in em.unchecked or op.one("view").view.sparse is not None


def _line_mask(em: Emitter, op: Op, view: ViewType, axis: int) -> Value:
    """The mask along one axis: those positions whose coordinate lies in the tensor."""
    tensor = em.defining[op.one("view")].one("tensor")
    dim, index = view.dim_map[axis], op.all("index")[axis]
    extent = em.emit("extent", tensor, axis=dim)
    if axis == view.sparse:
        shape = index.tile.shape
        return _between(em, index, em.constant(0, i32, shape), em.broadcast_to(extent, shape))
    step = 1 if view.sparse is not None else (view.step or view.tile)[axis]
    start, end = _times(em, index, step), _wide(em, extent)
    if view.frame is not None:
        frame = view.frame[dim]
        left = em.emit("subi", end, _times(em, em.emit("block_id", axis=dim), frame))
        end = em.emit("mini", left, em.constant(frame, i64))
    size = view.tile[axis]
    positions = em.emit("iota", size=size, dtype=i32)
    high = em.broadcast_to(_clamped(em, em.emit("subi", end, start), size), (size,))
    if not _is_free(em, op):
        return em.emit("cmpi", positions, high, predicate=Predicate.LT)
    low = em.broadcast_to(_clamped(em, em.emit("negi", start), size), (size,))
    return _between(em, positions, low, high)


def _clamped(em: Emitter, value: Value, size: int) -> Value:
    """A 64-bit position as one from 0 to size: computed wide, so that no index can wrap."""
    low = em.emit("maxi", value, em.constant(0, i64))
    return em.emit("trunci", em.emit("mini", low, em.constant(size, i64)), to=i32)


def _between(em: Emitter, position: Value, low: Value, high: Value) -> Value:
    above = em.emit("cmpi", position, low, predicate=Predicate.GE)
    return em.emit("andi", above, em.emit("cmpi", position, high, predicate=Predicate.LT))


def _times(em: Emitter, index: Value, step: int) -> Value:
    return em.emit("muli", _wide(em, index), em.constant(step, i64))


def _wide(em: Emitter, value: Value) -> Value:
    return em.emit("exti", value, to=i64)
