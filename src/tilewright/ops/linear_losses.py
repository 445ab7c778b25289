"""Cross entropy of a linear layer's outputs that are never stored, with gradients.

The forward pass computes the logits tile by tile, and keeps a maximum and a sum for each row. The
backward pass computes them again, and stores their gradient once.
"""

from __future__ import annotations

import math
from typing import Any

from ..base.dtypes import i64
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
from .calling import is_op, operation, reshaped, wide
from .losses import Reduction, reduced_losses
from .matmul import product
from .tiles import rounded, sum_type

ROWS, CLASSES, STEP = 64, 128, 64
"""Tiles of logits, and the depth of the products they are made of."""


def _logits(x: Any, w: Any, i: Any, j: Any, rows: int, classes: int, step: int) -> Any:
    """Return a tile of x @ w.T."""
    lefts = x.partition((rows, step))
    rights = w.partition((step, classes), dim_map=(1, 0))
    total = zeros((rows, classes), sum_type(x.dtype))
    for k in range(lefts.num_tiles(1)):
        total = mma(lefts.load((i, k)), rights.load((k, j)), total)
    return total


@entry
def linear_loss_rows(
    row_loss: TensorMut, row_lse: TensorMut, row_kept: TensorMut, x: Tensor, w: Tensor,
    target: Tensor, ignored: i64, *, CLASSES: Const[int], STEP: Const[int],
) -> None:  # fmt: skip
    """Compute log(sum(exp(x @ w.T))) - (x @ w.T)[target] of a tile of rows."""
    i, rows = block_id(0), row_loss.shape[0]
    kind = sum_type(x.dtype)
    assert x.shape[1] == w.shape[1]
    given = target.partition((rows, 1)).load((i, 0))
    classes, kept = given, given.mask() & (given != ignored)
    assert all_of(~kept | ((classes >= 0) & (classes < w.shape[0]))), "a target is no class"
    top, total = full((rows, 1), neg_inf, kind), zeros((rows, 1), kind)
    chosen = zeros((rows, 1), kind)
    for j in range(w.partition((CLASSES, STEP)).num_tiles(0)):
        columns = (arange(CLASSES) + j * CLASSES)[None, :]
        logits = _logits(x, w, i, j, rows, CLASSES, STEP)
        logits = where(columns < w.shape[0], logits, neg_inf)
        larger = maximum(top, reduce_max(logits, 1, keepdims=True))
        powers = reduce_sum(exp(logits - larger), 1, keepdims=True)
        total = total * exp(top - larger) + powers
        is_chosen = columns.astype(i64) == classes
        chosen = chosen + reduce_sum(where(is_chosen, logits, 0.0), 1, keepdims=True)
        top = larger
    lse = top + log(total)
    row_loss.store(where(kept, lse - chosen, 0.0))
    row_lse.store(lse)
    row_kept.store(where(kept, 1.0, 0.0).astype(kind))


@entry
def linear_loss_backward(
    d_logits: TensorMut, d_loss: Tensor, x: Tensor, w: Tensor, target: Tensor, lse: Tensor,
    kept: Tensor, *, STEP: Const[int],
) -> None:  # fmt: skip
    """Compute d_loss * (softmax(x @ w.T) - target)."""
    i, j = block_id(0), block_id(1)
    rows, classes = d_logits.shape
    column = (rows, 1)
    logits = _logits(x, w, i, j, rows, classes, STEP)
    share = exp(logits - lse.partition(column).load((i, 0)))
    columns = (arange(classes) + j * classes)[None, :].astype(i64)
    wanted = where(columns == target.partition(column).load((i, 0)), 1.0, 0.0)
    grad = d_loss.partition(column).load((i, 0)) * kept.partition(column).load((i, 0))
    d_logits.store(rounded(grad * (share - wanted.astype(share.dtype)), d_logits))


_D_LOGITS = Function(
    linear_loss_backward,
    outputs=lambda d_loss, x, w, target, lse, kept: ((x.shape[0], w.shape[0]), x.dtype),
    tiles=(ROWS, CLASSES),
    constants={"STEP": STEP},
)


def _statistic(x: Any, w: Any, target: Any, ignored: int) -> Any:
    return (x.shape[0], 1), wide(x)


def _gradients(
    d_loss: Any, d_lse: Any, d_kept: Any, x: Any, w: Any, target: Any, row_lse: Any, row_kept: Any
) -> Any:
    d_logits = reshaped(
        _D_LOGITS(d_loss, x, w, target, row_lse, row_kept), (1, x.shape[0], w.shape[0])
    )
    rows, weights = (reshaped(array, (1, *array.shape)) for array in (x, w))
    dx = reshaped(product(d_logits, weights), tuple(x.shape))
    return dx, reshaped(product(d_logits, rows, turn_a=True), tuple(w.shape)), None


_LOSSES = Function(
    linear_loss_rows,
    outputs=_statistic,
    tiles=(ROWS, 1),
    constants={"CLASSES": CLASSES, "STEP": STEP},
    backward=_gradients,
)


@operation
def linear_cross_entropy(
    x: Any,
    weight: Any,
    target: Any,
    ignore_index: int = -100,
    reduction: Reduction = "mean",
) -> Any:
    """Compute cross_entropy(x @ weight.T, target) without storing the logits.

    x is (..., depth), `weight` (classes, depth), `target` the classes as i64. The backward pass
    stores the gradient of the logits once.

    >>> x, weight = np.zeros((2, 3), "f4"), np.ones((4, 3), "f4")
    >>> round(float(ops.linear_cross_entropy(x, weight, np.array([0, 3]))), 3)
    1.386
    """
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
    found = _LOSSES(
        reshaped(x, (count, shape[-1])), weight, reshaped(target, (count, 1)), int(ignore_index)
    )

    def finish(losses: Any, kept: Any) -> Any:
        return reduced_losses(
            "linear_cross_entropy", losses, kept, reduction, lambda x: reshaped(x, shape[:-1])
        )

    def later(losses: Any, _: Any, kept: Any) -> DeviceOp[Any]:
        return as_op(finish(losses, kept))

    return found.then(later) if is_op(found) else finish(found[0], found[2])
