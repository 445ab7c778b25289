"""Rules of memory: tensors, outputs, partitions, mapped outputs, promises about them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from ...base.dtypes import AnyDType
from ...base.errors import Code
from ...base.shapes import Shape, ceil_div
from ...ir.core import Value
from ...ir.launch_expr import LaunchCheck
from ..semantics.access import (
    access_hints,
    block_index,
    checked_index,
    checked_offsets,
    checked_part,
    checked_rows,
    free_offsets,
    load,
    make_view,
    store,
    tile_count,
    unchecked_index,
    view_at,
)
from ..semantics.builder import SemanticBuilder
from ..semantics.mapped import Indices, whole, within
from ..semantics.padding import mask_of
from ..semantics.values import (
    AccumulatorRef,
    MappedRef,
    Origin,
    OutputRef,
    OwnedIndex,
    PartitionRef,
    TensorRef,
    describe,
)
from .control import require_same_extents

# -------------------------------------------------------------------------------------------------
# Rules of the memory family: tensors, outputs and partitions, loads and stores of tiles.

# --- what a name is ----------------------------------------------------------------------------


def tensor(em: SemanticBuilder, x: Any, what: str) -> TensorRef | OutputRef:
    """Return a tensor or an output, rejected otherwise."""
    if not isinstance(x, TensorRef | OutputRef):
        hint = "it may be None: test it first, `if x is not None`" if x is None else None
        em.fail(
            Code.TYPE, f"{what} must be a tensor", expected="a tensor", got=describe(x), hint=hint
        )
    return x


def output(em: SemanticBuilder, x: Any, what: str) -> OutputRef:
    """Return an output, rejected otherwise."""
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


def partition(em: SemanticBuilder, x: Any, what: str = "view") -> PartitionRef:
    """Return a partition, rejected otherwise."""
    if not isinstance(x, PartitionRef):
        em.fail(
            Code.TYPE,
            f"{what} must be a partition",
            expected="the result of x.partition(shape)",
            got=describe(x),
        )
    return x


def read_only(em: SemanticBuilder, name: str) -> NoReturn:
    """Reject to write to a read-only tensor."""
    em.fail(
        Code.READ_ONLY,
        f"`{name}` is read-only",
        expected="an output",
        got=f"tensor `{name}`",
        hint=f"declare it as an output, `{name}: tl.TensorMut`, and pass a partition of it",
    )


# --- the block's own region --------------------------------------------------------------------


def _load_output(em: SemanticBuilder, self: Any, *, padding: Any = 0) -> Value:
    out = output(em, self, "out")
    view = make_view(em, out, out.tile, padding=padding, what=f"{out.name}.shape")
    return load(em, view, block_index(em, len(out.tile)))


def _store_output(em: SemanticBuilder, self: Any, tile: Any) -> None:
    out = output(em, self, "out")
    view = make_view(em, out, out.tile, what=f"{out.name}.shape")
    store(em, tile, view, out.name, block_index(em, len(out.tile)))


def _load_tile_mut(em: SemanticBuilder, out: Any, *, padding: Any = 0) -> Value:
    return _load_output(em, out, padding=padding)


def _store_tile(em: SemanticBuilder, out: Any, tile: Any) -> None:
    _store_output(em, out, tile)


def _load_tile_like(em: SemanticBuilder, src: Any, dst: Any, *, padding: Any = ...) -> Value:
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


def _refuse_fewer(em: SemanticBuilder, src: TensorRef | OutputRef, dst: OutputRef) -> None:
    """Reject a source that provably has no tile where dst has one."""
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


def _load_tile(
    em: SemanticBuilder, self: Any, shape: Any, index: Any, *, padding: Any = 0
) -> Value:
    source = tensor(em, self, "tensor")
    view = make_view(em, source, shape, padding=padding)
    values, guard = checked_index(em, view, source.name, index)
    return load(em, view, values, guard)


# --- tiles that start at any element -----------------------------------------------------------


def _load_at(
    em: SemanticBuilder, self: Any, offsets: Any, shape: Any, *, padding: Any = ...
) -> Value:
    source = tensor(em, self, "tensor")
    if padding is not ...:
        view = view_at(em, source, shape, padding)
        return load(em, view, free_offsets(em, view, source.name, offsets))
    view = view_at(em, source, shape)
    region = source.tile if isinstance(source, OutputRef) else None
    return load(em, view, *checked_offsets(em, view, source.name, offsets, region=region))


def _store_at(em: SemanticBuilder, self: Any, tile: Any, offsets: Any) -> None:
    out = output(em, self, "out")
    shape = em.numbers(tile, "stored value").tile.shape
    view = view_at(em, out, shape)
    values, guard = checked_offsets(em, view, out.name, offsets, region=out.tile)
    store(em, tile, view, out.name, values, guard)


def shape_of(
    em: SemanticBuilder, ref: TensorRef | OutputRef | AccumulatorRef
) -> tuple[int | Value, ...]:
    """Return the extents of a whole tensor: ints where known, else values."""
    return tuple(
        em.emit("extent", ref.value, axis=k) if n is None else n
        for k, n in enumerate(ref.type.shape)
    )


def _tensor_shape(em: SemanticBuilder, self: Any) -> tuple[int | Value, ...]:
    return shape_of(em, tensor(em, self, "tensor"))


def _get_tensor_shape(em: SemanticBuilder, tensor: Any) -> tuple[int | Value, ...]:
    return _tensor_shape(em, tensor)


def _dtype(em: SemanticBuilder, self: Any) -> AnyDType:
    if isinstance(self, PartitionRef):
        return self.view.view.tensor.dtype
    return tensor(em, self, "tensor").type.dtype


def _rank(em: SemanticBuilder, self: Any) -> int:
    return self.view.view.rank if isinstance(self, PartitionRef) else int(self.type.rank)


def _output_shape(em: SemanticBuilder, self: Any) -> Shape:
    return output(em, self, "out").tile


def _output_extent(em: SemanticBuilder, self: Any) -> tuple[int | Value, ...]:
    out = output(em, self, "out")
    return tuple(_valid_extent(em, out, k, n) for k, n in enumerate(out.tile))


def _valid_extent(em: SemanticBuilder, out: OutputRef, axis: int, size: int) -> int | Value:
    """Return the extent of the part of the tile inside the tensor, in this block."""
    known = out.type.shape[axis]
    if size == 1 or (known is not None and known % size == 0):
        return size
    whole = em.index(known) if known is not None else em.emit("extent", out.value, axis=axis)
    tile = em.index(size)
    start = em.emit("muli", em.emit("block_id", axis=axis), tile)
    return em.emit("mini", tile, em.emit("subi", whole, start))


# --- partitions --------------------------------------------------------------------------------


def _partition(
    em: SemanticBuilder, self: Any, shape: Any, *, padding: Any = 0, dim_map: Any = None
) -> PartitionRef:
    source = tensor(em, self, "tensor")
    view = make_view(em, source, shape, dim_map=dim_map, padding=padding)
    return PartitionRef(view, source.name)


def _partition_permuted(
    em: SemanticBuilder, self: Any, shape: Any, dim_map: Any, *, padding: Any = 0
) -> PartitionRef:
    return _partition(em, self, shape, padding=padding, dim_map=dim_map)


def _partition_output(
    em: SemanticBuilder, self: Any, shape: Any, *, padding: Any = 0
) -> PartitionRef:
    """Cut a block's own region further: indices count from the start of the region."""
    out = output(em, self, "out")
    view = make_view(em, out, shape, padding=padding, frame=out.tile)
    return PartitionRef(view, out.name, mutable=True)


