"""Kernels as functions of JAX arrays, usable under `jax.jit`.

JAX calls back into Python for each call (`jax.pure_callback`). Inputs are read where they are; JAX
copies each result once, into memory of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any, TypeAlias

import numpy as np

from ..launch import Entry
from .wrapping import KernelFunction, Tiles, by_output

jax: Any = import_module("jax")
"""Any: type checkers need not have it installed."""

Made: TypeAlias = str | Callable[..., Any]
"""What a result looks like: like the input of that name, or a function of all inputs by name that
gives something with `shape` and `dtype`, such as a `jax.ShapeDtypeStruct`."""


class JaxOp:
    """A kernel as a pure function: it takes the kernel's inputs, and gives its outputs."""

    def __init__(
        self, function: KernelFunction, made: Mapping[str, Made], vmap_method: str
    ) -> None:
        self._function = function
        self._made = made
        self._vmap_method = vmap_method
        self.__name__ = function.name

    def __call__(self, *args: Any) -> Any:
        """Run it, or have it traced: `args` are the kernel's inputs, in its order."""
        inputs = self._named(args)
        shapes = tuple(_described(self._made[name], inputs) for name in self._function.outputs)
        results = jax.pure_callback(self._run, shapes, *args, vmap_method=self._vmap_method)
        return results[0] if len(shapes) == 1 else results

    def _named(self, args: Sequence[Any]) -> dict[str, Any]:
        inputs = self._function.inputs
        if len(args) != len(inputs):
            raise TypeError(
                f"`{self._function.name}` takes {', '.join(p.name for p in inputs)},"
                f" got {len(args)} arguments"
            )
        return {p.name: arg for p, arg in zip(inputs, args, strict=True)}

    def _run(self, *args: Any) -> tuple[np.ndarray[Any, Any], ...]:
        """What JAX calls, with arrays that have memory; numbers come as arrays without axes."""
        kinds = [p.kind for p in self._function.inputs]
        seen = [
            np.asarray(arg).item() if kind == "scalar" else np.asarray(arg)
            for kind, arg in zip(kinds, args, strict=True)
        ]
        inputs = self._named(seen)
        shapes = [_described(self._made[name], inputs) for name in self._function.outputs]
        results = tuple(np.empty(shape.shape, shape.dtype) for shape in shapes)
        outputs = dict(zip(self._function.outputs, results, strict=True))
        self._function.launch({**inputs, **outputs}).sync()
        return results


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
    it. `vmap_method` is that of `jax.pure_callback`.
    """
    function = KernelFunction(kernel, tiles, constants or {})
    return JaxOp(function, by_output(function, outputs), vmap_method)


def _described(made: Made, inputs: Mapping[str, Any]) -> Any:
    found = inputs[made] if isinstance(made, str) else made(**inputs)
    return jax.ShapeDtypeStruct(found.shape, found.dtype)
