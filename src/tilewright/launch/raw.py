"""Launches of raw code as ops: a function of a loaded module, its arguments pushed one by one."""

from __future__ import annotations

import ctypes
import operator
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from struct import pack
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NoReturn, Self, cast

import numpy as np

from .._core import BY_POINTER
from .._core import RawLaunch as NativeLaunch
from ..base.dtypes import AnyDType, DType, as_dtype
from ..base.errors import DriverError, Error, InternalError, LaunchError
from ..base.shapes import Shape
from ..devices.cuda.device import CudaDevice
from ..devices.cuda.module import CudaFunction
from ..devices.protocol import Device, Function, LaunchConfig, Module, Stream
from ..op.ambient import as_device, unsafe_allowed
from ..op.context import ExecutionContext
from ..op.core import DeviceOp
from ..op.place import here, place_of
from ..tensors.borrow import Use
from ..tensors.pointer import DevicePointer
from ..tensors.region import Region
from .arguments import Bound
from .code import Later, Recorded
from .cuda_plan import CudaPlan, label_of
from .examining import Examination
from .form import PLAIN, Form, Known
from .launch_plan import CalledPlan
from .links import link
from .report import nothing_reported, report_of_run
from .scalars import check_scalar, slot_of

if TYPE_CHECKING:
    from .protocol import Runnable

NO_KEYWORDS: Mapping[str, Any] = MappingProxyType({})
DEFAULT_GPU = "cuda"
"""Where PTX is loaded if no device is named: it runs nowhere else."""


class _Form(Form):
    """Raw launches alike, of which there is one, and their code."""

    def __init__(self, kernel: str, home: Device | None, grid: Shape, run: _RawRun) -> None:
        super().__init__(kernel, (), link(kernel, (), ()))
        self.home, self.grid, self.run = home, grid, run


class _RawRun:
    """Enqueues one raw launch, or records it."""

    lending = None

    def __init__(
        self, function: Function, slots: list[int], config: LaunchConfig, called: CalledPlan
    ) -> None:
        self._function, self._slots, self._config = function, slots, config
        self.plan = self.called = called

    def start(self, bound: Bound, stream: Stream, *, inline: bool) -> Later:
        """Enqueue it, and keep its memory alive until it has passed."""
        kept = (bound, self._function)
        run = self._function.put_on(stream, self._config, self._slots, inline=inline, keep=kept)
        return partial(report_of_run, run)

    def is_brief(self) -> bool:
        """Return False: the duration is unknown."""
        return False

    def record(self, bound: Bound, stream: Stream) -> Recorded:
        """Record it in a capture."""
        self._function.put_on(stream, self._config, self._slots, keep=(bound, self._function))
        return Recorded(nothing_reported, _refuse_refill)


