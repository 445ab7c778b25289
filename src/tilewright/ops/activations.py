"""Activation functions and their gated forms, element by element, with gradients.

They take arrays of any shape with f32, f16, bf16 or f64; f16 and bf16 are computed in f32 and
rounded once. Names and arguments are those of `torch.nn.functional`.
"""

from __future__ import annotations

from typing import Any, Literal

from ..functions.function import Function
from ..lang import Tile, erf, exp, expm1, log1p, maximum, where, zeros
from ..lang import abs as magnitude
from ..lang import gelu as gelu_of
from ..lang import sigmoid as sigmoid_of
from ..lang import silu as silu_of
from ..lang import tanh as tanh_of
from .calling import float_operation, halves
from .elementwise import apply, binary, times_slope, unary, unary_of, unary_with_number

SQRT_HALF = 0.7071067811865476
DENSITY = 0.3989422804014327
"""Of a standard normal variable at 0."""
SQRT_2_PI = 0.7978845608028654
CUBIC = 0.044715


# --- formulas of tiles, in f32 or f64 ----------------------------------------------------------


def _relu(x: Tile[Any]) -> Tile[Any]:
    return maximum(x, 0.0)


def _relu_slope(x: Any) -> Any:
    return where(x > 0.0, 1.0, 0.0).astype(x.dtype)


def _flat(x: Any, *numbers: Any) -> Any:
    return zeros(x.shape, x.dtype)


def _sigmoid_slope(x: Any) -> Any:
    s = sigmoid_of(x)
    return s * (1.0 - s)


def _sigmoid_curve(x: Any) -> Any:
    s = sigmoid_of(x)
    return s * (1.0 - s) * (1.0 - 2.0 * s)


def _tanh_slope(x: Any) -> Any:
    t = tanh_of(x)
    return 1.0 - t * t


def _tanh_curve(x: Any) -> Any:
    t = tanh_of(x)
    return -2.0 * t * (1.0 - t * t)


def _silu_slope(x: Any) -> Any:
    s = sigmoid_of(x)
    return s * (1.0 + x * (1.0 - s))


def _silu_curve(x: Any) -> Any:
    s = sigmoid_of(x)
    return s * (1.0 - s) * (2.0 + x * (1.0 - 2.0 * s))


def _gelu(x: Any) -> Any:
    return gelu_of(x, "none")


def _gelu_slope(x: Any) -> Any:
    return 0.5 * (1.0 + erf(x * SQRT_HALF)) + x * DENSITY * exp(-0.5 * x * x)


def _gelu_curve(x: Any) -> Any:
    return DENSITY * exp(-0.5 * x * x) * (2.0 - x * x)


def _gelu_tanh(x: Any) -> Any:
    return gelu_of(x, "tanh")


def _gelu_tanh_slope(x: Any) -> Any:
    t = tanh_of(SQRT_2_PI * (x + CUBIC * (x * x * x)))
    return 0.5 * (1.0 + t) + 0.5 * x * (1.0 - t * t) * SQRT_2_PI * (1.0 + 3.0 * CUBIC * x * x)


def _gelu_tanh_curve(x: Any) -> Any:
    t = tanh_of(SQRT_2_PI * (x + CUBIC * (x * x * x)))
    slope = SQRT_2_PI * (1.0 + 3.0 * CUBIC * x * x)
    curve = 6.0 * SQRT_2_PI * CUBIC * x
    return (1.0 - t * t) * (slope + 0.5 * x * (curve - 2.0 * t * slope * slope))


def _softplus(x: Tile[Any]) -> Tile[Any]:
    return maximum(x, 0.0) + log1p(exp(-magnitude(x)))


def _leaky_relu(x: Any, slope: Any) -> Any:
    return where(x > 0.0, x, x * slope)


def _leaky_relu_slope(x: Any, slope: Any) -> Any:
    return where(x > 0.0, 1.0, slope * (x * 0.0 + 1.0))


