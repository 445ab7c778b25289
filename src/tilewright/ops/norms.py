"""Normalizations of rows and groups, with weights, gradients, and a residual that is added first.

Statistics are computed in f32, of f64 in f64. `weight` and `bias` have the shape of a row.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import Any, cast

import numpy as np

from ..base.dtypes import f64
from ..base.shapes import FULL
from ..functions.function import Function
from ..lang import (
    Const,
    Tensor,
    TensorMut,
    block_id,
    full,
    load_tile_like,
    reduce_sum,
    rsqrt,
    where,
    zeros,
)
from ..launch import entry
from .calling import first, float_operation, is_ours, refuse_other_shape, remembered, reshaped, wide
from .elementwise import ADD, apply, converted, tiles_of, unary
from .reductions import sum as sum_of
from .rows import LONGEST, PART, rows_in_tile, rows_of
from .second_order import by_formula
from .tiles import as_scalar, rounded, sum_type, widened

COLUMNS, ROWS = 128, 32
"""Tiles of the sums over rows that weights have as their gradients."""


@entry
def norm_rows(
    y: TensorMut, row_mean: TensorMut, row_rstd: TensorMut, x: Tensor, w: Tensor, b: Tensor,
    n: f64, eps: f64, *, CENTER: Const[bool], WEIGHT: Const[bool], BIAS: Const[bool],
) -> None:  # fmt: skip
    """Normalize whole rows; an input that is not asked for is not looked at."""
    assert y.shape[1] >= x.shape[1]
    given = load_tile_like(x, y, padding=0.0)
    tile = widened(given)
    count = as_scalar(n, tile.dtype)
    mean = zeros((y.shape[0], 1), tile.dtype)
    if CENTER:
        mean = reduce_sum(tile, 1, keepdims=True) / count
        tile = where(given.mask(), tile - mean, 0.0)
    squares = reduce_sum(tile * tile, 1, keepdims=True)
    rstd = rsqrt(squares / count + as_scalar(eps, tile.dtype))
    out = tile * rstd
    if WEIGHT:
        out = out * widened(w.partition((y.shape[1],)).load((0,)))[None, :]
    if BIAS:
        out = out + widened(b.partition((y.shape[1],)).load((0,)))[None, :]
    y.store(rounded(out, y))
    row_mean.store(mean)
    row_rstd.store(rstd)


@entry
def norm_long_rows(
    y: TensorMut, row_mean: TensorMut, row_rstd: TensorMut, x: Tensor, w: Tensor, b: Tensor,
    n: f64, eps: f64, *, CENTER: Const[bool], WEIGHT: Const[bool], BIAS: Const[bool],
) -> None:  # fmt: skip
    """Normalize whole rows as `norm_rows` does, but in parts."""
    assert y.shape[1] >= x.shape[1]
    i, rows = block_id(0), y.shape[0]
    parts, out = x.partition((rows, PART)), y.partition_mut((rows, PART))
    kind = sum_type(x.dtype)
    count, mean = as_scalar(n, kind), zeros((rows, 1), kind)
    if CENTER:
        for k in range(parts.num_tiles(1)):
            mean = mean + reduce_sum(widened(parts.load((i, k))), 1, keepdims=True)
        mean = mean / count
    squares = zeros((rows, 1), kind)
    for k in range(parts.num_tiles(1)):
        given = parts.load((i, k))
        apart = where(given.mask(), widened(given) - mean, 0.0)
        squares = squares + reduce_sum(apart * apart, 1, keepdims=True)
    rstd = rsqrt(squares / count + as_scalar(eps, kind))
    for k in range(parts.num_tiles(1)):
        tile = (widened(parts.load((i, k))) - mean) * rstd
        if WEIGHT:
            tile = tile * widened(w.partition((PART,)).load((k,)))[None, :]
        if BIAS:
            tile = tile + widened(b.partition((PART,)).load((k,)))[None, :]
        out.store(rounded(tile, y), (0, k))
    row_mean.store(mean)
    row_rstd.store(rstd)


def _normal(
    x: Any, dy: Any, w: Any, i: Any, k: Any, middle: Any, scale: Any, has_weight: Any
) -> tuple[Any, Any]:
    """Return a part of normalized rows, 0 behind their ends, and its gradient."""
    rows = middle.shape[0]
    given = x.partition((rows, PART)).load((i, k))
    tile = where(given.mask(), (widened(given) - middle) * scale, 0.0)
    grad = widened(dy.partition((rows, PART)).load((i, k)))
    if has_weight:
        grad = grad * widened(w.partition((PART,)).load((k,)))[None, :]
    return tile, grad


@entry
def norm_long_backward(
    dx: TensorMut, dy: Tensor, x: Tensor, w: Tensor, mean: Tensor, rstd: Tensor, n: f64, *,
    CENTER: Const[bool], WEIGHT: Const[bool],
) -> None:  # fmt: skip
    """Compute the gradients of whole rows as `norm_backward` does, but in parts."""
    assert dx.shape[1] >= x.shape[1]
    i, column = block_id(0), (dx.shape[0], 1)
    out = dx.partition_mut((dx.shape[0], PART))
    middle, scale = mean.partition(column).load((i, 0)), rstd.partition(column).load((i, 0))
    along, total = zeros(column, middle.dtype), zeros(column, middle.dtype)
    for k in range(x.partition((dx.shape[0], PART)).num_tiles(1)):
        tile, grad = _normal(x, dy, w, i, k, middle, scale, WEIGHT)
        along = along + reduce_sum(grad * tile, 1, keepdims=True)
        total = total + reduce_sum(grad, 1, keepdims=True)
    count = as_scalar(n, middle.dtype)
    for k in range(x.partition((dx.shape[0], PART)).num_tiles(1)):
        tile, grad = _normal(x, dy, w, i, k, middle, scale, WEIGHT)
        found = grad - tile * (along / count)
        if CENTER:
            found = found - total / count
        out.store(rounded(found * scale, dx), (0, k))


@entry
def norm_backward(
    dx: TensorMut, dy: Tensor, x: Tensor, w: Tensor, mean: Tensor, rstd: Tensor, n: f64, *,
    CENTER: Const[bool], WEIGHT: Const[bool],
) -> None:  # fmt: skip
    """Compute the gradients of whole rows."""
    assert dx.shape[1] >= x.shape[1]
    i, column = block_id(0), (dx.shape[0], 1)
    scale = rstd.partition(column).load((i, 0))
    given = load_tile_like(x, dx, padding=0.0)
    tile = widened(given)
    if CENTER:
        tile = where(given.mask(), tile - mean.partition(column).load((i, 0)), 0.0)
    tile = tile * scale
    grad = widened(load_tile_like(dy, dx, padding=0.0))
    if WEIGHT:
        grad = grad * widened(w.partition((dx.shape[1],)).load((0,)))[None, :]
    count = as_scalar(n, tile.dtype)
    out = grad - tile * (reduce_sum(grad * tile, 1, keepdims=True) / count)
    if CENTER:
        out = out - reduce_sum(grad, 1, keepdims=True) / count
    dx.store(rounded(out * scale, dx))


@entry
def norm_columns(
    dw: TensorMut, db: TensorMut, dy: Tensor, x: Tensor, mean: Tensor, rstd: Tensor,
    w: Tensor, *, ROWS: Const[int],
) -> None:  # fmt: skip
    """Sum dy * (x - mean) * rstd, and dy, over all rows."""
    j, tile = block_id(0), (ROWS, dw.shape[0])
    xs, dys = x.partition(tile), dy.partition(tile)
    means, scales = mean.partition((ROWS, 1)), rstd.partition((ROWS, 1))
    weights, biases = zeros(dw.shape, sum_type(x.dtype)), zeros(db.shape, sum_type(x.dtype))
    for i in range(xs.num_tiles(0)):
        grad = widened(dys.load((i, j)))
        apart = (widened(xs.load((i, j))) - means.load((i, 0))) * scales.load((i, 0))
        weights = weights + reduce_sum(grad * apart, 0)
        biases = biases + reduce_sum(grad, 0)
    dw.store(rounded(weights, dw))
    db.store(rounded(biases, db))


def _sums_of_rows(dy: Any, x: Any, mean: Any, rstd: Any, w: Any) -> tuple[Any, Any]:
    products = dy * (x - mean) * rstd
    return converted(sum_of(products, axis=0), w), converted(sum_of(dy, axis=0), w)


_COLUMNS = Function(
    norm_columns, outputs="w", tiles=COLUMNS, constants={"ROWS": ROWS},
    backward=by_formula(norm_columns, _sums_of_rows),
)  # fmt: skip


KERNELS: dict[bool, tuple[Any, Any]] = {
    False: (norm_rows, norm_backward), True: (norm_long_rows, norm_long_backward),
}  # fmt: skip
"""By whether rows are too long for one tile: what normalizes them, and its gradient."""


@remembered
def _norm_of(length: int, center: bool, weight: bool, bias: bool) -> Function:
    return _norm(rows_in_tile(length), bool(length > LONGEST), center, weight, bias)


def _row_sums(x: Any) -> Any:
    return sum_of(x, axis=1, keepdims=True)


@cache
def _norm(rows: int, is_long: bool, center: bool, weight: bool, bias: bool) -> Function:
    chosen = {"CENTER": center, "WEIGHT": weight}
    forward, backward_of = KERNELS[is_long]

    def formula(dy: Any, x: Any, w: Any, mean: Any, rstd: Any, n: float) -> Any:
        grad = dy * w if weight else dy
        apart = (x - mean) * rstd
        found = grad - apart * (_row_sums(grad * apart) / n)
        if center:
            found = found - _row_sums(grad) / n
        return converted(found * rstd, x)

    gradient = Function(
        backward_of, outputs="x", tiles=(rows, FULL), constants=chosen,
        backward=by_formula(backward_of, formula),
    )  # fmt: skip

    def backward(
        dy: Any, d_mean: Any = None, d_rstd: Any = None, *,
        x: Any, w: Any, n: float, row_mean: Any, row_rstd: Any,
    ) -> Any:  # fmt: skip
        dx = gradient(dy, x, w, row_mean, row_rstd, n)
        if d_mean is not None and center:
            dx = converted(dx + d_mean / n, x)
        if d_rstd is not None:
            dx = converted(dx - d_rstd * row_rstd**3 * (x - row_mean) / n, x)
        if not weight:
            return dx, None, None
        dw, db = _COLUMNS(dy, x, row_mean, row_rstd, w)
        return dx, dw, db if bias else None

    def statistic(x: Any, w: Any, b: Any, n: float, eps: float) -> Any:
        return (x.shape[0], 1), wide(x)

    column = (rows, 1)
    return Function(
        forward,
        outputs={"y": "x", "row_mean": statistic, "row_rstd": statistic},
        tiles={"y": (rows, FULL), "row_mean": column, "row_rstd": column},
        constants={**chosen, "BIAS": bias},
        backward=cast("Any", backward),
    )


def _same(x: Any) -> Any:
    return x


def _one(x: Any) -> Any:
    return full(x.shape, 1.0, x.dtype)


def _none(x: Any) -> Any:
    return zeros(x.shape, x.dtype)


_COPY = unary("copy", _same, _one, _none)


def _normalized(
    name: str, x: Any, normalized_shape: int | Sequence[int], weight: Any, bias: Any,
    eps: float, residual: Any, center: bool,
) -> Any:  # fmt: skip
    given: Any = normalized_shape
    shape: tuple[Any, ...] = (int(given),) if hasattr(given, "__index__") else tuple(given)
    rank = len(x.shape)
    if not shape or tuple(x.shape[rank - len(shape) :]) != shape:
        raise ValueError(
            f"`{name}` normalizes the last axes, of extents {shape}; got the shape {tuple(x.shape)}"
        )
    if bias is not None and weight is None:
        raise ValueError(f"`{name}` has a bias only beside a weight")
    refuse_other_shape(name, "weight", weight, shape)
    refuse_other_shape(name, "bias", bias, shape)
    refuse_other_shape(name, "residual", residual, x.shape)
    if residual is not None and is_ours(x):

        def normalize(total: Any) -> Any:
            def both(found: Any) -> Any:
                return found, total

            return _normalized(name, total, shape, weight, bias, eps, None, center).map(both)

        return apply(ADD, x, residual).then(normalize)
    total = x if residual is None else apply(ADD, x, residual)
    axes = -1 if len(shape) == 1 else tuple(range(rank - len(shape), rank))
    rows = rows_of(name, total, axes)
    if not rows.length:
        y = apply(_COPY, total)
        return y if residual is None else (y, total)
    function = _norm_of(rows.length, center, weight is not None, bias is not None)
    row = (rows.length,)
    w = rows.array if weight is None else reshaped(weight, row)
    b = rows.array if bias is None else reshaped(bias, row)
    y = rows.restore(first(function(rows.array, w, b, float(rows.length), eps)))
    return y if residual is None else (y, total)


@float_operation
def rms_norm(
    x: Any,
    normalized_shape: int | Sequence[int],
    weight: Any = None,
    eps: float | None = None,
    *,
    residual: Any = None,
) -> Any:
    """Compute x / sqrt(mean(x**2) + eps) * weight over the last axes.

    `eps` is the smallest step of f32, or f64, at 1 unless it is given. With a residual, x +
    residual is normalized, and the result is a pair: the normalized array, and that sum.

    >>> ops.rms_norm(np.array([[3.0, 4.0]], "f4"), 2).round(3)
    array([[0.849, 1.131]], dtype=float32)
    """
    least = float(np.finfo(wide(x).np).eps) if eps is None else float(eps)
    return _normalized("rms_norm", x, normalized_shape, weight, None, least, residual, False)


@float_operation
def layer_norm(
    x: Any,
    normalized_shape: int | Sequence[int],
    weight: Any = None,
    bias: Any = None,
    eps: float = 1e-5,
    *,
    residual: Any = None,
) -> Any:
    """Compute (x - mean(x)) / sqrt(var(x) + eps) * weight + bias over the last axes.

    With a residual, x + residual is normalized, and the result is a pair: the normalized array, and
    that sum.

    >>> ops.layer_norm(np.array([[1.0, 3.0]], "f4"), 2).round(3)
    array([[-1.,  1.]], dtype=float32)
    """
    return _normalized("layer_norm", x, normalized_shape, weight, bias, float(eps), residual, True)


# --- groups of channels ------------------------------------------------------------------------


@entry
def scale_channels(y: TensorMut, x: Tensor, w: Tensor, b: Tensor) -> None:
    """Compute x * w + b, where w and b have one number for each channel, the middle axis."""
    j, row = block_id(1), (y.shape[1],)
    w_tile = widened(w.partition(row).load((j,)))[None, :, None]
    b_tile = widened(b.partition(row).load((j,)))[None, :, None]
    y.store(rounded(widened(load_tile_like(x, y)) * w_tile + b_tile, y))


@entry
def scale_channels_backward(
    dx: TensorMut, product: TensorMut, dy: Tensor, x: Tensor, w: Tensor
) -> None:
    """Compute dy * w, and dy * x, whose sums are the gradients of w."""
    grad = widened(load_tile_like(dy, dx))
    w_tile = widened(w.partition((dx.shape[1],)).load((block_id(1),)))[None, :, None]
    dx.store(rounded(grad * w_tile, dx))
    product.store(rounded(grad * widened(load_tile_like(x, dx)), product))


def _scaled_and_multiplied(dy: Any, x: Any, w: Any) -> tuple[Any, Any]:
    return dy * w[None, :, None], dy * x


_SCALE_BACKWARD = Function(
    scale_channels_backward, outputs="x", tiles=tiles_of,
    backward=by_formula(scale_channels_backward, _scaled_and_multiplied),
)  # fmt: skip


def _scale_gradients(dy: Any, x: Any, w: Any) -> Any:
    dx, product = _SCALE_BACKWARD(dy, x, w)
    return dx, sum_of(product, axis=(0, 2)), sum_of(dy, axis=(0, 2))


_SCALE = Function(scale_channels, outputs="x", tiles=tiles_of, backward=_scale_gradients)


@float_operation
def group_norm(
    x: Any, num_groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-5
) -> Any:
    """Compute (x - mean) / sqrt(var + eps) * weight + bias over groups of channels, axis 1.

    >>> ops.group_norm(np.array([[1.0, 3.0, 5.0, 7.0]], "f4"), 2).round(3)
    array([[-1.,  1., -1.,  1.]], dtype=float32)
    """
    shape = tuple(x.shape)
    if len(shape) < 2 or num_groups < 1 or shape[1] % num_groups:
        raise ValueError(
            f"`group_norm` divides the channels, axis 1, into {num_groups} groups; got the shape"
            f" {shape}"
        )
    if (weight is None) != (bias is None):
        raise ValueError("`group_norm` takes a weight and a bias, or neither")
    refuse_other_shape("group_norm", "weight", weight, shape[1:2])
    refuse_other_shape("group_norm", "bias", bias, shape[1:2])
    length = math.prod(shape[2:])
    row = shape[1] // num_groups * length
    if not row:
        return apply(_COPY, x)
    groups = reshaped(x, (shape[0] * num_groups, row))
    function = _norm_of(row, True, False, False)
    flat = first(function(groups, groups, groups, float(row), float(eps)))
    if weight is None:
        return reshaped(flat, shape)
    return reshaped(_SCALE(reshaped(flat, (*shape[:2], length)), weight, bias), shape)
