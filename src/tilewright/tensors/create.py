"""Makes tensors: empty, zero, copied from the host, aliasing it, or mere descriptions.

What needs a kernel to be written (`full`, `arange`, `rand`, ...) is in `tilewright.kernels`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, TypeAlias, TypeGuard, TypeVar, overload

import numpy as np
import numpy.typing as npt

from .._core import Allocate as NativeAllocate
from .._core import new_allocate, set_creating_classes
from ..base.dtypes import ALL, AnyDType, DType, DTypeMeta, as_dtype, f4e2m1fn, f32
from ..base.errors import ContextError, ShapeError
from ..base.shapes import Shape, size
from ..devices.host import CPU, CpuDevice
from ..devices.protocol import Device
from ..op.ambient import as_device, default_device, known_device
from ..op.context import ExecutionContext
from ..op.core import Composite, DeviceOp
from ..op.running import Steps, run_here
from . import storage
from .elements import LENGTHY, as_elements, host_array, is_long
from .foreign import ArrayLike, aliased, is_array
from .gpu_imports import memory_on_gpu
from .layout import FARTHEST, MOST_KEPT, Layout, layout_of, row_major
from .putting import put_upload, put_zeros
from .region import Region, region_of_array
from .releases import OUT, sweep
from .shape import ShapeLike, as_shape
from .tensor import Tensor, new_tensor
from .views import in_memory

E = TypeVar("E", bound=DType)
DTypeLike: TypeAlias = "npt.DTypeLike | type[DType]"
"""What is taken as an element type: ours, NumPy's, ml_dtypes', torch's, or a name."""
DeviceLike: TypeAlias = Device | str | None


def refuse_order(name: str, *given: Any, words: Sequence[str] = ()) -> NoReturn:
    """Raise for extents that are arguments each, or for numbers before the shape.

    `words` are the keywords that numbers go by.
    """
    if all(isinstance(each, int) for each in given):
        raise TypeError(f"the shape of `{name}` is one argument: tw.{name}({given})")
    shapes = [as_shape(each) for each in given if type(each) in (tuple, list)]
    numbers = [each for each in given if isinstance(each, int | float)]
    named = [f"{word}={number!r}" for word, number in zip(words, numbers, strict=False)]
    example = ", ".join([str(shapes[0]) if shapes else "shape", *named])
    raise TypeError(
        f"`{name}` takes the shape first, then the element type, and all else by keyword:"
        f" tw.{name}({example})"
    )


class Plan(NamedTuple):
    """What is to be made: a name for messages, shape and element type, and where."""

    name: str
    layout: Layout
    home: Device | None
    """The device that was named, or else the default one; None: not known yet."""
    is_bound: bool
    """Whether a device was named, on which it must be made."""

    @property
    def shape(self) -> Shape:
        """The extents along each axis."""
        return self.layout.shape

    @property
    def dtype(self) -> AnyDType:
        """The element type."""
        return self.layout.dtype

    @property
    def nbytes(self) -> int:
        """Bytes of its elements, which may be more than there can be."""
        covers = self.layout.covers
        return covers if covers < FARTHEST else size(self.shape) * self.dtype.itemsize

    def allocate(self, ctx: ExecutionContext, *, zeroed: bool = False) -> Region:
        """Allocate the memory, on the device whose stream runs the op."""
        device = ctx.stream.device
        if self.is_bound and device is not self.home:
            self._refuse_device(device)
        memory = storage.allocate(device, self.nbytes, zeroed=zeroed)
        return Region(memory, self.layout, memory.address)

    def _refuse_device(self, device: Device) -> NoReturn:
        assert self.home is not None, "it was named"
        raise ContextError(
            f"`{self.name}` makes a tensor on {self.home.name!r},"
            f" but was started on a stream of {device.name!r}",
            hint="leave `device=` out to make it where it is started",
        )


def planned(name: str, shape: ShapeLike, dtype: DTypeLike, device: DeviceLike) -> Plan:
    """Plan a tensor of this shape and element type."""
    if isinstance(dtype, int):
        refuse_order(name, shape, dtype)
    layout = _row_major(dtype if _is_kept(dtype) else in_memory(dtype), as_shape(shape))
    if device is not None:
        return Plan(name, layout, as_device(device), is_bound=True)
    # Not looked for here: who builds an op on an event loop shall not have to wait for that.
    return Plan(name, layout, known_device(), is_bound=False)


_row_major = lru_cache(MOST_KEPT)(row_major)

_KEPT = frozenset(ALL) - {f4e2m1fn}
"""Element types that memory can be made of."""


