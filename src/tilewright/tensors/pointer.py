"""Typed raw addresses, for unsafe kernels and foreign code."""

from __future__ import annotations

from typing import Generic, TypeVar

from ..base.dtypes import DType
from .region import Region

E = TypeVar("E", bound=DType)


class DevicePointer(Generic[E]):
    """The address of a tensor's first element. Not a borrow; it only keeps the memory alive."""

    __slots__ = ("_region", "dtype", "record")

    def __init__(self, dtype: type[E], region: Region, record: Region | None = None) -> None:
        self.dtype = dtype
        self._region = region
        self.record = record
        """What native code reads of the memory; None: Python must list who uses it."""

    @property
    def address(self) -> int:
        """The address as an int."""
        return self._region.address

    def __int__(self) -> int:
        return self._region.address

    @property
    def region(self) -> Region:
        """The memory the pointer points into."""
        return self._region

    def __repr__(self) -> str:
        return f"DevicePointer({self.dtype.name}, 0x{self.address:x})"
