"""Typed raw addresses, for unsafe kernels and foreign code."""

from __future__ import annotations

from typing import Generic, TypeVar

from ..base.dtypes import DType
from .region import Region

E = TypeVar("E", bound=DType)


class DevicePointer(Generic[E]):
    """The address of a tensor's first element. Not a borrow; it only keeps the memory alive."""

    __slots__ = ("dtype", "region")

    def __init__(self, dtype: type[E], region: Region) -> None:
        self.dtype = dtype
        self.region = region
        """The memory the pointer points into."""

    @property
    def address(self) -> int:
        """The address as an int."""
        return self.region.address

    def __int__(self) -> int:
        return self.region.address

    def __repr__(self) -> str:
        return f"DevicePointer({self.dtype.name}, 0x{self.address:x})"
