"""Values with a separate copy on each device, made where they are first used; for globals."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import numpy.typing as npt

from ..base.dtypes import AnyDType, as_dtype, f4e2m1fn, round_tf32, tf32
from ..base.errors import ShapeError
from ..base.shapes import Shape, size
from ..devices.protocol import Device
from ..op.ambient import as_device
from . import storage
from .layout import row_major
from .putting import read_now, write_now
from .region import Region
from .shape import ShapeLike, as_shape


class Resident:
    """An initial value, and the memory that devices keep for it as long as this object lives."""

    __slots__ = ("__weakref__", "_initial", "_lock", "_regions", "dtype")

    def __init__(self, dtype: Any, initial: npt.ArrayLike, shape: ShapeLike | None) -> None:
        self.dtype = as_dtype(dtype)
        if self.dtype is f4e2m1fn:
            raise ShapeError(
                "f4e2m1fn has no unpacked memory format",
                expected="pairs of f4e2m1fn packed into bytes: dtype f4e2m1fnx2",
                got="f4e2m1fn",
            )
        values = _in_memory_form(initial, self.dtype)
        self._initial = values if shape is None else _filling(values, as_shape(shape))
        self._lock = threading.Lock()
        self._regions: dict[Device, Region] = {}

    @property
    def shape(self) -> Shape:
        """The extent of each axis."""
        shape: Shape = self._initial.shape
        return shape

    def region(self, device: Device) -> Region:
        """Return the memory on a device. Work on a stream must not call it, since it may wait."""
        with self._lock:
            found = self._regions.get(device)
            if found is None:
                found = self._regions[device] = self._made(device)
            return found

    def read(self, device: Device | str | None) -> np.ndarray[Any, Any]:
        """Copy the contents on a device."""
        place = as_device(device)
        region = self.region(place)
        if place.host_visible:
            return region.array().copy(order="C")
        place.synchronize()  # kernels use it without a check
        return read_now(region)

    def write(self, values: npt.ArrayLike, device: Device | str | None) -> None:
        """Replace what a device has; the values broadcast."""
        filling = _filling(_in_memory_form(values, self.dtype), self.shape)
        place = as_device(device)
        self._rewrite(place, filling)

    def reset(self, device: Device | str | None) -> None:
        """Write the initial values on a device again."""
        self._rewrite(as_device(device), self._initial)

    def _rewrite(self, device: Device, values: np.ndarray[Any, Any]) -> None:
        region = self.region(device)
        if not device.host_visible:
            device.synchronize()
        write_now(region, values)

    def _made(self, device: Device) -> Region:
        memory = storage.allocate(device, size(self.shape) * self.dtype.itemsize, zeroed=False)
        memory.initialized = True
        region = Region(memory, row_major(self.dtype, self.shape), memory.address)
        write_now(region, self._initial)
        return region


def _in_memory_form(values: npt.ArrayLike, dtype: AnyDType) -> np.ndarray[Any, Any]:
    """Convert values to the element type; floats round, anything else must be exact."""
    given = np.asarray(values)
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            held = given.astype(dtype.np)
    except (TypeError, ValueError, OverflowError):
        raise _unfit(given, dtype) from None
    if dtype.is_float:
        return round_tf32(held) if dtype is tf32 else held
    if not np.array_equal(held, given):
        raise _unfit(given, dtype)
    return held


def _unfit(given: np.ndarray[Any, Any], dtype: AnyDType) -> ShapeError:
    return ShapeError(
        f"these values are not of the global's element type, {dtype.name}",
        expected="numbers" if dtype.is_float else f"numbers that {dtype.name} holds exactly",
        got=np.array2string(given, threshold=8),
    )


def _filling(values: np.ndarray[Any, Any], shape: Shape) -> np.ndarray[Any, Any]:
    try:
        return np.broadcast_to(values, shape)
    except ValueError:
        raise ShapeError(
            "these values do not fill the global",
            expected=f"a number, or an array that broadcasts to {shape}",
            got=f"shape {values.shape}",
        ) from None
