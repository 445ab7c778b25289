"""Rules of the memory family: tensors, outputs and partitions, loads and stores of tiles."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from ...base.dtypes import AnyDType
from ...base.errors import Code
from ...base.shapes import Shape, ceil_div
from ...ir.core import Value
from ..access import (
    access_hints,
    block_index,
    checked_index,
    load,
    make_view,
    store,
    tile_count,
    unchecked_index,
)  # fmt: skip
from ..describe import describe
from ..emit import Emitter
from ..extents import require_same_extents
from ..masks import mask_of
from ..offsets import checked_offsets, free_offsets, view_at
from ..rows import checked_rows
from ..values import AccumulatorRef, MappedRef, OutputRef, PartitionRef, TensorRef

# --- what a name is ----------------------------------------------------------------------------


def tensor(em: Emitter, x: Any, what: str) -> TensorRef | OutputRef:
    """A tensor or an output, refused otherwise."""
    if not isinstance(x, TensorRef | OutputRef):
        hint = "it may be None: test it first, `if x is not None`" if x is None else None
        em.fail(
            Code.TYPE, f"{what} must be a tensor", expected="a tensor", got=describe(x), hint=hint
        )
    return x


def output(em: Emitter, x: Any, what: str) -> OutputRef:
    """An output, refused otherwise."""
    if isinstance(x, TensorRef):
        read_only(em, x.name)
    if not isinstance(x, OutputRef):
        mapped = isinstance(x, MappedRef)
        em.fail(
            Code.TYPE,
            f"{what} must be an output",
            expected="a tl.TensorMut parameter",
            got=describe(x),
            hint=f"load by its index: x.partition({x.name}.shape).load(index)" if mapped else None,
        )
    return x


def partition(em: Emitter, x: Any, what: str = "view") -> PartitionRef:
    """A partition, refused otherwise."""
    if not isinstance(x, PartitionRef):
        em.fail(
            Code.TYPE,
            f"{what} must be a partition",
            expected="the result of x.partition(shape)",
            got=describe(x),
        )
    return x


def read_only(em: Emitter, name: str) -> NoReturn:
    """Refuse to write to a read-only tensor."""
    em.fail(
        Code.READ_ONLY,
        f"`{name}` is read-only",
        expected="an output",
        got=f"tensor `{name}`",
        hint=f"declare it as an output, `{name}: tl.TensorMut`, and pass a partition of it",
    )


# --- the block's own region --------------------------------------------------------------------


def _load_output(em: Emitter, self: Any, *, padding: Any = 0) -> Value:
    out = output(em, self, "out")
    view = make_view(em, out, out.tile, padding=padding, what=f"{out.name}.shape")
    return load(em, view, block_index(em, len(out.tile)))


def _store_output(em: Emitter, self: Any, tile: Any) -> None:
    out = output(em, self, "out")
    view = make_view(em, out, out.tile, what=f"{out.name}.shape")
    store(em, tile, view, out.name, block_index(em, len(out.tile)))


def _load_tile_mut(em: Emitter, out: Any, *, padding: Any = 0) -> Value:
    return _load_output(em, out, padding=padding)


def _store_tile(em: Emitter, out: Any, tile: Any) -> None:
    _store_output(em, out, tile)


def _load_tile_like(em: Emitter, src: Any, dst: Any, *, padding: Any = ...) -> Value:
    source, out = tensor(em, src, "src"), output(em, dst, "dst")
    if source.type.rank != out.type.rank:
        em.fail(
            Code.RANK,
            f"`{source.name}` and `{out.name}` differ in rank",
            expected=f"rank {out.type.rank}, as `{out.name}`",
            got=f"rank {source.type.rank}",
            hint=f"load by index: {source.name}.load_tile(shape, index)",
        )
    if isinstance(source, OutputRef) and source.tile != out.tile:
        em.fail(
            Code.SHAPE,
            f"outputs `{source.name}` and `{out.name}` are partitioned differently",
            expected=f"tile shape {out.tile}",
            got=str(source.tile),
            hint=f"a block may only read its own region: {source.name}.load()",
        )
    if padding is ...:
        require_same_extents(em, source, out)
    else:
        _refuse_fewer(em, source, out)
    fill = 0 if padding is ... else padding
    view = make_view(em, source, out.tile, padding=fill, what=f"{out.name}.shape")
    index = block_index(em, len(out.tile))
    return load(em, view, *checked_index(em, view, source.name, index))


def _refuse_fewer(em: Emitter, src: TensorRef | OutputRef, dst: OutputRef) -> None:
    """Refuse a source that surely has no tile where dst has one."""
    if dst.partial:
        return
    for axis, size in enumerate(dst.tile):
        needed, there = dst.type.shape[axis], src.type.shape[axis]
        if needed is None or there is None or ceil_div(needed, size) <= ceil_div(there, size):
            continue
        em.fail(
            Code.SHAPE,
            f"`{src.name}` must have at least as many tiles of {size} on axis {axis}"
            f" as `{dst.name}`",
            expected=f"{src.name}.shape[{axis}] > {(ceil_div(needed, size) - 1) * size}",
            got=f"{src.name}.shape[{axis}] = {there}, {dst.name} has {needed}",
        )


# --- tensors -----------------------------------------------------------------------------------


def _load_tile(em: Emitter, self: Any, shape: Any, index: Any, *, padding: Any = 0) -> Value:
    source = tensor(em, self, "tensor")
    view = make_view(em, source, shape, padding=padding)
    values, guard = checked_index(em, view, source.name, index)
    return load(em, view, values, guard)


# --- tiles that start at any element -----------------------------------------------------------


def _load_at(em: Emitter, self: Any, offsets: Any, shape: Any, *, padding: Any = ...) -> Value:
    source = tensor(em, self, "tensor")
    if padding is not ...:
        view = view_at(em, source, shape, padding)
        return load(em, view, free_offsets(em, view, source.name, offsets))
    view = view_at(em, source, shape)
    region = source.tile if isinstance(source, OutputRef) else None
    return load(em, view, *checked_offsets(em, view, source.name, offsets, region=region))


def _store_at(em: Emitter, self: Any, tile: Any, offsets: Any) -> None:
    out = output(em, self, "out")
    shape = em.numbers(tile, "stored value").tile.shape
    view = view_at(em, out, shape)
    values, guard = checked_offsets(em, view, out.name, offsets, region=out.tile)
    store(em, tile, view, out.name, values, guard)


def shape_of(em: Emitter, ref: TensorRef | OutputRef | AccumulatorRef) -> tuple[int | Value, ...]:
    """The extents of a whole tensor: ints where known, else values."""
    return tuple(
        em.emit("extent", ref.value, axis=k) if n is None else n
        for k, n in enumerate(ref.type.shape)
    )


def _tensor_shape(em: Emitter, self: Any) -> tuple[int | Value, ...]:
    return shape_of(em, tensor(em, self, "tensor"))


def _get_tensor_shape(em: Emitter, tensor: Any) -> tuple[int | Value, ...]:
    return _tensor_shape(em, tensor)


def _dtype(em: Emitter, self: Any) -> AnyDType:
    if isinstance(self, PartitionRef):
        return self.view.view.tensor.dtype
    return tensor(em, self, "tensor").type.dtype


def _rank(em: Emitter, self: Any) -> int:
    return self.view.view.rank if isinstance(self, PartitionRef) else int(self.type.rank)


def _output_shape(em: Emitter, self: Any) -> Shape:
    return output(em, self, "out").tile


def _output_extent(em: Emitter, self: Any) -> tuple[int | Value, ...]:
    out = output(em, self, "out")
    return tuple(_valid_extent(em, out, k, n) for k, n in enumerate(out.tile))


def _valid_extent(em: Emitter, out: OutputRef, axis: int, size: int) -> int | Value:
    """The tile's size, less what the last block's tile has beyond the tensor."""
    known = out.type.shape[axis]
    if size == 1 or (known is not None and known % size == 0):
        return size
    whole = em.index(known) if known is not None else em.emit("extent", out.value, axis=axis)
    tile = em.index(size)
    start = em.emit("muli", em.emit("block_id", axis=axis), tile)
    return em.emit("mini", tile, em.emit("subi", whole, start))


# --- partitions --------------------------------------------------------------------------------


def _partition(
    em: Emitter, self: Any, shape: Any, *, padding: Any = 0, dim_map: Any = None
) -> PartitionRef:
    source = tensor(em, self, "tensor")
    view = make_view(em, source, shape, dim_map=dim_map, padding=padding)
    return PartitionRef(view, source.name)


def _partition_permuted(
    em: Emitter, self: Any, shape: Any, dim_map: Any, *, padding: Any = 0
) -> PartitionRef:
    return _partition(em, self, shape, padding=padding, dim_map=dim_map)


def _partition_output(em: Emitter, self: Any, shape: Any, *, padding: Any = 0) -> PartitionRef:
    """Cut a block's own region further: indices count from the start of the region."""
    out = output(em, self, "out")
    view = make_view(em, out, shape, padding=padding, frame=out.tile)
    return PartitionRef(view, out.name, mutable=True)


