"""Kernels as PyTorch operators, known to autograd, `torch.compile` and `opcheck`."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from ..base.cuda_abi import POINTER_ALIGNMENT
from ..base.dtypes import AnyDType
from ..base.errors import DeviceError, Error, SchedulingError
from ..base.tracebacks import publish
from ..devices.protocol import Stream
from ..devices.registry import gpus
from ..functions.arrays import as_written
from ..functions.describing import Describer, Outputs, describers, element_type
from ..functions.function import Function
from ..functions.gradient import Gradient
from ..functions.tracing import tell_torch
from ..functions.wrapping import AnyKernel, KernelFunction, OfArrays, Tiles, refuse_varied
from ..launch import Launch
from ..launch.external_memory import ExternalCalls
from ..op.ambient import choose_stream
from ..tensors.create import asarray, host_device
from ..tensors.gpu_imports import memory_in_order
from ..tensors.tensor import Tensor, new_tensor
from .torch_dispatch import Shortened
from .torch_transforms import Differentiation, are_active, by_formula, has_tangents, transformed

if TYPE_CHECKING:
    from ..frontend.capture.parameters import Parameter

torch: Any = import_module("torch")
"""Any: type checkers need not have it installed."""


class TorchOp:
    """A kernel that PyTorch calls. Tensors are used where they are, none is copied."""

    def __init__(
        self,
        name: str,
        function: KernelFunction,
        looks: Sequence[Describer] = (),
        gradient: Gradient | None = None,
    ) -> None:
        """Hold the kernel; without `looks` of its results it writes the outputs in place."""
        self._function, self._looks = function, looks
        self._taken = function.inputs if looks else function.parameters
        """What the operator takes, in its order."""
        self._outputs, self._read, self._numbers = (
            [i for i, p in enumerate(self._taken) if p.kind == kind]
            for kind in ("output", "tensor", "scalar")
        )
        """Which of these the kernel writes, reads, and takes as numbers."""
        self._lent = ExternalCalls()
        self._captured: list[object] = []
        """What graphs that PyTorch has recorded need of ours."""
        self.schema = _schema(function, functional=bool(looks))
        """What PyTorch knows of it: types, and which arguments are written."""
        self.definition: Any = torch.library.custom_op(
            name, self._run, mutates_args=() if looks else function.outputs, schema=self.schema
        )
        """PyTorch's own object, for `register_vmap` and the like."""
        self.definition.register_fake(self._imagined)
        how = Differentiation(function.name, gradient)
        if looks:
            self.definition.register_autograd(how.backward, setup_context=how.keep)
        self._transformed = transformed(self._plainly, function.name, how) if looks else None
        if gradient is not None and gradient.formula is not None:
            names = [p.name for p in function.inputs]
            self._transformed = by_formula(names, gradient.formula)
        """What PyTorch's function transforms call; one that writes in place has none."""
        self._short = Shortened(
            self.definition, self._run, () if looks else self._outputs,
            how.applied(self._run) if looks else None,
        )  # fmt: skip
        self._overload = self._short.overload
        """What calls it."""

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        """Run it as PyTorch runs its operators."""
        if self._transformed is not None and not keywords and (are_active() or has_tangents()):
            return self._transformed(*args)
        return self._overload(*args, **keywords)

    def _plainly(self, *args: Any) -> Any:
        return self._overload(*args)

    def register_autograd(
        self, backward: Callable[..., Any], /, *, setup_context: Callable[..., Any] | None = None
    ) -> None:
        """Register gradients, as `torch.library.CustomOpDef.register_autograd` does."""
        self.definition.register_autograd(backward, setup_context=setup_context)
        self._transformed = self._short.differentiated = None  # PyTorch says what it does then

    def compile(self, *args: Any) -> None:
        """Compile and load the kernel for such arguments, without running it."""
        launch = self.launch(*args)
        launch.compile()
        launch.close()

    def _run(self, *args: Any) -> Any:
        """Run a call from PyTorch, whose tensors have memory, below autograd."""
        results = self._results(*args)
        lent = _lent_by([*self._written(args, results), *[args[i] for i in self._read]])
        if lent is None:
            return self._run_closely(args, results, None)
        kind, addresses, stream = lent
        if self._lent.run(kind, addresses, [args[i] for i in self._numbers], stream):
            return results
        return self._run_closely(args, results, kind)

    def _run_closely(self, args: Sequence[Any], results: Any, kind: Hashable | None) -> Any:
        """Run the call through tensors of ours, and note what makes similar calls quick."""
        launch = self._function.launch(self._seen(args, results), self._settle)
        if kind is not None:
            self._lent.learn(kind, launch)
        kept = _end(launch, args)
        if kept is not None:
            self._captured.append(kept)
        return results

    def _imagined(self, *args: Any) -> Any:
        """Return the results of a call whose tensors have no memory, for `torch.compile`."""
        devices = {str(args[i].device): self._taken[i].name for i in (*self._outputs, *self._read)}
        if len(devices) > 1:
            listed = ", ".join(f"`{name}` on {device}" for device, name in devices.items())
            raise DeviceError(
                f"`{self._function.name}` takes tensors of one device",
                expected=f"all on {next(iter(devices))}",
                got=listed,
            )
        return self._results(*args)

    def _results(self, *args: Any) -> Any:
        """Return the tensors to return, not yet written; also for tensors without memory."""
        looks, sums = self._looks, self._function.sums
        if len(looks) == 1:
            return self._made(looks[0], sums[0], args)
        made = [self._made(look, start, args) for look, start in zip(looks, sums, strict=False)]
        return tuple(made) or None

    def _made(self, look: Describer, is_sum: bool, args: Sequence[Any]) -> Any:
        """Return a new tensor as a describing function of the arguments specifies it."""
        found = look(args)
        if is_sum:
            return self._empty(found, args).zero_()
        if look.like is not None or any(found is arg for arg in args):
            return torch.empty_like(found, memory_format=torch.contiguous_format)
        if _is_tensor(found):
            return found
        return self._empty(found, args)

    def _empty(self, found: Any, args: Sequence[Any]) -> Any:
        dtype = found.dtype
        if not isinstance(dtype, torch.dtype):
            dtype = _type_of_torch(dtype)
        return torch.empty(tuple(found.shape), dtype=dtype, device=args[self._read[0]].device)

    def _written(self, args: Sequence[Any], results: Any) -> Sequence[Any]:
        """Return the tensors that the kernel writes."""
        if self._looks:
            return (results,) if len(self._looks) == 1 else results
        return [args[i] for i in self._outputs]

    def _named(self, args: Sequence[Any], results: Any) -> dict[str, Any]:
        """Return all arguments of the kernel by name."""
        names = [p.name for p in self._taken]
        outputs = dict(zip(self._function.outputs, self._written(args, results), strict=True))
        return outputs | dict(zip(names, args, strict=True))

    def launch(self, *args: Any) -> Launch[Any]:
        """Return the launch that such a call would run."""
        return self._function.launch(self._seen(args, self._results(*args)))

    def _settle(self) -> None:
        """Wait for PyTorch's work before a tuned kernel is measured; it cannot be in a capture."""
        if not torch.cuda.is_available():
            return
        if torch.cuda.is_current_stream_capturing():
            raise SchedulingError(
                f"`{self._function.name}` is not tuned for these arguments, and cannot be while"
                " PyTorch captures a graph",
                hint="call it with such arguments before the capture",
            )
        torch.cuda.current_stream().synchronize()

    def _seen(self, args: Sequence[Any], results: Any) -> dict[str, Any]:
        """Return PyTorch's tensors as ours, in the same memory, and the numbers, by name."""
        known = self._named(args, results)
        return {name: self._as_ours(name, given) for name, given in known.items()}

    def _as_ours(self, name: str, given: Any) -> Any:
        try:
            return _as_ours(given) if _is_tensor(given) else given
        except (TypeError, BufferError) as error:
            kernel = self._function.name
            raise TypeError(f"`{name}` of `{kernel}` cannot be used: {error}") from error


