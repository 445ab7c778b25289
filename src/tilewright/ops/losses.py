"""Cross entropy of logits and classes, with gradients."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Literal, cast

from ..base.dtypes import f64, i64
from ..functions.describing import element_type
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
    neg_inf,
    reduce_sum,
    where,
    zeros,
)
from ..lang import all as all_of
from ..launch import entry
from ..op.core import DeviceOp, as_op
from .calling import (
    first,
    float_operation,
    is_op,
    refuse_no_array,
    refuse_no_integers,
    refuse_other_shape,
    reshaped,
    wide,
)
from .elementwise import conversion, converted, exp_of
from .reductions import mean as mean_of
from .reductions import sum as sum_of
from .rows import PART, by_length, row_function, rows_of
from .second_order import by_formula
from .softmax import shift_and_total
from .tiles import as_scalar, rounded, sum_type, widened

Reduction = Literal["mean", "sum", "none"]


def _columns(k: Any, part: Any) -> Any:
    return (arange(part) + k * part)[None, :].astype(i64)


def _weights(weights: Any, k: Any, part: Any, dtype: Any) -> Any:
    """Return a part of the weights of classes, 0 behind them."""
    return weights.partition((part,)).load((k,))[None, :].astype(dtype)


@entry
def cross_entropy_rows(
    row_loss: TensorMut, row_lse: TensorMut, row_kept: TensorMut, row_pull: TensorMut, x: Tensor,
    target: Tensor, weights: Tensor, ignored: i64, n: f64, smoothing: f64, *,
    PART: Const[int], WEIGHTED: Const[bool],
) -> None:  # fmt: skip
    """Compute w[target] * (log(sum(exp(x))) - x[target]) of whole rows, smoothed; 0 if ignored.

    `row_kept` is the weight of the target, `row_pull` what softmax(x) is multiplied with in the
    gradient.
    """
    i, rows = block_id(0), row_loss.shape[0]
    parts = x.partition((rows, PART))
    targets = target.partition((rows, 1))
    classes, inside = targets.load((i, 0)).astype(i64), targets.load((i, 0)).mask()
    kept = inside & (classes != ignored)
    assert all_of(~kept | ((classes >= 0) & (classes < x.shape[1]))), "a target is no class"
    shift, total = shift_and_total(x, rows, PART)
    kind = sum_type(x.dtype)
    chosen, sums = zeros((rows, 1), kind), zeros((rows, 1), kind)
    weight, whole = zeros((rows, 1), kind), zeros((rows, 1), kind)
    for k in range(parts.num_tiles(1)):
        given = parts.load((i, k))
        tile, is_target = widened(given), _columns(k, PART) == classes
        chosen = chosen + reduce_sum(where(is_target, tile, 0.0), 1, keepdims=True)
        if WEIGHTED:
            share = _weights(weights, k, PART, tile.dtype)
            weight = weight + reduce_sum(where(is_target, share, 0.0), 1, keepdims=True)
            whole = whole + reduce_sum(share, 1, keepdims=True)
            sums = sums + reduce_sum(where(given.mask(), tile * share, 0.0), 1, keepdims=True)
        else:
            sums = sums + reduce_sum(tile, 1, keepdims=True)
    lse = shift + log(total)
    spread, count = as_scalar(smoothing, kind), as_scalar(n, kind)
    if not WEIGHTED:
        weight, whole = full((rows, 1), 1.0, kind), zeros((rows, 1), kind) + count
    smooth = where(spread > 0.0, (lse * whole - sums) / count * spread, 0.0)
    loss = (lse - chosen) * weight * (1.0 - spread) + smooth
    row_loss.store(where(kept, loss, 0.0))
    row_lse.store(lse)
    row_kept.store(where(kept, weight, 0.0))
    row_pull.store(where(kept, weight * (1.0 - spread) + whole / count * spread, 0.0))


@entry
def cross_entropy_backward(
    dx: TensorMut, d_loss: Tensor, x: Tensor, target: Tensor, weights: Tensor, lse: Tensor,
    kept: Tensor, pull: Tensor, ignored: i64, n: f64, smoothing: f64, *,
    PART: Const[int], WEIGHTED: Const[bool],
) -> None:  # fmt: skip
    """Compute d_loss * (pull * softmax(x) - target) of whole rows, where targets are smoothed."""
    assert dx.shape[1] >= x.shape[1]
    i, rows = block_id(0), dx.shape[0]
    parts, out = x.partition((rows, PART), padding=neg_inf), dx.partition_mut((rows, PART))
    column = (rows, 1)
    classes = target.partition(column).load((i, 0)).astype(i64)
    top = lse.partition(column).load((i, 0))
    grad = widened(d_loss.partition(column).load((i, 0)))
    weight, force = kept.partition(column).load((i, 0)), pull.partition(column).load((i, 0))
    share = as_scalar(smoothing, top.dtype)
    spread = where(classes != ignored, share / as_scalar(n, top.dtype), 0.0)
    for k in range(parts.num_tiles(1)):
        tile = widened(parts.load((i, k)))
        wanted = where(_columns(k, PART) == classes, weight * (1.0 - share), 0.0)
        wanted = wanted + (spread * _weights(weights, k, PART, tile.dtype) if WEIGHTED else spread)
        out.store(rounded(grad * (force * exp(tile - top) - wanted), dx), (0, k))


def _row_sums(x: Any) -> Any:
    return sum_of(x, axis=1, keepdims=True)


def _softened(x: Any, lse: Any, scale: Any) -> Any:
    """Return scale * softmax(x), of arrays that can be differentiated."""
    return converted(exp_of(x - lse) * scale, x)


def _cross_entropy(count: int, part: int, weighted: bool) -> Function:
    constants: dict[str, Any] = {"PART": part, "WEIGHTED": weighted}

    def second(
        g: Any, d_loss: Any, x: Any, target: Any, weights: Any, lse: Any, kept: Any, pull: Any,
        ignored: int, n: float, smoothing: float,
    ) -> Any:  # fmt: skip
        given = x, target, weights, lse, kept, pull, ignored, n, smoothing
        along = _softened(x, lse, g * d_loss * pull)
        by_loss = _row_sums(g * gradient(d_loss * 0 + 1, *given))
        by_lse = converted(-_row_sums(along), lse)
        return converted(by_loss, d_loss), along, None, None, by_lse, None, None

    gradient: Function = row_function(
        cross_entropy_backward, count, "x", backward=cast("Any", second), **constants
    )

    def outputs(x: Any, target: Any, weights: Any, ignored: int, n: float, smoothing: float) -> Any:
        return (x.shape[0], 1), wide(x)

    def backward(
        d_loss: Any, d_lse: Any = None, d_kept: Any = None, d_pull: Any = None, *,
        x: Any, target: Any, weights: Any, ignored: int, n: float, smoothing: float,
        row_lse: Any, row_kept: Any, row_pull: Any,
    ) -> Any:  # fmt: skip
        kept = row_lse, row_kept, row_pull
        dx = gradient(d_loss, x, target, weights, *kept, ignored, n, smoothing)
        return dx if d_lse is None else dx + _softened(x, row_lse, d_lse), None, None

    return row_function(
        cross_entropy_rows, count, outputs, backward=cast("Any", backward), **constants
    )


_CROSS_ENTROPY = {
    weighted: by_length(partial(_cross_entropy, weighted=weighted)) for weighted in (False, True)
}
"""By whether classes have weights."""


# --- targets that are probabilities ------------------------------------------------------------


@entry
def soft_cross_entropy_rows(
    row_loss: TensorMut, row_lse: TensorMut, row_total: TensorMut, x: Tensor, target: Tensor,
    weights: Tensor, n: f64, smoothing: f64, *, PART: Const[int], WEIGHTED: Const[bool],
) -> None:  # fmt: skip
    """Compute sum(t * (log(sum(exp(x))) - x)) of whole rows; t are weighted and smoothed targets.

    `row_total` is sum(t).
    """
    i, rows = block_id(0), row_loss.shape[0]
    parts, shares = x.partition((rows, PART)), target.partition((rows, PART))
    shift, total = shift_and_total(x, rows, PART)
    kind = sum_type(x.dtype)
    keep = 1.0 - as_scalar(smoothing, kind)
    spread = as_scalar(smoothing, kind) / as_scalar(n, kind)
    mass, along = zeros((rows, 1), kind), zeros((rows, 1), kind)
    for k in range(parts.num_tiles(1)):
        given = parts.load((i, k))
        wanted = shares.load((i, k)).astype(kind) * keep + spread
        wanted = wanted * _weights(weights, k, PART, kind) if WEIGHTED else wanted
        wanted = where(given.mask(), wanted, 0.0)
        mass = mass + reduce_sum(wanted, 1, keepdims=True)
        along = along + reduce_sum(wanted * widened(given), 1, keepdims=True)
    lse = shift + log(total)
    row_loss.store(lse * mass - along)
    row_lse.store(lse)
    row_total.store(mass)


@entry
def soft_cross_entropy_backward(
    dx: TensorMut, d_target: TensorMut, d_loss: Tensor, x: Tensor, target: Tensor, weights: Tensor,
    lse: Tensor, mass: Tensor, n: f64, smoothing: f64, *, PART: Const[int], WEIGHTED: Const[bool],
) -> None:  # fmt: skip
    """Compute d_loss * (mass * softmax(x) - t), and the gradient of the targets."""
    assert dx.shape[1] >= x.shape[1]
    assert d_target.shape[1] >= x.shape[1]
    i, rows = block_id(0), dx.shape[0]
    parts, shares = x.partition((rows, PART), padding=neg_inf), target.partition((rows, PART))
    out, out_target = dx.partition_mut((rows, PART)), d_target.partition_mut((rows, PART))
    column = (rows, 1)
    top, total = lse.partition(column).load((i, 0)), mass.partition(column).load((i, 0))
    grad = widened(d_loss.partition(column).load((i, 0)))
    keep = 1.0 - as_scalar(smoothing, top.dtype)
    spread = as_scalar(smoothing, top.dtype) / as_scalar(n, top.dtype)
    for k in range(parts.num_tiles(1)):
        tile = widened(parts.load((i, k)))
        weight = (
            _weights(weights, k, PART, tile.dtype) if WEIGHTED else full((1, PART), 1.0, top.dtype)
        )
        wanted = (shares.load((i, k)).astype(top.dtype) * keep + spread) * weight
        out.store(rounded(grad * (total * exp(tile - top) - wanted), dx), (0, k))
        out_target.store(rounded(grad * keep * weight * (top - tile), d_target), (0, k))


def _soft_cross_entropy(count: int, part: int, weighted: bool) -> Function:
    constants: dict[str, Any] = {"PART": part, "WEIGHTED": weighted}

    def spread(like: Any, weights: Any, n: float, smoothing: float) -> tuple[Any, Any]:
        """Return by what targets are multiplied, and what is added to them."""
        factor = like * 0 + 1 if not weighted else conversion(wide(like))(weights)[None, :]
        return factor * (1.0 - smoothing), factor * (smoothing / n)

    def again(
        d_loss: Any, x: Any, target: Any, weights: Any, lse: Any, mass: Any, n: float,
        smoothing: float,
    ) -> Any:  # fmt: skip
        factor, more = spread(lse, weights, n, smoothing)
        given = conversion(wide(x))(x)
        wanted = conversion(wide(x))(target) * factor + more
        dx = d_loss * (mass * exp_of(given - lse) - wanted)
        return converted(dx, x), converted(d_loss * factor * (lse - given), target)

    gradients = row_function(
        soft_cross_entropy_backward, count, {"dx": "x", "d_target": "target"},
        backward=by_formula(soft_cross_entropy_backward, again), **constants,
    )  # fmt: skip

    def outputs(x: Any, target: Any, weights: Any, n: float, smoothing: float) -> Any:
        return (x.shape[0], 1), wide(x)

    def backward(
        d_loss: Any, d_lse: Any = None, d_total: Any = None, *,
        x: Any, target: Any, weights: Any, n: float, smoothing: float, row_lse: Any, row_total: Any,
    ) -> Any:  # fmt: skip
        dx, d_target = gradients(d_loss, x, target, weights, row_lse, row_total, n, smoothing)
        if d_lse is not None:
            dx = dx + _softened(x, row_lse, d_lse)
        if d_total is not None:
            factor, _ = spread(row_lse, weights, n, smoothing)
            d_target = d_target + converted(d_total * factor, target)
        return dx, d_target, None

    return row_function(
        soft_cross_entropy_rows, count, outputs, backward=cast("Any", backward), **constants
    )


_SOFT_CROSS_ENTROPY = {
    weighted: by_length(partial(_soft_cross_entropy, weighted=weighted))
    for weighted in (False, True)
}


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


_MEAN_BACKWARD = Function(
    mean_of_kept_backward, outputs="x", tiles=1024,
    backward=lambda g, count: (reshaped(sum_of(g), (1,)) / count, None, None),
)  # fmt: skip
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
    *,
    weight: Any = None,
) -> Any:
    """Compute log(sum(exp(x))) - x[target] for each row of logits, and their mean.

    x is (rows, classes), (classes,), or has the classes along axis 1; `target` are classes as
    integers, or the probabilities of all classes in the shape of x. With label smoothing s the
    target is multiplied with 1 - s, and s is spread over all classes. Rows whose target is
    `ignore_index` do not count. With `weight`, one number for each class, the loss of a row is
    multiplied with that of its class, and the mean divided by the weights of all targets (of
    probabilities: by the number of rows). The result is f32, of f64 f64.

    >>> round(float(ops.cross_entropy(np.zeros((2, 4), "f4"), np.array([0, 3]))), 3)
    1.386
    """
    name, spread = "cross_entropy", float(label_smoothing)
    if not 0.0 <= spread <= 1.0:
        raise ValueError(f"`label_smoothing` of `{name}` is from 0 to 1, got {label_smoothing}")
    if not len(x.shape):
        raise ValueError(f"`{name}` takes logits of classes; got an array without axes")
    rows = rows_of(name, x, 1 if len(x.shape) > 1 else 0)
    refuse_other_shape(name, "weight", weight, (rows.length,))
    weights = rows.array if weight is None else weight
    refuse_no_array(name, target)
    if element_type(target.dtype).is_float:
        refuse_other_shape(name, "target", target, x.shape)
        shares = rows_of(name, target, 1 if len(x.shape) > 1 else 0).array
        function = _SOFT_CROSS_ENTROPY[weight is not None](rows.length)
        found = function(rows.array, shares, weights, float(rows.length), spread)
    else:
        refuse_no_integers(name, "target", target)
        if tuple(target.shape) != (*x.shape[:1], *x.shape[2:])[: max(len(x.shape) - 1, 0)]:
            raise ValueError(
                f"`{name}` takes one class for each row of logits, got shapes {tuple(x.shape)} and"
                f" {tuple(target.shape)}"
            )
        function = _CROSS_ENTROPY[weight is not None](rows.length)
        found = function(
            rows.array, reshaped(target, (rows.rows, 1)), weights, int(ignore_index),
            float(rows.length), spread,
        )  # fmt: skip

    def finish(losses: Any, lse: Any, kept: Any, pull: Any = None) -> Any:
        if pull is None and reduction == "mean":  # of probabilities, all rows count
            return mean_of(losses)
        return reduced_losses(name, losses, kept, reduction, lambda x: rows.reduced(x, False))

    def later(*given: Any) -> DeviceOp[Any]:
        return as_op(finish(*given))

    return found.then(later) if is_op(found) else finish(*found)