def _place(
    em: SemanticBuilder, ref: PartitionRef, index: Any
) -> tuple[tuple[Value, ...], Value | None]:
    """Return an index as values, checked; and a guard that is false where that failed."""
    if ref.view.view.sparse is not None:
        return checked_rows(em, ref, index)
    return checked_index(em, ref.view, ref.name, index)


def _load_partition(
    em: SemanticBuilder, self: Any, index: Any, *, latency: Any = None, allow_tma: Any = None
) -> Value:
    ref = partition(em, self)
    values, guard = _place(em, ref, index)
    return load(em, ref.view, values, guard, **access_hints(em, latency, allow_tma))


def _load_pipelined(em: SemanticBuilder, self: Any, index: Any, latency: Any) -> Value:
    return _load_partition(em, self, index, latency=latency)


def _store_partition(
    em: SemanticBuilder,
    self: Any,
    tile: Any,
    index: Any,
    *,
    latency: Any = None,
    allow_tma: Any = None,
) -> None:
    ref = writable(em, self)
    values, guard = _place(em, ref, index)
    store(em, tile, ref.view, ref.name, values, guard, **access_hints(em, latency, allow_tma))


def _load_unchecked(
    em: SemanticBuilder, self: Any, index: Any, *, latency: Any = None, allow_tma: Any = None
) -> Value:
    em.require_unsafe("`load_unchecked`")
    ref = partition(em, self)
    return unchecked_load(em, ref, index, **access_hints(em, latency, allow_tma))