class AsyncKernelLaunch(NativeLaunch, DeviceOp[None]):
    """Launches a function of a module; give it arguments in order, then a `LaunchConfig`.

    What a function does with pointers is beyond our sight, so they are pushed inside
    `tw.unsafe()`. The launch is ordered as one that may write all memory they point into, as far
    as they are `t.device_pointer()`; plain addresses are ordered with nothing.
    """

    holds = ("_memory",)
    LISTED = "push_arg push_device_ptr set_launch_config"

    if TYPE_CHECKING:

        def execute(self, ctx: ExecutionContext) -> None:
            """Enqueue the launch; the core's."""

    def __init__(self, function: Function) -> None:
        refuse_no_function("AsyncKernelLaunch", function)
        self._function = self._kernel = function
        self._held, self._examined, self._request = None, None, PLAIN
        self._args, self._numbers, self._pledges, self._keywords = (), (), (), NO_KEYWORDS
        self.made_of = ()
        self._slots: list[int] = []
        self._memory: list[DevicePointer[Any]] = []
        self._places: list[int] = []
        """Which arguments these are."""
        self._config: LaunchConfig | None = None

    @property
    def name(self) -> str:
        """The function's name."""
        return self._function.name

    @property
    def home(self) -> Device | None:
        """Where the memory it was given lives."""
        return self._memory[0].region.storage.device if self._memory else None

    def spend(self) -> None:
        """Release the memory."""
        self._memory, self._held = [], None

    def push_arg(self, value: Any) -> Self:
        """Add a number of a known type: `tw.u32(n)`, `tw.f32(x)`, a NumPy scalar, or a bool."""
        dtype = type(value) if isinstance(value, DType) else _dtype_of(value)
        if dtype is None:
            raise TypeError(
                f"push_arg of `{self.name}` takes a number whose type is known,"
                f" got {type(value).__name__}; write tw.u32(n) or tw.f32(x)"
            )
        number = check_scalar(self.name, self._next, dtype, value)
        self._refuse_unfit(dtype.itemsize, dtype.name)
        self._held = None
        self._slots.append(slot_of(dtype, number))
        return self

    def push_device_ptr(self, pointer: DevicePointer[Any] | int) -> Self:
        """Add an address; only inside `tw.unsafe()`."""
        if not unsafe_allowed():
            raise LaunchError(
                f"`{self.name}` takes raw pointers; they are pushed inside `tw.unsafe()`",
                places=(("here", place_of(here())),),
                hint="write `with tw.unsafe():` around push_device_ptr(...)",
            )
        address = pointer.address if isinstance(pointer, DevicePointer) else pointer
        if not _is_address(address):
            shown = getattr(address, "summary", repr(address))
            raise TypeError(
                f"{self._next} of `{self.name}` is an address: t.device_pointer(), or an int of"
                f" 64 bits; got {shown:.60}"
            )
        self._refuse_unfit(8, "an address")
        if isinstance(pointer, DevicePointer):
            self._places.append(len(self._slots))
            self._memory.append(pointer)
        self._held = None
        self._slots.append(int(address))
        return self

    @property
    def _next(self) -> str:
        """The description of the argument that is pushed next."""
        return f"argument {len(self._slots)}"

    def _refuse_unfit(self, nbytes: int, kind: str) -> None:
        """Raise if the kernel, where it is known what it takes, takes something else here."""
        sizes, place = self._function.parameter_sizes, len(self._slots)
        if sizes is None or (place < len(sizes) and sizes[place] == nbytes):
            return
        what = f"{kind}, {nbytes} bytes"
        if place >= len(sizes):
            self._refuse(f"`{self.name}` takes no more arguments", f"{len(sizes)} arguments", what)
        self._refuse(
            f"{self._next} of `{self.name}` has the wrong size", f"{sizes[place]} bytes", what
        )

    def _refuse(self, message: str, expected: str, got: str) -> NoReturn:
        """Raise for a launch that will not be; it does not warn when dropped."""
        self.mark_refused()
        raise LaunchError(message, expected=expected, got=got, places=(("here", place_of(here())),))

    def set_launch_config(self, config: LaunchConfig) -> Self:
        """Set the number of blocks, after which it can run."""
        _refuse_other(self.name, config)
        self._held, self._config = None, config
        self.effect = True
        return self

    @property
    def _bound(self) -> Bound:
        """The memory it may write."""
        bound = Bound([], [], [], 0, self._memory, ())
        bound.held = self._held
        return bound

    def _plan(self) -> None:
        """Have the core launch it: it is a launch of a kernel that borrows nothing.

        Not where there is no config yet, or a GPU does not take its arguments; that is raised when
        it is started.
        """
        config, regions = self._config, [pointer.region for pointer in self._memory]
        if config is None:
            return
        count = len(regions)
        called = CalledPlan(count, count)
        try:
            plan = self._native_plan(config) or called
        except Error:
            return
        run = _RawRun(self._function, self._slots, config, called)
        homes = {region.storage.device for region in regions}
        home = homes.pop() if len(homes) == 1 else None
        form = _Form(self.name, home, tuple(config.grid_dim), run)
        known = Known(b"", form)
        known.latest = PLAIN, cast("Runnable", form), plan
        row = pack(
            f"{3 * count}q", *[r.record for r in regions], *[BY_POINTER] * count, *[0] * count
        )
        use = Use(f"written by `{self.name}`", self._built)
        self._held = (*regions, False, None, use, row, known)

    def _native_plan(self, config: LaunchConfig) -> CudaPlan | None:
        """Return how the driver launches it; None: it is not one on that GPU."""
        function, home = self._function, self.home
        if not (isinstance(home, CudaDevice) and isinstance(function, CudaFunction)):
            return None
        if home.context is not function.context:
            return None
        record = function.record(config, self._slots)
        count = len(self._memory)
        places = (ctypes.c_int64 * count)(*[record.slots + place for place in self._places])
        label = partial(label_of, self.name)
        return CudaPlan(function.context, record, places, count, (), label, function)

    def examined_in(self, ctx: ExecutionContext, tries: int) -> Examination:
        """Have the stream wait for all work on the memory; raise if that is elsewhere."""
        assert self._held is not None, "the core has it"
        self._refuse_elsewhere(ctx.device)
        _, code, plan = self._held[-1].latest
        regions = [pointer.region for pointer in self._memory]
        if ctx.is_capturing:
            return Examination(code, code.run.called, _nothing, None)
        plan = code.run.called if tries > 1 else plan
        examination = Examination(code, plan, _nothing, partial(_mark_written, regions))
        examination.follow(ctx.stream, regions, (), on_host=tries > 1)
        return examination

    def rebinding(self, bound: Bound) -> None:
        """Return None: in a graph it keeps its arguments."""

    def _must_compile(self) -> bool:
        return False

    def execute_closely(self, ctx: ExecutionContext) -> None:
        """Raise what is wrong with a launch that the core does not have."""
        config = self._config
        if config is None:
            raise LaunchError(
                f"`{self.name}` has no launch config",
                hint="call set_launch_config(tw.LaunchConfig(grid_dim=...)) before it is started",
            )
        self._refuse_elsewhere(ctx.device)
        self._native_plan(config)
        raise InternalError(f"`{self.name}` could not be submitted to {ctx.stream!r}")

    def _refuse_elsewhere(self, device: Device) -> None:
        """Raise if memory it was given lives on another device than it runs on."""
        for place, pointer in zip(self._places, self._memory, strict=True):
            home = pointer.region.storage.device
            if home is not device:
                self._refuse(
                    f"argument {place} of `{self.name}` lives on another device than it runs on",
                    f"memory of {device.name}",
                    f"memory of {home.name}",
                )


