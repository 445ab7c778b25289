"""Functions of 16-bit floats over all their inputs, and how far results are from exact ones."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

import tilewright as tw
import tilewright.lang as tl
from support.expressions import run
from support.functions import WIDE, erf
from tilewright import simt
from tilewright.base.dtypes import AnyDType, bf16, f16

Array = np.ndarray[Any, Any]

BOUND = 0.76
"""Ulps of the rounded result: a half for rounding, a quarter for what it hides, some for f32."""
FLUSHED = 2.0**-119
"""What results below it may be off: they are computed from subnormal numbers, which a GPU flushes,
or exp(-x) in x / (1 + exp(-x)) overflows."""
LIMIT = 1e15
"""Larger arguments of trigonometric functions are beyond NumPy's own."""


def _logistic(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def _gelu(x: Array) -> Array:
    return x * _logistic(WIDE(2) * np.sqrt(2 / WIDE(np.pi)) * (x + WIDE(0.044715) * x**3))


def _erfc(x: Array) -> Array:
    """The complementary error function; f64 suffices for floats of 16 bits."""
    return np.vectorize(math.erfc, [float])(x.astype(np.float64)).astype(WIDE)


def _normal(x: Array) -> Array:
    return _erfc(-x * np.sqrt(WIDE(0.5))) / 2


FUNCTIONS: dict[str, tuple[str, Callable[[Array], Array]]] = {
    **{name: (f"tl.{name}({{}})", getattr(np, name))
       for name in ("exp", "exp2", "tanh", "sqrt", "sinh", "cosh", "tan", "sin", "cos",
                    "log", "log2", "expm1", "log1p", "cbrt")},
    "rsqrt": ("tl.rsqrt({})", lambda x: 1 / np.sqrt(x)),
    "erf": ("tl.erf({})", erf),
    "reciprocal": ("1.0 / {}", lambda x: 1 / x),
    "quotient": ("{} / 3.0", lambda x: x / 3),
    "sigmoid": ("tl.sigmoid({})", _logistic),
    "silu": ("tl.silu({})", lambda x: x * _logistic(x)),
    "gelu": ("tl.gelu({}, 'tanh')", _gelu),
    "gelu by erf": ("tl.gelu({})", lambda x: x * _normal(x)),
    "one and erf": ("1.0 + tl.erf({})", lambda x: _erfc(-x)),
    "one less erf": ("1.0 - tl.erf({})", _erfc),
    "scaled power": ("tl.exp({} * -0.7)", lambda x: np.exp(x * WIDE(np.float32(-0.7)))),
    "one and a tangent": ("1.0 + tl.tanh({})", lambda x: 2 * _logistic(2 * x)),
    "one less a tangent": ("1.0 - tl.tanh({})", lambda x: 2 * _logistic(-2 * x)),
    "of a sum": ("tl.rsqrt(abs({0}) + 0.25)", lambda x: 1 / np.sqrt(np.abs(x) + WIDE(0.25))),
    "a product": ("tl.exp({0}) * tl.exp2({0})", lambda x: np.exp(x) * np.exp2(x)),
    "swish": ("{0} / (1.0 + tl.exp(-1.5 * {0}))", lambda x: x * _logistic(WIDE(1.5) * x)),
}  # fmt: skip
"""Functions by name: how a kernel computes them of a tile, and what they are."""
ROUNDS_BEFORE = ("scaled power", "one and a tangent", "one less a tangent", "of a sum", "a product",
                 "swish", "one and erf", "one less erf")  # fmt: skip
"""Expressions of several ops: of 16-bit floats each of them would be rounded."""


def all_inputs(dtype: AnyDType) -> Array:
    """All numbers of a type of 16 bits."""
    return np.arange(1 << 16, dtype=np.uint16).view(dtype.np)


def text_of(name: str, dtype: AnyDType) -> str:
    """How a kernel computes a function in f32 and rounds it to a type."""
    return f"({FUNCTIONS[name][0].format('x.astype(tw.f32)')}).astype(tw.{dtype.name})"


def computed(name: str, dtype: AnyDType, device: Any, *, widened: bool = True) -> Array:
    """What a device makes of all inputs, in a kernel of its own: it shares no part with others."""
    text = text_of(name, dtype) if widened else FUNCTIONS[name][0].format("x")
    (found,) = run([text], device, {"x": all_inputs(dtype)}, dtype, tile=(8192,))
    made: Array = found
    return made


THREADS = """
@simt.kernel
def kernel(out: simt.DisjointSlice[T], given: simt.Slice[T]) -> None:
    i = simt.index_1d()
    if i < len(out):
        x = given[i]
        out[i] = {}
"""


def computed_by_threads(name: str, dtype: AnyDType) -> Array:
    """What a SIMT kernel of the default device makes of all inputs."""
    names = {"tw": tw, "tl": tl, "simt": simt, "T": dtype}
    kernel: Any = tw.exec(THREADS.format(text_of(name, dtype)), names)["kernel"]
    out = tw.empty((1 << 16,), dtype).sync()
    kernel(out.borrow_mut(), tw.from_numpy(all_inputs(dtype)).sync()).sync()
    found: Array = out.to_numpy()
    return found


def exact(name: str, dtype: AnyDType) -> Array:
    """The function as long doubles, NaN where it is none."""
    with np.errstate(all="ignore"):
        return np.asarray(FUNCTIONS[name][1](all_inputs(dtype).astype(WIDE)), WIDE)


def most_ulps(name: str, dtype: AnyDType, found: Array) -> tuple[float, float]:
    """The greatest error of finite results in ulps of the type, and the argument that has it.

    Special results must be equal; the signs of zeros are left open.
    """
    with np.errstate(all="ignore"):
        x, wanted = all_inputs(dtype).astype(np.float64), exact(name, dtype)
        near = wanted.astype(np.float32).astype(dtype.np).astype(np.float64)
        got = found.astype(np.float64)
        keep = (np.abs(x) < LIMIT) | ~np.isfinite(x) | (name not in ("sin", "cos", "tan"))
        special = keep & ~np.isfinite(near)
        np.testing.assert_array_equal(got[special], near[special], err_msg=name)
        step = ulp(wanted, dtype)
        error = np.where(keep & np.isfinite(near), np.abs(got - wanted) / step, 0)
        tiny = (np.abs(wanted) < FLUSHED) & (np.abs(got - wanted) < FLUSHED)
        error = np.where(tiny, 0, error)
    assert not np.isnan(error).any(), f"{name}: NaN for {x[np.isnan(error)][:4]}"
    return float(error.max()), float(x[error.argmax()])


def ulp(wanted: Array, dtype: AnyDType) -> Array:
    """The distance between neighbours of a type at numbers."""
    fraction, least = {f16: (10, -24), bf16: (7, -133)}[dtype]
    with np.errstate(all="ignore"):
        exponent = np.floor(np.log2(np.abs(wanted).astype(np.float64)))
    return np.exp2(np.maximum(np.where(np.isfinite(exponent), exponent - fraction, least), least))