@cache
def _type_of_torch(dtype: Any) -> Any:
    """Return PyTorch's type of elements that we, or NumPy, call `dtype`."""
    return getattr(torch, element_type(dtype).np.name)


def custom_op(
    name: str,
    kernel: AnyKernel,
    *,
    tiles: Tiles | None = None,
    outputs: Outputs | None = None,
    constants: Mapping[str, Any] | None = None,
    backward: OfArrays | None = None,
) -> TorchOp:
    """Turn a kernel into a PyTorch operator, called `name`, such as "mylib::softmax".

    Its schema, what it mutates and what it gives for tensors without memory follow from the
    kernel's signature. Without `outputs` the operator takes the kernel's arguments, and writes its
    outputs in place. With it, it makes them and gives them back, as `tw.function` does, with which
    it shares `outputs`, `tiles`, `constants` and `backward`; only then can it have gradients. An
    `outputs` function may also return a new tensor: `lambda x, y: x.new_empty(...)`.
    """
    if not all(part.isidentifier() for part in name.split("::", 1)) or "::" not in name:
        raise TypeError(f"an operator's name has a namespace, as in 'mylib::scale'; got {name!r}")
    function = KernelFunction(kernel, tiles, constants or {})
    refuse_varied(function)
    if outputs is None:
        if backward is not None:
            raise TypeError(f"`{name}` writes in place, and so has no gradient: give it `outputs`")
        return TorchOp(name, function)
    gradient = None if backward is None else Gradient(function, backward)
    return TorchOp(name, function, describers(function, outputs), gradient)


