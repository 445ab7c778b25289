"""Softmax, its logarithm, and the logarithm of the sum of exponentials, along an axis."""

from __future__ import annotations

from typing import Any

from ..lang import (
    Const,
    Tensor,
    TensorMut,
    block_id,
    exp,
    full,
    load_tile_like,
    log,
    maximum,
    neg_inf,
    reduce_max,
    reduce_sum,
    where,
    zeros,
)
from ..launch import entry
from .calling import float_operation
from .elementwise import exp_of
from .reductions import sum as sum_of
from .rows import by_length, row_function, rows_of
from .second_order import by_formula
from .tiles import rounded, sum_type, widened


def _finite(top: Any) -> Any:
    """Return a shift for exponents: 0 for a row of -inf alone, and inf."""
    return where(top == neg_inf, 0.0, top)


def shift_and_total(x: Any, rows: int, part: int) -> tuple[Any, Any]:
    """Return the maxima of a block's rows, and the sums of exp(x - maximum), part by part."""
    parts = x.partition((rows, part), padding=neg_inf)
    i = block_id(0)
    top = full((rows, 1), neg_inf, sum_type(x.dtype))
    total = zeros((rows, 1), sum_type(x.dtype))
    for k in range(parts.num_tiles(1)):
        tile = widened(parts.load((i, k)))
        larger = maximum(top, reduce_max(tile, 1, keepdims=True))
        shift = _finite(larger)
        total = total * exp(top - shift) + reduce_sum(exp(tile - shift), 1, keepdims=True)
        top = larger
    return _finite(top), total


@entry
def softmax_rows(y: TensorMut, x: Tensor, *, PART: Const[int], LOG: Const[bool]) -> None:
    """Compute softmax, or its logarithm, of whole rows."""
    assert y.shape[1] >= x.shape[1]
    if y.shape[1] == PART:
        tile = widened(load_tile_like(x, y, padding=neg_inf))
        apart = tile - _finite(reduce_max(tile, 1, keepdims=True))
        powers = exp(apart)
        total = reduce_sum(powers, 1, keepdims=True)
        y.store(rounded(apart - log(total) if LOG else powers / total, y))
    else:
        shift, total = shift_and_total(x, y.shape[0], PART)
        parts = x.partition((y.shape[0], PART), padding=neg_inf)
        out = y.partition_mut((y.shape[0], PART))
        for k in range(parts.num_tiles(1)):
            apart = widened(parts.load((block_id(0), k))) - shift
            out.store(rounded(apart - log(total) if LOG else exp(apart) / total, y), (0, k))


def _products(y: Any, dy: Any, log_form: bool) -> Any:
    return dy if log_form else y * dy


def _slopes(y: Any, dy: Any, total: Any, log_form: bool) -> Any:
    return dy - exp(y) * total if log_form else y * (dy - total)


@entry
def softmax_backward(
    dx: TensorMut, dy: Tensor, y: Tensor, *, PART: Const[int], LOG: Const[bool]
) -> None:
    """Compute the gradient of whole rows: y * (dy - sum(y * dy)), or dy - exp(y) * sum(dy)."""
    assert dx.shape[1] >= y.shape[1]
    if dx.shape[1] == PART:
        out, grad = widened(load_tile_like(y, dx)), widened(load_tile_like(dy, dx))
        total = reduce_sum(_products(out, grad, LOG), 1, keepdims=True)
        dx.store(rounded(_slopes(out, grad, total, LOG), dx))
    else:
        i = block_id(0)
        ys, dys = y.partition((dx.shape[0], PART)), dy.partition((dx.shape[0], PART))
        total = zeros((dx.shape[0],), sum_type(dx.dtype))
        for k in range(ys.num_tiles(1)):
            out, grad = widened(ys.load((i, k))), widened(dys.load((i, k)))
            total = total + reduce_sum(_products(out, grad, LOG), 1)
        parts = dx.partition_mut((dx.shape[0], PART))
        for k in range(ys.num_tiles(1)):
            out, grad = widened(ys.load((i, k))), widened(dys.load((i, k)))
            parts.store(rounded(_slopes(out, grad, total[:, None], LOG), dx), (0, k))


