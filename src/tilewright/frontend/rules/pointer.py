"""Rules of the pointer family: pointers, accesses through them, globals; all need unsafe code.

Views of raw memory and promises belong to the family too, and have files of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...base.dtypes import AnyDType, i64, u64
from ...base.errors import Code
from ...base.shapes import Shape
from ...ir.core import Value
from ...lang.stdlib.arrangement import take_along_axis
from ..access import access_hints
from ..describe import describe
from ..device_global import address_of, elements_of
from ..emit import Emitter
from ..operands import parts
from ..pointers import (
    LOAD_ORDERS,
    STORE_ORDERS,
    add_pointer,
    as_pointers,
    mask_for,
    memory_order,
    moved,
    only_pointer,
    pointee,
    value_for,
)  # fmt: skip
from . import promises, raw_views

# --- pointer arithmetic ------------------------------------------------------------------------


def offset(em: Emitter, self: Any, by: Any) -> Value:
    """Pointers moved by a number of elements."""
    return moved(em, as_pointers(em, self), by)


def _addptr(em: Emitter, pointers: Any, by: Any) -> Value:
    return offset(em, pointers, by)


def pointer_to_tile(em: Emitter, pointer: Any) -> Value:
    """A pointer is a tile of rank 0 already."""
    return only_pointer(em, pointer)


def tile_to_pointer(em: Emitter, pointers: Any) -> Value:
    """The only pointer of a tile."""
    return only_pointer(em, pointers)


def broadcast_ptr(em: Emitter, pointers: Any, shape: Any) -> Value:
    """Pointers repeated."""
    return _broadcast(em, pointers, shape)


def reshape_ptr(em: Emitter, pointers: Any, shape: Any) -> Value:
    """Pointers in another shape."""
    return _reshape(em, pointers, shape)


def _broadcast(em: Emitter, self: Any, *shape: Any) -> Value:
    return em.broadcast_to(as_pointers(em, self), _shape(em, shape))


def _reshape(em: Emitter, self: Any, *shape: Any) -> Value:
    value, dims = as_pointers(em, self), _shape(em, shape)
    if value.tile.size != value.tile.with_shape(dims).size:
        em.fail(
            Code.SHAPE,
            f"{value.tile.size} pointers do not fill shape {dims}",
            expected=f"{value.tile.size} elements",
            got=str(dims),
        )
    return em.emit("reshape", value, shape=dims)


def _shape(em: Emitter, shape: Sequence[Any]) -> Shape:
    return em.static_shape(parts(shape[0]) if len(shape) == 1 else tuple(shape))


def ptr_to_int(em: Emitter, pointers: Any) -> Value:
    """Addresses as i64."""
    em.require_unsafe("`ptr_to_int`")
    return em.emit("ptr_to_int", as_pointers(em, pointers))


def int_to_ptr(em: Emitter, addresses: Any, dtype: Any) -> Value:
    """i64 or u64 addresses as pointers."""
    em.require_unsafe("`int_to_ptr`")
    value = em.numbers(addresses, "addresses")
    if value.tile.dtype not in (i64, u64):
        em.fail(
            Code.DTYPE,
            "an address has 64 bits",
            expected="i64",
            got=describe(value),
            hint="convert it: x.astype(tilewright.i64)",
        )
    return em.emit("int_to_ptr", em.cast(value, i64), to=em.static_dtype(dtype))


def ptr_to_ptr(em: Emitter, pointers: Any, dtype: Any) -> Value:
    """Pointers to another element type."""
    em.require_unsafe("`ptr_to_ptr`")
    return em.emit("ptr_to_ptr", as_pointers(em, pointers), to=em.static_dtype(dtype))


# --- access through pointers -------------------------------------------------------------------


def load_ptr(
    em: Emitter,
    pointers: Any,
    mask: Any = None,
    fill: Any = None,
    *,
    ordering: Any = "weak",
    scope: Any = "device",
    latency: Any = None,
) -> Value:
    """Read where mask, fill or zero elsewhere."""
    em.require_unsafe("`load_ptr`")
    source = as_pointers(em, pointers)
    attrs = memory_order(em, ordering, scope, LOAD_ORDERS)
    attrs["latency"] = access_hints(em, latency, None)["latency"]
    if mask is None and fill is not None:
        em.fail(Code.CALL, "`fill` needs `mask`", got=f"fill={describe(fill)}")
    where = mask_for(em, mask, source.tile.shape)
    other = None if fill is None or where is None else value_for(em, fill, source, "fill")
    return em.emit("load_ptr", source, where, other, **attrs)


def store_ptr(
    em: Emitter,
    pointers: Any,
    value: Any,
    mask: Any = None,
    *,
    ordering: Any = "weak",
    scope: Any = "device",
    latency: Any = None,
) -> None:
    """Write where mask."""
    em.require_unsafe("`store_ptr`")
    target = as_pointers(em, pointers)
    attrs = memory_order(em, ordering, scope, STORE_ORDERS)
    attrs["latency"] = access_hints(em, latency, None)["latency"]
    where = mask_for(em, mask, target.tile.shape)
    em.op("store_ptr", target, value_for(em, value, target, "value"), where, **attrs)


def gather(
    em: Emitter, pointer: Any, offsets: Any, mask: Any = None, fill: Any = None, *, axis: Any = None
) -> Any:
    """Read at offsets of a pointer, or at indices along an axis of a tile."""
    if isinstance(pointer, Value) and not pointer.tile.is_pointer:
        return em.inline(take_along_axis, [pointer, offsets, mask if axis is None else axis])
    if axis is not None:
        em.fail(
            Code.CALL,
            "`gather` of a pointer has no axis",
            expected="tl.gather(pointer, offsets, mask, fill), or tl.gather(tile, index, axis)",
            got=f"axis={describe(axis)}",
        )
    em.require_unsafe("`gather`")
    return load_ptr(em, add_pointer(em, as_pointers(em, pointer), offsets), mask, fill)


def scatter(em: Emitter, pointer: Any, offsets: Any, value: Any, mask: Any = None) -> None:
    """Write at offsets."""
    em.require_unsafe("`scatter`")
    store_ptr(em, add_pointer(em, as_pointers(em, pointer), offsets), value, mask)


# --- globals -----------------------------------------------------------------------------------


def get_global(em: Emitter, source: Any) -> Value:
    """A pointer to the first element."""
    return address_of(em, source)


def _load_global(em: Emitter, self: Any, *, ordering: Any = "weak", scope: Any = "device") -> Value:
    return load_ptr(em, elements_of(em, self), ordering=ordering, scope=scope)


def _store_global(
    em: Emitter, self: Any, value: Any, *, ordering: Any = "weak", scope: Any = "device"
) -> None:
    store_ptr(em, elements_of(em, self), value, ordering=ordering, scope=scope)


def _global_fact(name: str) -> Callable[..., Any]:
    def rule(em: Emitter, self: Any) -> Any:
        return getattr(self, name)

    return rule


# --- what is known while compiling -------------------------------------------------------------


def _pointer_shape(em: Emitter, self: Any) -> Shape:
    return as_pointers(em, self).tile.shape


def _pointer_dtype(em: Emitter, self: Any) -> AnyDType:
    return pointee(as_pointers(em, self))


def _pointer_rank(em: Emitter, self: Any) -> int:
    return as_pointers(em, self).tile.rank


RULES: dict[str, Callable[..., Any]] = {
    "PointerTile.offset": offset,
    "PointerTile.offset_tile": offset,
    "PointerTile.broadcast": _broadcast,
    "PointerTile.reshape": _reshape,
    "PointerTile.shape": _pointer_shape,
    "PointerTile.dtype": _pointer_dtype,
    "PointerTile.rank": _pointer_rank,
    "PointerTile.ndim": _pointer_rank,
    "pointer_to_tile": pointer_to_tile,
    "tile_to_pointer": tile_to_pointer,
    "addptr": _addptr,
    "addptr_tile": _addptr,
    "broadcast_ptr": broadcast_ptr,
    "reshape_ptr": reshape_ptr,
    "ptr_to_int": ptr_to_int,
    "int_to_ptr": int_to_ptr,
    "ptr_to_ptr": ptr_to_ptr,
    "load_ptr": load_ptr,
    "load_ptr_tko": load_ptr,
    "store_ptr": store_ptr,
    "store_ptr_tko": store_ptr,
    "gather": gather,
    "scatter": scatter,
    "get_global": get_global,
    "Global.load": _load_global,
    "Global.store": _store_global,
    "Global.shape": _global_fact("shape"),
    "Global.dtype": _global_fact("dtype"),
    **raw_views.RULES,
    **promises.RULES,
}
PROPERTIES: frozenset[str] = frozenset(
    (*(f"PointerTile.{n}" for n in ("shape", "dtype", "rank", "ndim")), "Global.shape",
     "Global.dtype")
)  # fmt: skip
