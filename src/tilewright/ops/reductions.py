"""Sums, means, extremes, variances and running sums along axes, with gradients.

A long row is reduced in parts, in parallel, and then the parts; f16 and bf16 are summed in f32.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple, TypeAlias

from ..base.dtypes import bool_, f64, i32, i64
from ..base.shapes import Shape, cdiv, next_power_of_2
from ..functions.describing import element_type
from ..functions.function import Function
from ..lang import (
    Const,
    Tensor,
    TensorMut,
    arange,
    block_id,
    full,
    isnan,
    load_tile_like,
    pos_inf,
    reduce_max,
    reduce_min,
    reduce_prod,
    reduce_sum,
    scan,
    where,
    zeros,
)
from ..lang import argmax as argmax_of
from ..lang import argmin as argmin_of
from ..lang.stdlib.elementary import is_float
from ..launch import entry
from .calling import axes_of, axis_of, float_operation, operation, permuted, remembered, reshaped
from .elementwise import apply, tiles_of
from .recurrences import products_of_others
from .rows import LONGEST, PART, by_length, columns_of, row_function, rows_in_tile, rows_of
from .second_order import by_formula
from .tiles import as_scalar, comparable, highest_of, lowest_of, rounded, sum_type, widened

Axis: TypeAlias = int | Sequence[int] | None
"""One axis, several, or all of them."""


MOST_COLUMNS, COLUMN_TILE = 128, 8192
"""Of arrays that are reduced along an axis before the last: columns and elements of a tile."""


def padding_of(kind: str, dtype: Any) -> Any:
    """Return what leaves a reduction as it is.

    A kernel calls it: of a dict that it reads, each launch would have to look for changes.
    """
    if kind == "max":
        return lowest_of(dtype)
    if kind == "min":
        return pos_inf if dtype.is_float else highest_of(dtype)
    if kind == "prod":
        return True if dtype.is_bool else 1
    return False if dtype.is_bool else 0


def summed(tile: Any, kind: str) -> Any:
    """Return elements in the type in which a reduction computes: of integers, i64."""
    is_exact = (kind == "sum" or kind == "prod") and not tile.dtype.is_float
    return tile.astype(i64) if is_exact else widened(tile)


def _scaled(total: Any, factor: Any) -> Any:
    """Multiply floats by a factor; of integers it is 1."""
    return total * as_scalar(factor, total.dtype) if total.dtype.is_float else total


def types_of(kind: str, dtype: Any) -> tuple[Any, Any]:
    """Return the types of parts that are reduced again, and of results."""
    given = element_type(dtype)
    if given.is_float:
        return sum_type(given), dtype
    return (i64, i64) if kind in ("sum", "prod") else (dtype, dtype)


def _reduced(tile: Any, kind: str) -> Any:
    if kind == "sum":
        return reduce_sum(tile, 1, keepdims=True)
    if kind == "max":
        return reduce_max(tile, 1, keepdims=True)
    if kind == "prod":
        return reduce_prod(tile, 1, keepdims=True)
    return reduce_min(tile, 1, keepdims=True)


def _index(tile: Any, kind: str) -> Any:
    return (argmax_of if kind == "max" else argmin_of)(tile, 1, keepdims=True)


@entry
def reduce_parts(
    y: TensorMut, x: Tensor, factor: f64, *, KIND: Const[str], PART: Const[int]
) -> None:
    """Reduce each part of each row to one element, and multiply it."""
    parts = x.partition((y.shape[0], PART), padding=padding_of(KIND, x.dtype))
    total = _reduced(summed(parts.load((block_id(0), block_id(1))), KIND), KIND)
    y.store(rounded(_scaled(total, factor), y))


@entry
def spread_parts(dx: TensorMut, dy: Tensor, x: Tensor, factor: f64) -> None:
    """Broadcast the gradient of a sum over its part; `x` has the type of the result."""
    grad = widened(dy.partition((dx.shape[0], 1)).load((block_id(0), block_id(1))))
    dx.store(rounded((grad * as_scalar(factor, grad.dtype)).broadcast(dx.shape), dx))


@entry
def choose_parts(dx: TensorMut, dy: Tensor, x: Tensor, factor: f64, *, KIND: Const[str]) -> None:
    """Route the gradient to the first extreme element of each part, and 0 to the others."""
    i, k = block_id(0), block_id(1)
    tile = x.partition(dx.shape, padding=padding_of(KIND, x.dtype)).load((i, k))
    chosen = argmax_of(tile, 1) if KIND == "max" else argmin_of(tile, 1)
    grad = dy.partition((dx.shape[0], 1)).load((i, k)).astype(dx.dtype)
    is_chosen = arange(dx.shape[1])[None, :] == chosen[:, None]
    dx.store(where(is_chosen, grad, zeros((1, 1), dx.dtype)))


def _product_before(total: Any, before: Any, element: Any, nothing: Any) -> tuple[Any, Any]:
    """Combine products, and products of all elements but the last."""
    return total * element, total * nothing


def _others(tile: Any) -> Any:
    """Return the product of all other elements along axis 1, also where some are 0."""
    one = full(tile.shape, 1.0, tile.dtype)
    _, left = scan((tile, one), 1, (1.0, 1.0), _product_before)
    _, right = scan((tile, one), 1, (1.0, 1.0), _product_before, reverse=True)
    return left * right


@entry
def multiply_others(dx: TensorMut, dy: Tensor, x: Tensor, factor: f64) -> None:
    """Compute dy * the product of the other elements of each part."""
    i, k = block_id(0), block_id(1)
    tile = widened(x.partition(dx.shape, padding=1).load((i, k)))
    grad = widened(dy.partition((dx.shape[0], 1)).load((i, k)))
    dx.store(rounded(grad * _others(tile), dx))


@entry
def multiply_other_columns(dx: TensorMut, dy: Tensor, x: Tensor, factor: f64) -> None:
    """Compute dy * the product of the other elements of each part of a column."""
    at = block_id(0), block_id(1), block_id(2)
    tile = widened(x.partition(dx.shape, padding=1).load(at))
    grad = widened(dy.partition((1, 1, dx.shape[2])).load(at))
    dx.store(rounded(grad * _others(tile), dx))


# Axes before the last: arrays are (outer, elements, columns), and columns are next to each other.


@entry
def reduce_columns(
    y: TensorMut, x: Tensor, factor: f64, *, KIND: Const[str], PART: Const[int]
) -> None:
    """Reduce each part of each column to one element, and multiply it."""
    parts = x.partition((1, PART, y.shape[2]), padding=padding_of(KIND, x.dtype))
    total = _reduced(summed(parts.load((block_id(0), block_id(1), block_id(2))), KIND), KIND)
    y.store(rounded(_scaled(total, factor), y))


@entry
def spread_columns(dx: TensorMut, dy: Tensor, x: Tensor, factor: f64) -> None:
    """Broadcast the gradient of a sum over its part; `x` has the type of the result."""
    at = block_id(0), block_id(1), block_id(2)
    grad = widened(dy.partition((1, 1, dx.shape[2])).load(at))
    dx.store(rounded((grad * as_scalar(factor, grad.dtype)).broadcast(dx.shape), dx))


@entry
def choose_columns(dx: TensorMut, dy: Tensor, x: Tensor, factor: f64, *, KIND: Const[str]) -> None:
    """Route the gradient to the first extreme element of each part, and 0 to the others."""
    at = block_id(0), block_id(1), block_id(2)
    chosen = _index(x.partition(dx.shape, padding=padding_of(KIND, x.dtype)).load(at), KIND)
    grad = dy.partition((1, 1, dx.shape[2])).load(at).astype(dx.dtype)
    is_chosen = arange(dx.shape[1])[None, :, None] == chosen
    dx.store(where(is_chosen, grad, zeros((1, 1, 1), dx.dtype)))


@entry
def fill_rows(y: TensorMut, x: Tensor, value: f64) -> None:
    """Fill each row of no elements with a value."""
    y.store(full(y.shape, value).astype(y.dtype))


def _gradient_of(kind: str, kernels: tuple[Any, Any, Any]) -> tuple[Any, dict[str, Any]]:
    """Return the kernel of a reduction's gradient, and its constants."""
    of_sum, of_product, of_extreme = kernels
    if kind in ("sum", "prod"):
        return (of_sum if kind == "sum" else of_product), {}
    return of_extreme, {"KIND": kind}


