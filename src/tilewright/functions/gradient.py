"""The gradient of a function: what it needs of a call, and what it gives.

The first parameters of `backward` are the gradients of the outputs; those behind are called like
parameters of the kernel, and are what a framework keeps for it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..base.errors import Error
from .groups import Group, Groups, is_group, writes
from .wrapping import KernelFunction, listed


def no_gradient(name: str) -> Error:
    """Return the error that a function has no gradient."""
    return Error(
        f"`{name}` has no gradient",
        expected="a function with `backward`",
        got="one without, whose derivative was asked for",
        hint="give tw.function `backward=...`, or stop the gradient where it is called (by"
        " `x.detach()` in PyTorch); of an operation, derivatives of this order are not defined",
    )


class Gradient:
    """Computes the gradients of a kernel's inputs from those of its outputs."""

    def __init__(self, function: KernelFunction, backward: Callable[..., Any]) -> None:
        self._function, self._backward = function, backward
        self.places = [i for i, p in enumerate(function.inputs) if p.kind == "tensor"]
        """Which inputs may have gradients."""
        groups = (function.groups or Groups(function.parameters, {})).all
        parameters = inspect.signature(backward).parameters
        names, count = list(parameters), len(function.outputs)
        self.optional = [p.default is None for p in list(parameters.values())[:count]]
        """Which gradients of outputs may be None, where nothing depends on the output."""
        known = {group.parameter.name: group for group in groups}
        unknown = [name for name in names[count:] if name not in known]
        if len(names) < count or unknown:
            what = f", got {listed(unknown)}" if unknown else f", got {len(names)} parameters"
            raise TypeError(
                f"`backward` of `{function.name}` takes the gradients of {listed(function.outputs)}"
                f" and then what it needs of {listed(known)} by name{what}"
            )
        self.formula: Callable[..., Any] | None = getattr(backward, "formula", None)
        """What computes the same of the inputs, by name, in operations that have gradients."""
        self._needed = [known[name] for name in names[count:]]
        self._arrays = [group for group in groups if _has_gradient(group)]
        self.needs = tuple(item.name for group in self._needed for item in group.items)
        """The parameters of the kernel, inputs or outputs, that it is given."""
        order = [*(p.name for p in function.inputs), *function.outputs]
        self._kept = [(name, order.index(name)) for name in self.needs]
        """These, and where each is among all inputs and outputs."""

    def kept(self, inputs: Sequence[Any], outputs: Sequence[Any]) -> dict[str, Any]:
        """Return the arrays of a call that the gradient needs, by name."""
        known = [*inputs, *outputs]
        return {name: known[place] for name, place in self._kept}

    def __call__(
        self, grads: Sequence[Any], kept: Mapping[str, Any], wanted: Sequence[bool] | None = None
    ) -> list[Any]:
        """Return one gradient for each input, None for numbers and where there is none.

        Those that are functions are called for inputs whose gradient is wanted, by default all.
        """
        needed = {
            group.parameter.name: group.take(iter([kept[item.name] for item in group.items]))
            for group in self._needed
        }
        given = self._backward(*grads, **needed)
        is_one_group = len(self._arrays) == 1 and is_group(self._arrays[0].parameter)
        given = [given] if is_one_group else _listed(given)
        if len(given) != len(self._arrays):
            names = listed(group.parameter.name for group in self._arrays)
            raise TypeError(
                f"`backward` of `{self._function.name}` returns a gradient or None for each of"
                f" {names}, got {len(given)}"
            )
        flat = [
            grad
            for group, each in zip(self._arrays, given, strict=True)
            for grad in self._of_items(group, each)
        ]
        found: list[Any] = [None] * len(self._function.inputs)
        for place, grad in zip(self.places, flat, strict=True):
            if wanted is None or wanted[place]:
                found[place] = grad() if callable(grad) else grad
        return found

    def _of_items(self, group: Group, given: Any) -> Sequence[Any]:
        """Return the gradients of the arrays that a parameter stands for."""
        if not is_group(group.parameter):
            return [given] * len(group.items)
        found = [None] * len(group.items) if given is None else _listed(given)
        if len(found) != len(group.items):
            raise TypeError(
                f"`backward` of `{self._function.name}` returns, for `{group.parameter.name}`, a"
                f" tuple of {len(group.items)} gradients or None, got {len(found)}"
            )
        return found


def _has_gradient(group: Group) -> bool:
    p = group.parameter
    return p.kind in ("tensor", "tuple") and not writes(p)


def _listed(found: Any) -> list[Any]:
    return [*found] if type(found) in (tuple, list) else [found]