@entry
def logsumexp_rows(row_y: TensorMut, x: Tensor, *, PART: Const[int]) -> None:
    """Compute log(sum(exp(x))) of whole rows."""
    shift, total = shift_and_total(x, row_y.shape[0], PART)
    row_y.store(rounded(shift + log(total), row_y))


@entry
def logsumexp_backward(
    dx: TensorMut, dy: Tensor, x: Tensor, y: Tensor, *, PART: Const[int]
) -> None:
    """Compute dy * exp(x - y) of whole rows."""
    assert dx.shape[1] >= x.shape[1]
    i, rows = block_id(0), dx.shape[0]
    parts, out = x.partition((rows, PART), padding=neg_inf), dx.partition_mut((rows, PART))
    top = widened(y.partition((rows, 1)).load((i, 0)))
    grad = widened(dy.partition((rows, 1)).load((i, 0)))
    for k in range(parts.num_tiles(1)):
        apart = widened(parts.load((i, k))) - _finite(top)
        out.store(rounded(grad * exp(apart), dx), (0, k))


def _row_sums(x: Any) -> Any:
    return sum_of(x, axis=1, keepdims=True)


def _formula(dy: Any, y: Any) -> Any:
    return y * (dy - _row_sums(y * dy))


def _log_formula(dy: Any, y: Any) -> Any:
    return dy - exp_of(y) * _row_sums(dy)


def _logsumexp_formula(dy: Any, x: Any, y: Any) -> Any:
    return dy * exp_of(x - y)


def _softmax(log_form: bool) -> Any:
    def make(count: int, part: int) -> Any:
        given: dict[str, Any] = {"PART": part, "LOG": log_form}
        gradient = row_function(
            softmax_backward, count, "y",
            backward=by_formula(softmax_backward, _log_formula if log_form else _formula), **given,
        )  # fmt: skip
        return row_function(
            softmax_rows, count, "x", backward=lambda dy, y: gradient(dy, y), **given
        )

    return by_length(make)


def _logsumexp(count: int, part: int) -> Any:
    gradient = row_function(
        logsumexp_backward, count, "x", PART=part,
        backward=by_formula(logsumexp_backward, _logsumexp_formula),
    )  # fmt: skip
    return row_function(
        logsumexp_rows, count, lambda x: (x.shape[0], 1), PART=part,
        backward=lambda dy, x, row_y: gradient(dy, x, row_y),
    )  # fmt: skip


_SOFTMAX, _LOG_SOFTMAX, _LOGSUMEXP = _softmax(False), _softmax(True), by_length(_logsumexp)


@float_operation
def softmax(x: Any, axis: int = -1, *, dim: int | None = None) -> Any:
    """Compute exp(x) / sum(exp(x)) along an axis, shifted by the maximum.

    >>> ops.softmax(np.array([0.0, 0.0], "f4"))
    array([0.5, 0.5], dtype=float32)
    """
    rows = rows_of("softmax", x, axis, dim)
    return rows.restore(_SOFTMAX(rows.length)(rows.array))


@float_operation
def log_softmax(x: Any, axis: int = -1, *, dim: int | None = None) -> Any:
    """Compute x - log(sum(exp(x))) along an axis, shifted by the maximum.

    >>> ops.log_softmax(np.array([0.0, 0.0], "f4")).round(3)
    array([-0.693, -0.693], dtype=float32)
    """
    rows = rows_of("log_softmax", x, axis, dim)
    return rows.restore(_LOG_SOFTMAX(rows.length)(rows.array))


@float_operation
def logsumexp(x: Any, axis: int = -1, keepdims: bool = False, *, dim: int | None = None) -> Any:
    """Compute log(sum(exp(x))) along an axis, shifted by the maximum.

    >>> ops.logsumexp(np.zeros((2, 2), "f4")).round(3)
    array([0.693, 0.693], dtype=float32)
    """
    rows = rows_of("logsumexp", x, axis, dim)
    return rows.reduced(_LOGSUMEXP(rows.length)(rows.array), keepdims)
