"""Fills tensors with a conspicuous value, so that reads of unwritten elements are visible."""

from __future__ import annotations

import math
from typing import Any, TypeVar

from ..base.dtypes import AnyDType, bool_, f4e2m1fnx2, int_range
from ..kernels.filling import fill
from ..tensors.create import asarray
from ..tensors.foreign import is_array
from ..tensors.tensor import BorrowMut, Tensor

T = TypeVar("T")

_SPECIAL: dict[AnyDType, Any] = {bool_: True, f4e2m1fnx2: -1.5}
"""What types get that have neither NaN nor all bit patterns."""


def poison(target: T) -> T:
    """Overwrite a tensor or an array: floats with NaN, integers with bytes 0xAB. Returns it."""
    written: Any = asarray(target) if is_array(target) else target
    if type(written) not in (Tensor, BorrowMut):
        raise TypeError(f"poison takes a tensor or an array, got {type(target).__name__}")
    tensor: Tensor[Any] = written
    fill(tensor, poison_of(tensor.dtype)).sync()
    return target


def poison_of(dtype: AnyDType) -> Any:
    """Return the value that `poison` writes."""
    if dtype in _SPECIAL:
        return _SPECIAL[dtype]
    if dtype.is_float:
        return math.nan
    pattern = int.from_bytes(b"\xab" * dtype.itemsize, "little")
    low, high = int_range(dtype)
    return (pattern - low) % (high - low + 1) + low