def unchecked_load(em: SemanticBuilder, ref: PartitionRef, index: Any, **hints: Any) -> Value:
    """Load without a bounds check: elements outside of the tensor are padding."""
    tile = load(em, ref.view, unchecked_index(em, ref.view, ref.name, index), **hints)
    em.unchecked.add(tile)
    return tile


def _store_unchecked(
    em: SemanticBuilder,
    self: Any,
    tile: Any,
    index: Any,
    *,
    latency: Any = None,
    allow_tma: Any = None,
) -> None:
    em.require_unsafe("`store_unchecked`")
    ref = writable(em, self)
    values = unchecked_index(em, ref.view, ref.name, index)
    store(em, tile, ref.view, ref.name, values, **access_hints(em, latency, allow_tma))


def writable(em: SemanticBuilder, x: Any) -> PartitionRef:
    """Return a partition that may be stored to, rejected otherwise."""
    ref = partition(em, x)
    if not ref.mutable:
        read_only(em, ref.name)
    return ref


def _num_tiles(em: SemanticBuilder, partition: Any, axis: Any = 0) -> int | Value:
    return _count(em, partition, axis)


def _partition_num_tiles(em: SemanticBuilder, self: Any, axis: Any = 0) -> int | Value:
    return _count(em, self, axis)


def _count(em: SemanticBuilder, x: Any, axis: Any) -> int | Value:
    view = _tiles(em, x)
    return tile_count(em, view, em.static_axis(axis, view.view.rank))


def _partition_grid(em: SemanticBuilder, self: Any) -> tuple[int | Value, ...]:
    view = _tiles(em, self)
    return tuple(tile_count(em, view, k) for k in range(view.view.rank))


def _tiles(em: SemanticBuilder, x: Any) -> Value:
    """Return the view behind a partition or a mapped output."""
    if isinstance(x, MappedRef):
        return make_view(em, x, x.tile)
    return partition(em, x, "partition").view


def _get_index_space_shape(em: SemanticBuilder, partition: Any) -> tuple[int | Value, ...]:
    return _partition_grid(em, partition)


def _partition_shape(em: SemanticBuilder, self: Any) -> Shape:
    return partition(em, self, "partition").view.view.tile


# --- what read-only tensors reject -------------------------------------------------------------


def _refuse_store(em: SemanticBuilder, self: Any, *args: Any, **keywords: Any) -> NoReturn:
    read_only(em, self.name)


# --- masks -------------------------------------------------------------------------------------


def _mask(em: SemanticBuilder, self: Any) -> Value:
    return mask_of(em, em.numbers(self, "tile"))


# -------------------------------------------------------------------------------------------------
# Rules of mapped outputs: loops over the tiles of a block, and accesses at owned indices.
#
# They belong to the grid family: the order of the grid decides which block has which tile.

# --- which tiles -------------------------------------------------------------------------------


def _iter_indices(em: SemanticBuilder, self: Any) -> Indices:
    return whole(em, [self])


def _iter_indices_with(em: SemanticBuilder, self: Any, *others: Any) -> Indices:
    return whole(em, _partners(em, self, others))


def _iter_indices_within(em: SemanticBuilder, self: Any, spans: Any) -> Indices:
    return within(em, [self], spans)


def _iter_indices_within_with(em: SemanticBuilder, self: Any, spans: Any, *others: Any) -> Indices:
    return within(em, _partners(em, self, others), spans)


def _partners(em: SemanticBuilder, output: MappedRef, others: Sequence[Any]) -> list[MappedRef]:
    """Return the outputs that one loop visits; require equal tile counts and the same order."""
    for other in others:
        if not isinstance(other, MappedRef):
            em.fail(
                Code.TYPE,
                "iter_indices_with takes mapped outputs",
                expected="a tl.MappedPartitionMut parameter",
                got=describe(other),
            )
        if other.groups != output.groups:
            em.fail(
                Code.SHAPE,
                f"`{output.name}` and `{other.name}` are mapped differently",
                expected=f"map shape {output.groups}, as `{output.name}`",
                got=str(other.groups),
            )
        for axis in output.walked:
            _require_as_many(em, output, other, axis)
    return [output, *others]