@cache
def _gradient(kind: str, tile: tuple[int, int], dtype: Any) -> Function:
    """Return the gradient of `_reduction`, of tiles (rows, part)."""
    kernel, constants = _gradient_of(kind, (spread_parts, multiply_others, choose_parts))

    def again(dy: Any, x: Any) -> Any:
        return _gradient("sum", tile, dtype)(dy, x, 1.0) * products_of_others(x, tile[1])

    found: Function = Function(
        kernel, outputs="x", tiles=tile, constants=constants,
        backward=by_formula(multiply_others, again) if kind == "prod" else
        lambda g, dy, x, factor: _second_gradient(
            _reduction("sum", *tile, dtype), kind, found, (g, dy, x, factor)
        ),
    )  # fmt: skip
    return found


@cache
def _reduction(kind: str, rows: int, part: int, dtype: Any) -> Function:
    """Return the function that reduces parts of rows to elements of a type."""
    return Function(
        reduce_parts,
        outputs=lambda x, factor: ((x.shape[0], cdiv(x.shape[1], part)), dtype),
        tiles=(rows, 1),
        constants={"KIND": kind, "PART": part},
        backward=lambda dy, x, factor: _gradient(kind, (rows, part), dtype)(dy, x, factor),
    )


def _second_gradient(total: Function, kind: str, gradient: Function, given: Any) -> Any:
    """Return the gradient of a gradient by dy: it is linear in dy, and does not depend on x."""
    g, dy, x, factor = given
    if kind == "sum":
        return total(g, factor), None
    return total(g * gradient(dy * 0 + 1, x, 1.0), 1.0), None


