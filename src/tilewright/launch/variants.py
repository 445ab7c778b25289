"""Kernels whose calls differ in what they give: optional parameters, and any number of tensors.

Such a kernel has a variant for each combination of parameters that are None, and for each number
of further arguments. A variant has as many parameters as its calls have arguments, so it is bound
and launched like any other kernel; what it is compiled of is the same source.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ..frontend.capture.parameters import Parameter, item_name


class Structure:
    """What the arguments of a kernel's calls may differ in."""

    def __init__(self, parameters: Sequence[Parameter]) -> None:
        self._parameters = parameters
        self._optional = [i for i, p in enumerate(parameters) if p.optional]
        self.fixed = sum(not p.variadic for p in parameters)
        """How many arguments each call has; with a variadic parameter, at least."""
        self.varies = bool(self._optional) or self.fixed < len(parameters)
        """Whether there is anything: most kernels have one variant, themselves."""
        self.optional = tuple(self._optional) if self.varies else None
        """The arguments that may be None; None: calls do not differ."""

    def of(self, args: Sequence[Any]) -> tuple[object, ...]:
        """Return what tells calls apart: the number of arguments, and which of them are None."""
        return (len(args), *[args[i] is None for i in self._optional])

    def parameters(self, args: Sequence[Any]) -> tuple[Parameter, ...]:
        """Return one parameter for each argument of a call."""
        found = [
            replace(p, kind="absent" if p.optional and arg is None else p.kind, optional=False)
            for p, arg in zip(self._parameters[: self.fixed], args, strict=False)
        ]
        if self.fixed < len(self._parameters):
            star = replace(self._parameters[-1], variadic=False, nameless=True)
            count = len(args) - self.fixed
            found += [replace(star, name=item_name(star.name, i)) for i in range(count)]
        return tuple(found)
