"""Functions that kernels of operations share: in which type they compute, and what they store."""

from __future__ import annotations

from typing import Any

from ..base.dtypes import AnyDType, f64, i32, int_range
from ..base.dtypes import f32 as f32
from ..lang import nan, neg_inf
from ..lang.stdlib.elementary import widened as widened


def sum_type(dtype: Any) -> AnyDType:
    """Return the type in which elements are computed: f64 for f64, else f32."""
    return f64 if dtype == f64 else f32


def rounded(tile: Any, like: Any) -> Any:
    """Round a tile to the element type of an output."""
    return tile.astype(like.dtype)


def as_scalar(number: Any, dtype: Any) -> Any:
    """Convert a number of a launch to the type that a kernel computes in."""
    return number.astype(dtype)


def lowest_of(dtype: Any) -> Any:
    """Return what no element of a type is below."""
    return neg_inf if dtype.is_float else _limit(dtype, 0)


def highest_of(dtype: Any) -> Any:
    """Return what no element of a type is above, in the order of sorts: NaN is the highest."""
    return nan if dtype.is_float else _limit(dtype, 1)


def _limit(dtype: Any, end: int) -> Any:
    limit = int_range(dtype)[end]
    return bool(limit) if dtype.is_bool else limit


def comparable(tile: Any) -> Any:
    """Return elements in a type that has an order: False and True become 0 and 1."""
    return tile.astype(i32) if tile.dtype.is_bool else widened(tile)
