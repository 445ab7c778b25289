"""A strided part of a storage: what tensors, views and kernel arguments have in common."""

from __future__ import annotations

import ctypes
from functools import lru_cache
from threading import get_ident
from typing import Any

import numpy as np

from .._core import Region as NativeRegion
from .._core import find_import, set_region_class
from ..base.dtypes import AnyDType, as_dtype, f4e2m1fn
from ..base.errors import ShapeError
from ..base.shapes import Shape
from ..devices.protocol import Device
from ..op.nesting import RECORDERS
from .extent import Extent, as_if_at
from .layout import MOST_KEPT, Layout, layout_of
from .lease import Holder
from .storage import Storage
from .written import Runs, runs_of

_char_at_start: Any = ctypes.c_char.from_buffer
_SAME_SIZE = {1: "|u1", 2: "<u2", 4: "<u4", 8: "<u8"}
"""NumPy's array interface has no names for ml_dtypes: memory is handed over as unsigned ints."""


class Laid(Extent):
    """A layout laid over addresses: those of its elements."""

    __slots__ = ()

    layout: Layout
    address: int

    def pattern(self, base: int) -> np.ndarray[Any, Any]:
        """Return its elements as an array that must never be read."""
        item = self.layout.dtype.itemsize
        strides = tuple([s * item for s in self.layout.strides])
        return as_if_at(self.address - base, _SAME_SIZE[item], self.layout.shape, strides)


class Footprint(Laid):
    """The addresses of a region. It keeps no memory."""

    __slots__ = ("address", "layout")

    def __init__(self, layout: Layout, address: int) -> None:
        super().__init__(address + layout.low, address + layout.high)
        self.layout = layout
        self.address = address
        self.is_dense = layout.covers == layout.high - layout.low


class Region(NativeRegion, Laid):
    """A layout laid over memory: the address of its first element, and the bytes it spans.

    Launches read what they need of it natively.
    """

    __slots__ = ()

    layout: Layout
    storage: Storage

    def meets(self, other: Extent) -> bool:
        """Return whether the two have a byte in common; in doubt they have."""
        if self.storage.is_meta or (isinstance(other, Region) and other.storage.is_meta):
            # Descriptions all begin at address 0.
            same = isinstance(other, Region) and other.storage is self.storage
            return same and super().meets(other)
        return super().meets(other)

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

    def array(self) -> np.ndarray[Any, Any]:
        """Return the memory as a NumPy array for host work; never pass it to users."""
        assert self.storage.device.host_visible, "the host would die of reading it"
        return self.array_over(Holder(self.interface(readonly=False), self.storage))

    def footprint(self) -> Footprint:
        """Return its addresses, without a reference to the memory."""
        return Footprint(self.layout, self.address)

    @property
    def is_written(self) -> bool:
        """Whether all its elements have been written."""
        storage = self.storage
        return storage.initialized or storage.has_written(self.runs()) or self._is_promised()

    def _is_promised(self) -> bool:
        """Return whether work captured by this thread writes it, so that later captures may read
        it.
        """
        recorder = RECORDERS.get(get_ident()) if RECORDERS else None
        return recorder is not None and recorder.promises(self)

    def mark_written(self) -> None:
        """Note that work that writes it has been started."""
        storage = self.storage
        if not storage.initialized:
            if self.is_whole:
                storage.initialized = True
            else:
                storage.add_written(self.runs())

    def without_memory(self) -> Region:
        """Return the description alone."""
        return Region(Storage(self.storage.device, 0, self.storage.nbytes, None), self.layout, 0)

    def runs(self) -> Runs:
        """Return the bytes of its elements."""
        item = self.dtype.itemsize
        return runs_of(self.address, item, self.shape, tuple([s * item for s in self.strides]))

    def array_over(self, holder: Holder) -> np.ndarray[Any, Any]:
        """Return the array of a holder that describes it; pass it to users only with a lease."""
        if 0 in self.shape:
            return np.empty(self.shape, self.dtype.np)
        return np.asarray(holder).view(self.dtype.np)

    def interface(self, *, readonly: bool) -> dict[str, object]:
        """Return its description by NumPy's array interface."""
        return interface_of(self.layout, self.address, readonly=readonly)


set_region_class(Region)


def interface_of(layout: Layout, address: int, *, readonly: bool) -> dict[str, object]:
    """Return memory by NumPy's array interface; elements are unsigned integers of their size."""
    item = layout.dtype.itemsize
    return {
        "version": 3,
        "typestr": _SAME_SIZE[item],
        "shape": layout.shape,
        "strides": tuple([s * item for s in layout.strides]),
        "data": (address, readonly),
    }


def bytes_of(region: Region) -> dict[str, object]:
    """Return the span of a region in bytes by NumPy's array interface, read-only."""
    span = (region.end - region.start,)
    return {"version": 3, "typestr": "|u1", "shape": span, "data": (region.start, True)}


def region_of_array(
    array: np.ndarray[Any, Any], device: Device, dtype: AnyDType | None = None
) -> Region:
    """Return a NumPy array's memory as a region, without a copy."""
    flags = array.flags
    if not flags.aligned:
        raise _unaddressable(array.dtype, array.strides, ", at an address that is not aligned")
    layout, buffered = layout_of_array(array.dtype, array.shape, array.strides, dtype)
    writeable = flags.writeable
    if buffered and writeable and flags.c_contiguous:
        # Takes a third of the time of the other way.
        address = ctypes.addressof(_char_at_start(array))
    else:
        address = int(array.__array_interface__["data"][0])
    start, end = address + layout.low, address + layout.high
    return Region(find_import(device, array, start, end, not writeable), layout, address)


@lru_cache(MOST_KEPT)
def layout_of_array(
    form: np.dtype[Any], shape: Shape, strides: Shape, dtype: AnyDType | None = None
) -> tuple[Layout, bool]:
    """Return the layout of arrays with these byte strides, and whether they can be a buffer."""
    if form == f4e2m1fn.np:
        raise ShapeError(
            "f4e2m1fn has no unpacked memory format",
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


def _unaddressable(form: np.dtype[Any], strides: Shape, place: str = "") -> ShapeError:
    return ShapeError(
        "a kernel cannot address this array",
        expected="aligned elements in native byte order, strides that are whole elements",
        got=f"dtype {form!r}, strides of {strides} bytes{place}",
        hint="pass a copy: np.array(a, a.dtype.newbyteorder('='))",
    )