@cache
def _column_gradient(kind: str, tile: tuple[int, int], dtype: Any) -> Function:
    """Return the gradient of `_column_reduction`, of tiles (part, columns)."""
    kernel, constants = _gradient_of(kind, (spread_columns, multiply_other_columns, choose_columns))

    def again(dy: Any, x: Any) -> Any:
        outer, length, width = x.shape
        rows = reshaped(permuted(x, (0, 2, 1)), (outer * width, length))
        others = reshaped(products_of_others(rows, tile[0]), (outer, width, length))
        return _column_gradient("sum", tile, dtype)(dy, x, 1.0) * permuted(others, (0, 2, 1))

    found: Function = Function(
        kernel, outputs="x", tiles=(1, *tile), constants=constants,
        backward=by_formula(multiply_other_columns, again) if kind == "prod" else
        lambda g, dy, x, factor: _second_gradient(
            _column_reduction("sum", *tile, dtype), kind, found, (g, dy, x, factor)
        ),
    )  # fmt: skip
    return found


@cache
def _column_reduction(kind: str, part: int, columns: int, dtype: Any) -> Function:
    """Return the function that reduces parts of columns to elements of a type."""
    return Function(
        reduce_columns,
        outputs=lambda x, factor: ((x.shape[0], cdiv(x.shape[1], part), x.shape[2]), dtype),
        tiles=(1, 1, columns),
        constants={"KIND": kind, "PART": part},
        backward=lambda dy, x, factor: _column_gradient(kind, (part, columns), dtype)(
            dy, x, factor
        ),
    )


_SPREAD = Function(
    spread_parts, outputs="x", tiles=(16, 1), backward=lambda g, dy: (lambda: dy * 0, None)
)


@cache
def _fill(dtype: Any) -> Function:
    """Return the function that makes the results, of a type, of rows without elements."""
    return Function(
        fill_rows, outputs=lambda x, value: ((x.shape[0], 1), dtype), tiles=(16, 1),
        backward=lambda dy, x, value: _SPREAD(dy, x, value),
    )  # fmt: skip


Steps: TypeAlias = tuple[tuple[Function, float], ...]


class Plan(NamedTuple):
    """How an array is reduced."""

    order: Shape
    """The order of the axes; none: as they are."""
    shape: Shape
    """That in which the kernels see the array."""
    functions: Steps
    """One after the other, each with its factor."""
    result: Shape


