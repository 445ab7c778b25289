"""Tile accesses: extents, views, tile counts, index checks, offsets in elements.

An offset is checked as an index is, unless a padding is written out: then what lies outside of the
tensor is padding, wherever the tile starts. Those of an output stay in the region of the block.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from ...base.dtypes import AnyDType, f4e2m1fn, f4e2m1fnx2, f8e8m0fnu, i32, u32
from ...base.errors import Code
from ...base.shapes import Shape, broadcast, ceil_div
from ...ir.core import Value
from ...ir.types import TileType, ViewType
from . import promotion
from .builder import SemanticBuilder
from .operands import op_body, parts
from .values import AccumulatorRef, MappedRef, OutputRef, PartitionRef, TensorRef, describe

# -------------------------------------------------------------------------------------------------
# Common parts of tile accesses: views, tile counts, index checks, padding, stored values.

Number: TypeAlias = float | int | bool


def counted(n: int, what: str) -> str:
    """Return a count with its noun: `1 axis`, `2 axes`."""
    several = {"axis": "axes", "index": "indices"}.get(what, f"{what}s")
    return f"{n} {what if n == 1 else several}"


# --- padding -----------------------------------------------------------------------------------


def padding_value(em: SemanticBuilder, padding: Any, dtype: AnyDType) -> Number | None:
    """Return a padding as a value of the tensor's dtype; None means that any value will do."""
    if padding is None:
        return None
    if isinstance(padding, Value) or not isinstance(padding, int | float):
        em.fail(
            Code.NOT_STATIC,
            "padding must be a compile-time constant",
            expected="a number, tl.neg_inf, tl.pos_inf, tl.nan, tl.neg_zero or None",
            got=describe(padding),
        )
    if dtype.is_bool and not isinstance(padding, float) and padding in (0, 1):
        return bool(padding)
    if dtype in (f4e2m1fnx2, f8e8m0fnu) and padding == 0:
        return _zero_bits(dtype)
    if dtype is f4e2m1fnx2:
        em.fail(
            Code.DTYPE,
            f"packed {dtype.name} can only be padded with 0",
            expected="0",
            got=repr(padding),
        )
    if dtype.is_int and isinstance(padding, float):
        em.fail(
            Code.LITERAL,
            f"padding {padding!r} is not a value of {dtype.name}",
            expected=f"an int that fits in {dtype.name}",
            got=repr(padding),
            hint="write an int: use the least or greatest value instead of an infinity",
        )
    return promotion.fit(em, padding, dtype)


def _zero_bits(dtype: AnyDType) -> Number:
    """Return the value whose bits are all zero: 0, but 2 ** -127 as a scale, which has no zero."""
    return 2.0**-127 if dtype is f8e8m0fnu else 0


# --- views -------------------------------------------------------------------------------------


def make_view(
    em: SemanticBuilder,
    ref: TensorRef | OutputRef | MappedRef | AccumulatorRef,
    shape: Any,
    *,
    dim_map: Any = None,
    padding: Any = 0,
    step: Shape | None = None,
    frame: Shape | None = None,
    sparse: int | None = None,
    what: str = "shape",
) -> Value:
    """Make a view of a tensor in tiles of `shape`, whose rank must be the tensor's."""
    tile = em.static_shape(shape, what)
    rank = ref.type.rank
    if len(tile) != rank:
        got = counted(len(tile), "axis")
        em.fail(
            Code.RANK,
            f"`{ref.name}` has {counted(rank, 'axis')}, but the tile shape has {got}",
            expected=counted(rank, "tile extent"),
            got=str(tile),
        )
    return em.emit(
        "make_view",
        ref.value,
        tile=tile,
        dim_map=axis_order(em, dim_map, rank, "dim_map"),
        padding=padding_value(em, padding, ref.type.dtype),
        step=step,
        frame=frame,
        sparse=sparse,
    )


def axis_order(em: SemanticBuilder, order: Any, rank: int, what: str) -> Shape:
    """Return a permutation of the axes; None is the identity."""
    if order is None:
        return tuple(range(rank))
    axes = tuple(em.static_int(k, f"{what}[{i}]") for i, k in enumerate(parts(order)))
    if sorted(axes) != list(range(rank)):
        em.fail(
            Code.RANK,
            f"{what} is not a permutation of the {rank} axes",
            expected=f"each of 0 to {rank - 1} once",
            got=str(axes),
        )
    return axes


