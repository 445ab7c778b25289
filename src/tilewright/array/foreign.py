"""Host arrays of other libraries, seen through NumPy without a copy."""

from __future__ import annotations

from typing import Any, TypeGuard

import numpy as np


def is_array(x: object) -> TypeGuard[np.ndarray[Any, Any]]:
    """Tell whether x is a NumPy array."""
    return isinstance(x, np.ndarray)


def aliased(x: Any) -> np.ndarray[Any, Any] | None:
    """The NumPy array that shares x's memory; None where x is no host array."""
    if is_array(x):
        return x
    if _is_scalar(x):
        return None
    if hasattr(x, "__array_interface__"):
        return np.asarray(x)
    if hasattr(x, "__dlpack__"):
        return np.from_dlpack(x)
    return None


def _is_scalar(x: object) -> bool:
    return isinstance(x, np.generic)
