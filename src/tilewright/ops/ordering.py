"""Sorting and the largest elements along an axis, with gradients of the values.

A block sorts a row, or a part of a long one; then parts are merged in pairs. Where an element of a
merged part comes from is found by bisection, so that blocks need nothing of each other. Of a long
row a few elements are found among the groups of elements whose own extremes come first.
"""

from __future__ import annotations

from functools import cache, partial
from typing import Any

from ..base.dtypes import i32, i64
from ..base.shapes import FULL, Shape, cdiv, next_power_of_2
from ..functions.describing import element_type
from ..functions.function import Function
from ..functions.tracing import one_node
from ..lang import (
    Accumulator,
    Const,
    Tensor,
    TensorMut,
    arange,
    block_id,
    isnan,
    load_tile_like,
    make_gather_scatter_view,
    maximum,
    minimum,
    reduce_min,
    where,
)
from ..lang import sort as sort_of
from ..lang import topk as topk_of
from ..lang.stdlib.ordering import order_keys
from ..launch import entry
from .arguments import one_axis
from .calling import chained, is_op, paired, refuse_no_elements, second
from .elementwise import tiles_of
from .rows import LONGEST, PART, rows_in_tile, rows_of
from .tiles import comparable, highest_of, lowest_of

MERGED = 1024
"""Elements of a tile of a merged row."""
GROUPED = 1024
"""Elements of a row, at least, in which groups of elements are looked at first."""
MOST = 1 << 30
"""Elements of a row, at most: places in it are i32."""


@entry
def first_of_rows(
    values: TensorMut, indices: TensorMut, x: Tensor, *, LENGTH: Const[int], LARGEST: Const[bool]
) -> None:
    """Find the first elements, in descending or ascending order, of each part of each row."""
    # What is most extreme and last comes behind everything.
    padding = lowest_of(x.dtype) if LARGEST else highest_of(x.dtype)
    j = block_id(1)
    rows = x.partition((values.shape[0], LENGTH), padding=padding).load((block_id(0), j))
    found, where_found = topk_of(rows, values.shape[1], 1, LARGEST)
    values.store(found)
    indices.store(where_found.astype(i64) + j * LENGTH)


@entry
def number_columns(indices: TensorMut, x: Tensor) -> None:
    """Store the number of each column."""
    columns = arange(indices.shape[1])[None, :] + block_id(1) * indices.shape[1]
    indices.store(columns.astype(i64).broadcast(indices.shape))


def _precedes(b: Any, a: Any, largest: bool) -> Any:
    """Return whether b comes before a, which is before it among equals."""
    if largest:
        return b > a if not a.dtype.is_float else (b > a) | (isnan(b) & ~isnan(a))
    return b < a if not a.dtype.is_float else (b < a) | (isnan(a) & ~isnan(b))


@entry
def merge_runs(
    values: TensorMut, indices: TensorMut, x: Tensor, numbers: Tensor, length: i32, span: i32,
    run: i32, merged: i32, steps: i32, *, LARGEST: Const[bool],
) -> None:  # fmt: skip
    """Merge pairs of sorted runs of `run` elements into runs of the first `merged` of both.

    A run has the first elements of `span` elements of a row of `length`.
    """
    i, tile = block_id(0), values.shape[1]
    place = arange(tile) + block_id(1) * tile
    pair = place // merged
    target = place - pair * merged
    start = pair * 2 * run
    behind = length - pair * 2 * span
    # `run` elements at most, and fewer of the last runs of a row.
    count_a = minimum(maximum(behind, 0), run)
    count_b = minimum(maximum(behind - span, 0), run)
    low, high = maximum(target - count_b, 0), minimum(target, count_a)
    given = make_gather_scatter_view(x, (1, tile), 1, padding=0)
    for _ in range(steps):
        middle = (low + high) // 2
        a = given.load((i, start + middle)).reshape(tile)
        b = given.load((i, start + run + target - 1 - middle)).reshape(tile)
        is_open, is_behind = low < high, _precedes(comparable(b), comparable(a), LARGEST)
        low = where(is_open & ~is_behind, middle + 1, low)
        high = where(is_open & is_behind, middle, high)
    other = target - low
    a = given.load((i, start + low)).reshape(tile)
    b = given.load((i, start + run + other)).reshape(tile)
    is_a = (low < count_a) & (
        (other >= count_b) | ~_precedes(comparable(b), comparable(a), LARGEST)
    )
    chosen = start + where(is_a, low, run + other)
    values.store(where(is_a, a, b).reshape(values.shape))
    taken = make_gather_scatter_view(numbers, (1, tile), 1, padding=0)
    indices.store(taken.load((i, chosen)).reshape(indices.shape))