def tile_count(em: SemanticBuilder, view: Value, axis: int) -> int | Value:
    """Return the number of tiles of a view along a tile axis: an int where it is known."""
    known = static_tile_count(view.view, axis)
    return em.emit("num_tiles", view, axis=axis) if known is None else known


def static_tile_count(view: ViewType, axis: int) -> int | None:
    """Return the number of tiles along a tile axis if the types determine it, else None."""
    dim = view.dim_map[axis]
    extent = view.frame[dim] if view.frame is not None else view.tensor.shape[dim]
    return None if extent is None else ceil_div(extent, (view.step or view.tile)[axis])


def block_index(em: SemanticBuilder, rank: int) -> tuple[Value, ...]:
    """Return this block's index along the first `rank` grid axes."""
    return tuple(em.emit("block_id", axis=k) for k in range(rank))


# --- indices -----------------------------------------------------------------------------------


def index_parts(em: SemanticBuilder, index: Any, rank: int, name: str) -> Sequence[Any]:
    """Return an index as one part per axis; a bare number will do for one axis."""
    given = parts(index)
    if len(given) != rank:
        em.fail(
            Code.RANK,
            f"`{name}` has {counted(rank, 'axis')},"
            f" but the index has {counted(len(given), 'number')}",
            expected=counted(rank, "tile number"),
            got=describe(index),
        )
    return given


def unchecked_index(em: SemanticBuilder, view: Value, name: str, index: Any) -> tuple[Value, ...]:
    """Return the index as values, with no check; the sparse axis takes a tile of row numbers."""
    kind = view.view
    given = index_parts(em, index, kind.rank, name)
    return tuple(
        _rows(em, part, kind.tile[k]) if k == kind.sparse else em.index(part, f"index[{k}]")
        for k, part in enumerate(given)
    )


def _rows(em: SemanticBuilder, rows: Any, count: int) -> Value:
    value = em.numbers(rows, "row numbers")
    expected = f"an integer tile of shape ({count},), at most 32 bits"
    dtype = value.tile.dtype
    if value.tile.shape != (count,) or not dtype.is_int:
        em.fail(Code.SHAPE, "wrong row numbers", expected=expected, got=describe(value))
    if dtype.bits < 32:
        return em.emit("exti", value, to=i32)
    if dtype is not i32:
        em.fail(
            Code.DTYPE,
            "wrong row numbers",
            expected=expected,
            got=describe(value),
            hint="convert them: rows.astype(tw.i32)",
        )
    return value


def checked_index(
    em: SemanticBuilder, view: Value, name: str, index: Any
) -> tuple[tuple[Value, ...], Value | None]:
    """Return the index as values, and a guard that is false where a check failed.

    A constant that provably lies outside is rejected.
    """
    given = index_parts(em, index, view.view.rank, name)
    values = unchecked_index(em, view, name, index)
    guard: Value | None = None
    for k, part in enumerate(given):
        guard = checked_part(em, view, name, k, part, guard)
    return values, guard


def checked_part(
    em: SemanticBuilder, view: Value, name: str, axis: int, part: Any, guard: Value | None
) -> Value | None:
    """Return one checked coordinate, and a guard that is also false if its check failed."""
    if not em.checked:
        return guard
    _refuse_outside(em, view.view, name, axis, part)
    value = em.index(part, f"index[{axis}]")
    return _and(em, guard, _check(em, view, name, axis, value))


def _refuse_outside(em: SemanticBuilder, view: ViewType, name: str, axis: int, part: Any) -> None:
    if isinstance(part, Value):
        return
    count = static_tile_count(view, axis)
    if part < 0 or (count is not None and part >= count):
        em.fail(
            Code.INDEX,
            f"tile index {part} is out of bounds of `{name}` on axis {view.dim_map[axis]}",
            expected="0 or more" if count is None else f"0 <= index < {count}",
            got=str(part),
            hint="indices count tiles, not elements",
        )


def _check(em: SemanticBuilder, view: Value, name: str, axis: int, value: Value) -> Value:
    count = tile_count(em, view, axis)
    extent = em.index(count)
    return em.emit("check", value, extent, tensor=name, axis=view.view.dim_map[axis])


