"""Every exact operation on floats beside the same in NumPy."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from tilewright.base.dtypes import AnyDType, f64

Array = np.ndarray[Any, np.dtype[Any]]
Float = Callable[[Any, Any, Any], Any]
"""A function of two arrays and of what rounds to their type."""


def ordered(function: Callable[..., Any]) -> Float:
    """NumPy's extrema, but with +0 greater than -0."""

    def extreme(a: Any, b: Any, _: Any) -> Any:
        sign = function(np.copysign(1, a), np.copysign(1, b))
        return np.where((a == 0) & (b == 0), np.copysign(0 * sign, sign), function(a, b))

    return extreme


def clamped(a: Any, low: Any, high: Any) -> Any:
    return ordered(np.minimum)(ordered(np.maximum)(a, low, None), high, None)


EXACT: dict[str, Float] = {
    **dict.fromkeys(("a + b", "tl.addf(a, b)"), lambda a, b, r: a + b),
    **dict.fromkeys(("a - b", "tl.subf(a, b)"), lambda a, b, r: a - b),
    **dict.fromkeys(("a * b", "tl.mulf(a, b)"), lambda a, b, r: a * b),
    **dict.fromkeys(
        ("a / b", "tl.true_div(a, b)", "tl.true_div(a, b, precise=True)", "tl.divf(a, b)"),
        lambda a, b, r: a / b,
    ),
    **dict.fromkeys(
        ("a // b", "tl.floor_div(a, b)", "divmod(a, b)[0]"), lambda a, b, r: np.floor(r(a / b))
    ),
    **dict.fromkeys(("a % b", "divmod(a, b)[1]"), lambda a, b, r: np.mod(a, b)),
    "tl.remf(a, b)": lambda a, b, r: np.fmod(a, b),
    **dict.fromkeys(("-a", "tl.negf(a)"), lambda a, b, r: -a),
    "+a": lambda a, b, r: a,
    **dict.fromkeys(("abs(a)", "tl.abs(a)", "tl.absf(a)"), lambda a, b, r: abs(a)),
    "tl.floor(a)": lambda a, b, r: np.floor(a),
    "tl.round(a)": lambda a, b, r: np.rint(a),
    "tl.ceil(a)": lambda a, b, r: np.ceil(a),
    **dict.fromkeys(
        ("tl.maximum(a, b)", "tl.max_tile(a, b)", "tl.maxf(a, b)"), ordered(np.maximum)
    ),
    **dict.fromkeys(
        ("tl.minimum(a, b)", "tl.min_tile(a, b)", "tl.minf(a, b)"), ordered(np.minimum)
    ),
    "tl.maxf(a, b, nan=False)": ordered(np.fmax),
    "tl.minf(a, b, nan=False)": ordered(np.fmin),
    "tl.clamp(a, -1.0, 1.5)": lambda a, b, r: clamped(a, -1.0, 1.5),
    "tl.clamp(a, b, 2)": lambda a, b, r: clamped(a, b, np.float32(2)),
    "tl.where(a < b, a, b)": lambda a, b, r: np.where(a < b, a, b),
    "tl.select(a != a, 7, a)": lambda a, b, r: np.where(np.isnan(a), 7, a),
    "tl.sqrt(a)": lambda a, b, r: np.sqrt(a),
    "tl.sqrt(a, precise=True)": lambda a, b, r: np.sqrt(a),
    "a + 1": lambda a, b, r: a + 1,
    "2.5 - a": lambda a, b, r: 2.5 - a,
    "a * 0.1": lambda a, b, r: a * r(np.full(1, 0.1, a.dtype)),
    "1.0 / a": lambda a, b, r: 1 / a,
    "a // 0.5": lambda a, b, r: np.floor(r(a / 0.5)),
    "a % 3": lambda a, b, r: np.mod(a, 3),
    "a - a": lambda a, b, r: a - a,
    "a * 0.0": lambda a, b, r: a * 0,
    "a + 0.0": lambda a, b, r: a + 0.0,
    "0.0 - a": lambda a, b, r: 0.0 - a,
    "0.0 + a": lambda a, b, r: 0.0 + a,
    "tl.neg_zero + a": lambda a, b, r: -0.0 + a,
    "a - 0.0": lambda a, b, r: a - 0.0,
    "a * 1.0": lambda a, b, r: a * 1,
    "a * -1.0": lambda a, b, r: -a,
    "a / 1.0": lambda a, b, r: a / 1,
    "a / 2.0": lambda a, b, r: a / 2,
    "a / 3.0": lambda a, b, r: a / 3,
    "-(-a)": lambda a, b, r: a,
    "a - (-b)": lambda a, b, r: a + b,
    "tl.maximum(a, a)": lambda a, b, r: a,
    "tl.where(a == a, a, a)": lambda a, b, r: a,
}

COMPARED: dict[str, Callable[[Any, Any], Any]] = {
    **{
        text: function
        for symbol, name, function in (
            ("<", "lt", operator.lt), ("<=", "le", operator.le), (">", "gt", operator.gt),
            (">=", "ge", operator.ge), ("==", "eq", operator.eq), ("!=", "ne", operator.ne),
        )
        for text in (f"a {symbol} b", f"tl.{name}_tile(a, b)")
    },
    **{
        f"tl.cmpf(a, b, '{name}', unordered={unordered})":
            lambda a, b, f=f, u=unordered: np.where(np.isnan(a) | np.isnan(b), u, f(a, b))
        for name, f in (("lt", operator.lt), ("le", operator.le), ("gt", operator.gt),
                        ("ge", operator.ge), ("eq", operator.eq), ("ne", operator.ne))
        for unordered in (False, True)
    },
    "a < 1.5": lambda a, b: a < 1.5,
    "a == a": lambda a, b: a == a,
    "a != a": lambda a, b: a != a,
    "a <= a": lambda a, b: a <= a,
    "~(a < b)": lambda a, b: ~(a < b),
    "~(a != b)": lambda a, b: ~(a != b),
    "(a < b) | (a >= b)": lambda a, b: (a < b) | (a >= b),
    "~(a >= b) & (b == b)": lambda a, b: ~(a >= b) & (b == b),
}  # fmt: skip


def computed(function: Callable[..., Any], dtype: AnyDType, *arrays: Array) -> Array:
    """A function of NumPy arrays; f16 and bf16 compute in f32, which rounds right for these."""
    base = np.float64 if dtype is f64 else np.float32
    with np.errstate(all="ignore"):
        # NumPy has its own mind about signalling NaNs: quiet ones only.
        given = [np.where(np.isnan(x), np.nan, x.astype(base)).astype(base) for x in arrays]
        result = function(*given)
        return np.asarray(result, base).astype(dtype.np)


def rounder(dtype: AnyDType) -> Callable[[Any], Any]:
    """Rounds a wider array to a type, as each step of a computation in it does."""
    return lambda x: x.astype(dtype.np).astype(x.dtype)
