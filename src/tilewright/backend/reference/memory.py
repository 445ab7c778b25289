"""Tensors, views of them, and tile accesses: what lies outside a view is never touched."""

from __future__ import annotations

import numpy as np

from ...base.shapes import ceil_div
from ...ir.core import Op, Value
from ...ir.types import ViewType
from .atomics import COMBINE
from .exact import Array
from .machine import Frame, Results, Rule, TensorData, filled


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
    """Where the elements of a tile stand along tile axis k, before a frame moves them."""
    given = frame.array(index).astype(np.int64)
    if k == view.sparse:
        return given
    # The other indices of a sparse view are elements, not tiles.
    step = 1 if view.sparse is not None else (view.step or view.tile)[k]
    return given * step + np.arange(view.tile[k], dtype=np.int64)


def _coordinates(
    frame: Frame, view: ViewType, k: int, index: Value, extent: int
) -> tuple[Array, Array]:
    """Coordinates in the tensor along tile axis k, and which of them are inside."""
    coords = _local(frame, view, k, index)
    inside = np.ones(coords.shape, np.bool_)
    if view.frame is not None:
        axis = view.dim_map[k]
        inside = (coords >= 0) & (coords < view.frame[axis])
        coords = coords + frame.block[axis] * view.frame[axis]
    return coords, inside & (coords >= 0) & (coords < extent)


def _window(frame: Frame, op: Op) -> tuple[Array, Array]:
    """The addresses of a tile's elements, and which of them may be touched."""
    view, tensor = op.one("view").view, frame.tensor(op.one("view"))
    guard = op.maybe("guard")
    address = np.full(view.tile, tensor.address, np.int64)
    inside = np.full(view.tile, True if guard is None else bool(frame.array(guard)))
    for k, index in enumerate(op.all("index")):
        axis = view.dim_map[k]
        coords, valid = _coordinates(frame, view, k, index, tensor.extents[axis])
        along = [-1 if i == k else 1 for i in range(view.rank)]
        address = address + (np.where(valid, coords, 0) * tensor.strides[axis]).reshape(along)
        inside = inside & valid.reshape(along)
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


RULES: dict[str, Rule] = {
    "extent": _extent,
    "make_tensor": _make_tensor,
    "make_view": _make_view,
    "num_tiles": _num_tiles,
    "check": _check,
    "load_view": _load_view,
    "store_view": _store_view,
    "atomic_red_view": _atomic_red_view,
}