# --- a few of a long row: they are in the groups whose own extremes come first -------------------


@entry
def best_of_groups(best: TensorMut, x: Tensor, *, GROUP: Const[int], LARGEST: Const[bool]) -> None:
    """Find the element of each group of adjacent ones that comes first, as an integer in order."""
    width = best.shape[1]
    padding = lowest_of(x.dtype) if LARGEST else highest_of(x.dtype)
    given = x.partition((1, width * GROUP), padding=padding).load((block_id(0), block_id(1)))
    best.store(reduce_min(order_keys(given, LARGEST).reshape(1, width, GROUP), 2).astype(i32))


@entry
def first_groups(groups: TensorMut, best: Tensor, *, LENGTH: Const[int]) -> None:
    """Find the groups whose best elements come first, in the order of the groups."""
    keys = best.partition((1, LENGTH), padding=highest_of(best.dtype)).load((block_id(0), 0))
    _, found = topk_of(keys, groups.shape[1], 1, False)
    groups.store(sort_of(found, 1))


@entry
def first_of_groups(
    values: TensorMut, indices: TensorMut, x: Tensor, groups: Tensor, *,
    GROUP: Const[int], COUNT: Const[int], LARGEST: Const[bool],
) -> None:  # fmt: skip
    """Find the first elements of `COUNT` groups of each row."""
    i, tile = block_id(0), COUNT * GROUP
    numbers = make_gather_scatter_view(groups, (1, tile), 1, padding=0)
    place = arange(tile)
    column = numbers.load((i, place // GROUP)).reshape(tile) * GROUP + place % GROUP
    padding = lowest_of(x.dtype) if LARGEST else highest_of(x.dtype)
    given = make_gather_scatter_view(x, (1, tile), 1, padding=padding).load((i, column))
    found, where_found = topk_of(given, values.shape[1], 1, LARGEST)
    values.store(found)
    chosen = where_found.reshape(values.shape[1])
    few = make_gather_scatter_view(groups, (1, values.shape[1]), 1, padding=0)
    number = few.load((i, chosen // GROUP)).reshape(values.shape[1])
    indices.store((number * GROUP + chosen % GROUP).astype(i64).reshape(indices.shape))


# --- gradients ---------------------------------------------------------------------------------


@entry
def number_places(places: Accumulator[i32], indices: Tensor, like: Tensor, *, WIDTH: Const[int]
                  ) -> None:  # fmt: skip
    """Store, of zeros, the place of each element among those found, counted from 1."""
    i, j = block_id(0), block_id(1)
    at = indices.partition((1, WIDTH), padding=-1).load((i, j)).astype(i32)
    number = (arange(WIDTH) + j * WIDTH + 1).reshape(1, WIDTH)
    places.add(number, (i, at.reshape(WIDTH)), clip=True)


@entry
def take_back(dx: TensorMut, dy: Tensor, places: Tensor, indices: Tensor) -> None:
    """Take the gradient of each element from its place; others have none.

    `indices` of all places are not read.
    """
    tile = dx.shape[1]
    place = load_tile_like(places, dx)
    grads = make_gather_scatter_view(dy, (1, tile), 1, padding=0)
    found = grads.load((block_id(0), place.reshape(tile) - 1))
    dx.store(where(place > 0, found, 0.0).astype(dx.dtype))


def _merged_tile(shape: Shape) -> Shape:
    return 1, min(next_power_of_2(shape[1]), MERGED)


_PLACES = Function(
    number_places,
    outputs={"places": lambda indices, like: (like.shape, i32)},
    constants={"WIDTH": MERGED},
    backward=lambda d_places: (None, None),
    grid=lambda indices, like: (indices.shape[0], cdiv(indices.shape[1], MERGED)),
)
_TAKE_BACK = Function(
    take_back, outputs=lambda dy, places, indices: (places.shape, dy.dtype), tiles=_merged_tile,
    backward=lambda g, indices: (take_indexed(g, indices), None, None),
)  # fmt: skip


def put_back(dy: Any, indices: Any, like: Any) -> Any:
    """Return zeros like an array of rows, but for elements at other indices of each row."""
    return _TAKE_BACK(dy, _PLACES(indices, like), indices)


def _gradient(dy: Any, d_indices: Any, x: Any, indices: Any) -> Any:
    return put_back(dy, indices, x)


@entry
def take_columns(y: TensorMut, x: Tensor, indices: Tensor) -> None:
    """Take elements of each row by their numbers."""
    tile = y.shape[1]
    given = make_gather_scatter_view(x, (1, tile), 1, padding=0)
    at = load_tile_like(indices, y).reshape(tile).astype(i32)
    y.store(given.load((block_id(0), at)))


take_indexed: Any = Function(
    take_columns,
    outputs=lambda x, indices: (indices.shape, x.dtype),
    tiles=_merged_tile,
    backward=lambda dy, x, indices: (put_back(dy, indices, x), None),
)
"""Take elements of each row by their numbers, each of which occurs once in a row."""


# --- functions of rows -------------------------------------------------------------------------


@cache
def _order(length: int, k: int, rows: int, largest: bool) -> Function:
    """Return the function that finds the first k elements of whole rows."""

    def shape(x: Any) -> tuple[int, int]:
        return x.shape[0], k

    return Function(
        first_of_rows,
        outputs={"values": shape, "indices": lambda x: (shape(x), i64)},
        tiles=(rows, FULL),
        constants={"LENGTH": length, "LARGEST": largest},
        backward=_gradient,
    )


@cache
def _order_of_parts(part: int, run: int, largest: bool) -> Function:
    """Return the function that finds the first `run` elements of each part of a row."""

    def shape(x: Any) -> tuple[int, int]:
        return x.shape[0], cdiv(x.shape[1], part) * run

    return Function(
        first_of_rows,
        outputs={"values": shape, "indices": lambda x: (shape(x), i64)},
        tiles=(1, run),
        constants={"LENGTH": part, "LARGEST": largest},
        backward=lambda d_values, d_indices: None,
    )


_NUMBER = Function(
    number_columns, outputs=lambda x: (x.shape, i64), tiles=tiles_of, backward=lambda dy: None
)


@cache
def _merging(largest: bool) -> Function:
    def shape(
        x: Any, numbers: Any, length: int, span: int, run: int, merged: int, steps: int
    ) -> tuple[int, int]:
        return x.shape[0], cdiv(length, 2 * span) * merged

    def places(
        x: Any, numbers: Any, length: int, span: int, run: int, merged: int, steps: int
    ) -> Any:
        return shape(x, numbers, length, span, run, merged, steps), i64

    return Function(
        merge_runs,
        outputs={"values": shape, "indices": places},
        tiles=_merged_tile,
        constants={"LARGEST": largest},
        backward=lambda d_values, d_indices: (None, None),
    )


def _long_order(x: Any, length: int, k: int, largest: bool, is_wide: bool) -> Any:
    """Find the first k elements of rows of which a block sorts only a part, or one element."""
    span = 1 if is_wide else PART
    run = min(span, next_power_of_2(k))
    found = _numbered(x) if is_wide else _order_of_parts(span, run, largest)(x)
    while span < length:
        merged = k if 2 * span >= length else min(2 * run, next_power_of_2(k))
        found = chained(found, partial(_merged, largest, (length, span, run, merged)))
        span, run = 2 * span, merged

    def taken(_: Any, indices: Any) -> Any:
        return paired(take_indexed(x, indices), lambda values: (values, indices))

    return chained(found, taken)


def _group_of(length: int, k: int) -> int:
    """Return the size of groups to look for k elements in; 0: whole rows are better sorted."""
    width = next_power_of_2(k)
    group = 1 << max(0, (length // width).bit_length() - 1) // 2
    while cdiv(length, group) > LONGEST:
        group *= 2
    looked_at = next_power_of_2(cdiv(length, group)) + width * group
    fits = width * group <= LONGEST and width <= cdiv(length, group)
    return group if length >= GROUPED and fits and 4 * looked_at <= length else 0


@cache
def _grouping(group: int, largest: bool) -> Function:
    return Function(
        best_of_groups, outputs=lambda x: ((x.shape[0], cdiv(x.shape[1], group)), i32),
        tiles=lambda shape: (1, min(next_power_of_2(shape[1]), max(1, PART // group))),
        constants={"GROUP": group, "LARGEST": largest}, backward=lambda d_best: None,
    )  # fmt: skip


@cache
def _choosing(length: int, width: int) -> Function:
    return Function(
        first_groups, outputs=lambda best: (best.shape[0], width), tiles=(1, width),
        constants={"LENGTH": length}, backward=lambda d_groups: None,
    )  # fmt: skip


@cache
def _order_of_groups(group: int, k: int, largest: bool) -> Function:
    def shape(x: Any, groups: Any) -> tuple[int, int]:
        return x.shape[0], k

    return Function(
        first_of_groups,
        outputs={"values": shape, "indices": lambda x, groups: ((x.shape[0], k), i64)},
        tiles=(1, FULL),
        constants={"GROUP": group, "COUNT": next_power_of_2(k), "LARGEST": largest},
        backward=lambda dy, d_indices, x, indices: (_gradient(dy, None, x, indices), None),
    )  # fmt: skip


def _few(x: Any, length: int, k: int, group: int, largest: bool) -> Any:
    """Find the first k elements of rows, which are in the k groups that have the first extremes."""
    best = _grouping(group, largest)(x)
    count = next_power_of_2(cdiv(length, group))
    return _order_of_groups(group, k, largest)(x, _choosing(count, next_power_of_2(k))(best))


def _numbered(x: Any) -> Any:
    """Return elements, each of them a sorted run, and their numbers."""
    return paired(_NUMBER(x), lambda numbers: (x, numbers))


def _merged(largest: bool, how: tuple[int, int, int, int], values: Any, indices: Any) -> Any:
    """Merge pairs of runs; `how` are the length, span, run and merged of the kernel."""
    steps = how[2].bit_length()
    return _merging(largest)(values, indices, *how, steps)


def _first(name: str, x: Any, k: int | None, axis: int, largest: bool) -> Any:
    if is_op(x):

        def later(tensor: Any) -> Any:
            return _first(name, tensor, k, axis, largest)

        return x.then(later)
    refuse_no_elements(name, x)
    rows = rows_of(name, x, axis)
    count = rows.length if k is None else k
    if not hasattr(count, "__index__") or not 0 <= count <= rows.length:
        raise ValueError(f"`{name}` finds 0 to {rows.length} elements along the axis, got {k}")
    if rows.length > MOST:
        raise ValueError(f"`{name}` sorts rows of at most {MOST} elements, got {rows.length}")
    is_wide = element_type(x.dtype).bits > 32
    group = 0 if is_wide else _group_of(rows.length, max(count, 1))
    if group:
        found = _few(rows.array, rows.length, max(count, 1), group, largest)
    elif is_wide or rows.length > LONGEST:
        found = _long_order(rows.array, rows.length, max(count, 1), largest, is_wide)
    else:
        length = next_power_of_2(rows.length)
        found = _order(length, count, rows_in_tile(length), largest)(rows.array)

    def restored(*results: Any) -> Any:
        return tuple([rows.restore(each if count else each[:, :0], count) for each in results])

    return found.map(restored) if is_op(found) else restored(*found)


@one_node
@one_axis
def topk(
    x: Any, k: int, axis: int = -1, largest: bool = True, *, dim: int | None = None
) -> tuple[Any, Any]:
    """Return the k largest elements along an axis, or smallest, in order, and their indices.

    Of equal elements the first come first; NaN is the largest, and -0.0 may become 0.0.

    >>> ops.topk(np.array([1.0, 3.0, 2.0], "f4"), 2)
    (array([3., 2.], dtype=float32), array([1, 2]))
    """
    if not hasattr(k, "__index__"):
        raise TypeError(f"`topk` finds so many elements as `k`, an int, says; got {k!r:.60}")
    found: tuple[Any, Any] = _first("topk", x, k, axis if dim is None else dim, largest)
    return found


@one_node
@one_axis
def sort(
    x: Any, axis: int = -1, descending: bool = False, *, dim: int | None = None
) -> tuple[Any, Any]:
    """Return the elements in ascending or descending order along an axis, and their indices.

    Equal elements stay in their order; NaN is the largest, and -0.0 may become 0.0.

    >>> ops.sort(np.array([1.0, 3.0, 2.0], "f4"))
    (array([1., 2., 3.], dtype=float32), array([0, 2, 1]))
    """
    found: tuple[Any, Any] = _first("sort", x, None, axis if dim is None else dim, descending)
    return found


@one_node
@one_axis
def argsort(x: Any, axis: int = -1, descending: bool = False, *, dim: int | None = None) -> Any:
    """Return the indices that sort along an axis; equal elements stay in their order.

    >>> ops.argsort(np.array([1.0, 3.0, 2.0], "f4"))
    array([0, 2, 1])
    """
    return second(sort(x, axis if dim is None else dim, descending))