def call_function(function: Function, args: tuple[Any, ...]) -> Any:
    """Run a call of a `tw.function` on PyTorch tensors, by its own operator."""
    known = function.registered.get("torch")
    given = args
    if function.written:  # as of an optimizer, of which autograd need not know
        args = tuple([arg.detach() if _is_tensor(arg) else arg for arg in args])
    if known is None:
        name = f"tilewright::{function.__name__}_{next(_NUMBERS)}"
        known = TorchOp(name, function.wrapped, function.looks, function.gradient)
        known = function.registered.setdefault("torch", known)
    for place in function.tensors:
        if not _is_tensor(args[place]):
            args = (*args[:place], torch.as_tensor(args[place]), *args[place + 1 :])
    if not function.written:
        return known(*args)
    known(*args)
    return as_written(function, given)


_NUMBERS: Any = itertools.count()
"""Return a name that distinguishes operators whose kernels have one name."""


def _schema(function: KernelFunction, *, functional: bool) -> str:
    """Return the operator's signature as PyTorch writes it."""
    parameters = function.inputs if functional else function.parameters
    marks = {name: f"Tensor(a{i}!)" for i, name in enumerate(function.outputs)}
    types = [marks.get(p.name) or _type_of(p) for p in parameters]
    taken = ", ".join(f"{kind} {p.name}" for kind, p in zip(types, parameters, strict=True))
    count = len(function.outputs) if functional else 0
    given = "Tensor" if count == 1 else f"({', '.join(['Tensor'] * count)})"
    return f"({taken}) -> {given}"


def _type_of(parameter: Parameter) -> str:
    if parameter.kind == "tensor":
        return "Tensor"
    dtype: AnyDType | str | None = parameter.dtype
    if dtype is None or isinstance(dtype, str):
        return "Scalar"  # of any type
    return "bool" if dtype.is_bool else "float" if dtype.is_float else "SymInt"


def _as_ours(tensor: Any) -> Tensor[Any]:
    # One that wants gradients does not export its memory; what autograd needs it knows.
    known = tensor.detach()
    return new_tensor(memory_in_order(known)) if known.is_cuda else asarray(known)


def _is_tensor(value: object) -> bool:
    return isinstance(value, torch.Tensor)


