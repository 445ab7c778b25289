"""Memory ops: views and tiles, raw pointers, atomics, tokens."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from ...base.dtypes import AnyDType
from ...base.shapes import ceil_div
from ...ir.attrs import AtomicMode
from ...ir.core import Op, Value
from ...ir.ops.memory import PLAIN
from ...ir.types import PtrType, ViewType
from . import floating
from .elementwise import greatest, least
from .floating import Array
from .machine import Frame, Results, Rule, TensorData, TokenData, elementwise, filled
from .storage import encode

# -------------------------------------------------------------------------------------------------
# Raw pointers: addresses as 64-bit integers; only those of arguments are ever touched.


def pointee(pointers: Value) -> AnyDType:
    """Return the element type that a tile of pointers points to."""
    elem = pointers.tile.elem
    assert isinstance(elem, PtrType), f"expected pointers, got {pointers.type}"
    return elem.to


def mask_of(frame: Frame, op: Op, pointers: Array) -> Array:
    """Return the mask of a pointer access, all true where it has none."""
    mask = op.maybe("mask")
    return np.ones(pointers.shape, np.bool_) if mask is None else frame.array(mask)


def _offset(frame: Frame, op: Op) -> Results:
    pointers, by = frame.arrays(op)
    return (pointers + by.astype(np.int64) * pointee(op.one("pointer")).itemsize,)


def _load_ptr(frame: Frame, op: Op) -> Results:
    source, padding = op.one("source"), op.maybe("padding")
    dtype, pointers, memory = pointee(source), frame.array(source), frame.launch.memory
    mask = mask_of(frame, op, pointers)
    loaded = memory.read(memory.watch.enter(op), pointers, mask, dtype)
    rest = filled(dtype, loaded.shape, 0) if padding is None else frame.array(padding)
    return (np.where(mask, loaded, rest),)


def _store_ptr(frame: Frame, op: Op) -> Results:
    target = op.one("target")
    pointers, memory = frame.array(target), frame.launch.memory
    value = frame.array(op.one("value"))
    mask = mask_of(frame, op, pointers)
    memory.write(memory.watch.enter(op), pointers, mask, value, pointee(target))
    return ()


def _same(addresses: Array) -> Array:
    return addresses


# -------------------------------------------------------------------------------------------------
# Atomic read-modify-write: elements that share an address are updated in row-major order.


def _add(dtype: AnyDType, old: Array, value: Array) -> Array:
    return floating.in_f32(np.add, dtype, [old, value])


def _max(dtype: AnyDType, old: Array, value: Array) -> Array:
    if dtype.is_float:
        return floating.in_f32(partial(greatest, nan=True), dtype, [old, value])
    return np.maximum(old, value)


def _min(dtype: AnyDType, old: Array, value: Array) -> Array:
    if dtype.is_float:
        return floating.in_f32(partial(least, nan=True), dtype, [old, value])
    return np.minimum(old, value)


Combine = Callable[[AnyDType, Array, Array], Array]

COMBINE: dict[AtomicMode, Combine] = {
    AtomicMode.ADD: _add,
    AtomicMode.AND: lambda dtype, old, value: np.bitwise_and(old, value),
    AtomicMode.OR: lambda dtype, old, value: np.bitwise_or(old, value),
    AtomicMode.XOR: lambda dtype, old, value: np.bitwise_xor(old, value),
    AtomicMode.MAX: _max,
    AtomicMode.MIN: _min,
    AtomicMode.XCHG: lambda dtype, old, value: value,
}
"""What each mode makes of the old element and the given one."""


def _atomic_rmw(frame: Frame, op: Op) -> Results:
    target = op.one("target")
    dtype, pointers, memory = pointee(target), frame.array(target), frame.launch.memory
    value = frame.array(op.one("value")).reshape(-1)
    combine = COMBINE[op.attrs["mode"]]
    old = memory.update(
        memory.watch.enter(op), pointers, mask_of(frame, op, pointers), dtype,
        lambda old, at: combine(dtype, old, value[at]),
    )  # fmt: skip
    return (old,)


def _atomic_cas(frame: Frame, op: Op) -> Results:
    target, compare = op.one("target"), frame.array(op.one("compare"))
    dtype, pointers, memory = pointee(target), frame.array(target), frame.launch.memory
    value, expected = frame.array(op.one("value")).reshape(-1), compare.reshape(-1)
    mask = mask_of(frame, op, pointers)

    def swap(old: Array, at: Array) -> Array:
        same = np.all(encode(old, dtype) == encode(expected[at], dtype), axis=1)
        return np.where(same, value[at], old)

    old = memory.update(memory.watch.enter(op), pointers, mask, dtype, swap)
    return (np.where(mask, old, compare),)


# -------------------------------------------------------------------------------------------------
# Tensors, views of them, and tile accesses; elements outside a view are never touched.


def _i32(n: int) -> Array:
    return np.asarray(n, np.int64).astype(np.int32)


def _extent(frame: Frame, op: Op) -> Results:
    axis: int = op.attrs["axis"]
    return (_i32(frame.tensor(op.one("tensor")).extents[axis]),)


def _make_tensor(frame: Frame, op: Op) -> Results:
    dims = [frame.integer(v) for v in op.all("dims")]
    given = iter(dims)
    numbers = [next(given) if n is None else n for n in (*op.attrs["shape"], *op.attrs["strides"])]
    rank, itemsize = len(op.attrs["shape"]), op.result.tensor.dtype.itemsize
    strides = tuple(n * itemsize for n in numbers[rank:])
    return (TensorData(frame.integer(op.one("base")), tuple(numbers[:rank]), strides),)


def _make_view(frame: Frame, op: Op) -> Results:
    return (frame.tensor(op.one("tensor")),)


def _num_tiles(frame: Frame, op: Op) -> Results:
    view = op.one("view").view
    axis: int = op.attrs["axis"]
    extents = view.frame or frame.tensor(op.one("view")).extents
    step = (view.step or view.tile)[axis]
    return (_i32(ceil_div(extents[view.dim_map[axis]], step)),)


def _check(frame: Frame, op: Op) -> Results:
    index, extent = frame.integer(op.one("index")), frame.integer(op.one("extent"))
    ok = 0 <= index < extent
    if not ok:
        frame.fail(op, index, extent)
    return (np.asarray(ok),)


def _local(frame: Frame, view: ViewType, k: int, index: Value) -> Array:
    """Return the positions of a tile's elements along tile axis k, before a frame moves them."""
    given = frame.array(index).astype(np.int64)
    if k == view.sparse:
        return given
    # The other indices of a sparse view are elements, not tiles.
    step = 1 if view.sparse is not None else (view.step or view.tile)[k]
    return given * step + np.arange(view.tile[k], dtype=np.int64)


