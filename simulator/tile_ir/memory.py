"""Memory instructions: pointers, atomics, tensor views and tiles of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from tilewright.backend.tileir.bytecode.enums import AtomicModeCode, MemoryOrdering
from tilewright.backend.tileir.bytecode.program import Instr, Val
from tilewright.backend.tileir.bytecode.types import (
    GatherView,
    PaddingMode,
    PartitionView,
    Pointer,
    ScalarType,
    StridedView,
    TensorView,
    TileValueType,
)
from tilewright.base.shapes import ceil_div

from .machine import BlockFrame, Results, Rule, number_of
from .storage import ANY, Piece, load, store, stored
from .values import (
    ELEMENTS,
    POINTER,
    Array,
    TensorValue,
    TokenValue,
    UndefinedError,
    ViewValue,
    garbage,
    integers,
    signed,
    tile_kind,
    unsigned,
)

# -------------------------------------------------------------------------------------------------
# Pointers: arithmetic, loads, stores, and atomics.

LOADS = (MemoryOrdering.WEAK, MemoryOrdering.RELAXED, MemoryOrdering.ACQUIRE)
STORES = (MemoryOrdering.WEAK, MemoryOrdering.RELAXED, MemoryOrdering.RELEASE)
ATOMIC = tuple(order for order in MemoryOrdering if order is not MemoryOrdering.WEAK)


def pointee(value: Val) -> ScalarType:
    """Return the element type that a tile of pointers points to."""
    elem = tile_kind(value.kind).elem
    assert isinstance(elem, Pointer), f"{value.kind} holds no pointers"
    return elem.to


# --- addresses -----------------------------------------------------------------------------------


def _offset(frame: BlockFrame, instr: Instr) -> Results:
    pointers, by = frame.arrays(instr)
    if pointers.shape != by.shape:
        frame.fail(f"its operands have the shapes {pointers.shape} and {by.shape}")
    itemsize = stored(pointee(instr.operands[0])).itemsize
    return (moved(pointers, signed(by).astype(np.int64) * itemsize),)


def moved(pointers: Array, nbytes: Array) -> Array:
    """Return pointers so many bytes further on."""
    made = np.empty(np.broadcast_shapes(pointers.shape, nbytes.shape), POINTER)
    made["address"] = pointers["address"] + nbytes
    made["origin"] = pointers["origin"]
    return made


def _ptr_to_int(frame: BlockFrame, instr: Instr) -> Results:
    (pointers,) = frame.arrays(instr)
    return (np.array(pointers["address"]),)


def _int_to_ptr(frame: BlockFrame, instr: Instr) -> Results:
    (addresses,) = frame.arrays(instr)
    made = np.empty(addresses.shape, POINTER)
    made["address"], made["origin"] = addresses, ANY
    return (made,)


def _ptr_to_ptr(frame: BlockFrame, instr: Instr) -> Results:
    return frame.arrays(instr)


# --- loads and stores ----------------------------------------------------------------------------


def note(
    frame: BlockFrame, instr: Instr, pieces: list[Piece], order: MemoryOrdering, *, writes: bool
) -> TokenValue:
    """Note an access of the block, and return its token."""
    weak = order is MemoryOrdering.WEAK
    name, token = instr.op.name, frame.token(instr)
    return frame.accesses.note(pieces, name, token, writes=writes, weak=weak)


def _load_pointers(frame: BlockFrame, instr: Instr) -> Results:
    order = frame.check_order(instr, *LOADS)
    (source,) = frame.group(instr, "source")
    mask, padding = frame.maybe(instr, "mask"), frame.maybe(instr, "padding")
    kind = tile_kind(instr.results[0].kind)
    _check_types(frame, kind.scalar, pointee(source))
    made = garbage(kind) if mask is None or padding is None else padding.copy()
    pieces = frame.launch.memory.pieces(frame.array(source), mask, kind.scalar)
    load(pieces, kind.scalar, made)
    return made, note(frame, instr, pieces, order, writes=False)


def _store_pointers(frame: BlockFrame, instr: Instr) -> Results:
    order = frame.check_order(instr, *STORES)
    (destination,), (value,) = frame.group(instr, "destination"), frame.group(instr, "value")
    kind = tile_kind(value.kind)
    _check_types(frame, kind.scalar, pointee(destination))
    pointers, mask = frame.array(destination), frame.maybe(instr, "mask")
    pieces = frame.launch.memory.pieces(pointers, mask, kind.scalar)
    token = note(frame, instr, pieces, order, writes=True)
    store(pieces, kind.scalar, frame.array(value))
    return (token,)


def _check_types(frame: BlockFrame, kind: ScalarType, to: ScalarType) -> None:
    if kind != to:
        frame.fail(f"{kind} at a pointer to {to}")


# --- atomics -------------------------------------------------------------------------------------

Update = Callable[[Array, Array], Array]
"""From what is in memory and the operand to what is put there."""
UPDATES: dict[AtomicModeCode, Update] = {
    AtomicModeCode.AND: np.bitwise_and, AtomicModeCode.OR: np.bitwise_or,
    AtomicModeCode.XOR: np.bitwise_xor,
    AtomicModeCode.ADD: np.add, AtomicModeCode.ADDF: np.add,
    AtomicModeCode.MAX: np.maximum, AtomicModeCode.MIN: np.minimum,
    AtomicModeCode.UMAX: lambda a, b: np.maximum(unsigned(a), unsigned(b)).view(a.dtype),
    AtomicModeCode.UMIN: lambda a, b: np.minimum(unsigned(a), unsigned(b)).view(a.dtype),
    AtomicModeCode.XCHG: lambda old, value: value,
}  # fmt: skip


def _check_mode(frame: BlockFrame, mode: AtomicModeCode, kind: ScalarType) -> None:
    if mode is AtomicModeCode.ADDF:
        fits = not kind.is_int and kind.width >= 16
    else:
        fits = kind.width in (32, 64) and (kind.is_int or mode is AtomicModeCode.XCHG)
    if not fits:
        frame.fail(f"{mode.name} of {kind}")


def _rmw(frame: BlockFrame, instr: Instr) -> Results:
    (value,) = frame.group(instr, "arg")
    kind, mode = tile_kind(value.kind), AtomicModeCode(number_of(instr, "mode"))
    _check_mode(frame, mode, kind.scalar)
    update, arg = UPDATES[mode], frame.array(value)
    return _atomic(frame, instr, garbage(kind), lambda old, at: update(old, arg.reshape(-1)[at]))


def _cas(frame: BlockFrame, instr: Instr) -> Results:
    (compare,), (value,) = frame.group(instr, "cmp"), frame.group(instr, "val")
    kind = tile_kind(value.kind).scalar
    if kind.width not in (32, 64):
        frame.fail(f"compare and swap of {kind}")
    wanted, new = frame.array(compare).reshape(-1), frame.array(value).reshape(-1)
    word = np.dtype(f"u{new.dtype.itemsize}")

    def swap(old: Array, at: Array) -> Array:
        same = old.view(word) == wanted[at].view(word)
        return np.where(same, new[at], old).astype(old.dtype)

    return _atomic(frame, instr, frame.array(compare).copy(), swap)


def _atomic(
    frame: BlockFrame, instr: Instr, old: Array, update: Callable[[Array, Array], Array]
) -> Results:
    """Update elements one after the other where several are at one address, else all at once."""
    order = frame.check_order(instr, *ATOMIC)
    (pointers,), mask = frame.group(instr, "pointers"), frame.maybe(instr, "mask")
    kind = tile_kind(instr.results[0].kind).scalar
    _check_types(frame, kind, pointee(pointers))
    array = frame.array(pointers)
    pieces = frame.launch.memory.pieces(array, mask, kind)
    token = note(frame, instr, pieces, order, writes=True)
    for piece in pieces:
        for part in _apart(piece):
            load([part], kind, old)
            made = old.copy()
            made.reshape(-1)[part.lanes] = update(old.reshape(-1)[part.lanes], part.lanes)
            store([part], kind, made)
    return old, token


def _apart(piece: Piece) -> list[Piece]:
    """Split an access into parts whose elements have distinct addresses."""
    if len(np.unique(piece.index)) == len(piece.index):
        return [piece]
    return [
        Piece(piece.allocation, piece.number, piece.lanes[i : i + 1], piece.index[i : i + 1],
              piece.itemsize)
        for i in range(len(piece.index))
    ]  # fmt: skip


# -------------------------------------------------------------------------------------------------
# Tensor views and tiles of them: loads and stores, padded and clipped at the boundary.
#
# A tile whose index is outside of the index space has no element in the tensor: nothing of it is
# accessed. The specification leaves that undefined, but the assembler compares the index with the
# number of tiles unless `inbounds` promises otherwise, and the lowering relies on it: for boundary
# parts of regions, and for empty tensors after a failed check.

PADDINGS: dict[PaddingMode, float] = {
    PaddingMode.zero: 0.0, PaddingMode.neg_zero: -0.0, PaddingMode.nan: math.nan,
    PaddingMode.pos_inf: math.inf,
    PaddingMode.neg_inf: -math.inf,
}  # fmt: skip


def _make_tensor(frame: BlockFrame, instr: Instr) -> Results:
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
    """Return a stride modulo 2**64, as addresses wrap around."""
    return stride - (1 << 64) if stride >> 63 else stride


def _make_view(frame: BlockFrame, instr: Instr) -> Results:
    kind = instr.result.kind
    assert isinstance(kind, PartitionView | StridedView | GatherView), f"{kind} is no view"
    tensor = frame.values[instr.operands[0]]
    assert isinstance(tensor, TensorValue), "a view is one of a tensor"
    if tensor.kind != kind.tensor:
        frame.fail(f"{kind} of {tensor.kind}")
    return (ViewValue(kind, tensor),)


def _steps(view: ViewValue) -> tuple[int, ...]:
    """Return the distance between the starts of tiles, along each axis of the tile."""
    match view.kind:
        case GatherView():
            return (1,) * len(view.kind.tile)
        case StridedView():
            return view.kind.steps
        case PartitionView():
            return view.kind.tile


def _axes(view: ViewValue) -> tuple[int, ...]:
    """Return the axis of the tensor along each axis of the tile."""
    kind = view.kind
    return tuple(range(len(kind.tile))) if isinstance(kind, GatherView) else kind.dim_map


def _index_space(view: ViewValue) -> tuple[int, ...]:
    pairs = zip(_axes(view), _steps(view), strict=True)
    return tuple(ceil_div(view.tensor.shape[axis], step) for axis, step in pairs)


def _coordinates(frame: BlockFrame, view: ViewValue, k: int, index: Array, promised: bool) -> Array:
    """Return the coordinates of a tile along one of its axes; some may be out of bounds."""
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
    frame: BlockFrame, view: ViewValue, index: Sequence[Array], instr: Instr
) -> tuple[Array, Array]:
    """Return pointers to the elements of a tile, and which of them lie inside of the tensor."""
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


def _view(frame: BlockFrame, value: Val) -> ViewValue:
    found = frame.values[value]
    assert isinstance(found, ViewValue), f"{value.kind} is no view"
    return found


def _padded(view: ViewValue, kind: TileValueType) -> Array:
    """Return a tile of padding, for elements outside of the tensor."""
    if view.kind.padding is None:
        return garbage(kind)
    value = PADDINGS[view.kind.padding]
    if kind.scalar.is_int and view.kind.padding is not PaddingMode.zero:
        raise UndefinedError(f"integers padded with {view.kind.padding.name}")
    return np.full(kind.shape, value).astype(ELEMENTS[kind.scalar])


def _load_tile(frame: BlockFrame, instr: Instr) -> Results:
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


def _store_tile(frame: BlockFrame, instr: Instr) -> Results:
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


def _check_tile(frame: BlockFrame, kind: TileValueType, view: ViewValue, elem: ScalarType) -> None:
    if kind != TileValueType(elem, view.kind.tile):
        frame.fail(f"{kind} through {view.kind}")


def _dims(frame: BlockFrame, instr: Instr, numbers: Sequence[int]) -> Results:
    kinds = [tile_kind(v.kind).scalar for v in instr.results]
    pairs = zip(numbers, kinds, strict=True)
    return tuple(integers(np.array(n), kind) for n, kind in pairs)


def _index_space_shape(frame: BlockFrame, instr: Instr) -> Results:
    return _dims(frame, instr, _index_space(_view(frame, instr.operands[0])))


def _tensor_shape(frame: BlockFrame, instr: Instr) -> Results:
    tensor = frame.values[instr.operands[0]]
    assert isinstance(tensor, TensorValue), "only tensors have extents"
    return _dims(frame, instr, tensor.shape)


RULES: dict[str, Rule] = {
    "offset": _offset,
    "ptr_to_int": _ptr_to_int,
    "int_to_ptr": _int_to_ptr,
    "ptr_to_ptr": _ptr_to_ptr,
    "load_ptr_tko": _load_pointers,
    "store_ptr_tko": _store_pointers,
    "atomic_rmw_tko": _rmw,
    "atomic_cas_tko": _cas,
    "make_tensor_view": _make_tensor,
    **dict.fromkeys(
        ("make_partition_view", "make_strided_view", "make_gather_scatter_view"), _make_view
    ),
    "load_view_tko": _load_tile,
    "store_view_tko": _store_tile,
    "get_index_space_shape": _index_space_shape,
    "get_tensor_shape": _tensor_shape,
}