@remembered
def _plan(name: str, kind: str, shape: Shape, axis: Axis, how: tuple[Any, bool, bool]) -> Plan:
    """Return how an array of a shape and type is reduced; `how`: type, keepdims and mean."""
    dtype, keepdims, mean = how
    axes = axes_of(name, len(shape), axis)
    others = [i for i in range(len(shape)) if i not in axes]
    length = math.prod([shape[i] for i in axes])
    nothing = math.nan if mean else _OF_NOTHING.get(name)
    if not length and nothing is None:
        raise ValueError(f"`{name}` of no elements has no value: the axes have extent 0")
    kept = [1 if i in axes else n for i, n in enumerate(shape) if keepdims or i not in axes]
    factor = 1.0 / length if mean and length else 1.0
    columns = columns_of(shape, axes)
    if columns is not None:
        steps = _column_steps(kind, length, columns[2], dtype, factor)
        return Plan((), columns, steps, tuple(kept))
    rows = math.prod([shape[i] for i in others])
    steps = (
        _row_steps(kind, length, dtype, factor)
        if length
        else _no_steps(kind, dtype, nothing or 0.0)
    )
    order = (*others, *axes)
    is_same = order == tuple(range(len(shape)))
    return Plan(() if is_same else order, (rows, length), steps, tuple(kept))


def _no_steps(kind: str, dtype: Any, value: float) -> Steps:
    return ((_fill(types_of(kind, dtype)[1]), value),)


_OF_NOTHING = {"sum": 0.0, "prod": 1.0, "any": 0.0, "all": 1.0}
"""What reductions of no elements are."""


def _row_steps(kind: str, length: int, dtype: Any, factor: float) -> Steps:
    before, last = types_of(kind, dtype)
    steps: list[tuple[Function, float]] = []
    while length > LONGEST:
        steps.append((_reduction(kind, 1, PART, before), 1.0))
        length = cdiv(length, PART)
    whole = _reduction(kind, rows_in_tile(length), next_power_of_2(length), last)
    return (*steps, (whole, factor))


def _column_steps(kind: str, length: int, width: int, dtype: Any, factor: float) -> Steps:
    before, last = types_of(kind, dtype)
    tile = min(next_power_of_2(width), MOST_COLUMNS)
    part = COLUMN_TILE // tile
    steps: list[tuple[Function, float]] = []
    while length > part:
        steps.append((_column_reduction(kind, part, tile, before), 1.0))
        length = cdiv(length, part)
    whole = _column_reduction(kind, next_power_of_2(length), tile, last)
    return (*steps, (whole, factor))


def chosen_axes(axis: Axis, dim: Axis) -> Axis:
    """Return the axes of a reduction; to PyTorch, no axes are all."""
    if dim is None:
        return axis
    return None if isinstance(dim, tuple | list) and not dim else dim


def _reduce(
    name: str, kind: str, x: Any, axis: Axis, dim: Axis, keepdims: bool, mean: bool = False
) -> Any:
    how = x.dtype, bool(keepdims), mean
    plan = _plan(name, kind, tuple(x.shape), chosen_axes(axis, dim), how)
    array = reshaped(permuted(x, plan.order) if plan.order else x, plan.shape)
    for function, factor in plan.functions:
        array = function(array, factor)
    return reshaped(array, plan.result)


@operation
def sum(  # noqa: A001 - the name it has everywhere
    x: Any, axis: Axis = None, keepdims: bool = False, *, dim: Axis = None
) -> Any:
    """Compute the sum along axes, by default of all elements.

    >>> ops.sum(np.ones((2, 3), "f4"), axis=1)
    array([3., 3.], dtype=float32)
    """
    return _reduce("sum", "sum", x, axis, dim, keepdims)


@operation
def prod(x: Any, axis: Axis = None, keepdims: bool = False, *, dim: Axis = None) -> Any:
    """Compute the product along axes, by default of all elements.

    >>> ops.prod(np.array([[2.0, 3.0]], "f4"), axis=1)
    array([6.], dtype=float32)
    """
    return _reduce("prod", "prod", x, axis, dim, keepdims)


@entry
def find_nonzero(y: TensorMut, x: Tensor) -> None:
    """Find the elements that are not 0."""
    tile: Any = load_tile_like(x, y)
    y.store(tile if tile.dtype.is_bool else tile != full(y.shape, 0).astype(tile.dtype))


_NONZERO = Function(find_nonzero, outputs=lambda x: (x.shape, bool_), tiles=tiles_of)


@operation
def any(  # noqa: A001 - the name it has everywhere
    x: Any, axis: Axis = None, keepdims: bool = False, *, dim: Axis = None
) -> Any:
    """Return whether any element along axes is not 0, by default of all.

    >>> ops.any(np.array([[0, 3], [0, 0]]), axis=1)
    array([ True, False])
    """
    return _reduce("any", "max", apply(_NONZERO, x), axis, dim, keepdims)


