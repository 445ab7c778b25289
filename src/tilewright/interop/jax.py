"""Kernels as functions of JAX arrays, usable under `jax.jit`, on the CPU and on GPUs.

XLA calls back into Python for each call, by its C interface (`jax.ffi`). Inputs are read where they
are, and results written where XLA wants them; on a GPU in the order of XLA's stream.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ..base.dtypes import as_dtype
from ..base.errors import InternalError
from ..base.tracebacks import publish
from ..devices.cuda.stream import CudaStream
from ..devices.host import CPU
from ..devices.protocol import Device
from ..devices.registry import gpus
from ..functions.describing import Describer, Outputs, describers, element_type
from ..functions.function import Function
from ..functions.gradient import Gradient
from ..functions.wrapping import AnyKernel, KernelFunction, OfArrays, Tiles, refuse_varied
from ..launch import Launch
from ..launch.external_memory import ExternalCalls
from ..launch.foreign_calls import is_aligned
from ..op.ambient import choose_stream
from ..tensors.gpu_imports import LEGACY, let_wait, memory_at
from ..tensors.layout import row_major
from ..tensors.region import Region
from ..tensors.tensor import new_tensor
from .xla import DTYPES, Buffer, Frame, handler, number_at

if TYPE_CHECKING:
    from ..frontend.capture.parameters import Parameter

jax: Any = import_module("jax")
"""Any: type checkers need not have it installed."""

HEADER = "xla/ffi/api/c_api.h"
MAJOR = 0
"""The version of XLA's interface that `xla.py` knows."""


