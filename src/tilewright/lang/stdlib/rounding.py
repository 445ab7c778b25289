"""Helpers of the standard library: the type in which floats are computed."""

from __future__ import annotations

from typing import Any

from ...base.dtypes import f32
from ..tile import N, Tile


def is_float(x: Any) -> bool:
    """Return whether a tile or a scalar has floats."""
    return bool(x.dtype.is_float)


def widened(x: Any) -> Tile[Any]:
    """Convert f16 and bf16 to f32, in which they are computed; leave other types alone.

    A Python number becomes a scalar.
    """
    wide: Tile[Any] = x.astype(f32 if x.dtype.is_float and x.dtype.bits == 16 else x.dtype)
    return wide


def rounded(wide: Any, like: N) -> N:
    """Round what was computed of `widened(like)` to the type of `like`."""
    given: Any = like
    result: N = wide.astype(given.dtype)
    return result