def _end(launch: Launch[Any], args: Sequence[Any]) -> object:
    """Run a launch where PyTorch expects its work; gives what must be kept."""
    device = next(arg.device for arg in args if _is_tensor(arg))
    if device.type not in _ENDINGS:
        launch.close()
        raise DeviceError(
            f"`{launch.name}` cannot run on {device}",
            expected=f"tensors of {' or '.join(_ENDINGS)}",
            got=str(device),
        )
    return _ENDINGS[device.type](launch, device)


def refuse_unloaded(launch: Launch[Any]) -> None:
    """Raise if a launch would have to be compiled or loaded, which must not happen in a capture."""
    if launch.is_lengthy():
        launch.close()
        raise Error(
            f"`{launch.name}` is not loaded, and cannot be loaded during a capture",
            hint="call .compile(...) of the operator with such arguments before the capture",
        )


def _finish(launch: Launch[Any], device: Any) -> None:
    """Wait on the CPU, since PyTorch's own CPU work is done when a call returns."""
    launch.sync()


def _start_in_order(launch: Launch[Any], device: Any) -> object:
    """Enqueue the launch on PyTorch's current stream, or record it in PyTorch's graph."""
    stream = _stream_of_torch(device)
    if stream is None:
        refuse_unloaded(launch)
        handle = int(torch.cuda.current_stream(device).cuda_stream)
        captured = gpus()[int(device.index)].captured_stream(handle)
        return captured, launch.record_on(captured)
    launch.start_on(stream)
    return None


def _stream_of_torch(device: Any) -> Stream | None:
    """Return PyTorch's current stream; None: it is being captured."""
    if torch.cuda.is_current_stream_capturing():
        return None
    ordinal: int = device.index
    handle: int = _current_stream(ordinal)
    stream = _BORROWED.get((ordinal, handle))
    if stream is None:  # PyTorch keeps its streams as long as it lives
        stream = _BORROWED[ordinal, handle] = gpus()[ordinal].borrow_stream(handle, None)
    return stream


def _current_stream(ordinal: int) -> int:
    """Return the address of PyTorch's current stream."""
    if _raw_stream is not None:
        return int(_raw_stream(ordinal))
    return int(torch.cuda.current_stream(ordinal).cuda_stream)


_raw_stream: Callable[[int], int] | None = getattr(torch._C, "_cuda_getCurrentRawStream", None)
"""The same in a tenth of the time, where PyTorch has it."""


def _stream_of_host(device: Any) -> Stream | None:
    """Return a stream of ours on the CPU, where PyTorch's own work is done at once."""
    return choose_stream("a PyTorch operator", host_device(None))


_BORROWED: dict[tuple[int, int], Stream] = {}
"""PyTorch's streams as ours, by device and address."""

_ENDINGS: dict[str, Callable[[Launch[Any], Any], object]] = {
    "cpu": _finish,
    "cuda": _start_in_order,
}
"""By PyTorch's name for a kind of device: how work is put where its other work is."""

_STREAMS: dict[str, Callable[[Any], Stream | None]] = {
    "cuda": _stream_of_torch,
}
"""By the same name: the stream in whose order PyTorch uses its memory."""


def _lent_by(tensors: Sequence[Any]) -> tuple[Hashable, list[int], Stream] | None:
    """Return the key of a call, its memory and its stream; None: take the slow path."""
    on_host = tensors[0].is_cpu
    device = None if on_host else tensors[0].device
    find = _stream_of_host if device is None else _STREAMS.get(device.type)
    stream = None if find is None else find(device)
    if stream is None:
        return None
    addresses: list[int] = []
    kinds: list[object] = [stream.device]
    for tensor in tensors:
        elsewhere = not tensor.is_cpu if on_host else tensor.device != device
        if elsewhere or tensor.layout is not _STRIDED:
            return None
        address: int = tensor.data_ptr()
        addresses.append(address)
        kinds += (tensor.dtype, tensor.shape, tensor.stride(), address % POINTER_ALIGNMENT == 0)
    return tuple(kinds), addresses, stream


_STRIDED = torch.strided

publish(["TorchOp", "custom_op"], globals())
tell_torch()