def _and(em: SemanticBuilder, a: Value | None, b: Value) -> Value:
    return b if a is None else em.emit("andi", a, b)


# --- loads and stores --------------------------------------------------------------------------


def access_hints(em: SemanticBuilder, latency: Any, allow_tma: Any) -> dict[str, Any]:
    """Return the hints of an access, which must be constants; they change speed only."""
    steps = None if latency is None else em.static_int(latency, "latency")
    if steps is not None and not 1 <= steps <= 10:
        em.fail(Code.CALL, "latency is out of range", expected="1 to 10", got=str(steps))
    tma = None if allow_tma is None else em.static_bool(allow_tma, "allow_tma")
    return {"latency": steps, "allow_tma": tma}


def load(
    em: SemanticBuilder,
    view: Value,
    index: Sequence[Value],
    guard: Value | None = None,
    *,
    latency: int | None = None,
    allow_tma: bool | None = None,
) -> Value:
    """Return the tile at an index."""
    return em.emit("load_view", view, index, guard, latency=latency, allow_tma=allow_tma)


def store(
    em: SemanticBuilder,
    tile: Any,
    view: Value,
    name: str,
    index: Sequence[Value],
    guard: Value | None = None,
    *,
    latency: int | None = None,
    allow_tma: bool | None = None,
) -> None:
    """Write a tile, which must have exactly the view's type, at an index."""
    value = stored_value(em, tile, view.view.loaded, name)
    em.op("store_view", value, view, index, guard, latency=latency, allow_tma=allow_tma)


def stored_value(em: SemanticBuilder, tile: Any, expected: TileType, name: str) -> Value:
    """Return a value to be stored: its element type is exact, its shape broadcasts."""
    weak = promotion.is_weak(tile)
    value = em.number(tile, expected.dtype) if weak else em.numbers(tile, "stored value")
    if broadcast(value.tile.shape, expected.shape) != expected.shape:
        em.fail(
            Code.SHAPE,
            f"a tile stored to `{name}` must have its tile shape, or broadcast to it",
            expected=f"shape {expected.shape}",
            got=describe(value),
            hint=_shape_hint(value, expected, name),
        )
    if value.tile.dtype is not expected.dtype:
        em.fail(
            Code.DTYPE,
            f"a tile stored to `{name}` must have its element type",
            expected=expected.dtype.name,
            got=describe(value),
            hint=_dtype_hint(value.tile.dtype, expected.dtype),
        )
    return em.broadcast_to(value, expected.shape)


def _shape_hint(value: Value, expected: TileType, name: str) -> str:
    shape = expected.shape
    if value.tile.size == expected.size:
        return f"rearrange it: tile.reshape({shape})"
    if _one_axis_missing(value.tile.shape, shape):
        return "insert an axis with x[:, None] or x[None, :], or make it with keepdims=True"
    return f"make the tile with {name}.shape, or store parts of it: {name}.partition_mut(shape)"


def _one_axis_missing(given: Shape, wanted: Shape) -> bool:
    """Return whether a shape would broadcast with one more axis of extent 1."""
    return any(
        broadcast((*given[:k], 1, *given[k:]), wanted) == wanted for k in range(len(given) + 1)
    )


def _dtype_hint(got: AnyDType, expected: AnyDType) -> str:
    if (got, expected) == (f4e2m1fn, f4e2m1fnx2):
        return "pack pairs first: tile.pack()"
    return f"convert it: tile.astype(tw.{expected.__name__})"


# -------------------------------------------------------------------------------------------------
# Indices of gather and scatter views: row numbers, and the elements at which tiles start.
#
# An element outside of the tensor is padding if the view has one; otherwise the access fails.