def _is_kept(dtype: object) -> TypeGuard[AnyDType]:
    kind: Any = dtype
    return type(dtype) is DTypeMeta and kind in _KEPT


class Planned(DeviceOp[Tensor[Any]]):
    """An op that makes the tensor of a plan."""

    _plan: Plan

    if not TYPE_CHECKING:  # which knows the properties of ops; slots are quicker
        __slots__ = ("_plan", "home", "name")

    def __init__(self, plan: Plan) -> None:
        op: Any = self
        op._plan, op.name, op.home = plan, plan.name, plan.home


class Allocate(NativeAllocate, DeviceOp[Tensor[Any]]):
    """Makes a tensor whose contents are zero, or arbitrary and to be written before read."""

    __slots__ = ()

    _layout: Layout
    _is_bound: bool
    _zeroed: bool

    def execute_closely(self, ctx: ExecutionContext) -> Tensor[Any]:
        """Do as `execute`, where the core has no memory for it."""
        plan = Plan(self.name, self._layout, self.home, is_bound=self._is_bound)
        making = ctx if ctx.recording is None else ctx.creating(self.name)
        if not self._zeroed or making.stream.device.host_visible:
            return new_tensor(plan.allocate(making, zeroed=self._zeroed))
        region = plan.allocate(making)
        put_zeros(making, self, region)
        region.storage.initialized = True
        return new_tensor(region)


set_creating_classes({"Allocate": Allocate, "CpuDevice": CpuDevice, "exports": OUT, "sweep": sweep})


class Creation(Planned, Composite[Tensor[Any]]):
    """Makes a tensor out of no other. A captured one is made at once, outside of the graph."""

    def steps(self, ctx: ExecutionContext) -> Steps[Tensor[Any]]:
        """Create the tensor, in a context where memory may be allocated."""
        making = ctx.creating(self.name)
        if making is not ctx:
            return run_here(self, making)
        return (yield from self.make(ctx))

    @abstractmethod
    def make(self, ctx: ExecutionContext) -> Steps[Tensor[Any]]:
        """Allocate and fill it."""


class FromHost(Planned):
    """Makes a tensor with a copy of an array, which has been read when the op has been started."""

    holds = ("_source",)

    def __init__(self, plan: Plan, source: np.ndarray[Any, Any]) -> None:
        super().__init__(plan)
        self._source = source
        self.lengthy = is_long(source)

    def detach(self) -> None:
        """Copy the array now, as it will be read later."""
        source: Any = self._source  # another thread may run it meanwhile
        if source is not None:
            self._source = source.copy()

    def execute(self, ctx: ExecutionContext) -> Tensor[Any]:
        """Allocate and copy."""
        making = ctx.creating(self.name)
        region, dtype = self._plan.allocate(making), self._plan.dtype
        if making.device.host_visible:
            # No other object knows the memory yet, so the host writes it here and now.
            np.copyto(region.array(), as_elements(self._source, dtype))
        else:
            put_upload(making, self, region, as_elements(self._source, dtype))
        region.storage.initialized = True
        return new_tensor(region)


def _allocated(plan: Plan, zeroed: bool) -> DeviceOp[Tensor[Any]]:
    """Return the op that makes the tensor of a plan, for the caller of who calls this."""
    lengthy = zeroed and plan.nbytes > LENGTHY
    op: DeviceOp[Tensor[Any]] = new_allocate(
        plan.name, plan.layout, plan.home, plan.is_bound, zeroed, lengthy, 2
    )
    return op


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
    shape: ShapeLike, dtype: DTypeLike = f32, *more: Any, device: DeviceLike = None
) -> DeviceOp[Tensor[Any]]:
    """Return a tensor for a kernel to write; reading it before that raises."""
    if more:
        refuse_order("empty", shape, dtype, *more)
    return _allocated(planned("empty", shape, dtype, device), False)


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
    shape: ShapeLike, dtype: DTypeLike = f32, *more: Any, device: DeviceLike = None
) -> DeviceOp[Tensor[Any]]:
    """Return a tensor of zeros."""
    if more:
        refuse_order("zeros", shape, dtype, *more)
    return _allocated(planned("zeros", shape, dtype, device), True)


def empty_like(
    other: Any, dtype: DTypeLike | None = None, *, device: DeviceLike = None
) -> DeviceOp[Tensor[Any]]:
    """Return a tensor for a kernel to write, with the shape, dtype and device of another."""
    return _allocated(plan_like("empty_like", other, dtype, device), False)


