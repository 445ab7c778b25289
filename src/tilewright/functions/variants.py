"""Calls of functions whose kernels take tuples, any number of arrays, or None."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..launch.recent import Recent
from ..launch.variants import Structure
from .groups import is_group
from .wrapping import listed

if TYPE_CHECKING:
    from ..frontend.capture.parameters import Parameter
    from .function import Function

KEPT = 256
"""Variants that a function remembers."""

Define = Callable[[Mapping[str, Sequence["Parameter"]]], "Function"]
"""Returns the variant with these parameters, by the name of the kernel's."""


class Variants:
    """The variants of a function, by what the arguments of its calls differ in."""

    def __init__(self, function: Function, define: Define) -> None:
        self._name, self._define = function.__name__, define
        self._parameters = function.taken
        self._structure = Structure(function.taken)
        self._fixed = function.taken[: self._structure.fixed]
        self._known: Recent[tuple[object, ...], Function] = Recent(KEPT)

    def call(self, args: Sequence[Any], named: Mapping[str, Any]) -> Any:
        """Call the variant for some arguments."""
        given = self._placed(args, named)
        function = self._of(given)
        flat: Sequence[Any] = self._structure.flat(given)
        if len(flat) != len(function.taken):
            flat = self._present(flat, given)
        return function(*flat)

    def _of(self, given: Sequence[Any]) -> Function:
        """Return the variant for arguments, one for each parameter and then those of `*xs`."""
        key = self._structure.of(given)
        found = self._known.get(key)
        if found is None:
            found = self._define(self._grouped(given))
            self._known.keep(key, found)
        return found

    def _grouped(self, given: Sequence[Any]) -> dict[str, list[Parameter]]:
        """Return the flat parameters of a call, by the name of the parameter in the kernel."""
        left = iter(self._structure.parameters(given))
        found: dict[str, list[Parameter]] = {}
        for p, arg in zip(self._fixed, given, strict=False):
            count = len(arg) if is_group(p) else 1
            found[p.name] = [next(left) for _ in range(count)]
        if len(self._fixed) < len(self._parameters):
            found[self._parameters[-1].name] = list(left)
        return found

    def _present(self, flat: Sequence[Any], given: Sequence[Any]) -> list[Any]:
        """Return the flat arguments without those that are None where they may be."""
        kinds = [p.kind for p in self._structure.parameters(given)]
        return [arg for arg, kind in zip(flat, kinds, strict=True) if kind != "absent"]

    def _placed(self, args: Sequence[Any], named: Mapping[str, Any]) -> Sequence[Any]:
        """Return the arguments in the kernel's order; optional ones that are left out are None."""
        count = len(self._fixed)
        rest = self._fixed[len(args) :]
        needed = {p.name for p in rest if not _may_be_left_out(p)}
        too_many = len(args) > count == len(self._parameters)
        if too_many or not needed <= {*named} <= {p.name for p in rest}:
            names = [f"*{p.name}" if p.variadic else p.name for p in self._parameters]
            got = f"{len(args)} arguments" + (f" and {listed(named)}" if named else "")
            raise TypeError(f"`{self._name}` takes {listed(names)}, got {got}")
        return [*args, *[named.get(p.name) for p in rest]]


def _may_be_left_out(p: Parameter) -> bool:
    return p.optional and p.default is None