class JaxOp:
    """A kernel as a pure function: it takes the kernel's inputs, and gives its outputs.

    Outputs that have values before (accumulators, those that are written in place) begin as copies:
    XLA passes such an array last, in the memory of its result.
    """

    _numbers: ClassVar[Any] = itertools.count()
    _handlers: ClassVar[list[Any]] = []
    """XLA may call them until the process ends."""

    def __init__(
        self,
        function: KernelFunction,
        looks: Sequence[Describer],
        vmap_method: str,
        gradient: Gradient | None = None,
    ) -> None:
        self._function, self._looks, self._gradient = function, looks, gradient
        self._vmap_method = vmap_method
        self._taken = function.inputs if looks else tuple(function.parameters)
        self._lent = ExternalCalls()
        self.__name__ = function.name
        self._target = f"tilewright.{function.name}.{next(self._numbers)}"
        for platform, call in (("cpu", self._run_on_cpu), ("CUDA", self._run_on_gpu)):
            handled = handler(call, _version())
            self._handlers.append(handled)
            capsule = jax.ffi.pycapsule(handled)
            jax.ffi.register_ffi_target(self._target, capsule, platform=platform)

    def __call__(self, *args: Any) -> Any:
        """Run it, or have it traced: `args` are the kernel's inputs, in its order."""
        inputs = self._named(args)
        if self._gradient is None:
            return self._call(inputs)
        return self._differentiable(inputs, self._gradient)

    def _differentiable(self, inputs: dict[str, Any], gradient: Gradient) -> Any:
        """Call it where JAX finds its gradient. Python's numbers are not JAX's business."""
        numbers = {name: value for name, value in inputs.items() if _is_number(value)}
        names = [name for name in inputs if name not in numbers]

        def call(*arrays: Any) -> Any:
            given = dict(zip(names, arrays, strict=True))
            return self._call({name: numbers.get(name, given.get(name)) for name in inputs})

        def forward(*primals: Any) -> Any:
            arrays = [primal.value for primal in primals]
            given = dict(zip(names, arrays, strict=True)) | numbers
            results = differentiable(*arrays)  # which JAX can differentiate again
            outputs = [results] if len(self._looks) == 1 else results
            kept = gradient.kept([given[name] for name in inputs], outputs)
            # What is wanted is no array: a structure says it, which JAX keeps as it is.
            wanted = {name: () for name, x in zip(names, primals, strict=True) if x.perturbed}
            return results, ({name: kept[name] for name in kept if name not in numbers}, wanted)

        def backward(both: tuple[dict[str, Any], dict[str, Any]], grads: Any) -> Any:
            kept, wanted = both
            listed = [grads] if len(self._looks) == 1 else grads
            of_outputs = [
                _known(grad, optional)
                for grad, optional in zip(listed, gradient.optional, strict=True)
            ]
            needed = {name: (kept | numbers)[name] for name in gradient.needs}
            found = gradient(of_outputs, needed, [name in wanted for name in inputs])
            by_name = dict(zip(inputs, found, strict=True))
            return tuple(by_name[name] for name in names)

        differentiable = jax.custom_vjp(call)
        differentiable.defvjp(forward, backward, symbolic_zeros=True)
        return differentiable(*[inputs[name] for name in names])

    def _call(self, inputs: Mapping[str, Any]) -> Any:
        args = list(inputs.values())
        traced = any(isinstance(arg, jax.core.Tracer) for arg in args)
        known = {name: value for name, value in inputs.items() if traced and _is_number(value)}
        arrays = [
            jax.numpy.asarray(inputs[p.name]) for p in self._function.inputs if p.name not in known
        ]
        shapes, starts = self._begun(inputs)
        call = jax.ffi.ffi_call(
            self._target, shapes, vmap_method=self._vmap_method,
            input_output_aliases={len(arrays) + i: k for i, k in enumerate(starts)},
        )  # fmt: skip
        arrays += starts.values()
        results = call(*arrays, **{name: _attribute(value) for name, value in known.items()})
        return results[0] if len(shapes) == 1 else tuple(results)

    def _begun(self, inputs: Mapping[str, Any]) -> tuple[list[Any], dict[int, Any]]:
        """Return what the results look like, and those that have values before, by number."""
        if not self._looks:
            given = [jax.numpy.asarray(inputs[name]) for name in self._function.outputs]
            return [_described(each) for each in given], dict(enumerate(given))
        args = list(inputs.values())
        shapes = [_described(look(args)) for look in self._looks]
        numbered = [i for i, sums in enumerate(self._function.sums) if sums]
        with jax.enable_x64(True):  # results have 64 bits where the kernel's have
            zeros = {i: jax.numpy.zeros(shapes[i].shape, shapes[i].dtype) for i in numbered}
        return shapes, zeros

    def _named(self, args: Sequence[Any]) -> dict[str, Any]:
        inputs = self._taken
        if len(args) != len(inputs):
            raise TypeError(
                f"`{self._function.name}` takes {', '.join(p.name for p in inputs)},"
                f" got {len(args)} arguments"
            )
        for p, arg in zip(inputs, args, strict=True):
            wrong = (_no_number if p.kind == "scalar" else _no_array)(arg)
            if wrong:
                raise TypeError(f"`{p.name}` of `{self._function.name}` {wrong}")
        return {p.name: arg for p, arg in zip(inputs, args, strict=True)}

    def _run_on_cpu(self, frame: Frame) -> None:
        """Run a call from XLA and wait, since XLA's CPU calls are done when they return."""
        results, numbers = frame.results, frame.numbers
        arguments = frame.arguments[: len(self._in_arrays(numbers))]
        tensors = self._without_numbers(arguments, numbers)
        for name, each in self._number_arrays(arguments, numbers):
            numbers[name] = number_at(each.dtype, each.address)
        lent = self._lent_by(CPU, [*results, *tensors], numbers)
        if not self._lent.run(*lent, choose_stream(self.__name__, CPU)):
            inputs = [_region(CPU, each, readonly=True) for each in tensors]
            outputs = [_region(CPU, each, readonly=False) for each in results]
            launch = self._launch(numbers, inputs, outputs)
            self._lent.learn(lent[0], launch)
            try:
                launch.sync()
            except BaseException:
                CPU.synchronize()  # XLA takes its memory back in any case
                raise

    def _run_on_gpu(self, frame: Frame) -> None:
        """Enqueue a call from XLA on XLA's stream."""
        theirs = frame.stream() or LEGACY
        results, numbers = frame.results, frame.numbers
        arguments = frame.arguments[: len(self._in_arrays(numbers))]
        tensors = self._without_numbers(arguments, numbers)
        stream = _stream_of(theirs, [*arguments, *results])
        device, lent = stream.device, None
        if len(tensors) == len(arguments):  # else some numbers are in the GPU's memory
            lent = self._lent_by(device, [*results, *tensors], numbers)
            if self._lent.run(*lent, stream):
                return
        for name, each in self._number_arrays(arguments, numbers):
            there = _region(device, each, readonly=True, stream=theirs)
            numbers[name] = new_tensor(there).item()
        inputs = [_region(device, each, readonly=True, stream=theirs) for each in tensors]
        outputs = [_region(device, each, readonly=False, stream=theirs) for each in results]
        launch = self._launch(numbers, inputs, outputs)
        if lent is not None:
            self._lent.learn(lent[0], launch)
        launch.start()
        for region in (*inputs, *outputs):
            let_wait(region, theirs, writes=True)

    def _in_arrays(self, numbers: Mapping[str, Any]) -> list[Parameter]:
        """Return the inputs that are arrays: all tensors, and numbers that are computed."""
        return [p for p in self._function.inputs if p.name not in numbers]

    def _number_arrays(
        self, arguments: Sequence[Buffer], numbers: Mapping[str, Any]
    ) -> list[tuple[str, Buffer]]:
        """Return the arrays that are numbers, by name."""
        pairs = zip(self._in_arrays(numbers), arguments, strict=True)
        return [(p.name, each) for p, each in pairs if p.kind == "scalar"]

    def _without_numbers(
        self, arguments: Sequence[Buffer], numbers: Mapping[str, Any]
    ) -> list[Buffer]:
        """Return the arrays that are tensors."""
        pairs = zip(self._in_arrays(numbers), arguments, strict=True)
        return [each for p, each in pairs if p.kind != "scalar"]

    def _lent_by(
        self, device: Device, memory: Sequence[Buffer], numbers: Mapping[str, Any]
    ) -> tuple[Hashable, list[int], list[Any]]:
        """Return the key of a call, the addresses of its memory, and its numbers."""
        addresses = [each.address for each in memory]
        kinds = [(each.dtype, each.shape, is_aligned(each.address)) for each in memory]
        scalars = [p.name for p in self._function.inputs if p.kind == "scalar"]
        given = [numbers[name] for name in scalars if name in numbers]
        return (device, *kinds), addresses, given

    def _launch(
        self, numbers: Mapping[str, Any], inputs: Sequence[Region], outputs: Sequence[Region]
    ) -> Launch[Any]:
        tensors = [p.name for p in self._function.inputs if p.kind != "scalar"]
        names = [*self._function.outputs, *tensors]
        memory = zip(names, [*outputs, *inputs], strict=True)
        return self._function.launch(
            {**numbers, **{name: new_tensor(region) for name, region in memory}}
        )


