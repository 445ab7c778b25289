"""Host arrays of other libraries, seen through NumPy without a copy."""

from __future__ import annotations

import ctypes
from typing import Any, TypeGuard

import numpy as np

from ..base.errors import ShapeError
from ..base.shapes import Shape, row_major_strides
from . import dlpack
from .dlpack import DTYPES, HOST_KINDS, READ_ONLY, Code, DLTensor, Plain, Versioned
from .layout import Layout, layout_of
from .lease import Holder
from .ownership import Ours
from .region import interface_of
from .releases import Imported, sweep


def is_array(x: object) -> TypeGuard[np.ndarray[Any, Any]]:
    """Tell whether x is a NumPy array."""
    return isinstance(x, np.ndarray)


def aliased(x: Any) -> np.ndarray[Any, Any] | None:
    """The NumPy array that shares x's memory; None where x is no host array."""
    if is_array(x):
        return x
    if isinstance(x, np.generic | Ours):
        return None
    if hasattr(x, "__dlpack__"):
        return _seen_by_numpy(x) if _KNOWS_READ_ONLY else _imported(x)
    if hasattr(x, "__array_interface__"):
        return np.asarray(x)
    return None


_KNOWS_READ_ONLY = np.lib.NumpyVersion(np.__version__) >= "2.1.0"
"""Before, NumPy took all that came by DLPack for read only."""


def _seen_by_numpy(x: Any) -> np.ndarray[Any, Any]:
    """As `_imported`, and several times as fast for the element types NumPy knows."""
    try:
        return np.from_dlpack(x)
    except (BufferError, RuntimeError, TypeError, ValueError):
        return _imported(x)


def _imported(x: Any) -> np.ndarray[Any, Any]:
    """What x exports by DLPack. The arrays that come of it keep it; then its deleter is called."""
    sweep()
    device = int(x.__dlpack_device__()[0])
    if device not in HOST_KINDS:
        raise ShapeError(
            f"the memory of this {type(x).__name__} cannot be used by the host",
            expected=f"a DLPack device of the host: one of {HOST_KINDS}",
            got=f"device type {device}",
            hint="copy it to the host first",
        )
    managed = dlpack.take(exported_by(x))
    owner = Imported(managed.deleter or 0, ctypes.addressof(managed))
    refuse_version(x, managed)
    return _array(managed.tensor, is_read_only(x, managed), owner)


def refuse_version(x: object, managed: Plain | Versioned) -> None:
    """Raise for a managed tensor of a version that is not known."""
    if isinstance(managed, Versioned) and managed.major != dlpack.VERSION[0]:
        raise BufferError(
            f"{type(x).__name__} exports DLPack {managed.major}.{managed.minor}, expected 1.x"
        )


def exported_by(x: Any, **wishes: Any) -> object:
    """The capsule that an object gives."""
    try:
        return x.__dlpack__(max_version=dlpack.VERSION, **wishes)
    except TypeError:  # a producer of the first version of the protocol
        return x.__dlpack__(**wishes)


IMMUTABLE = ("jax", "jaxlib")
"""Libraries whose arrays are never written, though not all of their exports say so."""


def is_read_only(x: object, managed: Plain | Versioned) -> bool:
    """Whether the library of an array asks that its memory be not written."""
    asks = isinstance(managed, Versioned) and bool(managed.flags & READ_ONLY)
    return asks or type(x).__module__.partition(".")[0] in IMMUTABLE


def layout_in(tensor: DLTensor) -> Layout:
    """The layout of a tensor of DLPack."""
    code = Code(tensor.code, tensor.bits, tensor.lanes)
    dtype = DTYPES.get(code)
    if dtype is None:
        raise ShapeError(
            "this array's element type has no counterpart here",
            expected="bool, integers, f16, bf16, f32, f64, f8e4m3fn, f8e5m2, f8e8m0fnu, packed f4",
            got=f"DLPack type code {code.kind} with {code.bits} bits and {code.lanes} lanes",
        )
    shape: Shape = tuple(tensor.shape[: tensor.ndim])
    compact = not tensor.strides
    strides = row_major_strides(shape) if compact else tuple(tensor.strides[: tensor.ndim])
    return layout_of(dtype, shape, strides)


def _array(tensor: DLTensor, readonly: bool, owner: Imported) -> np.ndarray[Any, Any]:
    layout = layout_in(tensor)
    if 0 in layout.shape:
        return np.empty(layout.shape, layout.dtype.np)
    address = (tensor.data or 0) + tensor.byte_offset
    interface = interface_of(layout, address, readonly=readonly)
    return np.asarray(Holder(interface, owner)).view(layout.dtype.np)