def _require_as_many(em: SemanticBuilder, one: MappedRef, other: MappedRef, axis: int) -> None:
    message = f"`{one.name}` and `{other.name}` must have equally many tiles on axis {axis}"
    counts = [_tiles_at_launch(output, axis) for output in (one, other)]
    if counts[0] != counts[1]:
        em.require_at_launch(LaunchCheck(("eq", *counts), message, em.span))


def _tiles_at_launch(output: MappedRef, axis: int) -> tuple[Any, ...]:
    known, tile = output.type.shape[axis], output.tile[axis]
    if known is not None:
        return ("const", ceil_div(known, tile))
    return ("ceildiv", ("extent", output.type.param, axis), ("const", tile))


# --- accesses ----------------------------------------------------------------------------------


def _store(
    em: SemanticBuilder,
    self: Any,
    tile: Any,
    index: Any,
    *,
    latency: Any = None,
    allow_tma: Any = None,
) -> None:
    view = make_view(em, self, self.tile)
    values, guard = _mapped_place(em, self, view, index)
    store(em, tile, view, self.name, values, guard, **access_hints(em, latency, allow_tma))


def _load(em: SemanticBuilder, self: Any, index: Any, *, padding: Any = 0) -> Value:
    view = make_view(em, self, self.tile, padding=padding)
    values, guard = _mapped_place(em, self, view, index)
    return load(em, view, values, guard)


def _mapped_place(
    em: SemanticBuilder, output: MappedRef, view: Value, index: Any
) -> tuple[tuple[Value, ...], Value | None]:
    """Return the numbers of an index that belongs to this block, and a guard for those it owns."""
    found = _own_index(em, output, index)
    if not found.whole:
        owned = [k for k in range(len(output.groups)) if k not in output.walked]
        em.fail(
            Code.MINTED,
            f"`{output.name}` has owned axes, for which the index has no coordinate",
            expected=f"a tile number for axis {', '.join(map(str, owned))}",
            got=describe(index),
            hint=f"add one: {output.name}.store(tile, index.at(i)), with i from"
            f" range({output.name}.num_tiles({owned[0]}))",
        )
    guard: Value | None = None
    for axis, part in enumerate(found):
        if axis not in output.walked:
            guard = checked_part(em, view, output.name, axis, part, guard)
    return tuple(em.index(part) for part in found), guard


def _own_index(em: SemanticBuilder, output: MappedRef, index: Any) -> OwnedIndex:
    if not isinstance(index, OwnedIndex):
        rebuilt = isinstance(index, tuple | list) and any(
            isinstance(part, Value) and part in em.owned for part in index
        )
        em.fail(
            Code.MINTED,
            f"mapped output `{output.name}` can be accessed only at an index that its"
            " iter_indices() yields",
            expected=f"an index of `{output.name}`",
            got=describe(index),
            hint="use the index itself, not its coordinates: for index in"
            f" {output.name}.iter_indices(): m, n = index"
            if rebuilt
            else f"visit its tiles: for index in {output.name}.iter_indices()",
        )
    if all(made_for is not output for made_for in index.origin.outputs):
        other = index.origin.outputs[0].name
        em.fail(
            Code.MINTED,
            f"this index belongs to another mapped output, not to `{output.name}`",
            expected=f"an index of `{output.name}`",
            got=describe(index),
            hint=f"visit both together: for index in {other}.iter_indices_with({output.name})",
        )
    return index


def _at(em: SemanticBuilder, self: Any, *numbers: Any) -> OwnedIndex:
    output = self.origin.outputs[0]
    owned = len(output.groups) - len(output.walked)
    if self.whole or len(numbers) != owned:
        em.fail(
            Code.CALL,
            f"`at` takes a tile number for each owned axis of `{output.name}`",
            expected=f"{0 if self.whole else owned} numbers",
            got=describe(tuple(numbers)),
        )
    given, visits = iter(numbers), iter(self)
    parts = [next(visits) if k in output.walked else next(given) for k in range(len(output.groups))]
    return OwnedIndex.made(parts, self.origin, whole=True)


def _index(em: SemanticBuilder, self: Any, *numbers: Any) -> OwnedIndex:
    em.require_unsafe("`index`")
    if len(numbers) != len(self.groups):
        em.fail(
            Code.RANK,
            f"an index of `{self.name}` has a number for each axis",
            expected=f"{len(self.groups)} tile numbers",
            got=describe(tuple(numbers)),
        )
    return OwnedIndex.made([em.index(n) for n in numbers], Origin((self,), None), whole=True)


# --- what a mapped output is -------------------------------------------------------------------


