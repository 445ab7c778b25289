"""`tw.function`: a kernel as a function of arrays, which makes its results and runs it.

The arrays of a call decide how it runs: NumPy's here, our own as an op, those of PyTorch and JAX by
the operators that interop registers for them, others by DLPack.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeAlias, overload

import numpy as np

from ..base.showing import table
from ..base.tracebacks import publish
from ..op.core import DeviceOp
from ..tensors.arc import Arc
from ..tensors.tensor import Tensor
from .arrays import call_by_dlpack, call_on_host, call_on_tensors
from .describing import Outputs, describers
from .gradient import Gradient
from .variants import Variants
from .wrapping import AnyKernel, Grid, KernelFunction, OfArrays, Tiles, Tune, listed

if TYPE_CHECKING:
    from ..frontend.capture.parameters import Parameter

Caller: TypeAlias = "Callable[[Function, tuple[Any, ...]], Any]"

_NDARRAY: Any = np.ndarray

FRAMEWORKS = {"torch": "torch", "jax": "jax", "jaxlib": "jax", "dask": "dask"}
"""By the package in which an array's class is: the module of interop that calls functions on it."""


class Function:
    """A kernel as a function: it takes the kernel's inputs, and returns its outputs.

    Without `outputs` it takes all parameters of the kernel, and writes its outputs in place.
    Results are arrays of the same kind as the inputs: of tensors, an op that gives tensors.
    """

    def __init__(
        self,
        kernel: AnyKernel,
        *,
        outputs: Outputs | None = None,
        tiles: Tiles | None = None,
        constants: Mapping[str, Any] | None = None,
        tune: Tune | None = None,
        backward: OfArrays | None = None,
        grid: Grid | None = None,
    ) -> None:
        if outputs is None and backward is not None:
            raise TypeError(
                f"`{kernel.__name__}` writes in place, and so has no gradient: give it `outputs`"
            )
        self._define(KernelFunction(kernel, tiles, constants or {}, tune, grid), outputs, backward)
        self.variants = Variants(self, self._define_variant) if self.wrapped.is_varied else None
        """Functions of flat arguments, where calls differ in structure; None: they do not."""

    def _define_variant(self, parameters: Mapping[str, Sequence[Parameter]]) -> Function:
        """Return the function that has these parameters, by the name of the kernel's."""
        found = Function.__new__(Function)
        found._define(self.wrapped.variant(parameters), self._outputs, self._backward)
        found.variants = None
        return found

    def _define(
        self, wrapped: KernelFunction, outputs: Outputs | None, backward: OfArrays | None
    ) -> None:
        self._outputs, self._backward = outputs, backward
        self.wrapped = wrapped
        """The kernel, and how its outputs are cut."""
        self.tuned = wrapped.tuned
        """The kernel if it is tuned: its reports say what was tried."""
        self.looks = () if outputs is None else describers(wrapped, outputs)
        """What each output looks like; none: it is given, and written in place."""
        self.gradient = None if backward is None else Gradient(wrapped, backward)
        """How gradients are computed; None: there are none."""
        self.registered: dict[str, Any] = {}
        """The operators that frameworks know it by."""
        self.__name__ = wrapped.name
        self.__doc__ = wrapped.kernel.__doc__
        self.taken = wrapped.inputs if self.looks else tuple(wrapped.parameters)
        """The parameters of the kernel that it takes, in its order."""
        self._names = [p.name for p in self.taken]
        self.tensors = [i for i, p in enumerate(self.taken) if p.kind != "scalar"]
        """Which of these are arrays; the others are numbers."""
        self.written = [i for i, p in enumerate(self.taken) if p.kind == "output"]
        """Which of these it writes in place."""

    def __call__(self, *args: Any, **named: Any) -> Any:
        """Run the kernel on arrays, or build the op that does."""
        if self.variants is not None:
            return self.variants.call(args, named)
        if named or len(args) != len(self._names):
            args = self._placed(args, named)
        for place in self.tensors:
            kind: type[object] = args[place].__class__
            if kind is not _NDARRAY:
                return (CALLERS.get(kind) or _find_caller(self, place, kind))(self, args)
        return call_on_host(self, args)

    def _placed(self, args: tuple[Any, ...], named: Mapping[str, Any]) -> tuple[Any, ...]:
        """Return the arguments in the kernel's order, though some were given by name."""
        rest = self._names[len(args) :]
        if len(args) > len(self._names) or set(rest) != set(named):
            got = f"{len(args)} arguments" + (f" and {listed(named)}" if named else "")
            raise TypeError(f"`{self.__name__}` takes {listed(self._names)}, got {got}")
        return *args, *[named[name] for name in rest]

    def _repr_html_(self) -> str:
        inputs = [(name, "input") for name in self._names]
        gradient = "none" if self.gradient is None else "given"
        return table(f"function of {self.__name__}", [*inputs, ("gradient", gradient)])

    def __repr__(self) -> str:
        return f"<function of `{self.__name__}`>"


