"""Steps of optimizers, in place: one kernel reads and writes a parameter and its state once."""

from __future__ import annotations

from typing import Any

from ..base.dtypes import f64
from ..functions.function import Function
from ..lang import Const, Tensor, TensorMut, load_tile_like, sqrt
from ..launch import entry
from .calling import float_operation, is_contiguous, is_op, is_ours, reshaped
from .elementwise import tiles_of
from .tiles import as_scalar, rounded, widened


@entry
def step_adamw(
    p: TensorMut, m: TensorMut, v: TensorMut, grad: Tensor, decay: f64, share1: f64, keep2: f64,
    share2: f64, rate: f64, unbias: f64, eps: f64, *, MAXIMIZE: Const[bool],
) -> None:  # fmt: skip
    """Step a parameter by decoupled weight decay and the moments of its gradient."""
    old = widened(p.load())
    kind = old.dtype
    g = widened(load_tile_like(grad, p)).astype(kind)
    g = -g if MAXIMIZE else g
    first = widened(m.load()).astype(kind)
    first = first + (g - first) * as_scalar(share1, kind)
    second = widened(v.load()).astype(kind) * as_scalar(keep2, kind)
    second = second + g * g * as_scalar(share2, kind)
    m.store(rounded(first, m))
    v.store(rounded(second, v))
    root = sqrt(second) * as_scalar(unbias, kind) + as_scalar(eps, kind)
    p.store(rounded(old * as_scalar(decay, kind) - as_scalar(rate, kind) * first / root, p))


@entry
def step_sgd(
    p: TensorMut, b: TensorMut, grad: Tensor, decay: f64, momentum: f64, share: f64, rate: f64, *,
    NESTEROV: Const[bool],
) -> None:  # fmt: skip
    """Step a parameter against the running sum of its gradients."""
    old = widened(p.load())
    kind = old.dtype
    g = widened(load_tile_like(grad, p)).astype(kind) + as_scalar(decay, kind) * old
    moving = widened(b.load()).astype(kind) * as_scalar(momentum, kind) + as_scalar(share, kind) * g
    b.store(rounded(moving, b))
    way = g + as_scalar(momentum, kind) * moving if NESTEROV else moving
    p.store(rounded(old - as_scalar(rate, kind) * way, p))


_ADAMW = {
    up: Function(step_adamw, tiles=tiles_of, constants={"MAXIMIZE": up}) for up in (False, True)
}
_SGD = {by: Function(step_sgd, tiles=tiles_of, constants={"NESTEROV": by}) for by in (False, True)}


def _stepped(name: str, function: Function, states: tuple[Any, ...], grad: Any, *by: Any) -> Any:
    """Run a step on arrays of one shape, and return those that are written."""
    shape = tuple(states[0].shape)
    wrong = [tuple(x.shape) for x in (*states[1:], grad) if tuple(x.shape) != shape]
    if wrong:
        raise ValueError(
            f"`{name}` takes a gradient and states of the parameter's shape {shape}, got {wrong[0]}"
        )
    arrays = (*states, grad)
    flat = len(shape) != 1 and all(map(is_contiguous, arrays)) and not any(map(is_ours, arrays))
    given = [reshaped(x, (-1,)) for x in arrays] if flat else arrays
    written = function(*given, *by)
    if is_op(written) or not flat:
        return written
    if written[0] is given[0]:
        return states
    return tuple([reshaped(x, shape) for x in written])  # arrays that cannot be written


@float_operation
def adamw(
    param: Any,
    grad: Any,
    exp_avg: Any,
    exp_avg_sq: Any,
    step: Any,
    lr: float = 1e-3,
    betas: tuple[float, float] = (0.9, 0.999),
    eps: float = 1e-8,
    weight_decay: float = 1e-2,
    *,
    maximize: bool = False,
) -> Any:
    """Step AdamW in place, and return `param`, `exp_avg` and `exp_avg_sq`.

    With g the gradient, m = beta1 * m + (1 - beta1) * g and v = beta2 * v + (1 - beta2) * g**2;
    then param = (1 - lr * weight_decay) * param - lr * (m / (1 - beta1**step)) / (sqrt(v / (1 -
    beta2**step)) + eps). `step` counts from 1. The states may have another type than the parameter,
    in whose type (f32 for f16 and bf16) is computed. JAX arrays cannot be written: the results are
    new ones.

    >>> p, m, v = np.ones(1, "f4"), np.zeros(1, "f4"), np.zeros(1, "f4")
    >>> ops.adamw(p, np.ones(1, "f4"), m, v, 1, lr=0.5, weight_decay=0)[0] is p
    True
    >>> p
    array([0.5], dtype=float32)
    """
    beta1, beta2 = betas
    if not (0.0 <= beta1 < 1.0 and 0.0 <= beta2 < 1.0):
        raise ValueError(f"`betas` of `adamw` are from 0 to less than 1, got {betas}")
    if not hasattr(step, "__float__"):
        raise TypeError(f"`step` of `adamw` is a number, or an array with one; got {step!r:.60}")
    if isinstance(step, int | float) and step < 1:
        raise ValueError(f"`step` of `adamw` counts from 1, got {step}")
    unbias1, unbias2 = 1.0 - beta1**step, 1.0 - beta2**step
    shares = (1.0 - lr * weight_decay, 1.0 - beta1, beta2, 1.0 - beta2)
    numbers = (*shares, lr / unbias1, unbias2**-0.5, eps)
    function = _ADAMW[maximize]
    return _stepped("adamw", function, (param, exp_avg, exp_avg_sq), grad, *numbers)


@float_operation
def sgd(
    param: Any,
    grad: Any,
    momentum_buffer: Any,
    lr: float = 1e-3,
    momentum: float = 0.0,
    dampening: float = 0.0,
    weight_decay: float = 0.0,
    *,
    nesterov: bool = False,
) -> Any:
    """Step gradient descent with momentum in place, and return `param` and `momentum_buffer`.

    With g = grad + weight_decay * param, b = momentum * b + (1 - dampening) * g, which is 0 at
    first, and param = param - lr * b; with `nesterov`, param - lr * (g + momentum * b).

    >>> p, b = np.ones(1, "f4"), np.zeros(1, "f4")
    >>> ops.sgd(p, np.ones(1, "f4"), b, lr=0.5)
    (array([0.5], dtype=float32), array([1.], dtype=float32))
    """
    numbers = (weight_decay, momentum, 1.0 - dampening, lr)
    return _stepped("sgd", _SGD[nesterov], (param, momentum_buffer), grad, *map(float, numbers))