def _shape(em: SemanticBuilder, self: Any) -> Shape:
    return tuple(self.tile)


def _mapped_dtype(em: SemanticBuilder, self: Any) -> AnyDType:
    dtype: AnyDType = self.type.dtype
    return dtype


def _mapped_rank(em: SemanticBuilder, self: Any) -> int:
    return len(self.tile)


# -------------------------------------------------------------------------------------------------
# Rules of promises: assumptions for the code generator. A true promise changes no result.
#
# They belong to the pointer family: a false promise is as bad as a wrong address.


def _promised(em: SemanticBuilder, value: Any, what: str) -> Any:
    em.require_unsafe(f"`{what}`")
    if not isinstance(value, Value | TensorRef | OutputRef | int):
        em.fail(
            Code.TYPE,
            f"`{what}` takes an integer, a tile, pointers or a tensor",
            got=describe(value),
        )
    return value


def _positive(em: SemanticBuilder, x: Any, what: str) -> int:
    number = em.static_int(x, what)
    if number < 1:
        em.fail(Code.CALL, f"{what} must be positive", expected="1 or more", got=str(number))
    return number


def _broken(em: SemanticBuilder, value: int, promise: str) -> None:
    em.fail(Code.ASSERTION, f"{value} is not {promise}, as promised")


def assume_div_by(em: SemanticBuilder, value: Any, divisor: Any) -> Any:
    """Return the value with the promise that it is a multiple of a number."""
    promised, by = _promised(em, value, "assume_div_by"), _positive(em, divisor, "divisor")
    if isinstance(promised, int) and promised % by:
        _broken(em, promised, f"a multiple of {by}")
    return promised


def assume_div_by_every_along(
    em: SemanticBuilder, value: Any, divisor: Any, every: Any, axis: Any
) -> Any:
    """Return the value with the promise that some of its elements are multiples."""
    promised = _promised(em, value, "assume_div_by_every_along")
    _positive(em, divisor, "divisor")
    _positive(em, every, "every")
    em.static_axis(axis, promised.tile.rank if isinstance(promised, Value) else 0)
    return promised


def assume_bounds(em: SemanticBuilder, value: Any, lower: Any, upper: Any) -> Any:
    """Return the value with the promise that it lies between bounds."""
    return assume_bounds_upper(em, assume_bounds_lower(em, value, lower), upper)


def assume_bounds_lower(em: SemanticBuilder, value: Any, lower: Any) -> Any:
    """Return the value with the promise of a lower bound."""
    promised, bound = _promised(em, value, "assume_bounds"), em.static_int(lower, "lower")
    if isinstance(promised, int) and promised < bound:
        _broken(em, promised, f"at least {bound}")
    return promised


def assume_bounds_upper(em: SemanticBuilder, value: Any, upper: Any) -> Any:
    """Return the value with the promise of an upper bound."""
    promised, bound = _promised(em, value, "assume_bounds"), em.static_int(upper, "upper")
    if isinstance(promised, int) and promised > bound:
        _broken(em, promised, f"at most {bound}")
    return promised


def assume_same_elements(em: SemanticBuilder, value: Any, groups: Any) -> Any:
    """Return the value with the promise that it is constant in groups."""
    promised = _promised(em, value, "assume_same_elements")
    shape = em.static_shape(groups, "groups")
    rank = promised.tile.rank if isinstance(promised, Value) else 0
    if len(shape) != rank:
        em.fail(Code.RANK, "one group extent per axis", expected=str(rank), got=str(shape))
    return promised


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
    "MappedPartitionMut.iter_indices": _iter_indices,
    "MappedPartitionMut.iter_indices_with": _iter_indices_with,
    "MappedPartitionMut.iter_indices_within": _iter_indices_within,
    "MappedPartitionMut.iter_indices_within_with": _iter_indices_within_with,
    "MappedPartitionMut.store": _store,
    "MappedPartitionMut.load": _load,
    "MappedPartitionMut.index": _index,
    "MappedPartitionMut.shape": _shape,
    "MappedPartitionMut.dtype": _mapped_dtype,
    "MappedPartitionMut.rank": _mapped_rank,
    "MappedPartitionMut.ndim": _mapped_rank,
    "PartitionIndex.at": _at,
    "assume_div_by": assume_div_by,
    "assume_div_by_every_along": assume_div_by_every_along,
    "assume_bounds": assume_bounds,
    "assume_bounds_lower": assume_bounds_lower,
    "assume_bounds_upper": assume_bounds_upper,
    "assume_same_elements": assume_same_elements,
}
