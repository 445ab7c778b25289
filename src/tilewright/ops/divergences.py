"""The divergence of distributions, as of a model from its teacher, with gradients."""

from __future__ import annotations

import math
from typing import Any, Literal

from ..lang import exp, log, where
from .calling import float_operation, refuse_no_array, reshaped
from .elementwise import apply, binary, exp_of, unary
from .reductions import mean as mean_of
from .reductions import sum as sum_of

Reduction = Literal["mean", "batchmean", "sum", "none"]


def _reciprocal(x: Any) -> Any:
    return 1.0 / x


def _reciprocal_slope(x: Any) -> Any:
    return -1.0 / (x * x)


_LOG = unary("logarithm", log, _reciprocal, _reciprocal_slope)


def _divergence(x: Any, p: Any) -> Any:
    return where(p > 0.0, p * log(p), 0.0) - p * x


def _divergence_slopes(x: Any, p: Any) -> tuple[Any, Any]:
    return -p, log(p) + 1.0 - x


def _divergence_gradients(dz: Any, x: Any, y: Any) -> tuple[Any, Any]:
    return -dz * y, dz * (apply(_LOG, y) + 1.0 - x)


def _log_divergence(x: Any, y: Any) -> Any:
    return exp(y) * (y - x)


def _log_divergence_slopes(x: Any, y: Any) -> tuple[Any, Any]:
    p = exp(y)
    return -p, p * (y + 1.0 - x)


def _log_divergence_gradients(dz: Any, x: Any, y: Any) -> tuple[Any, Any]:
    p = exp_of(y)
    return -dz * p, dz * p * (y + 1.0 - x)


_DIVERGENCES = {
    False: binary("divergence", _divergence, _divergence_slopes, _divergence_gradients),
    True: binary(
        "log_divergence", _log_divergence, _log_divergence_slopes, _log_divergence_gradients
    ),
}
"""By whether targets are logarithms."""


@float_operation
def kl_div(x: Any, target: Any, reduction: Reduction = "mean", *, log_target: bool = False) -> Any:
    """Compute target * (log(target) - x), the divergence of exp(x) from the target.

    x are logarithms of probabilities, as of `log_softmax`, `target` are probabilities, or with
    `log_target` their logarithms, in the same shape and type. Elements are averaged, summed, or
    kept (`none`); "batchmean" is their sum divided by the extent of the first axis.

    >>> round(float(ops.kl_div(np.log([[0.5, 0.5]]), np.array([[1.0, 0.0]]), "batchmean")), 3)
    0.693
    """
    if reduction not in ("mean", "batchmean", "sum", "none"):
        raise ValueError(f"`kl_div` reduces by mean, batchmean, sum or none, got {reduction!r}")
    refuse_no_array("kl_div", target)
    shape = tuple(x.shape)
    if reduction == "batchmean" and not shape:
        raise ValueError("`kl_div` has a batchmean of one axis or more; got an array without axes")
    found = apply(_DIVERGENCES[bool(log_target)], x, target)
    if reduction == "none":
        return found
    if reduction == "batchmean":
        return mean_of(sum_of(reshaped(found, (shape[0], math.prod(shape[1:]))), axis=1))
    return mean_of(found) if reduction == "mean" else sum_of(found)