def zeros_like(
    other: Any, dtype: DTypeLike | None = None, *, device: DeviceLike = None
) -> DeviceOp[Tensor[Any]]:
    """Return a tensor of zeros with the shape, dtype and device of another."""
    return _allocated(plan_like("zeros_like", other, dtype, device), True)


def plan_like(name: str, other: Any, dtype: DTypeLike | None, device: DeviceLike) -> Plan:
    """Plan a tensor like another tensor, partition or array; arguments override its properties."""
    if type(other) is Tensor:
        region: Region = other.region
        layout, home = region.layout, region.storage.device
        if dtype is None and device is None and layout.is_packed:
            return Plan(name, layout, home, is_bound=True)
        dtype = layout.dtype if dtype is None else dtype
        return planned(name, layout.shape, dtype, device or home)
    shape, own = getattr(other, "shape", None), getattr(other, "dtype", None)
    if shape is None or own is None:
        raise TypeError(f"`{name}` takes a tensor or an array, got {type(other).__name__}")
    if device is None and not is_array(other):
        device = other.device
    return planned(name, shape, own if dtype is None else dtype, device)


def from_numpy(
    array: npt.ArrayLike | bytes | bytearray | memoryview,
    dtype: DTypeLike | None = None,
    *,
    device: DeviceLike = None,
) -> DeviceOp[Tensor[Any]]:
    """Return a tensor with a copy of host data, converted to `dtype` if given.

    An array keeps its element type; plain numbers and sequences become f32, i32 or bool; bytes are
    the memory itself, u8 or elements of `dtype`. The data is read when the op runs, and has been
    read when the call that starts it returns.
    """
    wanted = None if dtype is None else in_memory(dtype)
    source = host_array(array, wanted, "from_numpy")
    return FromHost(planned("from_numpy", source.shape, wanted or source.dtype, device), source)


def asarray(
    array: ArrayLike, dtype: DTypeLike | None = None, *, device: DeviceLike = None
) -> Tensor[Any]:
    """Return a tensor that aliases the array's memory; kernels that write it write the array.

    A host array gives a CPU tensor, a GPU array a tensor of that GPU: by DLPack or
    `__cuda_array_interface__`, after all work that its library has enqueued.

    `dtype` may name another type with the same memory form: tf32 for float32, f4e2m1fnx2 for uint8.
    """
    found = None if dtype is None else as_dtype(dtype)
    there = memory_on_gpu(array)
    if there is not None:
        return new_tensor(_retyped(there, found))
    source = aliased(array)
    if source is None:
        raise TypeError(
            f"asarray takes a NumPy array or what aliases one, got {type(array).__name__};"
            " use tw.from_numpy(...) to copy"
        )
    if found is not None and found.np != source.dtype:
        _refuse_conversion(str(source.dtype), found)
    return new_tensor(region_of_array(source, host_device(device), found))


def _retyped(region: Region, dtype: AnyDType | None) -> Region:
    """Return memory as elements of a type with the same memory form."""
    held = region.dtype
    if dtype is None or dtype is held:
        return region
    if dtype.np != held.np:
        _refuse_conversion(held.name, dtype)
    return Region(region.storage, layout_of(dtype, region.shape, region.strides), region.address)


def _refuse_conversion(held: str, wanted: AnyDType) -> NoReturn:
    raise ShapeError(
        "asarray does not convert",
        expected=f"the array's own dtype, {held}",
        got=wanted.name,
        hint="copy and convert with tw.from_numpy(a, dtype)",
    )


def host_device(device: DeviceLike) -> Device:
    """Return the device for host memory: the named or default one if it sees it, else the CPU."""
    chosen = as_device(device)
    if chosen.host_visible:
        return chosen
    if device is None:
        return CPU
    raise ContextError(
        f"{chosen.name} cannot see an array of the host",
        hint="copy it: tw.from_numpy(a, device=...)",
    )


@overload
def meta(shape: ShapeLike, *, device: DeviceLike = None) -> Tensor[f32]: ...
@overload
def meta(shape: ShapeLike, dtype: type[E], *, device: DeviceLike = None) -> Tensor[E]: ...
@overload
def meta(shape: ShapeLike, dtype: DTypeLike, *, device: DeviceLike = None) -> Tensor[Any]: ...
def meta(shape: ShapeLike, dtype: DTypeLike = f32, *, device: DeviceLike = None) -> Tensor[Any]:
    """Return a description of a tensor, without memory: enough to compile a kernel for it."""
    plan = planned("meta", shape, dtype, device)
    bare = storage.meta(plan.home or default_device(), plan.nbytes)
    return new_tensor(Region(bare, plan.layout, 0))
