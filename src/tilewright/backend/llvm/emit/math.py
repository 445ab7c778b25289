"""Elementary functions: our own polynomials, and what the CPU has as instructions."""

from __future__ import annotations

from . import rounding
from .arithmetic import rounded
from .emitter import Compute
from .floats import intrinsic, library, simple

OWN = (
    "sin", "cos", "tan", "sinh", "cosh", "tanh", "exp", "expm1", "exp2", "log", "log1p", "log2",
    "rsqrt", "erf", "pow", "atan2",
)  # fmt: skip

TABLE: dict[str, Compute] = {
    "ceil": simple(intrinsic("ceil")),
    "floor": simple(intrinsic("floor")),
    "sqrt": rounded(intrinsic("sqrt"), rounding.square_root),
    **{name: library(name) for name in OWN},
}
