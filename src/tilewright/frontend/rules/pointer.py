"""Rules of the pointer family: pointers, views of raw memory, promises; all need unsafe code."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...base.dtypes import AnyDType, i64, u64
from ...base.errors import Code
from ...base.shapes import Shape
from ...ir import Value
from ..access import access_hints, checked_index, load, make_view, store, unchecked_index
from ..device_global import address_of, elements_of
from ..emit import Emitter, describe
from ..operands import parts
from ..pointers import (
    LOAD_ORDERS,
    STORE_ORDERS,
    add_pointer,
    mask_for,
    memory_order,
    moved,
    pointee,
    pointers,
    value_for,
)  # fmt: skip
from ..values import OutputRef, PartitionRef, TensorRef
from .memory import partition, read_only, tensor, unchecked_load, writable

# --- pointer arithmetic ------------------------------------------------------------------------


def offset(em: Emitter, self: Any, by: Any) -> Value:
    """Pointers moved by a number of elements."""
    return moved(em, pointers(em, self), by)


def _addptr(em: Emitter, pointers: Any, by: Any) -> Value:
    return offset(em, pointers, by)


def pointer_to_tile(em: Emitter, pointer: Any) -> Value:
    """A pointer is a tile of rank 0 already."""
    return _only_pointer(em, pointer)


def tile_to_pointer(em: Emitter, pointers: Any) -> Value:
    """The only pointer of a tile."""
    return _only_pointer(em, pointers)


def _only_pointer(em: Emitter, x: Any) -> Value:
    value = pointers(em, x, "the argument")
    if value.tile.size != 1:
        em.fail(Code.SHAPE, "more than one pointer", expected="one", got=describe(value))
    return em.emit("reshape", value, shape=()) if value.tile.rank else value


def broadcast_ptr(em: Emitter, pointers: Any, shape: Any) -> Value:
    """Pointers repeated."""
    return _broadcast(em, pointers, shape)


def reshape_ptr(em: Emitter, pointers: Any, shape: Any) -> Value:
    """Pointers in another shape."""
    return _reshape(em, pointers, shape)


def _broadcast(em: Emitter, self: Any, *shape: Any) -> Value:
    return em.broadcast_to(pointers(em, self), _shape(em, shape))


def _reshape(em: Emitter, self: Any, *shape: Any) -> Value:
    value, dims = pointers(em, self), _shape(em, shape)
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
    return em.emit("ptr_to_int", _pointers(em, pointers))


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
    return em.emit("ptr_to_ptr", _pointers(em, pointers), to=em.static_dtype(dtype))


def _pointers(em: Emitter, x: Any) -> Value:
    return pointers(em, x)


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
    source = _pointers(em, pointers)
    attrs = memory_order(em, ordering, scope, LOAD_ORDERS)
    attrs["latency"] = access_hints(em, latency, None)["latency"]
    if mask is None and fill is not None:
        em.fail(Code.CALL, "`fill` has no meaning without `mask`", got=f"fill={describe(fill)}")
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
    target = _pointers(em, pointers)
    attrs = memory_order(em, ordering, scope, STORE_ORDERS)
    attrs["latency"] = access_hints(em, latency, None)["latency"]
    where = mask_for(em, mask, target.tile.shape)
    em.op("store_ptr", target, value_for(em, value, target, "value"), where, **attrs)


def gather(em: Emitter, pointer: Any, offsets: Any, mask: Any = None, fill: Any = None) -> Value:
    """Read at offsets."""
    em.require_unsafe("`gather`")
    return load_ptr(em, add_pointer(em, _pointers(em, pointer), offsets), mask, fill)


def scatter(em: Emitter, pointer: Any, offsets: Any, value: Any, mask: Any = None) -> None:
    """Write at offsets."""
    em.require_unsafe("`scatter`")
    store_ptr(em, add_pointer(em, _pointers(em, pointer), offsets), value, mask)


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


# --- views of raw memory -----------------------------------------------------------------------


def make_tensor_view(em: Emitter, base: Any, shape: Any, strides: Any = None) -> TensorRef:
    """A tensor at a pointer."""
    em.require_unsafe("`make_tensor_view`")
    pointer = _only_pointer(em, base)
    extents = _dims(em, shape, "shape")
    return _tensor_at(em, pointer, extents, strides, pointer.name or "memory")


def load_tensor(
    em: Emitter, pointers: Any, index: Any, shape: Any, strides: Any, dtype: Any
) -> TensorRef:
    """A tensor at an address that is read from a tensor of addresses."""
    em.require_unsafe("`load_tensor`")
    source = tensor(em, pointers, "pointers")
    if source.type.dtype is not i64:
        em.fail(Code.DTYPE, "addresses are i64", expected="i64", got=f"{source.type.dtype.name}")
    extents = _dims(em, shape, "shape")
    view = make_view(em, source, (1,) * source.type.rank)
    place, guard = checked_index(em, view, source.name, index)
    address = em.emit("reshape", load(em, view, place, guard), shape=())
    if guard is not None and extents:
        # The check failed: there is no address, so there must be no element either.
        extents[0] = em.emit("select", guard, em.index(extents[0]), em.index(0))
    pointer = em.emit("int_to_ptr", address, to=em.static_dtype(dtype))
    return _tensor_at(em, pointer, extents, strides, source.name)


def _dims(em: Emitter, given: Any, what: str) -> list[int | Value]:
    return [
        em.index(n, f"{what}[{k}]") if isinstance(n, Value) else em.static_int(n, f"{what}[{k}]")
        for k, n in enumerate(parts(given))
    ]


def _tensor_at(
    em: Emitter, pointer: Value, extents: list[int | Value], strides: Any, name: str
) -> TensorRef:
    steps = _row_major(em, extents) if strides is None else _dims(em, strides, "strides")
    if len(steps) != len(extents):
        em.fail(
            Code.RANK,
            "one stride per extent is needed",
            expected=f"{len(extents)} strides",
            got=str(len(steps)),
        )
    value = em.emit(
        "make_tensor",
        pointer,
        [n for n in (*extents, *steps) if isinstance(n, Value)],
        shape=_static(extents),
        strides=_static(steps),
        mutable=True,
    )
    return TensorRef(value, name)


def _static(dims: Sequence[int | Value]) -> tuple[int | None, ...]:
    return tuple(None if isinstance(n, Value) else n for n in dims)


def _row_major(em: Emitter, extents: Sequence[int | Value]) -> list[int | Value]:
    steps: list[int | Value] = [1] * len(extents)
    for k in reversed(range(len(extents) - 1)):
        n, step = extents[k + 1], steps[k + 1]
        if isinstance(n, int) and isinstance(step, int):
            steps[k] = n * step
        else:
            steps[k] = em.emit("muli", em.index(n), em.index(step))
    return steps


def make_partition_view(
    em: Emitter, tensor: Any, shape: Any, *, padding: Any = 0, dim_map: Any = None
) -> PartitionRef:
    """A tensor in tiles."""
    source = _tensor(em, tensor)
    view = make_view(em, source, shape, dim_map=dim_map, padding=padding)
    return PartitionRef(view, source.name)


def make_partition_view_mut(
    em: Emitter, tensor: Any, shape: Any, *, padding: Any = 0, dim_map: Any = None
) -> PartitionRef:
    """A whole output, or raw memory, in tiles that may be written."""
    em.require_unsafe("`make_partition_view_mut`")
    source = _tensor(em, tensor)
    if not source.type.mutable:
        read_only(em, source.name)
    view = make_view(em, source, shape, dim_map=dim_map, padding=padding)
    return PartitionRef(view, source.name, mutable=True)


def make_strided_view(
    em: Emitter, tensor: Any, shape: Any, steps: Any, *, padding: Any = 0, dim_map: Any = None
) -> PartitionRef:
    """Tiles that start `steps` apart."""
    em.require_unsafe("`make_strided_view`")
    source = _tensor(em, tensor)
    apart = tuple(em.static_int(n, f"steps[{k}]") for k, n in enumerate(parts(steps)))
    if len(apart) != source.type.rank or min(apart, default=1) < 1:
        em.fail(
            Code.SHAPE,
            f"wrong steps for `{source.name}`",
            expected=f"{source.type.rank} positive ints",
            got=str(apart),
        )
    view = make_view(em, source, shape, dim_map=dim_map, padding=padding, step=apart)
    return PartitionRef(view, source.name, mutable=source.type.mutable)


def make_gather_scatter_view(
    em: Emitter, tensor: Any, shape: Any, axis: Any = 0, *, padding: Any = 0
) -> PartitionRef:
    """Rows in any order along an axis."""
    em.require_unsafe("`make_gather_scatter_view`")
    source = _tensor(em, tensor)
    sparse = em.static_axis(axis, source.type.rank)
    view = make_view(em, source, shape, padding=padding, sparse=sparse)
    return PartitionRef(view, source.name, mutable=source.type.mutable)


def _tensor(em: Emitter, x: Any) -> TensorRef | OutputRef:
    return tensor(em, x, "tensor")


def load_view_tko(
    em: Emitter, view: Any, index: Any, *, latency: Any = None, allow_tma: Any = None
) -> Value:
    """A load without a check."""
    em.require_unsafe("`load_view_tko`")
    ref = partition(em, view)
    return unchecked_load(em, ref, index, **access_hints(em, latency, allow_tma))


def store_view_tko(
    em: Emitter, view: Any, index: Any, tile: Any, *, latency: Any = None, allow_tma: Any = None
) -> None:
    """A store without a check."""
    em.require_unsafe("`store_view_tko`")
    ref = writable(em, view)
    values = unchecked_index(em, ref.view, ref.name, index)
    store(em, tile, ref.view, ref.name, values, **access_hints(em, latency, allow_tma))


# --- promises: hints for backends that use them; none changes a result -------------------------


def _promised(em: Emitter, value: Any, what: str) -> Any:
    em.require_unsafe(f"`{what}`")
    if not isinstance(value, Value | TensorRef | OutputRef | int):
        em.fail(
            Code.TYPE,
            f"`{what}` takes an integer, a tile, pointers or a tensor",
            got=describe(value),
        )
    return value


def _positive(em: Emitter, x: Any, what: str) -> int:
    number = em.static_int(x, what)
    if number < 1:
        em.fail(Code.CALL, f"{what} must be positive", expected="1 or more", got=str(number))
    return number


def _broken(em: Emitter, value: int, promise: str) -> None:
    em.fail(Code.ASSERTION, f"{value} is not {promise}, as it is promised to be")


def assume_div_by(em: Emitter, value: Any, divisor: Any) -> Any:
    """The value; it is promised to be a multiple."""
    promised, by = _promised(em, value, "assume_div_by"), _positive(em, divisor, "divisor")
    if isinstance(promised, int) and promised % by:
        _broken(em, promised, f"a multiple of {by}")
    return promised


def assume_div_by_every_along(em: Emitter, value: Any, divisor: Any, every: Any, axis: Any) -> Any:
    """The value; some of its elements are promised to be multiples."""
    promised = _promised(em, value, "assume_div_by_every_along")
    _positive(em, divisor, "divisor")
    _positive(em, every, "every")
    em.static_axis(axis, promised.tile.rank if isinstance(promised, Value) else 0)
    return promised


def assume_bounds(em: Emitter, value: Any, lower: Any, upper: Any) -> Any:
    """The value; it is promised to lie between bounds."""
    return assume_bounds_upper(em, assume_bounds_lower(em, value, lower), upper)


def assume_bounds_lower(em: Emitter, value: Any, lower: Any) -> Any:
    """The value; it is promised not to lie below."""
    promised, bound = _promised(em, value, "assume_bounds"), em.static_int(lower, "lower")
    if isinstance(promised, int) and promised < bound:
        _broken(em, promised, f"at least {bound}")
    return promised


def assume_bounds_upper(em: Emitter, value: Any, upper: Any) -> Any:
    """The value; it is promised not to lie above."""
    promised, bound = _promised(em, value, "assume_bounds"), em.static_int(upper, "upper")
    if isinstance(promised, int) and promised > bound:
        _broken(em, promised, f"at most {bound}")
    return promised


def assume_same_elements(em: Emitter, value: Any, groups: Any) -> Any:
    """The value; it is promised to be constant in groups."""
    promised = _promised(em, value, "assume_same_elements")
    shape = em.static_shape(groups, "groups")
    rank = promised.tile.rank if isinstance(promised, Value) else 0
    if len(shape) != rank:
        em.fail(Code.RANK, "one group extent per axis", expected=str(rank), got=str(shape))
    return promised


# --- what is known while compiling -------------------------------------------------------------


def _pointer_shape(em: Emitter, self: Any) -> Shape:
    return pointers(em, self).tile.shape


def _pointer_dtype(em: Emitter, self: Any) -> AnyDType:
    return pointee(pointers(em, self))


def _pointer_rank(em: Emitter, self: Any) -> int:
    return pointers(em, self).tile.rank


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
    "make_tensor_view": make_tensor_view,
    "load_tensor": load_tensor,
    "make_partition_view": make_partition_view,
    "make_partition_view_mut": make_partition_view_mut,
    "make_strided_view": make_strided_view,
    "make_gather_scatter_view": make_gather_scatter_view,
    "load_view_tko": load_view_tko,
    "store_view_tko": store_view_tko,
    "assume_div_by": assume_div_by,
    "assume_div_by_every_along": assume_div_by_every_along,
    "assume_bounds": assume_bounds,
    "assume_bounds_lower": assume_bounds_lower,
    "assume_bounds_upper": assume_bounds_upper,
    "assume_same_elements": assume_same_elements,
}
PROPERTIES: frozenset[str] = frozenset(
    (*(f"PointerTile.{n}" for n in ("shape", "dtype", "rank", "ndim")), "Global.shape",
     "Global.dtype")
)  # fmt: skip