def _elu(x: Any, alpha: Any) -> Any:
    return where(x > 0.0, x, alpha * expm1(x))


def _elu_slope(x: Any, alpha: Any) -> Any:
    return where(x > 0.0, 1.0, alpha * exp(x))


def _elu_curve(x: Any, alpha: Any) -> Any:
    return where(x > 0.0, 0.0, alpha * exp(x))


FORMULAS: dict[str, tuple[Any, ...]] = {
    "relu": (_relu, _relu_slope, _flat),
    "sigmoid": (sigmoid_of, _sigmoid_slope, _sigmoid_curve),
    "tanh": (tanh_of, _tanh_slope, _tanh_curve),
    "silu": (silu_of, _silu_slope, _silu_curve),
    "gelu": (_gelu, _gelu_slope, _gelu_curve),
    "gelu_tanh": (_gelu_tanh, _gelu_tanh_slope, _gelu_tanh_curve),
}
"""Activations of one tile by name, and their first two derivatives."""
SLOPES = {name: times_slope(f"{name}_backward", *rest) for name, (_, *rest) in FORMULAS.items()}
"""By name: dy * derivative(x) of arrays."""


def activated(x: Any, name: str) -> Any:
    """Return the activation of a tile by name, in kernels: each launch would watch a dict."""
    if name == "relu":
        return _relu(x)
    if name == "sigmoid":
        return sigmoid_of(x)
    if name == "tanh":
        return tanh_of(x)
    if name == "silu":
        return silu_of(x)
    return _gelu(x) if name == "gelu" else _gelu_tanh(x)


# --- functions of arrays -----------------------------------------------------------------------

ACTIVATIONS = {
    name: unary_of(name, formula, SLOPES[name]) for name, (formula, *_) in FORMULAS.items()
}
"""By name: functions of arrays."""
_RELU, _SIGMOID, _TANH, _SILU = (ACTIVATIONS[name] for name in ("relu", "sigmoid", "tanh", "silu"))
_SOFTPLUS = unary("softplus", _softplus, sigmoid_of, _sigmoid_slope)
_LEAKY_RELU = unary_with_number("leaky_relu", _leaky_relu, _leaky_relu_slope, _flat)
_ELU = unary_with_number("elu", _elu, _elu_slope, _elu_curve)
_GELU = {"none": ACTIVATIONS["gelu"], "tanh": ACTIVATIONS["gelu_tanh"]}


@float_operation
def relu(x: Any) -> Any:
    """Compute max(x, 0).

    >>> ops.relu(np.array([-1.0, 2.0], "f4"))
    array([0., 2.], dtype=float32)
    """
    return apply(_RELU, x)


@float_operation
def sigmoid(x: Any) -> Any:
    """Compute 1 / (1 + exp(-x)).

    >>> ops.sigmoid(np.array([0.0], "f4"))
    array([0.5], dtype=float32)
    """
    return apply(_SIGMOID, x)


@float_operation
def tanh(x: Any) -> Any:
    """Compute the hyperbolic tangent, (exp(x) - exp(-x)) / (exp(x) + exp(-x)).

    >>> ops.tanh(np.array([0.0], "f4"))
    array([0.], dtype=float32)
    """
    return apply(_TANH, x)


@float_operation
def silu(x: Any) -> Any:
    """Compute x / (1 + exp(-x)), also known as swish.

    >>> ops.silu(np.array([0.0, 1.0], "f4")).round(3)
    array([0.   , 0.731], dtype=float32)
    """
    return apply(_SILU, x)


@float_operation
def gelu(x: Any, approximate: Literal["none", "tanh"] = "none") -> Any:
    """Compute x * (1 + erf(x / sqrt(2))) / 2.

    `approximate="tanh"` computes x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x**3))) / 2.

    >>> ops.gelu(np.array([0.0, 1.0], "f4")).round(3)
    array([0.   , 0.841], dtype=float32)
    """
    if approximate not in _GELU:
        raise ValueError(f"`gelu` approximates by 'none' or 'tanh', got {approximate!r}")
    return apply(_GELU[approximate], x)


