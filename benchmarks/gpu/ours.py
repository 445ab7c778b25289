"""Runs our kernels on torch's memory and stream, so that nothing but the kernel is timed.

Kernels are compiled as launches compile them; what launches cost the host is measured elsewhere.
"""

from __future__ import annotations

import ctypes
import importlib
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from typing import Any

import tilewright as tw
from tilewright.backend import tileir
from tilewright.backend.tileir import abi
from tilewright.base.dtypes import AnyDType, bool_
from tilewright.compile.options import CompileOptions
from tilewright.compile.pipeline import CUDA_PASSES, PASSES
from tilewright.compile.runner import Runner
from tilewright.frontend.build import build
from tilewright.ir import Func
from tilewright.ir.artifact import Artifact
from tilewright.ir.rewrite import rewrite
from tilewright.launch.inspection import Inspection

from .. import peers
from .case import Entry, Tensor

DTYPES: dict[str, AnyDType] = {
    "torch.float16": tw.f16, "torch.bfloat16": tw.bf16, "torch.float32": tw.f32,
}  # fmt: skip
RECORD_BYTES = 1 << 16


def entry(
    kernel: Any,
    out: Tensor,
    tile: tuple[int, ...],
    *inputs: Any,
    groups: tuple[int, ...] | None = None,
    unchecked: bool = False,
    options: Mapping[str, Any] | None = None,
    **constants: Any,
) -> Entry:
    """A kernel of ours that writes `out`; with `groups` its blocks visit many tiles each.

    `unchecked` leaves out what a safe kernel checks while it runs.
    """
    wanted = CompileOptions(**(options or {}))
    run = _prepared(kernel, out, tile, inputs, groups, unchecked, wanted, constants)
    return Entry(run, out, _setting(tile, {**constants, **(options or {})}))


def direct(kernel: Any, out: Tensor, tile: tuple[int, ...], *inputs: Any) -> Launch:
    """A kernel of ours and its arguments, as the driver takes them."""
    return _prepared(kernel, out, tile, inputs, None, False, CompileOptions(), {})


def _prepared(
    kernel: Any,
    out: Tensor,
    tile: tuple[int, ...],
    inputs: Sequence[Any],
    groups: tuple[int, ...] | None,
    unchecked: bool,
    wanted: CompileOptions,
    constants: Mapping[str, Any],
) -> Launch:
    output = _meta(out).partition_mut(tile)
    grid = [math.ceil(n / t) for n, t in zip(out.shape, tile, strict=True)]
    if groups is not None:
        grid = [min(_processors(), math.prod(grid))]
        output = output.map(groups, grid[0])
    given = [_meta(i) if hasattr(i, "data_ptr") else i for i in inputs]
    if unchecked:
        artifact = _unchecked(kernel, (output, *given), constants, wanted)
    else:
        artifact = kernel.compile_for(_target(), output, *given, options=wanted, **constants)
    return Launch(artifact, (out, *inputs), [*grid, 1, 1][:3])


def _setting(tile: Sequence[int], more: Mapping[str, Any]) -> str:
    given = [f"{name}={value}" for name, value in more.items()]
    return ", ".join(["x".join(map(str, tile)), *given])


def _meta(tensor: Tensor) -> Any:
    return tw.meta(tuple(tensor.shape), DTYPES[str(tensor.dtype)])


def _unchecked(
    kernel: Any, args: Sequence[Any], constants: Mapping[str, Any], options: CompileOptions
) -> Artifact:
    """A kernel compiled as launches do, but for its checks."""
    signature = Inspection(kernel._kernel, args, constants, _target()).signature
    func = waived(build(kernel.source, signature))
    for step in (*PASSES, *CUDA_PASSES):
        func = step(func)
    stages = tileir.stages_for(_target(), options.wishes)
    artifact: Artifact = Runner(func.name).stages(stages, func)
    return artifact


def waived(func: Func) -> Func:
    """A function without the checks it makes while it runs."""
    return rewrite(func, lambda r, op: (r.constant(True, bool_),) if op.name == "check" else None)


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
    slots: Sequence[abi.Slot], args: Sequence[Any], grid: Sequence[int], record: int
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
def _processors() -> int:
    return int(peers.torch().cuda.get_device_properties(0).multi_processor_count)


@cache
def _target() -> str:
    major, minor = peers.torch().cuda.get_device_capability()
    return f"sm_{major}{minor}"