def custom_op(
    kernel: AnyKernel,
    *,
    tiles: Tiles | None = None,
    outputs: Outputs,
    constants: Mapping[str, Any] | None = None,
    backward: OfArrays | None = None,
    vmap_method: str = "sequential",
) -> JaxOp:
    """Turn a kernel into a function of JAX arrays.

    `outputs`, `tiles`, `constants` and `backward` are those of `tw.function`; an `outputs` function
    may also return a `jax.ShapeDtypeStruct`. `vmap_method` is that of `jax.ffi.ffi_call`.
    """
    function = KernelFunction(kernel, tiles, constants or {})
    refuse_varied(function)
    gradient = None if backward is None else Gradient(function, backward)
    return JaxOp(function, describers(function, outputs), vmap_method, gradient)


def gradients_of(
    formula: Callable[..., Any], values: Sequence[Any], grads: Sequence[Any]
) -> list[Any]:
    """Return the gradients of a formula in JAX's operations, by those of its results."""
    _, transpose = jax.vjp(formula, *values)
    return list(transpose(grads[0] if len(grads) == 1 else tuple(grads)))


def call_function(function: Function, args: tuple[Any, ...]) -> Any:
    """Run a call of a `tw.function` on JAX arrays, or have it traced."""
    known = function.registered.get("jax")
    if known is None:
        made = JaxOp(function.wrapped, function.looks, "sequential", function.gradient)
        known = function.registered.setdefault("jax", made)
    return known(*args)


def _known(grad: Any, optional: bool) -> Any:
    """Return a gradient as an array; None where it is zero and may be left out."""
    if not isinstance(grad, jax.custom_derivatives.SymbolicZero):
        return grad
    return None if optional else jax.numpy.zeros(grad.shape, grad.dtype)


def _described(found: Any) -> Any:
    return jax.ShapeDtypeStruct(tuple(found.shape), element_type(found.dtype).np)


def _region(device: Device, given: Buffer, *, readonly: bool, stream: int = LEGACY) -> Region:
    layout = row_major(given.dtype, given.shape)
    return memory_at(device, layout, given.address, readonly=readonly, stream=stream)


def _stream_of(handle: int, given: Sequence[Buffer]) -> CudaStream:
    """Return XLA's stream as ours; XLA keeps its streams while it exists."""
    stream = _BORROWED.get(handle)
    if stream is None:
        devices = gpus()
        address = next((each.address for each in given if each.address), 0)
        ordinal = devices[0].owner_of(address) if address else 0
        stream = _BORROWED[handle] = devices[ordinal].borrow_stream(handle, None)
    return stream


_BORROWED: dict[int, CudaStream] = {}
"""XLA's streams as ours, by their addresses."""


def _no_number(given: Any) -> str:
    """Describe why a value is not a number; "" if it is one."""
    if not _is_number(given) and not hasattr(given, "shape"):
        return f"is a number, got {type(given).__name__}"
    shape = getattr(given, "shape", ())
    return f"is a number, got an array of shape {shape}" if shape else ""


def _no_array(given: Any) -> str:
    """Describe why a value cannot be read as an array; "" if it can."""
    if not hasattr(given, "shape") or not hasattr(given, "dtype"):
        return f"is an array, got {type(given).__name__}"
    try:
        known = as_dtype(np.dtype(given.dtype)) in DTYPES.values()
    except TypeError:
        known = False
    return "" if known else f"has an element type that kernels do not have: {given.dtype}"


def _is_number(value: object) -> bool:
    return isinstance(value, bool | int | float | np.generic)


def _attribute(value: Any) -> Any:
    """Return a number as an attribute that XLA knows when it compiles."""
    number = np.asarray(value)
    return number.astype({"b": "?", "i": "i8", "u": "i8"}.get(number.dtype.kind, "f8"))[()]


def _version() -> tuple[int, int]:
    """Return the version of XLA's interface here."""
    text = (Path(jax.ffi.include_dir()) / HEADER).read_text(encoding="utf-8")
    major, minor = (
        int(found[1])
        for word in ("MAJOR", "MINOR")
        if (found := re.search(rf"#define XLA_FFI_API_{word} (\d+)", text))
    )
    if major != MAJOR:
        raise InternalError(
            "this version of XLA has an unknown calling convention",
            expected=f"version {MAJOR}.x of its interface",
            got=f"version {major}.{minor}",
        )
    return major, minor


publish(["JaxOp", "custom_op"], globals())
