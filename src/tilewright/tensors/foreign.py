"""Host arrays of other libraries, seen through NumPy without a copy."""

from __future__ import annotations

from typing import Any, Protocol, TypeAlias, TypeGuard

import numpy as np

from .._core import set_array_classes
from ..base.errors import ShapeError
from ..devices.cuda.device import CudaDevice
from ..devices.cuda.stream import CudaStream
from ..devices.host import CPU
from .capsules import IMMUTABLE, claimed, looked_at
from .described import wrong
from .dlpack import DTYPES, HOST_KINDS, VERSION
from .layout import layout_of
from .lease import Holder
from .ownership import Ours
from .region import Region, interface_of, region_of_array


class SupportsDLPack(Protocol):
    """An array of another library, such as a torch tensor."""

    def __dlpack__(self, *args: Any, **kwargs: Any) -> Any:
        """Export the array."""
        ...


class SupportsArrayInterface(Protocol):
    """An array of the host that says where its memory is."""

    @property
    def __array_interface__(self) -> Any:
        """Its memory, by NumPy's protocol."""
        ...


class SupportsCudaArrayInterface(Protocol):
    """An array of a GPU that says where its memory is, such as one of Numba."""

    @property
    def __cuda_array_interface__(self) -> Any:
        """Its memory, by Numba's protocol."""
        ...


ArrayLike: TypeAlias = (
    np.ndarray[Any, Any] | SupportsDLPack | SupportsArrayInterface | SupportsCudaArrayInterface
)
"""What has memory that a tensor can share."""


def is_array(x: object) -> TypeGuard[np.ndarray[Any, Any]]:
    """Return whether x is a NumPy array."""
    return isinstance(x, np.ndarray)


def aliased(x: Any) -> np.ndarray[Any, Any] | None:
    """Return the NumPy array that shares x's memory; None where x is no host array."""
    if type(x) is np.ndarray:
        return x
    if is_array(x):
        _refuse_mask(x, isinstance(x, np.ma.MaskedArray))
        return x
    if isinstance(x, np.generic | Ours):
        return None
    if needs_gradient(x):
        return _read_only(aliased(x.detach()))
    if hasattr(x, "__dlpack__"):
        return _seen_by_numpy(x) if _KNOWS_READ_ONLY else _imported(x)
    if hasattr(x, "__array_interface__"):
        _refuse_mask(x, x.__array_interface__.get("mask") is not None)
        return np.asarray(x)
    return None


def needs_gradient(x: Any) -> bool:
    """Return whether a PyTorch tensor requires gradients: it exports memory only when detached."""
    return getattr(x, "requires_grad", False) is True


def _read_only(array: np.ndarray[Any, Any] | None) -> np.ndarray[Any, Any] | None:
    if array is None:
        return None
    view = array.view()
    view.flags.writeable = False
    return view


def _refuse_mask(x: object, has_mask: bool) -> None:
    if has_mask:
        raise wrong(
            x,
            "an array without a mask: kernels ignore masks",
            "a mask",
            "use a.filled(value), or a.data to ignore the mask",
        )


_KNOWS_READ_ONLY = np.lib.NumpyVersion(np.__version__) >= "2.1.0"
"""Before, NumPy took all that came by DLPack for read only."""


def _seen_by_numpy(x: Any) -> np.ndarray[Any, Any]:
    """Do as `_imported`, several times as fast, for the element types that NumPy knows."""
    try:
        given = looked_at(x)
        if given is not None:
            return np.from_dlpack(given)
    except (BufferError, RuntimeError, TypeError, ValueError):
        pass  # it says so, or what is wrong, when it is asked again
    return _imported(x)


def _imported(x: Any) -> np.ndarray[Any, Any]:
    """Import what x exports by DLPack. Arrays made from it keep it; the last calls its deleter."""
    device = int(x.__dlpack_device__()[0])
    if device not in HOST_KINDS:
        raise ShapeError(
            f"the memory of this {type(x).__name__} cannot be used by the host",
            expected=f"a DLPack device of the host: one of {HOST_KINDS}",
            got=f"device type {device}",
            hint="copy it to the host first",
        )
    layout, address, readonly, owner = claimed(x)
    if 0 in layout.shape:
        return np.empty(layout.shape, layout.dtype.np)
    interface = interface_of(layout, address, readonly=readonly)
    return np.asarray(Holder(interface, owner)).view(layout.dtype.np)


def _looked_closer(x: Any) -> Region | None:
    """Return the memory of a host array that the core cannot describe; None: refuse it."""
    if hasattr(x, "__cuda_array_interface__"):
        return None
    try:
        array = aliased(x)
        return None if array is None else region_of_array(array, CPU)
    except (BufferError, ShapeError, TypeError):
        return None


def _import_stream(device: CudaDevice) -> CudaStream:
    """Return the stream of a GPU on which other libraries make their arrays ready."""
    return device.streams()[0]


set_array_classes({
    "ndarray": np.ndarray, "Ours": Ours, "CPU": CPU, "CudaDevice": CudaDevice,
    "import_stream": _import_stream, "layout_of": layout_of,
    "dtypes": {kind << 24 | bits << 16 | lanes: dtype
               for (kind, bits, lanes), dtype in DTYPES.items()},
    "immutable": IMMUTABLE, "look_closer": _looked_closer, "version": VERSION,
})  # fmt: skip