@float_operation
def softplus(x: Any) -> Any:
    """Compute log(1 + exp(x)) without overflow.

    >>> ops.softplus(np.array([0.0, 100.0], "f4")).round(3)
    array([  0.693, 100.   ], dtype=float32)
    """
    return apply(_SOFTPLUS, x)


@float_operation
def leaky_relu(x: Any, negative_slope: float = 0.01) -> Any:
    """Compute x where it is positive, else negative_slope * x.

    >>> ops.leaky_relu(np.array([-2.0, 2.0], "f4"), 0.5)
    array([-1.,  2.], dtype=float32)
    """
    return apply(_LEAKY_RELU, x, float(negative_slope))


@float_operation
def elu(x: Any, alpha: float = 1.0) -> Any:
    """Compute x where it is positive, else alpha * (exp(x) - 1).

    >>> ops.elu(np.array([-1e9, 2.0], "f4"), 0.5)
    array([-0.5,  2. ], dtype=float32)
    """
    return apply(_ELU, x, float(alpha))


# --- gated forms -------------------------------------------------------------------------------


def _gated(name: str, by: str) -> Function:
    """Return the function activation(gate) * up."""
    activation, slope, _ = FORMULAS[by]

    def formula(gate: Any, up: Any) -> Any:
        return activation(gate) * up

    def derivatives(gate: Any, up: Any) -> tuple[Any, Any]:
        return slope(gate) * up, activation(gate)

    def gradients(dz: Any, x: Any, y: Any) -> tuple[Any, Any]:
        return SLOPES[by](dz * y, x), dz * ACTIVATIONS[by](x)

    return binary(name, formula, derivatives, gradients)


_SWIGLU, _REGLU, _GATED_SIGMOID = (
    _gated(*names) for names in (("swiglu", "silu"), ("reglu", "relu"), ("glu", "sigmoid"))
)
_GEGLU = {"none": _gated("geglu", "gelu"), "tanh": _gated("geglu_tanh", "gelu_tanh")}


@float_operation
def swiglu(gate: Any, up: Any) -> Any:
    """Compute silu(gate) * up of two arrays of one shape.

    >>> ops.swiglu(np.array([1.0], "f4"), np.array([2.0], "f4")).round(3)
    array([1.462], dtype=float32)
    """
    return apply(_SWIGLU, gate, up)


@float_operation
def geglu(gate: Any, up: Any, approximate: Literal["none", "tanh"] = "none") -> Any:
    """Compute gelu(gate, approximate) * up of two arrays of one shape.

    >>> ops.geglu(np.array([1.0], "f4"), np.array([2.0], "f4")).round(3)
    array([1.683], dtype=float32)
    """
    if approximate not in _GEGLU:
        raise ValueError(f"`geglu` approximates by 'none' or 'tanh', got {approximate!r}")
    return apply(_GEGLU[approximate], gate, up)


@float_operation
def reglu(gate: Any, up: Any) -> Any:
    """Compute relu(gate) * up of two arrays of one shape.

    >>> ops.reglu(np.array([-1.0, 1.0], "f4"), np.array([2.0, 2.0], "f4"))
    array([0., 2.], dtype=float32)
    """
    return apply(_REGLU, gate, up)


@float_operation
def glu(x: Any, axis: int = -1, *, dim: int | None = None) -> Any:
    """Compute a * sigmoid(b), where a and b are the halves of x along an axis.

    >>> ops.glu(np.array([3.0, 0.0], "f4"))
    array([1.5], dtype=float32)
    """
    a, b = halves("glu", x, axis if dim is None else dim)
    return apply(_GATED_SIGMOID, b, a)
