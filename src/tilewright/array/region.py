"""A strided part of a storage: what tensors, views and kernel arguments have in common."""

from __future__ import annotations

import ctypes
from functools import lru_cache
from typing import Any, cast

import numpy as np

from ..base.dtypes import AnyDType, as_dtype, f4e2m1fn
from ..base.errors import ShapeError
from ..base.shapes import Shape
from ..driver.protocol import Device
from ..op.place import Spot
from .borrow import Lease
from .layout import MOST_KEPT, Layout, layout_of
from .storage import IMPORTS, Storage

_SAME_SIZE = {1: "|u1", 2: "<u2", 4: "<u4", 8: "<u8"}
"""NumPy's array interface has no names for ml_dtypes: memory is handed over as unsigned ints."""


class Region:
    """A layout laid over memory: the address of its first element, and the bytes it spans."""

    __slots__ = ("address", "end", "layout", "start", "storage")

    def __init__(self, storage: Storage, layout: Layout, address: int) -> None:
        self.storage = storage
        self.layout = layout
        self.address = address
        self.start = address + layout.low
        """The lowest byte address."""
        self.end = address + layout.high
        """The byte address behind the last; the start, where there are no elements."""

    @property
    def dtype(self) -> AnyDType:
        """The element type."""
        return self.layout.dtype

    @property
    def shape(self) -> Shape:
        """The extent of each axis."""
        return self.layout.shape

    @property
    def strides(self) -> Shape:
        """How many elements apart neighbours along each axis are."""
        return self.layout.strides

    def overlaps(self, other: Region) -> bool:
        """Whether the two may share a byte."""
        return max(self.start, other.start) < min(self.end, other.end)

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
        return Region(Storage(self.storage.device, 0, self.storage.nbytes, None), self.layout, 0)

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


def region_of_array(
    array: np.ndarray[Any, Any], device: Device, dtype: AnyDType | None = None
) -> Region:
    """A NumPy array's memory as a region; nothing is copied."""
    flags = array.flags
    if not flags.aligned:
        raise _unaddressable(array.dtype, array.strides)
    layout, buffered = _layout_of_array(array.dtype, array.shape, array.strides, dtype)
    writeable = flags.writeable
    if buffered and writeable and flags.c_contiguous:
        # Takes a third of the time of the other way.
        address = ctypes.addressof(ctypes.c_char.from_buffer(cast("Any", array)))
    else:
        address = int(array.__array_interface__["data"][0])
    start, end = address + layout.low, address + layout.high
    return Region(IMPORTS.find(device, array, start, end, not writeable), layout, address)


@lru_cache(MOST_KEPT)
def _layout_of_array(
    form: np.dtype[Any], shape: Shape, strides: Shape, dtype: AnyDType | None
) -> tuple[Layout, bool]:
    """The layout of arrays alike, whose strides are in bytes; whether they can be a buffer."""
    if form == f4e2m1fn.np:
        raise ShapeError(
            "f4e2m1fn has no memory form of its own",
            expected="pairs of f4e2m1fn packed into bytes: dtype f4e2m1fnx2",
            got=f"a NumPy array of {form}",
        )
    if not form.isnative:
        raise _unaddressable(form, strides)
    found = as_dtype(form) if dtype is None else dtype
    item = form.itemsize
    if any(s % item for s in strides):
        raise _unaddressable(form, strides)
    layout = layout_of(found, shape, tuple(s // item for s in strides))
    return layout, form.isbuiltin == 1 and 0 not in shape


def _unaddressable(form: np.dtype[Any], strides: Shape) -> ShapeError:
    return ShapeError(
        "a kernel cannot address this array",
        expected="aligned elements in native byte order, strides that are whole elements",
        got=f"dtype {form!r}, strides of {strides} bytes",
        hint="pass a copy: np.array(a, a.dtype.newbyteorder('='))",
    )
