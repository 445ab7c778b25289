"""The gradient of a function: what it needs of a call, and what it gives.

The first parameters of `backward` are the gradients of the outputs; those behind are called like
parameters of the kernel, and are what a framework keeps for it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .wrapping import KernelFunction, listed


class Gradient:
    """Computes the gradients of a kernel's inputs from those of its outputs."""

    def __init__(self, function: KernelFunction, backward: Callable[..., Any]) -> None:
        self._function, self._backward = function, backward
        self.places = [i for i, p in enumerate(function.inputs) if p.kind == "tensor"]
        """Which inputs may have gradients."""
        names = list(inspect.signature(backward).parameters)
        count = len(function.outputs)
        self.needs = tuple(names[count:])
        """The parameters of the kernel, inputs or outputs, that it is given."""
        known = [p.name for p in function.parameters]
        unknown = [name for name in self.needs if name not in known]
        if len(names) < count or unknown:
            what = f", got {listed(unknown)}" if unknown else f", got {len(names)} parameters"
            raise TypeError(
                f"`backward` of `{function.name}` takes the gradients of {listed(function.outputs)}"
                f" and then what it needs of {listed(known)} by name{what}"
            )

    def kept(self, inputs: Sequence[Any], outputs: Sequence[Any]) -> dict[str, Any]:
        """Return the arrays of a call that the gradient needs, by name."""
        names = [p.name for p in self._function.inputs]
        known = dict(zip(names, inputs, strict=True))
        known |= dict(zip(self._function.outputs, outputs, strict=True))
        return {name: known[name] for name in self.needs}

    def __call__(self, grads: Sequence[Any], kept: Mapping[str, Any]) -> list[Any]:
        """Return one gradient for each input, None for numbers and where there is none."""
        given = _listed(self._backward(*grads, **kept))
        if len(given) != len(self.places):
            tensors = [self._function.inputs[i].name for i in self.places]
            raise TypeError(
                f"`backward` of `{self._function.name}` returns a gradient or None for each of"
                f" {listed(tensors)}, got {len(given)}"
            )
        by_place = dict(zip(self.places, given, strict=True))
        return [by_place.get(i) for i in range(len(self._function.inputs))]


def _listed(found: Any) -> list[Any]:
    return [*found] if type(found) in (tuple, list) else [found]
