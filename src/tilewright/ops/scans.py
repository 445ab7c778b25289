"""Running sums, products and extremes along an axis, with gradients.

A block visits the parts of its rows in order, and carries what came before.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from ..base.dtypes import i32, i64
from ..functions.function import Function
from ..functions.tracing import one_node
from ..lang import (
    Const,
    Tensor,
    TensorMut,
    arange,
    block_id,
    full,
    reduce_prod,
    reduce_sum,
    scan,
    where,
    zeros,
)
from ..lang import cumprod as cumprod_of
from ..lang import cumsum as cumsum_of
from ..lang.stdlib.elementary import is_float
from ..launch import entry
from .arguments import one_axis
from .calling import axis_of, is_op, operation, refuse_no_elements
from .ordering import take_columns
from .recurrences import RECURRENCES, column_of, recurrence, shifted
from .reductions import padding_of, summed, types_of
from .rows import by_length, row_function, rows_of
from .second_order import by_formula
from .tiles import comparable, rounded, sum_type, widened


@entry
def cumsum_rows(y: TensorMut, x: Tensor, *, PART: Const[int], REVERSE: Const[bool]) -> None:
    """Compute the running sums of whole rows, from the first element or from the last."""
    assert y.shape[1] >= x.shape[1]
    i, rows = block_id(0), y.shape[0]
    parts, out = x.partition((rows, PART)), y.partition_mut((rows, PART))
    carry = zeros((rows, 1), sum_type(x.dtype) if is_float(x) else i64)
    for j in range(parts.num_tiles(1)):
        k = parts.num_tiles(1) - 1 - j if REVERSE else j
        tile = summed(parts.load((i, k)), "sum")
        out.store(rounded(cumsum_of(tile, 1, REVERSE) + carry, y), (0, k))
        carry = carry + reduce_sum(tile, 1, keepdims=True)


@by_length
def _cumsum_of_rows(count: int, part: int) -> Function:
    gradient: Function = row_function(
        cumsum_rows, count, "x", PART=part, REVERSE=True, backward=lambda g: forward(g)
    )
    forward: Function = row_function(
        cumsum_rows, count, lambda x: (x.shape, types_of("sum", x.dtype)[1]),
        PART=part, REVERSE=False, backward=lambda dy: gradient(dy),
    )  # fmt: skip
    return forward


@operation
def cumsum(x: Any, axis: int = -1, *, dim: int | None = None) -> Any:
    """Compute the sums of the elements up to each one along an axis: y[i] = x[0] + ... + x[i].

    >>> ops.cumsum(np.array([1.0, 2.0, 3.0], "f4"))
    array([1., 3., 6.], dtype=float32)
    """
    rows = rows_of("cumsum", x, axis_of("cumsum", len(x.shape), axis if dim is None else dim))
    return rows.restore(_cumsum_of_rows(rows.length)(rows.array))


# --- running products --------------------------------------------------------------------------


@entry
def cumprod_rows(y: TensorMut, x: Tensor, *, PART: Const[int]) -> None:
    """Compute the running products of whole rows."""
    assert y.shape[1] >= x.shape[1]
    i, rows = block_id(0), y.shape[0]
    parts, out = (
        x.partition((rows, PART), padding=padding_of("prod", x.dtype)),
        y.partition_mut((rows, PART)),
    )
    carry = full((rows, 1), 1, sum_type(x.dtype) if is_float(x) else i64)
    for k in range(parts.num_tiles(1)):
        tile = summed(parts.load((i, k)), "prod")
        out.store(rounded(cumprod_of(tile, 1) * carry, y), (0, k))
        carry = carry * reduce_prod(tile, 1, keepdims=True)


@entry
def cumprod_backward(dx: TensorMut, dy: Tensor, x: Tensor, y: Tensor, *, PART: Const[int]) -> None:
    """Compute the product before each element, times s[k] = dy[k] + x[k + 1] * s[k + 1]."""
    assert dx.shape[1] >= x.shape[1]
    i, rows = block_id(0), dx.shape[0]
    parts, out = dy.partition((rows, PART)), dx.partition_mut((rows, PART))
    carry = zeros((rows, 1), sum_type(x.dtype))
    for j in range(parts.num_tiles(1)):
        k = parts.num_tiles(1) - 1 - j
        at = i * rows, k * PART
        behind = widened(x.load_at((at[0], at[1] + 1), (rows, PART), padding=1))
        before = widened(y.load_at((at[0], at[1] - 1), (rows, PART), padding=1))
        sums = recurrence(behind, widened(parts.load((i, k))), carry, True)
        out.store(rounded(before * sums, dx), (0, k))
        carry = column_of(sums, 0)


@by_length
def _cumprod_of_rows(count: int, part: int) -> Function:
    def again(dy: Any, x: Any, y: Any) -> Any:
        sums = RECURRENCES[True](x.shape[1])(dy, shifted(x, -1))
        return shifted(y, 1, fill=1) * sums

    gradient = row_function(
        cumprod_backward, count, "x", PART=part, backward=by_formula(cumprod_backward, again)
    )
    return row_function(
        cumprod_rows, count, lambda x: (x.shape, types_of("prod", x.dtype)[1]), PART=part,
        backward=lambda dy, x, y: gradient(dy, x, y),
    )  # fmt: skip


@operation
def cumprod(x: Any, axis: int = -1, *, dim: int | None = None) -> Any:
    """Compute the products of the elements up to each one along an axis: y[i] = x[0] ... x[i].

    >>> ops.cumprod(np.array([1.0, 2.0, 3.0], "f4"))
    array([1., 2., 6.], dtype=float32)
    """
    rows = rows_of("cumprod", x, axis_of("cumprod", len(x.shape), axis if dim is None else dim))
    return rows.restore(_cumprod_of_rows(rows.length)(rows.array))


# --- running extremes --------------------------------------------------------------------------


def _larger(value: Any, index: Any, other: Any, place: Any) -> tuple[Any, Any]:
    """Return the later one of two extremes, unless it is smaller; NaN stays."""
    is_next = (other >= value) & (value == value) | (other != other)
    return where(is_next, other, value), where(is_next, place, index)


def _smaller(value: Any, index: Any, other: Any, place: Any) -> tuple[Any, Any]:
    is_next = (other <= value) & (value == value) | (other != other)
    return where(is_next, other, value), where(is_next, place, index)


@entry
def extreme_rows(
    values: TensorMut, indices: TensorMut, x: Tensor, *, PART: Const[int], KIND: Const[str]
) -> None:
    """Find the running extremes of whole rows, and where they are: of equals the last."""
    assert values.shape[1] >= x.shape[1]
    assert indices.shape[1] >= x.shape[1]
    i, rows = block_id(0), values.shape[0]
    padding = padding_of(KIND, x.dtype)
    parts = x.partition((rows, PART), padding=padding)
    out, places = values.partition_mut((rows, PART)), indices.partition_mut((rows, PART))
    combine = _larger if KIND == "max" else _smaller
    best = full((rows, 1), padding, comparable(parts.load((i, 0))).dtype)
    at = zeros((rows, 1), i32)
    for k in range(parts.num_tiles(1)):
        tile = comparable(parts.load((i, k)))
        numbers = (arange(PART) + k * PART)[None, :].broadcast(rows, PART)
        found, where_found = scan((tile, numbers), 1, (padding, 0), combine)
        found, where_found = combine(best, at, found, where_found)
        out.store(rounded(found, values), (0, k))
        places.store(where_found.astype(i64), (0, k))
        best, at = column_of(found, PART - 1), column_of(where_found, PART - 1)


@entry
def extreme_rows_backward(dx: TensorMut, dy: Tensor, indices: Tensor, *, PART: Const[int]) -> None:
    """Sum the gradients of all results that are one element."""
    assert dx.shape[1] >= dy.shape[1]
    i, rows = block_id(0), dx.shape[0]
    parts, out = dy.partition((rows, PART)), dx.partition_mut((rows, PART))
    places = indices.partition((rows, PART), padding=-1)
    carry = zeros((rows, 1), sum_type(dy.dtype))
    for j in range(parts.num_tiles(1)):
        k = parts.num_tiles(1) - 1 - j
        numbers = (arange(PART) + k * PART)[None, :].astype(i64)
        behind = indices.load_at((i * rows, k * PART + 1), (rows, PART), padding=-1)
        goes_on = where((behind != numbers + 1) & (behind >= 0), 1.0, 0.0).astype(carry.dtype)
        sums = recurrence(goes_on, widened(parts.load((i, k))), carry, True)
        out.store(rounded(where(places.load((i, k)) == numbers, sums, 0.0), dx), (0, k))
        carry = column_of(sums, 0)


def _extremes(kind: str) -> Any:
    def make(count: int, part: int) -> Function:
        gradient: Function = row_function(
            extreme_rows_backward, count, "dy", PART=part,
            backward=lambda g, indices: (taken(g, indices), None),
        )  # fmt: skip
        taken: Function = Function(
            take_columns, outputs=lambda x, indices: (indices.shape, x.dtype),
            tiles=lambda shape: (1, part),
            backward=lambda dy, indices: (gradient(dy, indices), None),
        )  # fmt: skip
        return row_function(
            extreme_rows, count, {"values": "x", "indices": lambda x: (x.shape, i64)},
            PART=part, KIND=kind, backward=lambda dy, d_indices, indices: gradient(dy, indices),
        )  # fmt: skip

    return by_length(make)


_EXTREMES = {"cummax": _extremes("max"), "cummin": _extremes("min")}


def _running(name: str, x: Any, axis: int) -> Any:
    if is_op(x):
        return x.then(partial(_running, name, axis=axis))
    refuse_no_elements(name, x)
    rows = rows_of(name, x, axis_of(name, len(x.shape), axis))
    found = _EXTREMES[name](rows.length)(rows.array)

    def restored(*results: Any) -> Any:
        return tuple([rows.restore(each) for each in results])

    return found.map(restored) if is_op(found) else restored(*found)


@one_node
@one_axis
def cummax(x: Any, axis: int = -1, *, dim: int | None = None) -> tuple[Any, Any]:
    """Return the largest elements up to each one along an axis, and their indices, as i64.

    Of equal elements it is the last one; from the first NaN on, results are NaN.

    >>> ops.cummax(np.array([1.0, 3.0, 2.0], "f4"))
    (array([1., 3., 3.], dtype=float32), array([0, 1, 1]))
    """
    found: tuple[Any, Any] = _running("cummax", x, axis if dim is None else dim)
    return found


@one_node
@one_axis
def cummin(x: Any, axis: int = -1, *, dim: int | None = None) -> tuple[Any, Any]:
    """Return the smallest elements up to each one along an axis, and their indices, as i64.

    Of equal elements it is the last one; from the first NaN on, results are NaN.

    >>> ops.cummin(np.array([2.0, 1.0, 3.0], "f4"))
    (array([2., 1., 1.], dtype=float32), array([0, 1, 1]))
    """
    found: tuple[Any, Any] = _running("cummin", x, axis if dim is None else dim)
    return found
