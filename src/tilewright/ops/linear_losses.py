"""Cross entropy of a linear layer's outputs that are never stored, with gradients.

The forward pass computes the logits tile by tile, and keeps a maximum and a sum for each row. The
backward pass computes them again, and stores their gradient once.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any, cast

from ..base.dtypes import f64, i64
from ..functions.function import Function
from ..lang import (
    Const,
    Tensor,
    TensorMut,
    arange,
    block_id,
    exp,
    full,
    log,
    maximum,
    mma,
    neg_inf,
    reduce_max,
    reduce_sum,
    where,
    zeros,
)
from ..lang import all as all_of
from ..launch import entry
from ..op.core import DeviceOp, as_op
from .calling import (
    float_operation,
    is_op,
    refuse_no_integers,
    refuse_other_shape,
    refuse_other_types,
    reshaped,
    wide,
)
from .elementwise import conversion, converted, exp_of
from .losses import Reduction, reduced_losses
from .matmul import linear, product
from .reductions import sum as sum_of
from .tiles import as_scalar, rounded, sum_type

ROWS, CLASSES, STEP = 64, 128, 64
"""Tiles of logits, and the depth of the products they are made of."""


def _logits(
    x: Any, w: Any, b: Any, i: Any, j: Any, rows: int, classes: int, step: int, has_bias: bool
) -> Any:
    """Return a tile of x @ w.T + b."""
    lefts = x.partition((rows, step))
    rights = w.partition((step, classes), dim_map=(1, 0))
    total = zeros((rows, classes), sum_type(x.dtype))
    for k in range(lefts.num_tiles(1)):
        total = mma(lefts.load((i, k)), rights.load((k, j)), total)
    if has_bias:
        total = total + b.partition((classes,)).load((j,)).astype(total.dtype)[None, :]
    return total


@entry
def linear_loss_rows(
    row_loss: TensorMut, row_lse: TensorMut, row_kept: TensorMut, x: Tensor, w: Tensor, b: Tensor,
    target: Tensor, ignored: i64, smoothing: f64, *, CLASSES: Const[int], STEP: Const[int],
    BIAS: Const[bool],
) -> None:  # fmt: skip
    """Compute log(sum(exp(z))) - z[target] of a tile of rows, smoothed, where z is x @ w.T + b."""
    i, rows = block_id(0), row_loss.shape[0]
    kind = sum_type(x.dtype)
    assert x.shape[1] == w.shape[1]
    given = target.partition((rows, 1)).load((i, 0))
    classes, kept = given, given.mask() & (given != ignored)
    assert all_of(~kept | ((classes >= 0) & (classes < w.shape[0]))), "a target is no class"
    top, total = full((rows, 1), neg_inf, kind), zeros((rows, 1), kind)
    chosen, sums = zeros((rows, 1), kind), zeros((rows, 1), kind)
    for j in range(w.partition((CLASSES, STEP)).num_tiles(0)):
        columns = (arange(CLASSES) + j * CLASSES)[None, :]
        is_class = columns < w.shape[0]
        logits = _logits(x, w, b, i, j, rows, CLASSES, STEP, BIAS)
        sums = sums + reduce_sum(where(is_class, logits, 0.0), 1, keepdims=True)
        logits = where(is_class, logits, neg_inf)
        larger = maximum(top, reduce_max(logits, 1, keepdims=True))
        powers = reduce_sum(exp(logits - larger), 1, keepdims=True)
        total = total * exp(top - larger) + powers
        is_chosen = columns.astype(i64) == classes
        chosen = chosen + reduce_sum(where(is_chosen, logits, 0.0), 1, keepdims=True)
        top = larger
    lse = top + log(total)
    share = as_scalar(smoothing, kind)
    loss = (lse - chosen) * (1.0 - share)
    loss = loss + where(share > 0.0, (lse - sums / w.shape[0]) * share, 0.0)
    row_loss.store(where(kept, loss, 0.0))
    row_lse.store(lse)
    row_kept.store(where(kept, 1.0, 0.0).astype(kind))


@entry
def linear_loss_backward(
    d_logits: TensorMut, d_loss: Tensor, x: Tensor, w: Tensor, b: Tensor, target: Tensor,
    lse: Tensor, kept: Tensor, smoothing: f64, *, STEP: Const[int], BIAS: Const[bool],
) -> None:  # fmt: skip
    """Compute d_loss * (softmax(x @ w.T + b) - target), where the target is smoothed."""
    i, j = block_id(0), block_id(1)
    rows, classes = d_logits.shape
    column = (rows, 1)
    logits = _logits(x, w, b, i, j, rows, classes, STEP, BIAS)
    power = exp(logits - lse.partition(column).load((i, 0)))
    columns = (arange(classes) + j * classes)[None, :].astype(i64)
    share = as_scalar(smoothing, logits.dtype)
    wanted = where(columns == target.partition(column).load((i, 0)), 1.0 - share, 0.0)
    wanted = wanted + share / w.shape[0]
    grad = d_loss.partition(column).load((i, 0)) * kept.partition(column).load((i, 0))
    d_logits.store(rounded(grad * (power - wanted), d_logits))


def _statistic(x: Any, w: Any, b: Any, target: Any, ignored: int, smoothing: float) -> Any:
    return (x.shape[0], 1), wide(x)


@cache
def _losses(bias: bool) -> Function:
    def second(
        g: Any, d_loss: Any, x: Any, w: Any, b: Any, target: Any, lse: Any, kept: Any,
        smoothing: float,
    ) -> Any:  # fmt: skip
        by_loss = sum_of(
            g * d_logits_of(d_loss * 0 + 1, x, w, b, target, lse, kept, smoothing),
            axis=1, keepdims=True,
        )  # fmt: skip
        along = shares(x, w, b, lse) * (g * d_loss * kept)
        total: Any = sum_of(along, axis=1, keepdims=True)
        dx, dw, db = by_logits(converted(along, x), x, w)
        return converted(by_loss, d_loss), dx, dw, db, None, -total, None

    def shares(x: Any, w: Any, b: Any, lse: Any) -> Any:
        """Return the probabilities of classes, stored."""
        logits = conversion(wide(x))(linear(x, w, b if bias else None))
        return exp_of(logits - lse)

    def by_logits(grad: Any, x: Any, w: Any) -> tuple[Any, Any, Any]:
        """Return the gradients of x, w and the bias, of that of the logits."""
        d_logits = reshaped(grad, (1, *grad.shape))
        rows, weights = (reshaped(array, (1, *array.shape)) for array in (x, w))
        dx = reshaped(product(d_logits, weights), tuple(x.shape))
        dw = reshaped(product(d_logits, rows, turn_a=True), tuple(w.shape))
        return dx, dw, sum_of(grad, axis=0) if bias else None

    d_logits_of: Function = Function(
        linear_loss_backward,
        outputs=lambda d_loss, x, w, b, target, lse, kept, smoothing: (
            (x.shape[0], w.shape[0]), x.dtype,
        ),
        tiles=(ROWS, CLASSES), constants={"STEP": STEP, "BIAS": bias},
        backward=cast("Any", second),
    )  # fmt: skip

    def backward(
        d_loss: Any, d_lse: Any = None, d_kept: Any = None, *, x: Any, w: Any, b: Any, target: Any,
        smoothing: float, row_lse: Any, row_kept: Any,
    ) -> Any:  # fmt: skip
        grad = d_logits_of(d_loss, x, w, b, target, row_lse, row_kept, smoothing)
        if d_lse is not None:
            grad = grad + converted(shares(x, w, b, row_lse) * d_lse, grad)
        return *by_logits(grad, x, w), None

    return Function(
        linear_loss_rows, outputs=_statistic, tiles=(ROWS, 1),
        constants={"CLASSES": CLASSES, "STEP": STEP, "BIAS": bias},
        backward=cast("Any", backward),
    )  # fmt: skip


@float_operation
def linear_cross_entropy(
    x: Any,
    weight: Any,
    target: Any,
    ignore_index: int = -100,
    reduction: Reduction = "mean",
    label_smoothing: float = 0.0,
    *,
    bias: Any = None,
) -> Any:
    """Compute cross_entropy(x @ weight.T + bias, target) without storing the logits.

    x is (..., depth), `weight` (classes, depth), `bias` (classes,), `target` the classes as i64.
    The backward pass stores the gradient of the logits once.

    >>> x, weight = np.zeros((2, 3), "f4"), np.ones((4, 3), "f4")
    >>> round(float(ops.linear_cross_entropy(x, weight, np.array([0, 3]))), 3)
    1.386
    """
    refuse_no_integers("linear_cross_entropy", "target", target)
    refuse_other_types("linear_cross_entropy", x, weight=weight)
    shape = tuple(x.shape)
    if (
        len(weight.shape) != 2
        or shape[-1:] != (weight.shape[1],)
        or tuple(target.shape) != shape[:-1]
    ):
        raise ValueError(
            "`linear_cross_entropy` takes x of (..., depth), a weight of (classes, depth) and a"
            f" class for each row; got shapes {shape}, {tuple(weight.shape)} and"
            f" {tuple(target.shape)}"
        )
    count = math.prod(shape[:-1])
    refuse_other_shape("linear_cross_entropy", "bias", bias, weight.shape[:1])
    found = _losses(bias is not None)(
        reshaped(x, (count, shape[-1])), weight, weight if bias is None else bias,
        reshaped(target, (count, 1)), int(ignore_index), float(label_smoothing),
    )  # fmt: skip

    def finish(losses: Any, kept: Any) -> Any:
        return reduced_losses(
            "linear_cross_entropy", losses, kept, reduction, lambda x: reshaped(x, shape[:-1])
        )

    def later(losses: Any, _: Any, kept: Any) -> DeviceOp[Any]:
        return as_op(finish(losses, kept))

    return found.then(later) if is_op(found) else finish(found[0], found[2])
