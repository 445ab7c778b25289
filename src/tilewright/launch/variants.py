"""Kernels whose calls differ in what they give: optional parameters, and any number of tensors.

Such a kernel has a variant for each combination of parameters that are None, for each length of its
tuples, and for each number of further arguments. A variant has as many parameters as its calls have
tensors and numbers, so it is bound and launched like any other kernel; what it is compiled of is
the same source.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeGuard

from ..frontend.capture.parameters import Parameter, item_name


class Structure:
    """What the arguments of a kernel's calls may differ in."""

    def __init__(self, parameters: Sequence[Parameter]) -> None:
        self._parameters = parameters
        self._optional = [i for i, p in enumerate(parameters) if p.optional]
        self.fixed = sum(not p.variadic for p in parameters)
        """How many arguments each call has; with a variadic parameter, at least."""
        self._tuples = [i for i, p in enumerate(parameters) if p.kind == "tuple"]
        self.has_tuples = bool(self._tuples)
        self.varies = bool(self._optional or self._tuples) or self.fixed < len(parameters)
        """Whether there is anything: most kernels have one variant, themselves."""
        self.optional = (*self._optional, *self._tuples) if self.varies else None
        """The arguments that may be None, or are tuples; None: calls do not differ."""

    def of(self, args: Sequence[Any]) -> tuple[object, ...]:
        """Return what tells calls apart: the numbers of arguments, and which of them are None."""
        lengths = [len(self._items(i, args[i])) for i in self._tuples]
        return (len(args), *[args[i] is None for i in self._optional], *lengths)

    def parameters(self, args: Sequence[Any]) -> tuple[Parameter, ...]:
        """Return one parameter for each argument of a call."""
        found: list[Parameter] = []
        for i, (p, arg) in enumerate(zip(self._parameters[: self.fixed], args, strict=False)):
            if p.kind == "tuple":
                items = self._items(i, arg)
                found += [
                    replace(p.member(k), name=item_name(p.name, k), nameless=True)
                    for k in range(len(items))
                ]
                continue
            kind = "absent" if p.optional and arg is None else p.kind
            found.append(replace(p, kind=kind, optional=False))
        if self.fixed < len(self._parameters):
            star = replace(self._parameters[-1], variadic=False, nameless=True)
            count = len(args) - self.fixed
            found += [replace(star, name=item_name(star.name, i)) for i in range(count)]
        return tuple(found)

    def flat(self, args: Sequence[Any]) -> tuple[Any, ...]:
        """Return the arguments of a call with the members of tuples in their places."""
        if not self.has_tuples:
            return tuple(args)
        found: list[Any] = []
        for i, arg in enumerate(args):
            if i in self._tuples:
                found += self._items(i, arg)
            else:
                found.append(arg)
        return tuple(found)

    def _items(self, place: int, given: object) -> Sequence[Any]:
        """Return the members of a tuple; a list does as well."""
        p = self._parameters[place]
        if not _is_sequence(given):
            raise TypeError(f"`{p.name}` takes a tuple of tensors, got {type(given).__name__}")
        if not p.several and len(given) != len(p.members):
            raise TypeError(
                f"`{p.name}` takes a tuple of {len(p.members)} tensors, got {len(given)}"
            )
        return given


def _is_sequence(given: object) -> TypeGuard[Sequence[Any]]:
    return isinstance(given, tuple | list)