def _refuse_refill(bound: Bound) -> NoReturn:
    raise InternalError("a raw launch has no other arguments")


def _mark_written(memory: Sequence[Region]) -> None:
    for region in memory:
        region.mark_written()


def _nothing() -> None:
    """Refuse nothing: raw pointers are beyond the rules of borrows."""


def _dtype_of(value: Any) -> AnyDType | None:
    if isinstance(value, bool):
        return as_dtype(bool)
    return as_dtype(value.dtype) if _is_numpy_scalar(value) else None


def _is_numpy_scalar(value: Any) -> bool:
    kind: object = getattr(value, "dtype", None)
    return isinstance(value, np.generic) and getattr(kind, "kind", "") in tuple("biufV")


def _is_address(value: Any) -> bool:
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        return False
    return 0 <= operator.index(value) < 1 << 64


def _refuse_other(kernel: str, config: object) -> None:
    if not isinstance(config, LaunchConfig):
        raise TypeError(
            f"`{kernel}` takes a tw.LaunchConfig(grid_dim, block_dim), got {config!r:.60}"
        )


def refuse_no_function(what: str, function: object) -> None:
    """Raise for what is no function of a module."""
    if not hasattr(function, "put_on"):
        raise TypeError(
            f"{what} needs a function of a module, got {function!r:.60};"
            ' module.load_function("name") gives one'
        )


def load_module_from_ptx(ptx: str | bytes, device: Device | str | int | None = None) -> Module:
    """Load PTX, which the driver compiles for the GPU at hand; the default GPU if none is named."""
    code = ptx.encode() if isinstance(ptx, str) else ptx
    if not hasattr(code, "startswith"):
        raise TypeError(f"PTX is text, got {ptx!r:.60}; a file: tw.load_module_from_file(path)")
    return load_module_from_bytes(code, DEFAULT_GPU if device is None else device)


def load_module_from_file(
    path: str | Path, device: Device | str | int | None = None, *, trusted: bool = False
) -> Module:
    """Load compiled code from a file: PTX, a cubin or a fatbin on a GPU; on the CPU an object file
    by the calling convention of its kernels. A number stands for the GPU of that number.

    Machine code for a GPU is loaded in another process first, which takes a while, so that damaged
    code ends that one; not so if it is `trusted`."""
    try:
        code = Path(path).read_bytes()
    except OSError as error:
        raise DriverError(
            f"the module {str(path)!r} cannot be read: {error.strerror}",
            hint="build it first, or check the path",
        ) from None
    return load_module_from_bytes(code, device, trusted=trusted)


def load_module_from_bytes(
    code: bytes, device: Device | str | int | None = None, *, trusted: bool = False
) -> Module:
    """Load compiled code, as `load_module_from_file` does."""
    chosen = as_device(f"cuda:{device}" if isinstance(device, int) else device)
    return chosen.load_module(code, trusted=trusted)