@operation
def all(  # noqa: A001 - the name it has everywhere
    x: Any, axis: Axis = None, keepdims: bool = False, *, dim: Axis = None
) -> Any:
    """Return whether no element along axes is 0, by default of all.

    >>> ops.all(np.array([[0, 3], [1, 1]]), axis=1)
    array([False,  True])
    """
    return _reduce("all", "min", apply(_NONZERO, x), axis, dim, keepdims)


@float_operation
def mean(x: Any, axis: Axis = None, keepdims: bool = False, *, dim: Axis = None) -> Any:
    """Compute sum(x) / n along axes, by default of all n elements.

    >>> ops.mean(np.array([[1.0, 3.0]], "f4"), axis=1)
    array([2.], dtype=float32)
    """
    return _reduce("mean", "sum", x, axis, dim, keepdims, mean=True)


@operation
def amax(x: Any, axis: Axis = None, keepdims: bool = False, *, dim: Axis = None) -> Any:
    """Return the maximum along axes; NaN wins. The first of equal elements has the gradient.

    >>> ops.amax(np.array([[1.0, 3.0]], "f4"), axis=1)
    array([3.], dtype=float32)
    """
    return _reduce("amax", "max", x, axis, dim, keepdims)


@operation
def amin(x: Any, axis: Axis = None, keepdims: bool = False, *, dim: Axis = None) -> Any:
    """Return the minimum along axes; NaN wins. The first of equal elements has the gradient.

    >>> ops.amin(np.array([[1.0, 3.0]], "f4"), axis=1)
    array([1.], dtype=float32)
    """
    return _reduce("amin", "min", x, axis, dim, keepdims)


# --- indices of extremes -----------------------------------------------------------------------


def _ordered(tile: Any, kind: str) -> Any:
    """Return elements in a type that has an order, padded in it."""
    if not tile.dtype.is_bool:
        return widened(tile)
    return where(tile.mask(), comparable(tile), padding_of(kind, i32))


@entry
def index_rows(row_y: TensorMut, x: Tensor, *, KIND: Const[str], PART: Const[int]) -> None:
    """Find the first extreme element of whole rows; NaN is one."""
    parts = x.partition((row_y.shape[0], PART), padding=padding_of(KIND, x.dtype))
    best = _ordered(parts.load((block_id(0), 0)), KIND)
    where_best = _index(best, KIND)
    value = _reduced(best, KIND)
    for k in range(1, parts.num_tiles(1)):
        tile = _ordered(parts.load((block_id(0), k)), KIND)
        other = _reduced(tile, KIND)
        is_better = other > value if KIND == "max" else other < value
        if is_float(x):
            is_better = (is_better | isnan(other)) & ~isnan(value)
        where_best = where(is_better, _index(tile, KIND) + k * PART, where_best)
        value = where(is_better, other, value)
    row_y.store(where_best.astype(i64))


def _indices(kind: str) -> Any:
    def make(count: int, part: int) -> Function:
        return row_function(
            index_rows, count, lambda x: ((x.shape[0], 1), i64), KIND=kind, PART=part
        )

    return by_length(make)


_INDICES = {"argmax": _indices("max"), "argmin": _indices("min")}


def _find(name: str, x: Any, axis: int | None, dim: int | None, keepdims: bool) -> Any:
    chosen = axis if dim is None else dim
    rows = rows_of(name, x, None if chosen is None else axis_of(name, len(x.shape), chosen))
    if not rows.length:
        raise ValueError(f"`{name}` of no elements has no index: the axis has extent 0")
    return rows.reduced(_INDICES[name](rows.length)(rows.array), keepdims)


@operation
def argmax(
    x: Any, axis: int | None = None, keepdims: bool = False, *, dim: int | None = None
) -> Any:
    """Return the index of the maximum along an axis, as i64: the first of equals, the first NaN.

    >>> ops.argmax(np.array([[1.0, 3.0, 3.0]], "f4"), axis=1)
    array([1])
    """
    return _find("argmax", x, axis, dim, keepdims)


@operation
def argmin(
    x: Any, axis: int | None = None, keepdims: bool = False, *, dim: int | None = None
) -> Any:
    """Return the index of the minimum along an axis, as i64: the first of equals, the first NaN.

    >>> ops.argmin(np.array([[1.0, 3.0, 1.0]], "f4"), axis=1)
    array([0])
    """
    return _find("argmin", x, axis, dim, keepdims)
