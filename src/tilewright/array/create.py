"""Makes tensors: empty, filled, copied from the host, aliasing it, or mere descriptions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar, overload

import ml_dtypes
import numpy as np
import numpy.typing as npt

from ..base import dtypes as dt
from ..base.dtypes import AnyDType, DType, as_dtype, f32
from ..base.errors import ShapeError
from ..base.shapes import Shape, size
from ..driver.protocol import Device
from ..op.ambient import as_device
from ..op.context import ExecutionContext
from ..op.core import DeviceOp
from . import storage
from .foreign import aliased
from .layout import row_major
from .region import Region, region_of_array
from .shape import ShapeLike, as_shape
from .tensor import Tensor, new_tensor

E = TypeVar("E", bound=DType)
DTypeLike: TypeAlias = "npt.DTypeLike | type[DType]"
"""What is taken as an element type: ours, NumPy's, ml_dtypes', torch's, or a name."""
DeviceLike: TypeAlias = Device | str | None

Fill: TypeAlias = Callable[[np.ndarray[Any, Any]], None]


class Create(DeviceOp[Tensor[Any]]):
    """Allocates a tensor on its device and fills it."""

    def __init__(
        self,
        name: str,
        shape: Shape,
        dtype: AnyDType,
        device: Device,
        *,
        zeroed: bool = False,
        fill: Fill | None = None,
    ) -> None:
        self._name, self._shape, self._dtype, self._device = name, shape, dtype, device
        self._zeroed, self._fill = zeroed, fill

    @property
    def name(self) -> str:
        """The creation function's name."""
        return self._name

    @property
    def home(self) -> Device:
        """The device the tensor is made on."""
        return self._device

    def execute(self, ctx: ExecutionContext) -> Tensor[Any]:
        """Allocate, then fill."""
        region = _region(self._shape, self._dtype, self._device, zeroed=self._zeroed)
        fill = self._fill
        if fill is not None:
            fill(region.array())
            region.storage.initialized = True
        return new_tensor(region)


def _region(shape: Shape, dtype: AnyDType, device: Device, *, zeroed: bool) -> Region:
    memory = storage.allocate(device, size(shape) * dtype.itemsize, zeroed=zeroed)
    return Region(memory, row_major(dtype, shape), memory.address)


def _in_memory(dtype: DTypeLike) -> AnyDType:
    found = as_dtype(dtype)
    if found is dt.f4e2m1fn:
        raise ShapeError(
            "f4e2m1fn has no memory form of its own",
            expected="pairs of f4e2m1fn packed into bytes: dtype f4e2m1fnx2",
            got="f4e2m1fn",
        )
    return found


def _filled(
    name: str, shape: ShapeLike, dtype: DTypeLike, value: Any, device: DeviceLike
) -> DeviceOp[Tensor[Any]]:
    found = _in_memory(dtype)
    element = _element(value, found)
    return Create(name, as_shape(shape), found, as_device(device), fill=lambda a: a.fill(element))


def _element(value: Any, dtype: AnyDType) -> Any:
    """A value in its memory form; what does not fit in an integer raises, as NumPy does."""
    if dtype is dt.f4e2m1fnx2:
        return int(np.asarray(value, ml_dtypes.float4_e2m1fn).view(np.uint8)) * 0x11
    element = np.asarray(value).astype(dtype.np) if dtype.is_float else np.asarray(value, dtype.np)
    return dt.round_tf32(element)[()] if dtype is dt.tf32 else element[()]


@overload
def empty(shape: ShapeLike, *, device: DeviceLike = None) -> DeviceOp[Tensor[f32]]: ...
@overload
def empty(
    shape: ShapeLike, dtype: type[E], *, device: DeviceLike = None
) -> DeviceOp[Tensor[E]]: ...
@overload
def empty(
    shape: ShapeLike, dtype: DTypeLike, *, device: DeviceLike = None
) -> DeviceOp[Tensor[Any]]: ...
def empty(
    shape: ShapeLike, dtype: DTypeLike = f32, *, device: DeviceLike = None
) -> DeviceOp[Tensor[Any]]:
    """A tensor for a kernel to write; reading it before that raises."""
    return Create("empty", as_shape(shape), _in_memory(dtype), as_device(device))


@overload
def zeros(shape: ShapeLike, *, device: DeviceLike = None) -> DeviceOp[Tensor[f32]]: ...
@overload
def zeros(
    shape: ShapeLike, dtype: type[E], *, device: DeviceLike = None
) -> DeviceOp[Tensor[E]]: ...
@overload
def zeros(
    shape: ShapeLike, dtype: DTypeLike, *, device: DeviceLike = None
) -> DeviceOp[Tensor[Any]]: ...
def zeros(
    shape: ShapeLike, dtype: DTypeLike = f32, *, device: DeviceLike = None
) -> DeviceOp[Tensor[Any]]:
    """A tensor of zeros."""
    return Create("zeros", as_shape(shape), _in_memory(dtype), as_device(device), zeroed=True)


