"""Tensor views and tiles of them: loads and stores, padded and cut off at the edges.

A tile whose index is outside of the index space has no element in the tensor: nothing of it is
touched. The specification leaves that undefined, but the assembler compares the index with the
number of tiles wherever `inbounds` does not promise anything, and the lowering relies on it: for
parts of regions at the edge, and for tensors without elements after a check that failed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ....base.shapes import ceil_div
from ..program.core import Instr, Val
from ..program.types import (
    GatherView,
    Padding,
    PartitionView,
    Scalar,
    StridedView,
    TensorView,
    Tile,
)
from .accesses import LOADS, STORES, moved, note
from .machine import Frame, Results, Rule
from .memory import load, store, stored
from .values import (
    ELEMENTS,
    Array,
    TensorValue,
    UndefinedError,
    ViewValue,
    garbage,
    integers,
    tile_kind,
    unsigned,
)  # fmt: skip

PADDINGS: dict[Padding, float] = {
    Padding.zero: 0.0, Padding.neg_zero: -0.0, Padding.nan: math.nan, Padding.pos_inf: math.inf,
    Padding.neg_inf: -math.inf,
}  # fmt: skip


def _make_tensor(frame: Frame, instr: Instr) -> Results:
    kind = instr.result.kind
    assert isinstance(kind, TensorView), f"{kind} is no tensor view"
    (base,) = frame.group(instr, "base")
    dims: list[tuple[int, ...]] = []
    for static, name in ((kind.shape, "shape"), (kind.strides, "strides")):
        given = iter(int(unsigned(frame.array(v))) for v in frame.group(instr, name))
        dims.append(tuple(next(given) if n is None else n for n in static))
        if next(given, None) is not None:
            frame.fail(f"too many operands for {kind}")
    return (TensorValue(kind, frame.array(base), dims[0], tuple(map(_wrapped, dims[1]))),)


def _wrapped(stride: int) -> int:
    """A stride as addresses see it, which wrap around after 64 bits."""
    return stride - (1 << 64) if stride >> 63 else stride


def _make_view(frame: Frame, instr: Instr) -> Results:
    kind = instr.result.kind
    assert isinstance(kind, PartitionView | StridedView | GatherView), f"{kind} is no view"
    tensor = frame.values[instr.operands[0]]
    assert isinstance(tensor, TensorValue), "a view is one of a tensor"
    if tensor.kind != kind.tensor:
        frame.fail(f"{kind} of {tensor.kind}")
    return (ViewValue(kind, tensor),)


def _steps(view: ViewValue) -> tuple[int, ...]:
    """How far apart tiles start, along each axis of the tile."""
    match view.kind:
        case GatherView():
            return (1,) * len(view.kind.tile)
        case StridedView():
            return view.kind.steps
        case PartitionView():
            return view.kind.tile


def _axes(view: ViewValue) -> tuple[int, ...]:
    """The axis of the tensor along each axis of the tile."""
    kind = view.kind
    return tuple(range(len(kind.tile))) if isinstance(kind, GatherView) else kind.dim_map


def _index_space(view: ViewValue) -> tuple[int, ...]:
    pairs = zip(_axes(view), _steps(view), strict=True)
    return tuple(ceil_div(view.tensor.shape[axis], step) for axis, step in pairs)


def _coordinates(frame: Frame, view: ViewValue, k: int, index: Array, promised: bool) -> Array:
    """The coordinates of a tile along one of its axes; some may lie outside of the tensor."""
    kind, length = view.kind, view.kind.tile[k]
    extent = view.tensor.shape[_axes(view)[k]]
    if isinstance(kind, GatherView) and k == kind.sparse:
        made = unsigned(index).astype(np.int64)
    else:
        number, count = int(unsigned(index)), _index_space(view)[k]
        start = number * _steps(view)[k] if number < count else extent
        made = start + np.arange(length)
    if promised and np.any(made >= extent):
        raise UndefinedError(f"axis {k} was promised to be inside, up to {made.max()} of {extent}")
    return made


def _elements(
    frame: Frame, view: ViewValue, index: Sequence[Array], instr: Instr
) -> tuple[Array, Array]:
    """Pointers to the elements of a tile, and which of them lie inside of the tensor."""
    shape, tensor = view.kind.tile, view.tensor
    promises = instr.attrs.get("inbounds")
    promised = promises if isinstance(promises, tuple) else (0,) * len(shape)
    if any(promised) and view.kind.padding is not None:
        frame.fail("a padded view with a promise to be inside")
    offsets: Array = np.zeros(shape, np.int64)
    inside: Array = np.ones(shape, np.bool_)
    for k, (axis, at) in enumerate(zip(_axes(view), index, strict=True)):
        row = [-1 if i == k else 1 for i in range(len(shape))]
        coordinates = _coordinates(frame, view, k, at, bool(promised[k])).reshape(row)
        offsets += coordinates * tensor.strides[axis]
        inside = inside & (coordinates < tensor.shape[axis])
    itemsize = stored(tensor.kind.elem).itemsize
    return moved(np.broadcast_to(tensor.base, shape), offsets * itemsize), inside


def _view(frame: Frame, value: Val) -> ViewValue:
    found = frame.values[value]
    assert isinstance(found, ViewValue), f"{value.kind} is no view"
    return found


def _padded(view: ViewValue, kind: Tile) -> Array:
    """A tile of what elements outside of the tensor are."""
    if view.kind.padding is None:
        return garbage(kind)
    value = PADDINGS[view.kind.padding]
    if kind.scalar.is_int and view.kind.padding is not Padding.zero:
        raise UndefinedError(f"integers padded with {view.kind.padding.name}")
    return np.full(kind.shape, value).astype(ELEMENTS[kind.scalar])


def _load(frame: Frame, instr: Instr) -> Results:
    order = frame.check_order(instr, *LOADS)
    view = _view(frame, frame.group(instr, "view")[0])
    kind, elem = tile_kind(instr.results[0].kind), view.tensor.kind.elem
    _check_tile(frame, kind, view, elem)
    index = [frame.array(v) for v in frame.group(instr, "index")]
    pointers, inside = _elements(frame, view, index, instr)
    made = _padded(view, kind)
    pieces = frame.launch.memory.pieces(pointers, inside, elem)
    load(pieces, elem, made)
    return made, note(frame, instr, pieces, order, writes=False)


def _store(frame: Frame, instr: Instr) -> Results:
    order = frame.check_order(instr, *STORES)
    view = _view(frame, frame.group(instr, "view")[0])
    (value,), elem = frame.group(instr, "tile"), view.tensor.kind.elem
    _check_tile(frame, tile_kind(value.kind), view, elem)
    index = [frame.array(v) for v in frame.group(instr, "index")]
    pointers, inside = _elements(frame, view, index, instr)
    pieces = frame.launch.memory.pieces(pointers, inside, elem)
    token = note(frame, instr, pieces, order, writes=True)
    store(pieces, elem, frame.array(value))
    return (token,)


def _check_tile(frame: Frame, kind: Tile, view: ViewValue, elem: Scalar) -> None:
    if kind != Tile(elem, view.kind.tile):
        frame.fail(f"{kind} through {view.kind}")


def _dims(frame: Frame, instr: Instr, numbers: Sequence[int]) -> Results:
    kinds = [tile_kind(v.kind).scalar for v in instr.results]
    pairs = zip(numbers, kinds, strict=True)
    return tuple(integers(np.array(n), kind) for n, kind in pairs)


def _index_space_shape(frame: Frame, instr: Instr) -> Results:
    return _dims(frame, instr, _index_space(_view(frame, instr.operands[0])))


def _tensor_shape(frame: Frame, instr: Instr) -> Results:
    tensor = frame.values[instr.operands[0]]
    assert isinstance(tensor, TensorValue), "only tensors have extents"
    return _dims(frame, instr, tensor.shape)


RULES: dict[str, Rule] = {
    "make_tensor_view": _make_tensor,
    **dict.fromkeys(
        ("make_partition_view", "make_strided_view", "make_gather_scatter_view"), _make_view
    ),
    "load_view_tko": _load, "store_view_tko": _store,
    "get_index_space_shape": _index_space_shape, "get_tensor_shape": _tensor_shape,
}  # fmt: skip