def checked_rows(
    em: SemanticBuilder, ref: PartitionRef, index: Any
) -> tuple[tuple[Value, ...], Value | None]:
    """Return the index as values, and a guard that is false if a row or element is outside."""
    values = unchecked_index(em, ref.view, ref.name, index)
    # With a padding every number is allowed: the access itself masks what is outside.
    if ref.padded or not em.checked:
        return values, None
    kind = ref.view.view
    tensor = em.defining[ref.view].one("tensor")
    guard: Value | None = None
    for axis, part in enumerate(index_parts(em, index, kind.rank, ref.name)):
        known = kind.tensor.shape[axis]
        _refuse_rows_outside(em, ref, axis, part, known)
        extent = em.emit("extent", tensor, axis=axis) if known is None else em.index(known)
        place = _outermost(em, values[axis]) if axis == kind.sparse else values[axis]
        ok = em.emit("check", place, extent, tensor=ref.name, axis=axis, elements=True)
        guard = _and(em, guard, ok)
    return values, guard


def _refuse_rows_outside(
    em: SemanticBuilder, ref: PartitionRef, axis: int, part: Any, known: int | None
) -> None:
    if isinstance(part, Value) or (part >= 0 and (known is None or part < known)):
        return
    em.fail(
        Code.INDEX,
        f"element {part} is out of bounds of `{ref.name}` on axis {axis}",
        expected="0 or more" if known is None else f"0 <= index < {known}",
        got=str(part),
        hint="make the view with padding=..., the value of elements outside the tensor",
    )


def _outermost(em: SemanticBuilder, rows: Value) -> Value:
    """Return a row number that is outside, if any is: as unsigned, negative ones are large.

    So one reduction finds both kinds, and the check names the number.
    """
    wide = em.emit("bitcast", rows, to=u32)
    largest = em.op(
        "reduce", [wide], regions=[op_body(em, "maxi", u32)], axis=0, identities=(0,)
    ).result
    return em.emit("bitcast", largest, to=i32)


# --- tiles that start at any element -----------------------------------------------------------


def view_at(em: SemanticBuilder, ref: TensorRef | OutputRef, shape: Any, padding: Any = 0) -> Value:
    """Return a view of tiles that start at any element; of an output, in this block's region."""
    frame = ref.tile if isinstance(ref, OutputRef) else None
    rank = ref.type.rank
    return make_view(em, ref, shape, padding=padding, step=(1,) * rank, frame=frame)


def offset_parts(em: SemanticBuilder, offsets: Any, view: Value, name: str) -> Sequence[Any]:
    """Return offsets as one part per axis; a bare number will do for one axis."""
    given, rank = parts(offsets), view.view.rank
    if len(given) != rank:
        em.fail(
            Code.RANK,
            f"`{name}` has {counted(rank, 'axis')}, but {counted(len(given), 'offset')} were given",
            expected=counted(rank, "offset"),
            got=describe(offsets),
        )
    return given


def free_offsets(em: SemanticBuilder, view: Value, name: str, offsets: Any) -> tuple[Value, ...]:
    """Return offsets as values, which may lie anywhere."""
    given = offset_parts(em, offsets, view, name)
    return tuple(em.index(part, f"offsets[{k}]") for k, part in enumerate(given))


def checked_offsets(
    em: SemanticBuilder, view: Value, name: str, offsets: Any, *, region: Shape | None = None
) -> tuple[tuple[Value, ...], Value | None]:
    """Return offsets as values, and a guard that is false where one lies outside.

    A constant that always lies outside is rejected. `region` is the shape of this block's region,
    in which offsets of an output count.
    """
    values = free_offsets(em, view, name, offsets)
    if not em.checked:
        return values, None
    guard: Value | None = None
    for axis, part in enumerate(offset_parts(em, offsets, view, name)):
        _refuse_offset(em, view, name, axis, part, region)
        extent = em.index(tile_count(em, view, axis))
        ok = em.emit("check", values[axis], extent, tensor=name, axis=axis, elements=True)
        guard = _and(em, guard, ok)
    return values, guard


def _refuse_offset(
    em: SemanticBuilder, view: Value, name: str, axis: int, part: Any, region: Shape | None
) -> None:
    known = static_tile_count(view.view, axis)
    if isinstance(part, Value) or (part >= 0 and (known is None or part < known)):
        return
    inside = "of the block's region of" if region is not None else "of"
    em.fail(
        Code.INDEX,
        f"element {part} is out of bounds {inside} `{name}` on axis {axis}",
        expected="0 or more" if known is None else f"0 <= offset < {known}",
        got=str(part),
        hint=None if region is not None else "write padding=..., the value of elements outside",
    )
