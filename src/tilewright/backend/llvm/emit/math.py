"""Elementary functions: our own polynomials, and what the CPU has as instructions."""

from __future__ import annotations

from . import rounding
from .arithmetic import rounded
from .emitter import Compute
from .floats import intrinsic, library, simple

OWN = (
    "sin", "cos", "tan", "sinh", "cosh", "tanh", "exp", "exp2", "log", "log2", "rsqrt", "pow",
    "atan2",
)  # fmt: skip

TABLE: dict[str, Compute] = {
    "ceil": simple(intrinsic("ceil")),
    "floor": simple(intrinsic("floor")),
    "sqrt": rounded(intrinsic("sqrt"), rounding.square_root),
    **{name: library(name) for name in OWN},
}