@overload
def ones(shape: ShapeLike, *, device: DeviceLike = None) -> DeviceOp[Tensor[f32]]: ...
@overload
def ones(shape: ShapeLike, dtype: type[E], *, device: DeviceLike = None) -> DeviceOp[Tensor[E]]: ...
@overload
def ones(
    shape: ShapeLike, dtype: DTypeLike, *, device: DeviceLike = None
) -> DeviceOp[Tensor[Any]]: ...
def ones(
    shape: ShapeLike, dtype: DTypeLike = f32, *, device: DeviceLike = None
) -> DeviceOp[Tensor[Any]]:
    """A tensor of ones."""
    return _filled("ones", shape, dtype, 1, device)


@overload
def full(shape: ShapeLike, value: int, *, device: DeviceLike = None) -> DeviceOp[Tensor[Any]]: ...
@overload
def full(shape: ShapeLike, value: float, *, device: DeviceLike = None) -> DeviceOp[Tensor[f32]]: ...
@overload
def full(
    shape: ShapeLike, value: Any, dtype: type[E], *, device: DeviceLike = None
) -> DeviceOp[Tensor[E]]: ...
@overload
def full(
    shape: ShapeLike, value: Any, dtype: DTypeLike | None = None, *, device: DeviceLike = None
) -> DeviceOp[Tensor[Any]]: ...
def full(
    shape: ShapeLike, value: Any, dtype: DTypeLike | None = None, *, device: DeviceLike = None
) -> DeviceOp[Tensor[Any]]:
    """A tensor filled with one value, whose type decides the dtype if none is given."""
    found = _dtype_of(value) if dtype is None else dtype
    return _filled("full", shape, found, value, device)


def _dtype_of(value: Any) -> AnyDType:
    if isinstance(value, DType):
        return type(value)
    if isinstance(value, bool | int | float):
        return as_dtype(type(value)) if type(value) in (bool, int, float) else f32
    return as_dtype(np.asarray(value).dtype)


def from_numpy(
    array: npt.ArrayLike, dtype: DTypeLike | None = None, *, device: DeviceLike = None
) -> DeviceOp[Tensor[Any]]:
    """A tensor with a copy of the array, converted to `dtype` if given.

    The array is read when the op runs, and has been read when the call that runs it returns.
    """
    source = np.asarray(array)
    found = _in_memory(source.dtype if dtype is None else dtype)

    def copy(memory: np.ndarray[Any, Any]) -> None:
        with np.errstate(over="ignore", invalid="ignore"):
            values = source.astype(found.np, copy=False)
        np.copyto(memory, dt.round_tf32(values) if found is dt.tf32 else values)

    return Create("from_numpy", source.shape, found, as_device(device), fill=copy)


def asarray(
    array: np.ndarray[Any, Any], dtype: DTypeLike | None = None, *, device: DeviceLike = None
) -> Tensor[Any]:
    """A tensor that aliases the array's memory; kernels that write it write the array.

    `dtype` may name another type with the same memory form: tf32 for float32, f4e2m1fnx2 for
    uint8.
    """
    source = aliased(array)
    if source is None:
        raise TypeError(
            f"asarray takes a NumPy array or what aliases one, got {type(array).__name__};"
            " use tw.from_numpy(...) to copy"
        )
    found = None if dtype is None else as_dtype(dtype)
    if found is not None and found.np != source.dtype:
        raise ShapeError(
            "asarray does not convert",
            expected=f"the array's own dtype, {source.dtype}",
            got=found.name,
            hint="copy and convert with tw.from_numpy(a, dtype)",
        )
    return new_tensor(region_of_array(source, as_device(device), found))


@overload
def meta(shape: ShapeLike, *, device: DeviceLike = None) -> Tensor[f32]: ...
@overload
def meta(shape: ShapeLike, dtype: type[E], *, device: DeviceLike = None) -> Tensor[E]: ...
@overload
def meta(shape: ShapeLike, dtype: DTypeLike, *, device: DeviceLike = None) -> Tensor[Any]: ...
def meta(shape: ShapeLike, dtype: DTypeLike = f32, *, device: DeviceLike = None) -> Tensor[Any]:
    """A description of a tensor, without memory: enough to compile a kernel for it."""
    dims, found = as_shape(shape), _in_memory(dtype)
    bare = storage.meta(as_device(device), size(dims) * found.itemsize)
    return new_tensor(Region(bare, row_major(found, dims), 0))
