"""Parameters that stand for several arguments, or for none: tuples, `*xs`, optional ones.

As the kernel, its function has a variant for each structure of its calls. A variant has one
parameter for each array and number, so whatever runs a function sees flat arguments; only the
kernel, and functions that the user has passed, see groups.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from ..frontend.capture.parameters import Parameter


def writes(parameter: Parameter) -> bool:
    """Return whether a kernel writes a parameter, or a member of it."""
    return parameter.kind == "output" or any(map(writes, parameter.members))


def is_group(parameter: Parameter) -> bool:
    """Return whether a parameter stands for several arguments."""
    return parameter.variadic or parameter.kind == "tuple"


def is_varied(parameters: Iterable[Parameter]) -> bool:
    """Return whether calls with such parameters differ in structure."""
    return any(p.optional or is_group(p) for p in parameters)


class Group(NamedTuple):
    """A parameter of a kernel, and those of a variant that it stands for."""

    parameter: Parameter
    items: tuple[Parameter, ...]

    def take(self, values: Iterator[Any]) -> Any:
        """Return the next argument of the kernel: a tuple, a single one, or None."""
        found = tuple(islice(values, len(self.items)))
        if is_group(self.parameter):
            return found
        return found[0] if found else None


class Groups:
    """All parameters of a kernel, in its order, with those of one of its variants."""

    def __init__(
        self, parameters: Sequence[Parameter], given: Mapping[str, Sequence[Parameter]]
    ) -> None:
        """Hold them; `given` are the flat parameters by the name of the kernel's."""
        self.all = [
            Group(p, tuple(q for q in given.get(p.name, (p,)) if q.kind != "absent"))
            for p in parameters
        ]
        self.flat = tuple(item for group in self.all for item in group.items)
        """The parameters of the variant."""
        self.inputs = [group for group in self.all if not writes(group.parameter)]

    def arguments(self, values: Sequence[Any]) -> list[Any]:
        """Return the kernel's arguments of the variant's, as the kernel is called."""
        return spread(self.all, _gathered(self.all, values))

    def of_inputs(self, values: Sequence[Any]) -> list[Any]:
        """Return one value for each input of the kernel, of those of the variant's inputs."""
        return _gathered(self.inputs, values)

    def inputs_of(self, values: Sequence[Any]) -> list[Any]:
        """Return one value for each input of the kernel, of those of all its parameters."""
        found = zip(self.all, _gathered(self.all, values), strict=True)
        return [value for group, value in found if not writes(group.parameter)]


def _gathered(groups: Sequence[Group], values: Sequence[Any]) -> list[Any]:
    left = iter(values)
    return [group.take(left) for group in groups]


def spread(groups: Sequence[Group], values: Sequence[Any]) -> list[Any]:
    """Return values in order, those of `*xs` one by one."""
    if not groups or not groups[-1].parameter.variadic:
        return list(values)
    return [*values[:-1], *values[-1]]
