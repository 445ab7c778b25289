"""Bytes of memory that somebody uses, and whether two such sets have one in common."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._core import Extent as NativeExtent

_MOST_WORK: Any = 10_000
"""How many candidates the search for a common byte of two interleaved patterns may try."""


class Extent(NativeExtent):
    """The bytes from `start` to before `end`; in a subclass perhaps only some of them."""

    __slots__ = ()

    def overlaps(self, other: Extent) -> bool:
        """Return whether the two share addresses."""
        return max(self.start, other.start) < min(self.end, other.end)

    def meets(self, other: Extent) -> bool:
        """Return whether the two have a byte in common; in doubt they have."""
        if not self.overlaps(other):
            return False
        if self.is_dense and other.is_dense:
            return True
        base = min(self.start, other.start)
        try:
            return np.shares_memory(self.pattern(base), other.pattern(base), max_work=_MOST_WORK)
        except np.exceptions.TooHardError:
            return True

    def pattern(self, base: int) -> np.ndarray[Any, Any]:
        """Return the extent as an array at `base`, whose elements must never be read."""
        size = self.end - self.start
        return as_if_at(self.start - base, "|u1", (size,), (1,))


class _Claimed:
    """Addresses for NumPy's description of an array, which are never dereferenced."""

    __slots__ = ("__array_interface__",)

    def __init__(self, interface: dict[str, object]) -> None:
        self.__array_interface__ = interface


def as_if_at(
    address: int, typestr: str, shape: tuple[int, ...], strides: tuple[int, ...]
) -> np.ndarray[Any, Any]:
    """Return an array over addresses that may not be mapped, to compare with other arrays."""
    interface: dict[str, object] = {
        "version": 3,
        "typestr": typestr,
        "shape": shape,
        "strides": strides,
        "data": (address + _SOMEWHERE, True),
    }
    return np.asarray(_Claimed(interface))


_SOMEWHERE = 1 << 20
"""Far from address 0, which NumPy takes for no memory."""
