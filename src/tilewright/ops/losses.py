"""Cross entropy of logits and classes, with gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from ..base.dtypes import f64, i64
from ..functions.function import Function
from ..lang import (
    Const,
    Tensor,
    TensorMut,
    arange,
    block_id,
    exp,
    log,
    neg_inf,
    reduce_sum,
    where,
    zeros,
)
from ..lang import all as all_of
from ..launch import entry
from ..op.core import DeviceOp, as_op
from .calling import first, float_operation, is_op, refuse_no_integers, reshaped, wide
from .reductions import sum as sum_of
from .rows import PART, by_length, row_function, rows_of
from .softmax import shift_and_total
from .tiles import as_scalar, rounded, sum_type, widened

Reduction = Literal["mean", "sum", "none"]


@entry
def cross_entropy_rows(
    row_loss: TensorMut, row_lse: TensorMut, row_kept: TensorMut, x: Tensor, target: Tensor,
    ignored: i64, n: f64, smoothing: f64, *, PART: Const[int],
) -> None:  # fmt: skip
    """Compute log(sum(exp(x))) - x[target] of whole rows, smoothed, or 0 for ignored targets."""
    i, rows = block_id(0), row_loss.shape[0]
    parts = x.partition((rows, PART))
    targets = target.partition((rows, 1))
    classes, inside = targets.load((i, 0)), targets.load((i, 0)).mask()
    kept = inside & (classes != ignored)
    assert all_of(~kept | ((classes >= 0) & (classes < x.shape[1]))), "a target is no class"
    shift, total = shift_and_total(x, rows, PART)
    chosen, sums = zeros((rows, 1), sum_type(x.dtype)), zeros((rows, 1), sum_type(x.dtype))
    for k in range(parts.num_tiles(1)):
        tile = widened(parts.load((i, k)))
        columns = (arange(PART) + k * PART)[None, :].astype(i64)
        chosen = chosen + reduce_sum(where(columns == classes, tile, 0.0), 1, keepdims=True)
        sums = sums + reduce_sum(tile, 1, keepdims=True)
    lse = shift + log(total)
    share, count = as_scalar(smoothing, lse.dtype), as_scalar(n, lse.dtype)
    smooth = where(share > 0.0, (lse - sums / count) * share, 0.0)
    loss = (lse - chosen) * (1.0 - share) + smooth
    row_loss.store(where(kept, loss, 0.0))
    row_lse.store(lse)
    row_kept.store(where(kept, 1.0, 0.0).astype(lse.dtype))


@entry
def cross_entropy_backward(
    dx: TensorMut, d_loss: Tensor, x: Tensor, target: Tensor, lse: Tensor, kept: Tensor, n: f64,
    smoothing: f64, *, PART: Const[int],
) -> None:  # fmt: skip
    """Compute d_loss * (softmax(x) - target) of whole rows, where the target is smoothed."""
    assert dx.shape[1] >= x.shape[1]
    i, rows = block_id(0), dx.shape[0]
    parts, out = x.partition((rows, PART), padding=neg_inf), dx.partition_mut((rows, PART))
    column = (rows, 1)
    classes, top = target.partition(column).load((i, 0)), lse.partition(column).load((i, 0))
    grad = widened(d_loss.partition(column).load((i, 0))) * kept.partition(column).load((i, 0))
    share = as_scalar(smoothing, top.dtype)
    spread = share / as_scalar(n, top.dtype)
    for k in range(parts.num_tiles(1)):
        powers = exp(widened(parts.load((i, k))) - top)
        columns = (arange(PART) + k * PART)[None, :].astype(i64)
        wanted = where(columns == classes, 1.0 - share, 0.0) + spread
        out.store(rounded(grad * (powers - wanted), dx), (0, k))


def _cross_entropy(count: int, part: int) -> Function:
    gradient = row_function(cross_entropy_backward, count, "x", PART=part)

    def outputs(x: Any, target: Any, ignored: int, n: float, smoothing: float) -> Any:
        return (x.shape[0], 1), wide(x)

    def backward(
        d_loss: Any, d_lse: Any, d_kept: Any, x: Any, target: Any, n: float, smoothing: float,
        row_lse: Any, row_kept: Any,
    ) -> Any:  # fmt: skip
        return gradient(d_loss, x, target, row_lse, row_kept, n, smoothing), None

    return row_function(cross_entropy_rows, count, outputs, PART=part, backward=backward)


_CROSS_ENTROPY = by_length(_cross_entropy)


@entry
def mean_of_kept(
    y: TensorMut, count: TensorMut, x: Tensor, kept: Tensor, *, PART: Const[int]
) -> None:
    """Compute sum(x) / sum(kept), and that sum."""
    xs, flags = x.partition((PART,)), kept.partition((PART,))
    total, many = zeros((), sum_type(x.dtype)), zeros((), sum_type(x.dtype))
    for k in range(xs.num_tiles(0)):
        total = total + reduce_sum(xs.load((k,)))
        many = many + reduce_sum(flags.load((k,)))
    y.store((total / many).reshape(1))
    count.store(many.reshape(1))


@entry
def mean_of_kept_backward(dx: TensorMut, dy: Tensor, x: Tensor, count: Tensor) -> None:
    """Spread dy / count."""
    share = dy.partition((1,)).load((0,)) / count.partition((1,)).load((0,))
    dx.store(share.broadcast(dx.shape))


_MEAN_BACKWARD = Function(mean_of_kept_backward, outputs="x", tiles=1024)
_MEAN = Function(
    mean_of_kept, outputs=lambda x, kept: (1,), tiles=1, constants={"PART": PART},
    backward=lambda dy, d_count, x, count: (_MEAN_BACKWARD(dy, x, count), None),
)  # fmt: skip


def reduced_losses(
    name: str, losses: Any, kept: Any, reduction: str, restore: Callable[[Any], Any]
) -> Any:
    """Return the losses of all rows, (rows, 1), reduced as asked for, or as `restore` shapes them.

    `kept` is 1 for rows that count, and 0 for the others.
    """
    if reduction == "none":
        return restore(losses)
    if reduction == "sum":
        return sum_of(losses)
    if reduction != "mean":
        raise ValueError(f"`{name}` reduces by mean, sum or none, got {reduction!r}")
    count = (losses.shape[0],)
    return reshaped(first(_MEAN(reshaped(losses, count), reshaped(kept, count))), ())


@float_operation
def cross_entropy(
    x: Any,
    target: Any,
    ignore_index: int = -100,
    reduction: Reduction = "mean",
    label_smoothing: float = 0.0,
) -> Any:
    """Compute log(sum(exp(x))) - x[target] for each row of logits, and their mean.

    x is (rows, classes), (classes,), or has the classes along axis 1; `target` are classes as i64.
    With label smoothing s the target is 1 - s, and s is spread over all classes. Rows whose target
    is `ignore_index` do not count. The result is f32, of f64 f64.

    >>> round(float(ops.cross_entropy(np.zeros((2, 4), "f4"), np.array([0, 3]))), 3)
    1.386
    """
    refuse_no_integers("cross_entropy", "target", target)
    rows = rows_of("cross_entropy", x, 1 if len(x.shape) > 1 else 0)
    if tuple(target.shape) != (*x.shape[:1], *x.shape[2:])[: max(len(x.shape) - 1, 0)]:
        raise ValueError(
            f"`cross_entropy` takes one class for each row of logits, got shapes {tuple(x.shape)}"
            f" and {tuple(target.shape)}"
        )
    found = _CROSS_ENTROPY(rows.length)(
        rows.array, reshaped(target, (rows.rows, 1)), int(ignore_index), float(rows.length),
        float(label_smoothing),
    )  # fmt: skip

    def finish(losses: Any, kept: Any) -> Any:
        return reduced_losses(
            "cross_entropy", losses, kept, reduction, lambda x: rows.reduced(x, False)
        )

    def later(losses: Any, _: Any, kept: Any) -> DeviceOp[Any]:
        return as_op(finish(losses, kept))

    return found.then(later) if is_op(found) else finish(found[0], found[2])
