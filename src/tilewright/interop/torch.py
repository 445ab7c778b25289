"""Kernels as operators of PyTorch, known to autograd, `torch.compile` and `opcheck`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeAlias

from ..array.create import asarray
from ..array.strangers import memory_in_order
from ..array.tensor import Tensor, new_tensor
from ..base.dtypes import AnyDType
from ..base.errors import DeviceError, Error
from ..driver.devices import gpus
from ..driver.protocol import Stream
from ..launch import Entry, Launch
from .wrapping import KernelFunction, Tiles, by_output

if TYPE_CHECKING:
    from ..frontend.parameters import Parameter

torch: Any = import_module("torch")
"""Any: type checkers need not have it installed."""

Made: TypeAlias = str | Callable[..., Any]
"""How a result is made: like the input of that name, or by a function of all inputs by name."""


class TorchOp:
    """A kernel that PyTorch calls. Tensors are used where they are, none is copied."""

    def __init__(
        self, name: str, function: KernelFunction, made: Mapping[str, Made] | None
    ) -> None:
        self._function = function
        self._made = made
        self._captured: list[object] = []
        """What graphs that PyTorch has recorded need of ours."""
        self.schema = _schema(function, functional=made is not None)
        """What PyTorch knows of it: types, and which arguments are written."""
        self.definition: Any = torch.library.custom_op(
            name, self._run, mutates_args=() if made else function.outputs, schema=self.schema
        )
        """PyTorch's own object, for `register_vmap` and the like."""
        self.definition.register_fake(self._results)

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        """Run it as PyTorch runs its operators."""
        return self.definition(*args, **keywords)

    def register_autograd(
        self, backward: Callable[..., Any], /, *, setup_context: Callable[..., Any] | None = None
    ) -> None:
        """Say how gradients are made, as `torch.library.CustomOpDef.register_autograd` takes it."""
        self.definition.register_autograd(backward, setup_context=setup_context)

    def compile(self, *args: Any) -> None:
        """Compile and load the kernel for such arguments, without running it."""
        launch = self.launch(*args)
        launch.compile()
        launch.close()

    def _run(self, *args: Any) -> Any:
        """What PyTorch calls: with tensors that have memory, below autograd."""
        results = self._results(*args)
        launch = self._function.launch(_seen(self._named(args, results)))
        kept = _end(launch, args)
        if kept is not None:
            self._captured.append(kept)
        return results

    def _results(self, *args: Any) -> Any:
        """The tensors that are given back, not yet written; for tensors without memory too."""
        if self._made is None:
            return None
        inputs = {p.name: arg for p, arg in zip(self._function.inputs, args, strict=True)}
        made = [_made_by(self._made[name], inputs) for name in self._function.outputs]
        return made[0] if len(made) == 1 else tuple(made)

    def _named(self, args: Sequence[Any], results: Any) -> dict[str, Any]:
        """All arguments of the kernel by name."""
        function = self._function
        if self._made is None:
            return {p.name: arg for p, arg in zip(function.parameters, args, strict=True)}
        made: Sequence[Any] = (results,) if len(function.outputs) == 1 else results
        inputs = [p.name for p in function.inputs]
        return dict(zip([*function.outputs, *inputs], [*made, *args], strict=True))

    def launch(self, *args: Any) -> Launch[Any]:
        """The launch that such a call would run."""
        return self._function.launch(_seen(self._named(args, self._results(*args))))


def custom_op(
    name: str,
    kernel: Entry,
    *,
    tiles: Tiles,
    outputs: Mapping[str, Made] | Made | None = None,
    constants: Mapping[str, Any] | None = None,
) -> TorchOp:
    """Make a kernel an operator of PyTorch, called `name`, such as "mylib::softmax".

    Its schema, what it mutates and what it gives for tensors without memory follow from the
    kernel's signature. Without `outputs` the operator takes the kernel's arguments, and writes its
    outputs in place. With it, it makes them and gives them back: like an input (`outputs="x"`), or
    by a function of the inputs (`outputs={"z": lambda x, y: x.new_empty(...)}`); only then can it
    have gradients. `tiles` cuts outputs: a shape, or a function of theirs, for all or by name.
    """
    function = KernelFunction(kernel, tiles, constants or {})
    return TorchOp(name, function, None if outputs is None else by_output(function, outputs))


def _made_by(made: Made, inputs: Mapping[str, Any]) -> Any:
    if not isinstance(made, str):
        return made(**inputs)
    like = inputs[made]
    return like.new_empty(like.shape)


def _schema(function: KernelFunction, *, functional: bool) -> str:
    """The operator's signature as PyTorch writes it."""
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


def _seen(values: Mapping[str, Any]) -> dict[str, Any]:
    """Tensors of PyTorch as ours, in the same memory; numbers as they are."""
    return {name: _as_ours(v) if _is_tensor(v) else v for name, v in values.items()}


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
            f"`{launch.name}` is not loaded, and a capture is under way in which it cannot be",
            hint="call .compile(...) of the operator with such arguments before the capture",
        )


def _finish(launch: Launch[Any], device: Any) -> None:
    """PyTorch's own work on the CPU is done when the call returns, and so is ours."""
    launch.sync()


def _start_in_order(launch: Launch[Any], device: Any) -> object:
    """Put it on PyTorch's current stream, or into the graph that PyTorch records there."""
    ordinal, handle = int(device.index), int(torch.cuda.current_stream(device).cuda_stream)
    gpu = gpus()[ordinal]
    if torch.cuda.is_current_stream_capturing():
        refuse_unloaded(launch)
        captured = gpu.captured_stream(handle)
        return captured, launch.record_on(captured)
    stream = _BORROWED.get((ordinal, handle))
    if stream is None:  # PyTorch keeps its streams as long as it lives
        stream = _BORROWED[ordinal, handle] = gpu.borrow_stream(handle, None)
    launch.start_on(stream)
    return None


_BORROWED: dict[tuple[int, int], Stream] = {}
"""PyTorch's streams as ours, by device and address."""

_ENDINGS: dict[str, Callable[[Launch[Any], Any], object]] = {
    "cpu": _finish,
    "cuda": _start_in_order,
}
"""By PyTorch's name for a kind of device: how work is put where its other work is."""