def _place(em: Emitter, ref: PartitionRef, index: Any) -> tuple[tuple[Value, ...], Value | None]:
    """An index as values, checked; and a guard that is false where that failed."""
    if ref.view.view.sparse is not None:
        return checked_rows(em, ref, index)
    return checked_index(em, ref.view, ref.name, index)


def _load_partition(
    em: Emitter, self: Any, index: Any, *, latency: Any = None, allow_tma: Any = None
) -> Value:
    ref = partition(em, self)
    values, guard = _place(em, ref, index)
    return load(em, ref.view, values, guard, **access_hints(em, latency, allow_tma))


def _load_pipelined(em: Emitter, self: Any, index: Any, latency: Any) -> Value:
    return _load_partition(em, self, index, latency=latency)


def _store_partition(
    em: Emitter, self: Any, tile: Any, index: Any, *, latency: Any = None, allow_tma: Any = None
) -> None:
    ref = writable(em, self)
    values, guard = _place(em, ref, index)
    store(em, tile, ref.view, ref.name, values, guard, **access_hints(em, latency, allow_tma))


def _load_unchecked(
    em: Emitter, self: Any, index: Any, *, latency: Any = None, allow_tma: Any = None
) -> Value:
    em.require_unsafe("`load_unchecked`")
    ref = partition(em, self)
    return unchecked_load(em, ref, index, **access_hints(em, latency, allow_tma))


