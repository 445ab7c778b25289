"""Sorting and the largest elements along an axis, with gradients of the values.

Rows have at most 16384 elements of at most 32 bits: a block sorts a whole row.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from ..base.dtypes import i32, i64
from ..base.shapes import FULL, next_power_of_2
from ..functions.function import Function
from ..lang import Const, Tensor, TensorMut, arange, block_id, nan, neg_inf, where, zeros
from ..lang import topk as topk_of
from ..launch import entry
from .calling import is_op
from .rows import LONGEST, rows_in_tile, rows_of
from .tiles import rounded, sum_type, widened


@entry
def first_of_rows(
    values: TensorMut, indices: TensorMut, x: Tensor, *, LENGTH: Const[int], LARGEST: Const[bool]
) -> None:
    """Find the first elements of whole rows in descending or ascending order."""
    # NaN is the largest: padding comes behind everything in both orders.
    padding = neg_inf if LARGEST else nan
    rows = x.partition((values.shape[0], LENGTH), padding=padding).load((block_id(0), 0))
    found, where_found = topk_of(rows, values.shape[1], 1, LARGEST)
    values.store(found)
    indices.store(where_found.astype(i64))


@entry
def put_back(dx: TensorMut, dy: Tensor, indices: Tensor, x: Tensor) -> None:
    """Scatter the gradients of values to their elements of whole rows."""
    i, rows = block_id(0), dx.shape[0]
    grads, places = dy.partition((rows, 1)), indices.partition((rows, 1))
    columns = arange(dx.shape[1])[None, :]
    total = zeros(dx.shape, sum_type(dx.dtype))
    for k in range(grads.num_tiles(1)):
        is_there = columns == places.load((i, k)).astype(i32)
        total = where(is_there, widened(grads.load((i, k))), total)
    dx.store(rounded(total, dx))


@cache
def _order(length: int, k: int, largest: bool) -> Function:
    rows = rows_in_tile(length)
    gradient = Function(put_back, outputs="x", tiles=(rows, FULL))
    return Function(
        first_of_rows,
        outputs={
            "values": lambda x: (x.shape[0], k),
            "indices": lambda x: ((x.shape[0], k), i64),
        },
        tiles=(rows, FULL),
        constants={"LENGTH": length, "LARGEST": largest},
        backward=lambda dy, d_indices, x, indices: gradient(dy, indices, x),
    )


def _first(name: str, x: Any, k: int | None, axis: int, largest: bool) -> Any:
    if is_op(x):

        def later(tensor: Any) -> Any:
            return _first(name, tensor, k, axis, largest)

        return x.then(later)
    rows = rows_of(name, x, axis)
    count = rows.length if k is None else k
    if not 0 <= count <= rows.length:
        raise ValueError(f"`{name}` finds 0 to {rows.length} elements along the axis, got {k}")
    if rows.length > LONGEST:
        raise ValueError(f"`{name}` sorts rows of at most {LONGEST} elements, got {rows.length}")
    found = _order(next_power_of_2(rows.length), count, largest)(rows.array)

    def restored(*results: Any) -> Any:
        return tuple([rows.restore(each, count) for each in results])

    return found.map(restored) if is_op(found) else restored(*found)


def topk(
    x: Any, k: int, axis: int = -1, largest: bool = True, *, dim: int | None = None
) -> tuple[Any, Any]:
    """Return the k largest elements along an axis, or smallest, in order, and their indices.

    Of equal elements the first come first; NaN is the largest, and -0.0 becomes 0.0.

    >>> ops.topk(np.array([1.0, 3.0, 2.0], "f4"), 2)
    (array([3., 2.], dtype=float32), array([1, 2]))
    """
    found: tuple[Any, Any] = _first("topk", x, k, axis if dim is None else dim, largest)
    return found


def sort(
    x: Any, axis: int = -1, descending: bool = False, *, dim: int | None = None
) -> tuple[Any, Any]:
    """Return the elements in ascending or descending order along an axis, and their indices.

    Equal elements stay in their order; NaN is the largest, and -0.0 becomes 0.0.

    >>> ops.sort(np.array([1.0, 3.0, 2.0], "f4"))
    (array([1., 2., 3.], dtype=float32), array([0, 2, 1]))
    """
    found: tuple[Any, Any] = _first("sort", x, None, axis if dim is None else dim, descending)
    return found
