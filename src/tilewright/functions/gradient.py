"""The gradient of a function: what it needs of a call, and what it gives.

The first parameters of `backward` are the gradients of the outputs; those behind are called like
parameters of the kernel, and are what a framework keeps for it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .groups import Group, Groups, is_group, writes
from .wrapping import KernelFunction, listed


class Gradient:
    """Computes the gradients of a kernel's inputs from those of its outputs."""

    def __init__(self, function: KernelFunction, backward: Callable[..., Any]) -> None:
        self._function, self._backward = function, backward
        self.places = [i for i, p in enumerate(function.inputs) if p.kind == "tensor"]
        """Which inputs may have gradients."""
        groups = (function.groups or Groups(function.parameters, {})).all
        names = list(inspect.signature(backward).parameters)
        count = len(function.outputs)
        known = {group.parameter.name: group for group in groups}
        unknown = [name for name in names[count:] if name not in known]
        if len(names) < count or unknown:
            what = f", got {listed(unknown)}" if unknown else f", got {len(names)} parameters"
            raise TypeError(
                f"`backward` of `{function.name}` takes the gradients of {listed(function.outputs)}"
                f" and then what it needs of {listed(known)} by name{what}"
            )
        self._needed = [known[name] for name in names[count:]]
        self._arrays = [group for group in groups if _has_gradient(group)]
        self.needs = tuple(item.name for group in self._needed for item in group.items)
        """The parameters of the kernel, inputs or outputs, that it is given."""

    def kept(self, inputs: Sequence[Any], outputs: Sequence[Any]) -> dict[str, Any]:
        """Return the arrays of a call that the gradient needs, by name."""
        names = [p.name for p in self._function.inputs]
        known = dict(zip(names, inputs, strict=True))
        known |= dict(zip(self._function.outputs, outputs, strict=True))
        return {name: known[name] for name in self.needs}

    def __call__(self, grads: Sequence[Any], kept: Mapping[str, Any]) -> list[Any]:
        """Return one gradient for each input, None for numbers and where there is none."""
        needed = {
            group.parameter.name: group.take(iter([kept[item.name] for item in group.items]))
            for group in self._needed
        }
        found = self._backward(*grads, **needed)
        is_one_group = len(self._arrays) == 1 and is_group(self._arrays[0].parameter)
        given = [found] if is_one_group else _listed(found)
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
        by_place = dict(zip(self.places, flat, strict=True))
        return [by_place.get(i) for i in range(len(self._function.inputs))]

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