def unchecked_load(em: Emitter, ref: PartitionRef, index: Any, **hints: Any) -> Value:
    """Load without a check: what lies outside of the tensor is padding, whatever the index."""
    tile = load(em, ref.view, unchecked_index(em, ref.view, ref.name, index), **hints)
    em.unchecked.add(tile)
    return tile


def _store_unchecked(
    em: Emitter, self: Any, tile: Any, index: Any, *, latency: Any = None, allow_tma: Any = None
) -> None:
    em.require_unsafe("`store_unchecked`")
    ref = writable(em, self)
    values = unchecked_index(em, ref.view, ref.name, index)
    store(em, tile, ref.view, ref.name, values, **access_hints(em, latency, allow_tma))


def writable(em: Emitter, x: Any) -> PartitionRef:
    """A partition that may be stored to, refused otherwise."""
    ref = partition(em, x)
    if not ref.mutable:
        read_only(em, ref.name)
    return ref


def _num_tiles(em: Emitter, partition: Any, axis: Any = 0) -> int | Value:
    return _count(em, partition, axis)


def _partition_num_tiles(em: Emitter, self: Any, axis: Any = 0) -> int | Value:
    return _count(em, self, axis)


def _count(em: Emitter, x: Any, axis: Any) -> int | Value:
    view = _tiles(em, x)
    return tile_count(em, view, em.static_axis(axis, view.view.rank))


