"""Kernels as functions of JAX arrays, usable under `jax.jit`, on the CPU and on GPUs.

XLA calls back into Python for each call, by its C interface (`jax.ffi`). Inputs are read where they
are, and results written where XLA wants them; on a GPU in the order of XLA's stream.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar, TypeAlias

import numpy as np

from ..array.layout import row_major
from ..array.region import Region
from ..array.strangers import LEGACY, let_wait, memory_at
from ..array.tensor import new_tensor
from ..base.errors import InternalError
from ..driver.devices import gpus
from ..driver.host import CPU
from ..driver.protocol import Device
from ..launch import Entry
from .wrapping import KernelFunction, Tiles, by_output
from .xla import Buffer, Frame, handler

jax: Any = import_module("jax")
"""Any: type checkers need not have it installed."""

Made: TypeAlias = str | Callable[..., Any]
"""What a result looks like: like the input of that name, or a function of all inputs by name that
gives something with `shape` and `dtype`, such as a `jax.ShapeDtypeStruct`."""

HEADER = "xla/ffi/api/c_api.h"
MAJOR = 0
"""The version of XLA's interface that `xla.py` knows."""


class JaxOp:
    """A kernel as a pure function: it takes the kernel's inputs, and gives its outputs."""

    _numbers: ClassVar[Any] = itertools.count()
    _handlers: ClassVar[list[Any]] = []
    """XLA may call them until the process ends."""

    def __init__(
        self, function: KernelFunction, made: Mapping[str, Made], vmap_method: str
    ) -> None:
        self._function = function
        self._made = made
        self._vmap_method = vmap_method
        self.__name__ = function.name
        self._target = f"tilewright.{function.name}.{next(self._numbers)}"
        for platform, call in (("cpu", self._run_on_cpu), ("CUDA", self._run_on_gpu)):
            made_handler = handler(call, _version())
            self._handlers.append(made_handler)
            capsule = jax.ffi.pycapsule(made_handler)
            jax.ffi.register_ffi_target(self._target, capsule, platform=platform)

    def __call__(self, *args: Any) -> Any:
        """Run it, or have it traced: `args` are the kernel's inputs, in its order."""
        inputs = self._named(args)
        shapes = [_described(self._made[name], inputs) for name in self._function.outputs]
        call = jax.ffi.ffi_call(self._target, shapes, vmap_method=self._vmap_method)
        traced = any(isinstance(arg, jax.core.Tracer) for arg in args)
        known = {name: value for name, value in inputs.items() if traced and _is_number(value)}
        arrays = [jax.numpy.asarray(arg) for name, arg in inputs.items() if name not in known]
        results = call(*arrays, **{name: _attribute(value) for name, value in known.items()})
        return results[0] if len(shapes) == 1 else tuple(results)

    def _named(self, args: Sequence[Any]) -> dict[str, Any]:
        inputs = self._function.inputs
        if len(args) != len(inputs):
            raise TypeError(
                f"`{self._function.name}` takes {', '.join(p.name for p in inputs)},"
                f" got {len(args)} arguments"
            )
        return {p.name: arg for p, arg in zip(inputs, args, strict=True)}

    def _run_on_cpu(self, frame: Frame) -> None:
        """What XLA calls: its own work on the CPU is done when a call returns, and so is ours."""
        inputs = [_region(CPU, each, readonly=True) for each in frame.arguments]
        outputs = [_region(CPU, each, readonly=False) for each in frame.results]
        self._launch(frame, inputs, outputs).sync()

    def _run_on_gpu(self, frame: Frame) -> None:
        """What XLA calls to have work put between what is on its stream and what will be."""
        theirs = frame.stream() or LEGACY
        given = [*frame.arguments, *frame.results]
        device = _gpu_of(given)
        inputs = [_region(device, each, readonly=True, stream=theirs) for each in frame.arguments]
        outputs = [_region(device, each, readonly=False, stream=theirs) for each in frame.results]
        self._launch(frame, inputs, outputs).start()
        for region in (*inputs, *outputs):
            let_wait(region, theirs, writes=True)

    def _launch(self, frame: Frame, inputs: Sequence[Region], outputs: Sequence[Region]) -> Any:
        values: dict[str, Any] = dict(frame.numbers)
        arrays = iter(inputs)
        for parameter in self._function.inputs:
            if parameter.name not in values:
                tensor = new_tensor(next(arrays))
                values[parameter.name] = tensor.item() if parameter.kind == "scalar" else tensor
        for name, region in zip(self._function.outputs, outputs, strict=True):
            values[name] = new_tensor(region)
        return self._function.launch(values)


def custom_op(
    kernel: Entry,
    *,
    tiles: Tiles,
    outputs: Mapping[str, Made] | Made,
    constants: Mapping[str, Any] | None = None,
    vmap_method: str = "sequential",
) -> JaxOp:
    """Make a kernel a function of JAX arrays.

    `outputs` says what results look like: as an input (`outputs="x"`), or by a function of the
    inputs (`outputs={"z": lambda x, y: jax.ShapeDtypeStruct(...)}`). `tiles` cuts outputs: a
    shape, or a function of theirs, for all or by name. For gradients put `jax.custom_vjp` around
    it. `vmap_method` is that of `jax.ffi.ffi_call`.
    """
    function = KernelFunction(kernel, tiles, constants or {})
    return JaxOp(function, by_output(function, outputs), vmap_method)


def _described(made: Made, inputs: Mapping[str, Any]) -> Any:
    found = inputs[made] if isinstance(made, str) else made(**inputs)
    return jax.ShapeDtypeStruct(found.shape, found.dtype)


def _region(device: Device, given: Buffer, *, readonly: bool, stream: int = LEGACY) -> Region:
    layout = row_major(given.dtype, given.shape)
    return memory_at(device, layout, given.address, readonly=readonly, stream=stream)


def _gpu_of(given: Sequence[Buffer]) -> Device:
    """The GPU on which arrays are; the first one where they have no elements."""
    devices = gpus()
    address = next((each.address for each in given if each.address), 0)
    return devices[devices[0].owner_of(address)] if address else devices[0]


def _is_number(value: object) -> bool:
    return isinstance(value, bool | int | float | np.generic)


def _attribute(value: Any) -> Any:
    """A number as XLA keeps those that are known when it compiles."""
    number = np.asarray(value)
    return number.astype({"b": "?", "i": "i8", "u": "i8"}.get(number.dtype.kind, "f8"))[()]


def _version() -> tuple[int, int]:
    """The version of XLA's interface here."""
    text = (Path(jax.ffi.include_dir()) / HEADER).read_text(encoding="utf-8")
    major, minor = (
        int(found[1])
        for word in ("MAJOR", "MINOR")
        if (found := re.search(rf"#define XLA_FFI_API_{word} (\d+)", text))
    )
    if major != MAJOR:
        raise InternalError(
            "this version of XLA calls functions in a way that is not known here",
            expected=f"version {MAJOR}.x of its interface",
            got=f"version {major}.{minor}",
        )
    return major, minor
