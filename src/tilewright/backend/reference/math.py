"""Elementary functions: computed in f64 and rounded once; ceil, floor and sqrt are exact anyway."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from ...ir.core import Op
from . import floating
from .arithmetic import in_f32, rounded
from .exact import Array
from .machine import Frame, Results, Rule


def _in_f64(native: Callable[..., Array]) -> Rule:
    def rule(frame: Frame, op: Op) -> Results:
        return (floating.in_f64(native, op.result.tile.dtype, frame.arrays(op)),)

    return rule


def _rsqrt(a: Array) -> Array:
    return np.divide(1.0, np.sqrt(a))


_erf_of_objects = np.frompyfunc(math.erf, 1, 1)


def _erf(a: Array) -> Array:
    """NumPy has none; Python's own is within one unit of f64, number by number."""
    return np.asarray(_erf_of_objects(a), np.float64)


RULES: dict[str, Rule] = {
    "ceil": in_f32(np.ceil),
    "floor": in_f32(np.floor),
    "sin": _in_f64(np.sin),
    "cos": _in_f64(np.cos),
    "tan": _in_f64(np.tan),
    "sinh": _in_f64(np.sinh),
    "cosh": _in_f64(np.cosh),
    "tanh": _in_f64(np.tanh),
    "exp": _in_f64(np.exp),
    "expm1": _in_f64(np.expm1),
    "exp2": _in_f64(np.exp2),
    "log": _in_f64(np.log),
    "log1p": _in_f64(np.log1p),
    "log2": _in_f64(np.log2),
    "sqrt": rounded(np.sqrt),
    "rsqrt": _in_f64(_rsqrt),
    "erf": _in_f64(_erf),
    "pow": _in_f64(np.power),
    "atan2": _in_f64(np.arctan2),
}
