"""Runs our kernels as a user does, on the stream that all contestants share."""

from __future__ import annotations

import ctypes
import importlib
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from typing import Any

import tilewright as tw
from tilewright.backend.tileir import target as abi
from tilewright.base.dtypes import AnyDType
from tilewright.compile.options import CompileOptions
from tilewright.ir.artifact import Artifact

from .. import peers
from .case import Entry, Tensor

DTYPES: dict[str, AnyDType] = {
    "torch.float16": tw.f16, "torch.bfloat16": tw.bf16, "torch.float32": tw.f32,
}  # fmt: skip
RECORD_BYTES = 1 << 16


@cache
def stream() -> Any:
    """The stream that is measured, made by us."""
    return tw.default_device().new_stream()


def as_torchs() -> Any:
    """The same stream as torch's current one, for a `with` block."""
    lib = peers.torch()
    return lib.cuda.stream(lib.cuda.ExternalStream(stream().handle))


class Launches:
    """A kernel and its arguments, in memory of ours, and what puts it on the stream.

    Kernels that write the same tensor of torch write the same memory: where it lies changes the
    speed of some by more than what they are compared for.
    """

    def __init__(
        self,
        kernel: Any,
        out: Tensor,
        tile: tuple[int, ...],
        inputs: Sequence[Any],
        groups: tuple[int, ...] | None,
    ) -> None:
        self.kernel = kernel
        self.given = [owned(i) if hasattr(i, "data_ptr") else i for i in inputs]
        self.out = out
        self._shape = tile, groups
        self._memory = owned(out)
        self._output: Any = None

    @property
    def output(self) -> Any:
        """The memory cut into tiles: again, where others, or a reader, have ended the last cut."""
        if _CUT.get(id(self._memory)) is not self:
            _CUT[id(self._memory)] = self
            tile, groups = self._shape
            self._output = self._memory.partition_mut(tile)
            if groups is not None:
                self._output = self._output.map(groups)
        return self._output

    def spoil(self) -> None:
        """Write NaN where the answer will be."""
        tw.memcpy(self._memory, tw.asarray(self.out.fill_(math.nan))).sync_on(stream())
        _CUT.pop(id(self._memory), None)

    def fetch(self) -> None:
        """Copy the answer to torch."""
        tw.memcpy(tw.asarray(self.out), self._memory).sync_on(stream())
        _CUT.pop(id(self._memory), None)


_OWNED: dict[int, tuple[Tensor, Any]] = {}
"""Tensors of torch, by their identity, and what we have of them."""


_CUT: dict[int, Launches] = {}
"""Who has cut a memory last, by its identity."""


def owned(tensor: Tensor) -> Any:
    """The same numbers in memory of ours; one copy of each tensor."""
    if id(tensor) not in _OWNED:
        made = tw.empty(tuple(tensor.shape), DTYPES[str(tensor.dtype)]).sync_on(stream())
        tw.memcpy(made, tw.asarray(tensor)).sync_on(stream())
        _OWNED[id(tensor)] = tensor, made
    return _OWNED[id(tensor)][1]


def forget() -> None:
    """Let go of all copies."""
    _OWNED.clear()
    _CUT.clear()


def entry(
    kernel: Any,
    out: Tensor,
    tile: tuple[int, ...],
    *inputs: Any,
    groups: tuple[int, ...] | None = None,
    options: Mapping[str, Any] | None = None,
    **constants: Any,
) -> Entry:
    """A kernel of ours that writes `out`; with `groups` its blocks visit many tiles each.

    Each run is a launch as users write it: `kernel(...).start_on(stream)`.
    """
    made = Launches(kernel, out, tile, inputs, groups)
    wanted = CompileOptions(**options) if options else None

    def run() -> None:
        launch = kernel(made.output, *made.given, **constants)
        (launch.compile_options(wanted) if wanted else launch).start_on(stream())

    setting = _setting(tile, {**constants, **(options or {})})
    return Entry(run, out, setting, made.fetch, made.spoil)


def _setting(tile: Sequence[int], more: Mapping[str, Any]) -> str:
    given = [f"{name}={value}" for name, value in more.items()]
    return ", ".join(["x".join(map(str, tile)), *given])


# --- the driver's call alone ----------------------------------------------------------------------


def direct(kernel: Any, out: Tensor, tile: tuple[int, ...], *inputs: Any) -> Launch:
    """A kernel of ours and its arguments, as the driver takes them."""
    output = _meta(out).partition_mut(tile)
    grid = [math.ceil(n / t) for n, t in zip(out.shape, tile, strict=True)]
    given = [_meta(i) if hasattr(i, "data_ptr") else i for i in inputs]
    artifact = kernel.compile_for(_target(), output, *given)
    blocks = [*grid, 1, 1][:3]
    return Launch(artifact, (out, *inputs), blocks[::-1] if artifact.turned else blocks)


def _meta(tensor: Tensor) -> Any:
    return tw.meta(tuple(tensor.shape), DTYPES[str(tensor.dtype)])


class Launch:
    """A compiled kernel with its arguments, ready to be put on torch's current stream."""

    def __init__(self, artifact: Artifact, args: Sequence[Any], grid: Sequence[int]) -> None:
        self._driver: Any = importlib.import_module("cuda.bindings.driver")
        self._library = self._ask(self._driver.cuModuleLoadData(artifact.code))
        self._function = self._ask(
            self._driver.cuModuleGetFunction(self._library, artifact.name.encode())
        )
        self._grid = tuple(grid)
        lib = peers.torch()
        self._record = lib.zeros(RECORD_BYTES, dtype=lib.uint8, device="cuda")
        slots = abi.slots(artifact.signature, reports=bool(artifact.sites))
        self._values = list(_values(slots, args, grid, self._record.data_ptr()))
        addresses = [ctypes.addressof(value) for value in self._values]
        self._arguments = (ctypes.c_void_p * len(addresses))(*addresses)

    def __call__(self) -> None:
        """Put it there; raises what the driver refuses."""
        self._ask(self.call_on(peers.torch().cuda.current_stream().cuda_stream)())

    def call_on(self, stream: int) -> Callable[[], tuple[Any, ...]]:
        """The driver's call and nothing else, which gives its answer; while this object lives."""
        return partial(
            self._driver.cuLaunchKernel,
            self._function, *self._grid, 1, 1, 1, 0, stream, ctypes.addressof(self._arguments), 0,
        )  # fmt: skip

    @staticmethod
    def _ask(answer: tuple[Any, ...]) -> Any:
        code, *values = answer
        if int(code):
            raise RuntimeError(f"the CUDA driver says {code}")
        return values[0] if values else None


def _values(
    slots: Sequence[abi.ParameterSlot], args: Sequence[Any], grid: Sequence[int], record: int
) -> Iterator[Any]:
    """The parameters of a kernel, as ctypes."""
    wide = {4: ctypes.c_int32, 8: ctypes.c_int64}
    for slot in slots:
        if slot.what == "record":
            yield ctypes.c_uint64(record)
            continue
        if slot.what == "grid":
            yield ctypes.c_int32(grid[slot.axis])
            continue
        arg = args[slot.param]
        if slot.what == "address":
            yield ctypes.c_uint64(arg.data_ptr())
        elif slot.what == "scalar":
            yield ctypes.c_float(arg)
        else:
            dims = arg.shape if slot.what == "extent" else arg.stride()
            yield wide[slot.dtype.itemsize](dims[slot.axis])


@cache
def _target() -> str:
    major, minor = peers.torch().cuda.get_device_capability()
    return f"sm_{major}{minor}"
