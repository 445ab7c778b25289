"""Rules for the creation of tiles, and the rearrangement of their elements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...base.dtypes import AnyDType, bool_, f32, i32
from ...base.errors import Code
from ...base.shapes import Shape, is_power_of_two, size
from ...ir.core import Value
from ..semantics import promotion
from ..semantics.builder import SemanticBuilder
from ..semantics.operands import parts, runs_in
from ..semantics.simt import length_of, tiles_in
from ..semantics.values import (
    ElementsRef,
    RunRef,
    RunsRef,
    SharedRef,
    SliceRef,
    TilesRef,
    describe,
    is_pointer,
)

# -------------------------------------------------------------------------------------------------
# Rules for the creation of tiles, and conversions between scalars and tiles.


def zeros(em: SemanticBuilder, shape: Any, dtype: Any = f32) -> Value:
    """Create a tile of 0; False for booleans."""
    return _filled(em, shape, 0, em.static_dtype(dtype))


def ones(em: SemanticBuilder, shape: Any, dtype: Any = f32) -> Value:
    """Create a tile of 1; True for booleans."""
    return _filled(em, shape, 1, em.static_dtype(dtype))


def full(em: SemanticBuilder, shape: Any, value: Any, dtype: Any = None) -> Value:
    """Return one value everywhere; a scalar that is no constant is converted."""
    to = None if dtype is None else em.static_dtype(dtype)
    if not isinstance(value, Value):
        return _filled(em, shape, value, to)
    scalar = _one_element(em, value, "value")
    return em.broadcast_to(em.cast(scalar, to) if to else scalar, em.static_shape(shape))


def constant(em: SemanticBuilder, value: Any, shape: Any, dtype: Any = None) -> Value:
    """Return one constant everywhere."""
    if isinstance(value, Value):
        em.fail(
            Code.NOT_STATIC,
            "the value of a constant must be a compile-time constant",
            expected="a number",
            got=describe(value),
            hint="use tl.full(shape, value)",
        )
    return _filled(em, shape, value, None if dtype is None else em.static_dtype(dtype))


def _filled(em: SemanticBuilder, shape: Any, value: Any, dtype: AnyDType | None) -> Value:
    dims = em.static_shape(shape)
    if not isinstance(value, int | float):
        em.fail(
            Code.TYPE,
            "a tile is filled with one number",
            expected="a number or a scalar",
            got=describe(value),
            hint="reduce a tile to one: tl.reduce_max(tl.load_tile_like(x, out)).item()",
        )
    to = dtype or promotion.natural_dtype(value)
    if to.is_bool and value in (0, 1):
        value = bool(value)
    return em.constant(promotion.fit(em, value, to), to, dims)


def arange(em: SemanticBuilder, start: Any, stop: Any = None, *, dtype: Any = i32) -> Value:
    """Make a tile of consecutive numbers; floats are converted from integers."""
    to = em.static_dtype(dtype)
    first, last = (0, start) if stop is None else (start, stop)
    low, high = _bound(em, first, "start"), _bound(em, last, "stop")
    if not is_power_of_two(high - low):
        em.fail(
            Code.POWER_OF_TWO,
            f"a tile has a power of two elements, but this range has {max(high - low, 0)}",
            expected="stop - start = 1, 2, 4, 8, ...",
            got=f"{low} to {high}",
        )
    for end in (low, high - 1):
        promotion.fit(em, end, i32 if to.is_float else to)
        promotion.fit(em, end, to)
    return _count(em, low, high - low, to)


def _bound(em: SemanticBuilder, x: Any, what: str) -> int:
    if isinstance(x, Value):
        em.fail(
            Code.NOT_STATIC,
            f"{what} of arange must be a compile-time constant",
            expected="a constant int",
            got=describe(x),
            hint="count from 0 and add: tl.arange(n) + start",
        )
    return em.static_int(x, what)


def _count(em: SemanticBuilder, low: int, size: int, to: AnyDType) -> Value:
    count = em.static_shape(size)[0]
    value = em.emit("iota", size=count, dtype=to if to.is_int else i32)
    if low:
        start = em.constant(low, value.tile.dtype, value.tile.shape)
        value = em.emit("addi", value, start)
    return em.cast(value, to)


def iota(em: SemanticBuilder, shape: Any, dtype: Any = i32) -> Value:
    """Create 0, 1, ... in a tile of rank 1."""
    dims, to = em.static_shape(shape), em.static_dtype(dtype)
    if len(dims) != 1:
        em.fail(
            Code.RANK,
            "iota makes tiles of rank 1",
            expected="one extent",
            got=str(dims),
            hint="place it along an axis: tl.iota(n)[:, None]",
        )
    if not to.is_int:
        em.fail(
            Code.DTYPE,
            "iota makes integers",
            expected="an integer type",
            got=to.name,
            hint=f"use tl.arange({dims[0]}, dtype=tw.{to.__name__})",
        )
    promotion.fit(em, dims[0] - 1, to)
    return em.emit("iota", size=dims[0], dtype=to)


def broadcast_scalar(em: SemanticBuilder, value: Any, shape: Any) -> Value:
    """Return a scalar everywhere."""
    return full(em, shape, value)


def scalar_to_tile(em: SemanticBuilder, value: Any) -> Value:
    """Return a scalar as a tile of rank 0, which it already is."""
    return _one_element(em, em.tile(value, what="value"), "value")


def tile_to_scalar(em: SemanticBuilder, tile: Any) -> Value:
    """Return the only element."""
    return _one_element(em, em.tile(tile, what="tile"), "tile")


def item(em: SemanticBuilder, self: Any) -> Value:
    """Return the only element."""
    return _one_element(em, self, "the tile")


def _one_element(em: SemanticBuilder, value: Value, what: str) -> Value:
    if value.tile.size != 1:
        em.fail(
            Code.SHAPE,
            f"{what} has {value.tile.size} elements, a scalar is one",
            expected="a scalar, or a tile with one element",
            got=describe(value),
            hint="reduce it first, or take a part with tl.extract",
        )
    return em.emit("reshape", value, shape=()) if value.tile.rank else value


# -------------------------------------------------------------------------------------------------
# Rules for rearrangement: shapes, axes, parts.

Rule = Callable[..., Any]

# --- shapes ----------------------------------------------------------------------------------


def reshape(em: SemanticBuilder, x: Any, shape: Any) -> Value:
    """Rearrange the elements into another shape."""
    value = em.tile(x, what="x")
    dims = em.static_shape(_completed(em, value, shape))
    if size(dims) != value.tile.size:
        em.fail(
            Code.SHAPE,
            f"{value.tile.size} elements do not fill shape {dims}",
            expected=f"a shape of {value.tile.size} elements",
            got=f"{dims}: {size(dims)} elements",
            hint="one extent may be -1: it is inferred",
        )
    return _reshaped(em, value, dims)


def _completed(em: SemanticBuilder, value: Value, shape: Any) -> Shape:
    """Return the shape with a -1 replaced by the remaining extent."""
    dims = [em.static_int(n, f"shape[{k}]") for k, n in enumerate(parts(shape))]
    if -1 in dims:
        hole = dims.index(-1)
        known = size(dims[:hole] + dims[hole + 1 :])
        if -1 in dims[hole + 1 :] or known < 1 or value.tile.size % known:
            em.fail(
                Code.SHAPE,
                f"{value.tile.size} elements leave no extent for the -1",
                expected="one -1, and a product of the others that divides the element count",
                got=str(tuple(dims)),
            )
        dims[hole] = value.tile.size // known
    return tuple(dims)


def _reshaped(em: SemanticBuilder, value: Value, shape: Shape) -> Value:
    return value if value.tile.shape == shape else em.emit("reshape", value, shape=shape)


def broadcast(em: SemanticBuilder, x: Any, shape: Any) -> Value:
    """Repeat along axes of extent 1 and new ones in front."""
    return em.broadcast_to(em.tile(x, what="x"), em.static_shape(shape))


def expand_dims(em: SemanticBuilder, x: Any, axis: Any) -> Value:
    """Return a new axis of extent 1."""
    value = em.tile(x, what="x")
    dims = value.tile.shape
    k = em.static_axis(axis, len(dims) + 1)
    return _reshaped(em, value, (*dims[:k], 1, *dims[k:]))


def getitem(em: SemanticBuilder, self: Any, index: Any) -> Value:
    """Insert axes: None is a new one, `:` keeps one, `...` keeps those in between."""
    value = em.tile(self)
    items = parts(index)
    for item in items:
        if item is not None and item is not Ellipsis and not _is_whole(item):
            _refuse_index(em, self, item)
    kept = [k for k, item in enumerate(items) if _is_whole(item)]
    if len(kept) > value.tile.rank or sum(item is Ellipsis for item in items) > 1:
        em.fail(
            Code.RANK,
            f"too many axes for a tile of rank {value.tile.rank}",
            expected=f"at most {value.tile.rank} `:` and one `...`",
            got=f"{len(kept)} `:`",
        )
    return _reshaped(em, value, _indexed(value.tile.shape, items, len(kept)))


def _is_whole(item: Any) -> bool:
    return isinstance(item, slice) and item == slice(None)


def _refuse_index(em: SemanticBuilder, x: Any, item: Any) -> None:
    if is_pointer(x):
        em.fail(
            Code.TYPE,
            "a pointer is not indexed",
            got=describe(item),
            hint="p + i is the address of an element: tl.load_ptr(p + i), tl.store_ptr(p + i, x)",
        )
    shown = "a slice with bounds" if isinstance(item, slice) else describe(item)
    is_mask = isinstance(item, Value) and item.tile.dtype is bool_
    em.fail(
        Code.TYPE,
        "a tile is indexed with None, `:` and `...` only",
        expected="x[None, :], x[:, None], x[..., None]",
        got=shown,
        hint="tiles have constant shapes: choose per element with tl.where(mask, x, 0)"
        if is_mask
        else "take a part with tl.extract(x, index, shape), or load a smaller tile",
    )


def _indexed(shape: Shape, items: tuple[Any, ...], kept: int) -> Shape:
    """Return the shape after new axes; axes without an item are at `...`, or last."""
    if Ellipsis not in items:
        items = (*items, Ellipsis)
    axes, dims = iter(shape), list[int]()
    for item in items:
        if item is None:
            dims.append(1)
        else:
            count = len(shape) - kept if item is Ellipsis else 1
            dims += [next(axes) for _ in range(count)]
    return tuple(dims)


# --- order of axes ---------------------------------------------------------------------------


def permute(em: SemanticBuilder, x: Any, order: Any) -> Value:
    """Return axes in another order."""
    value = em.tile(x, what="x")
    return _permuted(em, value, _order(em, order, value.tile.rank))


def _order(em: SemanticBuilder, order: Any, rank: int) -> Shape:
    axes = tuple(em.static_axis(k, rank, f"order[{i}]") for i, k in enumerate(parts(order)))
    if sorted(axes) != list(range(rank)):
        em.fail(
            Code.RANK,
            f"order does not name each of {rank} axes once",
            expected=f"an order of {tuple(range(rank))}",
            got=describe(order),
        )
    return axes


def _permuted(em: SemanticBuilder, value: Value, order: Shape) -> Value:
    if order == tuple(range(len(order))):
        return value
    return em.emit("permute", value, order=order)


def transpose(em: SemanticBuilder, x: Any, axis0: Any = -2, axis1: Any = -1) -> Value:
    """Return two axes swapped."""
    value = em.tile(x, what="x")
    rank = value.tile.rank
    if rank < 2:
        em.fail(
            Code.RANK,
            f"a tile of rank {rank} has no two axes to swap",
            expected="rank 2 or more",
            got=describe(value),
            hint="insert an axis: x[:, None] or x[None, :]",
        )
    order = list(range(rank))
    i, j = em.static_axis(axis0, rank, "axis0"), em.static_axis(axis1, rank, "axis1")
    order[i], order[j] = order[j], order[i]
    return _permuted(em, value, tuple(order))


def _property_t(em: SemanticBuilder, self: Any) -> Value:
    value = em.tile(self)
    if value.tile.rank != 2:
        em.fail(
            Code.RANK,
            "`.T` is for tiles of rank 2",
            expected="rank 2",
            got=describe(value),
            hint="use x.transpose() for the last two axes, or x.permute(order)",
        )
    return transpose(em, value)


# --- parts -----------------------------------------------------------------------------------


def cat(em: SemanticBuilder, a: Any, b: Any = None, axis: Any = 0) -> Value:
    """Concatenate tiles: two, or a sequence of any number."""
    if isinstance(a, tuple | list):
        return _cat_all(em, a, axis if b is None else b)
    return _cat_all(em, (a, b), axis)


def _cat_all(em: SemanticBuilder, tiles: Sequence[Any], axis: Any) -> Value:
    if not tiles or any(tile is None for tile in tiles):
        em.fail(
            Code.CALL,
            "`cat` needs tiles to concatenate",
            expected="two tiles, or a tuple of tiles",
            got=describe(tuple(tile for tile in tiles if tile is not None)),
        )
    first, *rest = _of_one_type(em, tiles)
    shape = first.tile.shape
    for tile in rest:
        if tile.tile.rank != len(shape):
            em.fail(
                Code.RANK,
                "tiles of different ranks cannot be concatenated",
                expected=str(shape),
                got=str(tile.tile.shape),
            )
    k = em.static_axis(axis, len(shape))
    for tile in rest:
        other = tile.tile.shape
        if other[:k] + other[k + 1 :] != shape[:k] + shape[k + 1 :]:
            em.fail(
                Code.SHAPE,
                f"tiles concatenated along axis {k} must agree on the other axes",
                expected=f"{shape} except on axis {k}",
                got=str(other),
            )
    extents = [tile.tile.shape[k] for tile in (first, *rest)]
    if not is_power_of_two(sum(extents)):
        em.fail(
            Code.POWER_OF_TWO,
            f"concatenated along axis {k} these tiles have {sum(extents)} elements there",
            expected="extents whose sum is a power of two",
            got=" and ".join(map(str, extents)),
        )
    return _halves_joined(em, [first, *rest], k)


def _of_one_type(em: SemanticBuilder, tiles: Sequence[Any]) -> list[Value]:
    """Return tiles of the type that all of them promote to."""
    widest = tiles[0]
    for tile in tiles[1:]:
        widest, _ = promotion.unify(em, widest, tile, "join")
    return [promotion.unify(em, tile, widest, "join")[0] for tile in tiles]


def _halves_joined(em: SemanticBuilder, tiles: list[Value], axis: int) -> Value:
    """Join tiles by a balanced tree, whose halves have one extent; a tile may lie in both."""
    if len(tiles) == 1:
        return tiles[0]
    half = sum(tile.tile.shape[axis] for tile in tiles) // 2
    left, right, begin = list[Value](), list[Value](), 0
    for tile in tiles:
        extent = tile.tile.shape[axis]
        low = min(max(half - begin, 0), extent)
        if low in (0, extent):
            (left if low else right).append(tile)
        else:
            left += _parts_of(em, tile, axis, 0, low)
            right += _parts_of(em, tile, axis, low, extent)
        begin += extent
    joined = _halves_joined(em, left, axis), _halves_joined(em, right, axis)
    return em.emit("cat", *joined, axis=axis)


def _parts_of(em: SemanticBuilder, tile: Value, axis: int, begin: int, end: int) -> list[Value]:
    """Return the elements from `begin` to `end` along an axis, in parts that `extract` takes."""
    found, shape = list[Value](), tile.tile.shape
    while begin < end:
        # The largest power of two that divides `begin`, or else fits.
        size = (begin & -begin) or shape[axis]
        while begin + size > end:
            size //= 2
        index = [em.index(begin // size if k == axis else 0) for k in range(len(shape))]
        part = (*shape[:axis], size, *shape[axis + 1 :])
        found.append(em.emit("extract", tile, index, shape=part))
        begin += size
    return found


def extract(em: SemanticBuilder, x: Any, index: Any, shape: Any) -> Value:
    """Return the part of a shape at an index that counts parts."""
    value = em.tile(x, what="x")
    whole, part = value.tile.shape, em.static_shape(shape)
    if len(part) != len(whole) or any(n % m for n, m in zip(whole, part, strict=True)):
        em.fail(
            Code.SHAPE,
            f"parts of shape {part} do not fill a tile of shape {whole}",
            expected="one extent per axis, each dividing the tile's",
            got=str(part),
        )
    indices = parts(index)
    if len(indices) != len(whole):
        em.fail(
            Code.RANK,
            f"{len(indices)} indices for a tile of rank {len(whole)}",
            expected=f"{len(whole)} indices",
            got=describe(index),
        )
    counts = [n // m for n, m in zip(whole, part, strict=True)]
    found = [_part_index(em, i, n, k) for k, (i, n) in enumerate(zip(indices, counts, strict=True))]
    return em.emit("extract", value, found, shape=part)


def _part_index(em: SemanticBuilder, index: Any, count: int, axis: int) -> Value:
    if isinstance(index, int) and not 0 <= index < count:
        em.fail(
            Code.INDEX,
            f"part {index} does not exist on axis {axis}",
            expected=f"0 to {count - 1}",
            got=str(int(index)),
            hint="the index counts parts, not elements",
        )
    return em.index(index, f"index[{axis}]")


def get_shape_dim(em: SemanticBuilder, x: Any, axis: Any) -> Any:
    """Return one extent."""
    shape = x.tile.shape if isinstance(x, Value) else parts(x)
    return shape[em.static_axis(axis, len(shape))]


def permute_array(em: SemanticBuilder, array: Any, order: Any) -> tuple[Any, ...]:
    """Return a tuple in another order."""
    items = parts(array)
    return tuple(items[k] for k in _order(em, order, len(items)))


# --- methods and properties ------------------------------------------------------------------


def _joined(arguments: tuple[Any, ...]) -> Any:
    """Return a shape from `x.reshape(4, 8)` or from `x.reshape((4, 8))`."""
    return arguments[0] if len(arguments) == 1 else arguments


def _method_reshape(em: SemanticBuilder, self: Any, *shape: Any) -> Value:
    return reshape(em, self, _joined(shape))


def _method_broadcast(em: SemanticBuilder, self: Any, *shape: Any) -> Value:
    return broadcast(em, self, _joined(shape))


def _method_permute(em: SemanticBuilder, self: Any, *order: Any) -> Value:
    return permute(em, self, _joined(order))


def _method_transpose(em: SemanticBuilder, self: Any, axis0: Any = -2, axis1: Any = -1) -> Value:
    return transpose(em, self, axis0, axis1)


def _shape(em: SemanticBuilder, self: Any) -> Shape:
    return em.tile(self).tile.shape


def _dtype(em: SemanticBuilder, self: Any) -> Any:
    return em.numbers(self).tile.dtype


def _rank(em: SemanticBuilder, self: Any) -> int:
    return em.tile(self).tile.rank


def _size(em: SemanticBuilder, self: Any) -> int:
    return em.tile(self).tile.size


def _len(em: SemanticBuilder, x: Any) -> int | Value:
    if isinstance(x, tuple | list):  # x.shape, whose extents only the launch knows
        return len(parts(x))
    if isinstance(x, SliceRef | ElementsRef):
        return em.emit("length", (x if isinstance(x, SliceRef) else x.slice).value)
    if isinstance(x, SharedRef):
        return length_of(em, x)
    if isinstance(x, RunsRef):
        return runs_in(em, x)
    if isinstance(x, RunRef):
        return x.runs.size
    if isinstance(x, TilesRef):
        return tiles_in(em, x)
    value = em.tile(x)
    if not value.tile.rank:
        em.fail(Code.RANK, "a scalar has no length", expected="a tile", got=describe(value))
    return value.tile.shape[0]


RULES: dict[str, Callable[..., Any]] = {
    "zeros": zeros,
    "ones": ones,
    "full": full,
    "constant": constant,
    "arange": arange,
    "iota": iota,
    "broadcast_scalar": broadcast_scalar,
    "scalar_to_tile": scalar_to_tile,
    "tile_to_scalar": tile_to_scalar,
    "Tile.item": item,
    "reshape": reshape,
    "broadcast": broadcast,
    "expand_dims": expand_dims,
    "permute": permute,
    "transpose": transpose,
    "cat": cat,
    "extract": extract,
    "get_shape_dim": get_shape_dim,
    "permute_array": permute_array,
    "operator.getitem": getitem,
    "builtins.len": _len,
    "Tile.reshape": _method_reshape,
    "Tile.broadcast": _method_broadcast,
    "Tile.permute": _method_permute,
    "Tile.transpose": _method_transpose,
    "Tile.T": _property_t,
    "Tile.shape": _shape,
    "Tile.dtype": _dtype,
    "Tile.rank": _rank,
    "Tile.ndim": _rank,
    "Tile.size": _size,
}