CALLERS: dict[type, Caller] = {
    np.ndarray: call_on_host,
    Tensor: call_on_tensors,
    Arc: call_on_tensors,
}
"""Who runs a call, by the class of its arrays."""


def _find_caller(function: Function, place: int, kind: type) -> Caller:
    """Return the caller for arrays of a class that was not seen before."""
    found = _caller_of(kind)
    if found is None:
        name = function.taken[place].name
        raise TypeError(
            f"`{name}` of `{function.__name__}` must be an array (from NumPy, PyTorch, JAX, CuPy or"
            f" another library with DLPack) or a tensor; got {kind.__name__}"
        )
    CALLERS[kind] = found
    return found


def _caller_of(kind: Any) -> Caller | None:
    if issubclass(kind, DeviceOp | Tensor | Arc):
        return call_on_tensors
    if issubclass(kind, np.ndarray):
        return call_on_host
    packages = [base.__module__.partition(".")[0] for base in kind.__mro__]
    for package in packages:
        if package in FRAMEWORKS:
            module: Any = import_module(f"..interop.{FRAMEWORKS[package]}", __package__)
            caller: Caller = module.call_function
            return caller
    return call_by_dlpack if hasattr(kind, "__dlpack__") else None


@overload
def function(
    kernel: AnyKernel,
    /,
    *,
    outputs: Outputs | None = None,
    tiles: Tiles | None = None,
    constants: Mapping[str, Any] | None = None,
    tune: Tune | None = None,
    backward: OfArrays | None = None,
    grid: Grid | None = None,
) -> Function: ...
@overload
def function(
    *,
    outputs: Outputs | None = None,
    tiles: Tiles | None = None,
    constants: Mapping[str, Any] | None = None,
    tune: Tune | None = None,
    backward: OfArrays | None = None,
    grid: Grid | None = None,
) -> Callable[[AnyKernel], Function]: ...
def function(
    kernel: AnyKernel | None = None,
    /,
    *,
    outputs: Outputs | None = None,
    tiles: Tiles | None = None,
    constants: Mapping[str, Any] | None = None,
    tune: Tune | None = None,
    backward: OfArrays | None = None,
    grid: Grid | None = None,
) -> Any:
    """Turn a kernel into a function of arrays; also as a decorator above `@tw.entry`.

    It takes the kernel's inputs as NumPy, PyTorch, JAX or CuPy arrays, or what else has DLPack,
    makes the outputs, runs the kernel where the framework expects its work, and returns arrays of
    the same kind. Of our tensors, and ops that give some, it makes an op.

    `outputs` says what results look like: an input (`outputs="x"`), or a function of the inputs
    that returns a shape, or a shape and a dtype; for all, by name, or in a tuple. `tiles` cuts the
    outputs of a tile kernel: a shape, in which `tw.FULL` is a whole axis, or a function of the
    output's shape; for all, or by name. `constants` are those of the kernel. With `tune`, a
    `tw.autotune(...)`, tiles and constants of its search space are chosen at the first call with
    arguments of a kind.

    Without `outputs` the function takes all parameters of the kernel, writes its outputs in place
    and returns them; of JAX arrays, which cannot be written, it returns new ones. A kernel whose
    outputs are all accumulators has `grid`, which returns the number of its blocks for inputs of
    such shapes; accumulators that the function makes are 0 before.

    With `backward` it has gradients in PyTorch and JAX. Its first parameters are the gradients of
    the outputs; the others are named like parameters of the kernel, whose arrays it is given. It
    returns a gradient for each array that the kernel reads, or None.

    Optional parameters, tuples and `*xs` of the kernel are those of the function. `outputs` and
    `backward` see a tuple, or None, under the name of such a parameter, and `backward` returns a
    tuple of gradients for it.
    """

    described: dict[str, Any] = {
        "outputs": outputs, "tiles": tiles, "constants": constants, "tune": tune,
        "backward": backward, "grid": grid,
    }  # fmt: skip
    return partial(function, **described) if kernel is None else Function(kernel, **described)


publish(["Function", "function"], globals())
