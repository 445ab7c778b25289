"""A strided part of a storage: what tensors, views and kernel arguments have in common."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from ..base.dtypes import AnyDType, as_dtype, f4e2m1fn
from ..base.errors import ShapeError
from ..base.shapes import Shape, row_major_strides, size
from ..driver.protocol import Device
from ..op.place import Spot
from .borrow import Lease
from .storage import IMPORTS, Storage

_SAME_SIZE = {1: "|u1", 2: "<u2", 4: "<u4", 8: "<u8"}
"""NumPy's array interface has no names for ml_dtypes: memory is handed over as unsigned ints."""

WORD = (1 << 64) - 1


class Region:
    """Element type, shape, strides (in elements) and the address of the first element."""

    __slots__ = ("_words", "address", "dtype", "shape", "storage", "strides")

    def __init__(
        self, storage: Storage, dtype: AnyDType, shape: Shape, strides: Shape, address: int
    ) -> None:
        self.storage = storage
        self.dtype = dtype
        self.shape = shape
        self.strides = strides
        self.address = address
        self._words: tuple[int, ...] | None = None

    @property
    def unit_axis(self) -> int | None:
        """The axis of neighbouring elements: the last one if it can be, else any.

        Where an axis has at most one element, its stride means nothing and may be taken as 1.
        """
        shape, strides = self.shape, self.strides
        if not shape:
            return None
        if strides[-1] == 1 or shape[-1] <= 1:
            return len(shape) - 1
        return strides.index(1) if 1 in strides else None

    @property
    def words(self) -> tuple[int, ...]:
        """Address, extents and strides as the 64-bit words in which kernels receive them."""
        if self._words is None:
            unit = self.unit_axis
            strides = (1 if k == unit else s & WORD for k, s in enumerate(self.strides))
            self._words = (self.address, *self.shape, *strides)
        return self._words

    @property
    def is_contiguous(self) -> bool:
        """Whether the elements lie one after the other in row-major order."""
        rows = row_major_strides(self.shape)
        return size(self.shape) == 0 or all(
            n == 1 or a == b for n, a, b in zip(self.shape, self.strides, rows, strict=True)
        )

    @property
    def is_injective(self) -> bool:
        """Whether different indices surely mean different elements, as a written tensor needs."""
        reach = 1
        axes = sorted((abs(s), n) for s, n in zip(self.strides, self.shape, strict=True) if n > 1)
        for stride, extent in axes:
            if stride < reach:
                return False
            reach = stride * extent
        return True

    def span(self) -> tuple[int, int]:
        """The first byte address and the one behind the last."""
        return _span(self.address, self.shape, self.strides, self.dtype.itemsize)

    def overlaps(self, other: Region) -> bool:
        """Whether the two may share a byte."""
        (a, b), (c, d) = self.span(), other.span()
        return a < d and c < b and a < b and c < d

    def array(self) -> np.ndarray[Any, Any]:
        """The memory itself as a NumPy array, for work on the host; not to be handed to users."""
        return self._array(Lease(self._interface(readonly=False), self.storage, None))

    def leased(self, spot: Spot) -> np.ndarray[Any, Any]:
        """The memory as a read-only NumPy array; writing it is refused while a view of it lives."""
        lease = Lease(self._interface(readonly=True), self.storage, spot)
        self.storage.state.lease(lease)
        return self._array(lease)

    def without_memory(self) -> Region:
        """The description alone."""
        bare = Storage(self.storage.device, 0, self.storage.nbytes, None)
        return Region(bare, self.dtype, self.shape, self.strides, 0)

    def _array(self, lease: Lease) -> np.ndarray[Any, Any]:
        if 0 in self.shape:
            return np.empty(self.shape, self.dtype.np)
        return np.asarray(lease).view(self.dtype.np)

    def _interface(self, *, readonly: bool) -> dict[str, object]:
        item = self.dtype.itemsize
        return {
            "version": 3,
            "typestr": _SAME_SIZE[item],
            "shape": self.shape,
            "strides": tuple(s * item for s in self.strides),
            "data": (self.address, readonly),
        }


def _span(address: int, shape: Shape, strides: Shape, item: int) -> tuple[int, int]:
    if 0 in shape:
        return address, address
    low = high = 0
    for extent, stride in zip(shape, strides, strict=True):
        if stride < 0:
            low += (extent - 1) * stride
        else:
            high += (extent - 1) * stride
    return address + low * item, address + (high + 1) * item


@cache
def _element_type(dtype: np.dtype[Any]) -> AnyDType:
    return as_dtype(dtype)


def region_of_array(
    array: np.ndarray[Any, Any], device: Device, dtype: AnyDType | None = None
) -> Region:
    """A NumPy array's memory as a region; nothing is copied."""
    _refuse_unaddressable(array)
    found = _element_type(array.dtype) if dtype is None else dtype
    item = array.itemsize
    strides = tuple(s // item for s in array.strides)
    address: int = array.__array_interface__["data"][0]
    start, end = _span(address, array.shape, strides, item)
    return Region(IMPORTS.find(device, array, start, end), found, array.shape, strides, address)


def _refuse_unaddressable(array: np.ndarray[Any, Any]) -> None:
    if array.dtype == f4e2m1fn.np:
        raise ShapeError(
            "f4e2m1fn has no memory form of its own",
            expected="pairs of f4e2m1fn packed into bytes: dtype f4e2m1fnx2",
            got=f"a NumPy array of {array.dtype}",
        )
    item = array.itemsize
    if not array.flags.aligned or not array.dtype.isnative or any(s % item for s in array.strides):
        raise ShapeError(
            "a kernel cannot address this array",
            expected="aligned elements in native byte order, strides that are whole elements",
            got=f"dtype {array.dtype!r}, strides of {array.strides} bytes",
            hint="pass a copy: np.array(a, a.dtype.newbyteorder('='))",
        )
