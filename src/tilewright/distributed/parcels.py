"""Tensors on their way to other processes: their bytes travel beside the pickle, without a copy."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..base.dtypes import AnyDType, as_dtype
from ..base.errors import ShapeError
from ..base.shapes import Shape
from ..tensors.create import asarray
from ..tensors.tensor import Tensor

OUT_OF_BAND = 5
"""The version of pickles that can leave large buffers out."""


class Parcel:
    """A tensor to be pickled. What comes out is a `Tensor` of the CPU over the bytes that came.

    With pickles of version 5, which Ray and Dask use, the bytes are left out and handed over as
    they are: to shared memory, where processes of one node see them in place. Until the parcel is
    gone the tensor is leased, so nothing can write it meanwhile.
    """

    __slots__ = ("_array", "_dtype", "_shape")

    def __init__(self, tensor: Any) -> None:
        found: Any = getattr(tensor, "value", tensor)  # of an Arc, its tensor
        if not isinstance(found, Tensor):
            raise TypeError(f"a parcel holds a tensor, got {type(tensor).__name__}")
        self._dtype, self._shape = found.region.dtype.name, found.shape
        visible = found.device.host_visible and found.is_contiguous
        array = np.asarray(found) if visible else np.ascontiguousarray(found.to_numpy())
        self._array: Any = array.reshape(-1).view(np.uint8)

    def __repr__(self) -> str:
        return f"Parcel(shape={self._shape}, dtype={self._dtype})"

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        if int(protocol) >= OUT_OF_BAND:
            buffer: Any = pickle.PickleBuffer(self._array)
        else:
            buffer = self._array.tobytes()
        return opened, (buffer, self._dtype, self._shape)


def opened(buffer: Any, dtype: str, shape: Sequence[int]) -> Tensor[Any]:
    """Return the tensor of a parcel, over the bytes as they are; read-only if these are."""
    element, extents = as_dtype(dtype), tuple(map(int, shape))
    flat = np.frombuffer(buffer, np.uint8)
    _check(flat.size, element, extents)
    return asarray(flat.view(element.np).reshape(extents))


def _check(nbytes: int, dtype: AnyDType, shape: Shape) -> None:
    """Raise for bytes that are not those of such a tensor: they come from another process."""
    if min(shape, default=0) < 0 or nbytes != int(np.prod(shape, dtype=object)) * dtype.itemsize:
        raise ShapeError(
            "a parcel is damaged",
            expected=f"the bytes of {dtype.name} {shape}", got=f"{nbytes} bytes",
        )  # fmt: skip
