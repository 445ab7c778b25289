"""Variances and standard deviations along axes, and norms of vectors, with gradients."""

from __future__ import annotations

import math
from typing import Any, cast

from ..base.dtypes import f64
from ..functions.describing import element_type
from ..functions.function import Function
from ..lang import Const, Tensor, TensorMut, block_id, reduce_sum, sqrt, where, zeros
from ..lang import abs as magnitude
from ..lang import sign as sign_of
from ..launch import entry
from .calling import first, float_operation, wide
from .elementwise import apply, conversion, converted, unary
from .reductions import Axis, amax, amin, chosen_axes
from .reductions import sum as sum_of
from .rows import by_length, row_function, rows_of
from .second_order import by_formula
from .tiles import as_scalar, rounded, sum_type, widened


@entry
def var_rows(row_y: TensorMut, row_mean: TensorMut, x: Tensor, n: f64, divisor: f64, *,
             PART: Const[int]) -> None:  # fmt: skip
    """Compute the variances and the means of whole rows."""
    i, rows = block_id(0), row_y.shape[0]
    parts = x.partition((rows, PART))
    total = zeros((rows, 1), sum_type(x.dtype))
    for k in range(parts.num_tiles(1)):
        total = total + reduce_sum(widened(parts.load((i, k))), 1, keepdims=True)
    middle = total / as_scalar(n, total.dtype)
    squares = zeros((rows, 1), sum_type(x.dtype))
    for k in range(parts.num_tiles(1)):
        tile = parts.load((i, k))
        apart = where(tile.mask(), widened(tile) - middle, 0.0)
        squares = squares + reduce_sum(apart * apart, 1, keepdims=True)
    row_y.store(rounded(squares / as_scalar(divisor, squares.dtype), row_y))
    row_mean.store(middle)


@entry
def var_backward(dx: TensorMut, dy: Tensor, x: Tensor, mean: Tensor, divisor: f64) -> None:
    """Compute 2 * (x - mean) / divisor * dy."""
    i, k = block_id(0), block_id(1)
    grad = widened(dy.partition((dx.shape[0], 1)).load((i, 0)))
    middle = mean.partition((dx.shape[0], 1)).load((i, 0))
    tile = widened(x.partition(dx.shape).load((i, k)))
    dx.store(rounded(grad * (tile - middle) * 2.0 / as_scalar(divisor, tile.dtype), dx))


def _var_formula(dy: Any, x: Any, mean: Any, divisor: float) -> Any:
    return converted(dy * (x - mean) * (2.0 / divisor if divisor else math.inf), x)


@by_length
def _var_of_rows(count: int, part: int) -> Function:
    gradient = Function(
        var_backward, outputs="x", tiles=(count, part),
        backward=by_formula(var_backward, _var_formula),
    )  # fmt: skip

    def backward(
        dy: Any, d_mean: Any = None, *, x: Any, row_mean: Any, n: float, divisor: float
    ) -> Any:
        dx = gradient(dy, x, row_mean, divisor)
        return dx if d_mean is None else converted(dx + d_mean / n, x)

    return row_function(
        var_rows, count,
        {
            "row_y": lambda x, n, divisor: (x.shape[0], 1),
            "row_mean": lambda x, n, divisor: ((x.shape[0], 1), wide(x)),
        },
        PART=part, backward=cast("Any", backward),
    )  # fmt: skip


@float_operation
def var(
    x: Any, axis: Axis = None, correction: float = 1, keepdims: bool = False, *, dim: Axis = None
) -> Any:
    """Compute sum((x - mean(x))**2) / (n - correction) along axes, by default of all n elements.

    >>> ops.var(np.array([1.0, 3.0], "f4"))
    array(2., dtype=float32)
    """
    rows = rows_of("var", x, chosen_axes(axis, dim))
    divisor = float(max(rows.length - correction, 0))
    found = _var_of_rows(rows.length)(rows.array, float(rows.length), divisor)
    return rows.reduced(first(found), keepdims)


# --- roots -------------------------------------------------------------------------------------


def _root_slope(x: Any) -> Any:
    return where(x > 0.0, 0.5 / sqrt(x), 0.0)


def _root_curve(x: Any) -> Any:
    return where(x > 0.0, -0.25 / (x * sqrt(x)), 0.0)


_ROOT = unary("root", sqrt, _root_slope, _root_curve)


@float_operation
def _root(x: Any) -> Any:
    return apply(_ROOT, x)


@float_operation
def _as_type(x: Any, dtype: Any) -> Any:
    return x if element_type(x.dtype) is dtype else conversion(dtype)(x)


@float_operation
def std(
    x: Any, axis: Axis = None, correction: float = 1, keepdims: bool = False, *, dim: Axis = None
) -> Any:
    """Compute the square root of `var` along axes, by default of all n elements.

    Where it is 0 its gradient is 0.

    >>> ops.std(np.array([1.0, 3.0, 5.0], "f4"))
    array(2., dtype=float32)
    """
    found: Any = var(_as_type(x, wide(x)), chosen_axes(axis, dim), correction, keepdims)
    return _as_type(_root(found), element_type(x.dtype))


# --- norms -------------------------------------------------------------------------------------


def _square(x: Any) -> Any:
    return x * x


def _double(x: Any) -> Any:
    return 2.0 * x


def _two(x: Any) -> Any:
    return zeros(x.shape, x.dtype) + 2.0


def _flat(x: Any) -> Any:
    return zeros(x.shape, x.dtype)


_SQUARE = unary("square", _square, _double, _two)
_MAGNITUDE = unary("magnitude", magnitude, sign_of, _flat)


@float_operation
def _squared(x: Any) -> Any:
    return apply(_SQUARE, x)


@float_operation
def _size(x: Any) -> Any:
    return apply(_MAGNITUDE, x)


@float_operation
def norm(
    x: Any, p: float = 2, axis: Axis = None, keepdims: bool = False, *, dim: Axis = None
) -> Any:
    """Compute the norm of vectors along axes: sqrt(sum(x**2)), sum(|x|), or an extreme of |x|.

    `p` is 2, 1, inf or -inf. Where a norm is 0 its gradient is 0.

    >>> ops.norm(np.array([3.0, 4.0], "f4"))
    array(5., dtype=float32)
    """
    axes = chosen_axes(axis, dim)
    given = _as_type(x, wide(x))
    if p == 2:
        found = _root(sum_of(_squared(given), axes, keepdims))
    elif p == 1:
        found = sum_of(_size(given), axes, keepdims)
    elif p in (math.inf, -math.inf):
        found = (amax if p > 0 else amin)(_size(given), axes, keepdims)
    else:
        raise ValueError(f"`norm` has the exponents 1, 2, inf and -inf; got {p!r:.60}")
    return _as_type(found, element_type(x.dtype))
