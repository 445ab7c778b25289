"""What the results of a function look like: a shape and an element type for each output."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple, TypeAlias, TypeGuard, cast

import numpy as np

from ..base.dtypes import AnyDType, DTypeMeta, as_dtype
from .wrapping import KernelFunction, OfArrays, by_output

Made: TypeAlias = str | OfArrays
"""How a result looks: like the input of that name, or as a function of all inputs says. That
returns a shape, a pair of a shape and a dtype, or something with `shape` and `dtype`."""
Outputs: TypeAlias = "Made | Mapping[str, Made] | Sequence[Made]"
"""One for all outputs, or one for each: by name, or in the kernel's order."""


class Look(NamedTuple):
    """What is known of a result before it is made."""

    shape: Sequence[int]
    dtype: Any
    """In the words of a framework, or one of ours."""


class Describer:
    """Describes one output of a kernel, for inputs in the kernel's order."""

    __slots__ = ("_count", "_function", "_groups", "_index", "_lead", "_made", "_names", "like")

    def __init__(self, function: KernelFunction, made: Made, index: int) -> None:
        self._function = function.name
        self._index, self._count = index, len(function.outputs)
        self._names = [p.name for p in function.declared_inputs]
        self._groups = function.groups
        kinds = [p.kind for p in function.inputs]
        self._lead = kinds.index("tensor") if "tensor" in kinds else -1
        self._made: Any = made
        self.like: int | None = _place_of(function, made) if isinstance(made, str) else None
        """The place of the input that it is like, if it is."""

    def __call__(self, args: Sequence[Any]) -> Any:
        """Return something with a shape and a dtype; the second may be one of ours."""
        if self.like is not None:
            return args[self.like]
        inputs = args if self._groups is None else self._groups.of_inputs(args)
        found = self._made(**dict(zip(self._names, inputs, strict=True)))
        plain = self._plain(found, args)
        if plain is not None:
            return plain
        found = self._of_this_output(found)
        if _is_array(found):
            return found
        if _is_shape(found) and self._lead >= 0:
            return Look(found, args[self._lead].dtype)
        if _is_pair(found):
            return Look(*found)
        raise TypeError(
            f"`outputs` of `{self._function}` must return a shape, a shape and a dtype, or an"
            f" object with both{self._or_all()}; got {_summary(found)}"
        )

    def _plain(self, found: Any, args: Sequence[Any]) -> Look | None:
        """Return what most functions say, a shape or a shape and a dtype; None: neither."""
        if not _is_plain(found):
            return None
        if set(map(type, found)) == _ONLY_INTEGERS and self._lead >= 0:
            return Look(found, args[self._lead].dtype)
        if len(found) != 2 or not _is_plain(found[0]):
            return None
        shape, dtype = found
        is_type = isinstance(dtype, _TYPES) or hasattr(dtype, "itemsize")
        return Look(shape, dtype) if is_type and set(map(type, shape)) <= _ONLY_INTEGERS else None

    def _of_this_output(self, found: Any) -> Any:
        """Return the description of this output, if a function describes all of them at once."""
        is_one = not _is_sequence(found) or _is_shape(found) or _is_pair(found)
        if is_one or self._count == 1 or len(found) != self._count:
            return found
        return found[self._index]

    def _or_all(self) -> str:
        return f", or a tuple of {self._count} of these" if self._count > 1 else ""


def _is_plain(found: object) -> TypeGuard[tuple[Any, ...]]:
    return type(found) is tuple


_ONLY_INTEGERS = {int}
_TYPES = (DTypeMeta, np.dtype)


def _place_of(function: KernelFunction, name: str) -> int:
    """Return the place of an input; an optional one may not be there."""
    for place, p in enumerate(function.inputs):
        if p.name == name:
            return place
    raise TypeError(
        f"`{function.name}` makes an output like `{name}`, which is None in this call; pass an"
        " array, or a function of the inputs as `outputs`"
    )


def describers(function: KernelFunction, outputs: Outputs) -> tuple[Describer, ...]:
    """Return the functions that describe all outputs of a kernel, in its order."""
    made: dict[str, Made] = by_output(function, outputs)
    return tuple(Describer(function, made[name], i) for i, name in enumerate(function.outputs))


@cache
def element_type(dtype: Any) -> AnyDType:
    """Return the element type that a framework calls `dtype`."""
    is_known = isinstance(dtype, np.dtype | DTypeMeta)
    return as_dtype(dtype if is_known else str(dtype).removeprefix("torch."))


def _is_shape(found: Any) -> bool:
    return _is_sequence(found) and all(map(_is_extent, found))


def _is_extent(number: Any) -> bool:
    """Return whether it may be an extent: frameworks have symbols for those not known yet."""
    if isinstance(number, np.integer):
        return True
    is_type = isinstance(number, str | type) or hasattr(number, "itemsize")
    return not (is_type or _is_sequence(number) or _is_array(number))


def _is_pair(found: Any) -> bool:
    """Return whether these are a shape and an element type, not the shapes of two outputs."""
    return (
        _is_sequence(found)
        and len(found) == 2
        and _is_shape(found[0])
        and not (_is_sequence(found[1]) or _is_array(found[1]))
    )


def _is_array(found: object) -> bool:
    return hasattr(found, "shape") and hasattr(found, "dtype")


def _summary(found: object) -> str:
    """Return a description of a wrong result in one line: arrays by type, all else by value."""
    if _is_sequence(found):
        return f"({', '.join(map(_summary, cast(Sequence[object], found)))})"
    return type(found).__name__ if _is_array(found) else f"{found!r:.60}"


def _is_sequence(found: object) -> bool:
    return isinstance(found, tuple | list)