def _coordinates(
    frame: Frame, view: ViewType, k: int, index: Value, extent: int
) -> tuple[Array, Array]:
    """Return coordinates in the tensor along tile axis k, and which of them are inside."""
    coords = _local(frame, view, k, index)
    inside = np.ones(coords.shape, np.bool_)
    if view.frame is not None:
        axis = view.dim_map[k]
        inside = (coords >= 0) & (coords < view.frame[axis])
        coords = coords + frame.block[axis] * view.frame[axis]
    return coords, inside & (coords >= 0) & (coords < extent)


def _window(frame: Frame, op: Op) -> tuple[Array, Array]:
    """Return the addresses of a tile's elements, and which of them may be touched."""
    view, tensor = op.one("view").view, frame.tensor(op.one("view"))
    guard = op.maybe("guard")
    address = np.full(view.tile, tensor.address, np.int64)
    inside = np.full(view.tile, True if guard is None else bool(frame.array(guard)))
    window: list[tuple[int, Array]] = []
    for k, index in enumerate(op.all("index")):
        axis = view.dim_map[k]
        coords, valid = _coordinates(frame, view, k, index, tensor.extents[axis])
        window.append((axis, coords))
        along = [-1 if i == k else 1 for i in range(view.rank)]
        address = address + (np.where(valid, coords, 0) * tensor.strides[axis]).reshape(along)
        inside = inside & valid.reshape(along)
    if frame.launch.memory.recorder is not None:
        rank = len(tensor.extents)
        frame.launch.memory.recorder.about(view.tensor.param or "", window, rank)
    return address, inside


def _load_view(frame: Frame, op: Op) -> Results:
    view = op.one("view").view
    dtype = view.tensor.dtype
    address, inside = _window(frame, op)
    memory = frame.launch.memory
    loaded = memory.read(memory.watch.enter(op), address, inside, dtype)
    padding = filled(dtype, view.tile, 0 if view.padding is None else view.padding)
    return (np.where(inside, loaded, padding),)


def _store_view(frame: Frame, op: Op) -> Results:
    address, inside = _window(frame, op)
    memory = frame.launch.memory
    value = frame.array(op.one("value"))
    memory.write(memory.watch.enter(op), address, inside, value, op.one("view").view.tensor.dtype)
    return ()


def _atomic_red_view(frame: Frame, op: Op) -> Results:
    dtype = op.one("view").view.tensor.dtype
    address, inside = _window(frame, op)
    memory = frame.launch.memory
    value = frame.array(op.one("value")).reshape(-1)
    combine = COMBINE[op.attrs["mode"]]
    memory.update(
        memory.watch.enter(op), address, inside, dtype,
        lambda old, at: combine(dtype, old, value[at]),
    )  # fmt: skip
    return ()


# -------------------------------------------------------------------------------------------------
# Memory ops with tokens: program order already satisfies every token.

PLAIN_RULES: dict[str, Rule] = {
    "offset": _offset,
    "load_ptr": _load_ptr,
    "store_ptr": _store_ptr,
    "ptr_to_int": elementwise(_same),
    "int_to_ptr": elementwise(_same),
    "ptr_to_ptr": elementwise(_same),
    "atomic_rmw": _atomic_rmw,
    "atomic_cas": _atomic_cas,
    "extent": _extent,
    "make_tensor": _make_tensor,
    "make_view": _make_view,
    "num_tiles": _num_tiles,
    "check": _check,
    "load_view": _load_view,
    "store_view": _store_view,
    "atomic_red_view": _atomic_red_view,
}
"""Rules of the ops without tokens."""


def _token(frame: Frame, op: Op) -> Results:
    return (TokenData(),)


def _ordered(plain: Rule) -> Rule:
    """Return the rule of the variant with tokens: the plain op, and a token."""

    def rule(frame: Frame, op: Op) -> Results:
        results = plain(frame, op)
        assert isinstance(results, tuple), "a memory op neither waits nor ends a region"
        return (*results, TokenData())

    return rule


RULES: dict[str, Rule] = {
    **PLAIN_RULES,
    "make_token": _token,
    "join_tokens": _token,
    **{f"{op.name}_tko": _ordered(PLAIN_RULES[op.name]) for op in PLAIN},
}
