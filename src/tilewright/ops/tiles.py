"""Functions that kernels of operations share: in which type they compute, and what they store."""

from __future__ import annotations

from typing import Any

from ..base.dtypes import AnyDType, f64
from ..base.dtypes import f32 as f32
from ..lang.stdlib.rounding import widened as widened


def sum_type(dtype: Any) -> AnyDType:
    """Return the type in which elements are computed: f64 for f64, else f32."""
    return f64 if dtype == f64 else f32


def rounded(tile: Any, like: Any) -> Any:
    """Round a tile to the element type of an output."""
    return tile.astype(like.dtype)


def as_scalar(number: Any, dtype: Any) -> Any:
    """Convert a number of a launch to the type that a kernel computes in."""
    return number.astype(dtype)