def _partition_grid(em: Emitter, self: Any) -> tuple[int | Value, ...]:
    view = _tiles(em, self)
    return tuple(tile_count(em, view, k) for k in range(view.view.rank))


def _tiles(em: Emitter, x: Any) -> Value:
    """The view of what is cut into tiles: a partition, or a mapped output."""
    if isinstance(x, MappedRef):
        return make_view(em, x, x.tile)
    return partition(em, x, "partition").view


def _get_index_space_shape(em: Emitter, partition: Any) -> tuple[int | Value, ...]:
    return _partition_grid(em, partition)


def _partition_shape(em: Emitter, self: Any) -> Shape:
    return partition(em, self, "partition").view.view.tile


# --- what read-only tensors refuse -------------------------------------------------------------


def _refuse_store(em: Emitter, self: Any, *args: Any, **keywords: Any) -> NoReturn:
    read_only(em, self.name)


# --- masks -------------------------------------------------------------------------------------


def _mask(em: Emitter, self: Any) -> Value:
    return mask_of(em, em.numbers(self, "tile"))


RULES: dict[str, Callable[..., Any]] = {
    "load_tile_like": _load_tile_like,
    "load_tile_mut": _load_tile_mut,
    "store_tile": _store_tile,
    "num_tiles": _num_tiles,
    "get_tensor_shape": _get_tensor_shape,
    "get_index_space_shape": _get_index_space_shape,
    "Tensor.load_tile": _load_tile,
    "Tensor.load_at": _load_at,
    "Tensor.partition": _partition,
    "Tensor.partition_permuted": _partition_permuted,
    "Tensor.shape": _tensor_shape,
    "Tensor.dtype": _dtype,
    "Tensor.rank": _rank,
    "Tensor.ndim": _rank,
    "Tensor.store": _refuse_store,
    "Tensor.store_at": _refuse_store,
    "Tensor.partition_mut": _refuse_store,
    "TensorMut.load": _load_output,
    "TensorMut.store": _store_output,
    "TensorMut.load_at": _load_at,
    "TensorMut.store_at": _store_at,
    "TensorMut.partition_mut": _partition_output,
    "TensorMut.shape": _output_shape,
    "TensorMut.extent": _output_extent,
    "TensorMut.dtype": _dtype,
    "TensorMut.rank": _rank,
    "TensorMut.ndim": _rank,
    "Partition.load": _load_partition,
    "Partition.load_pipelined": _load_pipelined,
    "Partition.load_unchecked": _load_unchecked,
    "Partition.num_tiles": _partition_num_tiles,
    "Partition.grid": _partition_grid,
    "Partition.shape": _partition_shape,
    "Partition.dtype": _dtype,
    "Partition.rank": _rank,
    "Partition.ndim": _rank,
    "Partition.store": _refuse_store,
    "PartitionMut.load": _load_partition,
    "PartitionMut.load_pipelined": _load_pipelined,
    "PartitionMut.load_unchecked": _load_unchecked,
    "PartitionMut.store": _store_partition,
    "PartitionMut.store_unchecked": _store_unchecked,
    "PartitionMut.num_tiles": _partition_num_tiles,
    "MappedPartitionMut.num_tiles": _partition_num_tiles,
    "MappedPartitionMut.grid": _partition_grid,
    "PartitionMut.grid": _partition_grid,
    "PartitionMut.shape": _partition_shape,
    "PartitionMut.dtype": _dtype,
    "PartitionMut.rank": _rank,
    "PartitionMut.ndim": _rank,
    "Tile.mask": _mask,
}
PROPERTIES: frozenset[str] = frozenset(
    key
    for key in RULES
    if key.split(".")[-1] in ("shape", "extent", "dtype", "rank", "ndim", "grid")
)
