"""What the results of a function look like: a shape and an element type for each output."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from ..base.dtypes import AnyDType, DTypeMeta, as_dtype
from .wrapping import KernelFunction, OfArrays, by_output

Made: TypeAlias = str | OfArrays
"""How a result looks: like the input of that name, or as a function of all inputs says. That
returns a shape, a pair of a shape and a dtype, or something with `shape` and `dtype`."""
Outputs: TypeAlias = "Made | Mapping[str, Made]"
"""One for all outputs, or one for each by name."""


class Look(NamedTuple):
    """What is known of a result before it is made."""

    shape: Sequence[int]
    dtype: Any
    """In the words of a framework, or one of ours."""


class Describer:
    """Tells what one output of a kernel looks like, for inputs in the kernel's order."""

    __slots__ = ("_function", "_lead", "_made", "_names", "like")

    def __init__(self, function: KernelFunction, made: Made) -> None:
        self._function = function.name
        self._names = [p.name for p in function.inputs]
        kinds = [p.kind for p in function.inputs]
        self._lead = kinds.index("tensor") if "tensor" in kinds else -1
        self._made: Any = made
        self.like: int | None = self._names.index(made) if isinstance(made, str) else None
        """The place of the input that it is like, if it is."""

    def __call__(self, args: Sequence[Any]) -> Any:
        """Return something with a shape and a dtype; the second may be one of ours."""
        if self.like is not None:
            return args[self.like]
        found = self._made(**dict(zip(self._names, args, strict=True)))
        if hasattr(found, "shape") and hasattr(found, "dtype"):
            return found
        if _is_shape(found) and self._lead >= 0:
            return Look(found, args[self._lead].dtype)
        if _is_pair(found):
            return Look(*found)
        raise TypeError(
            f"`outputs` of `{self._function}` must return a shape, a shape and a dtype, or an"
            f" object with both; got {found!r:.60}"
        )


def describers(function: KernelFunction, outputs: Outputs) -> tuple[Describer, ...]:
    """What tells the looks of all outputs of a kernel, in its order."""
    made: dict[str, Made] = by_output(function, outputs)
    return tuple(Describer(function, made[name]) for name in function.outputs)


def element_type(dtype: Any) -> AnyDType:
    """Return the element type that a framework calls `dtype`."""
    is_known = isinstance(dtype, np.dtype | DTypeMeta)
    return as_dtype(dtype if is_known else str(dtype).removeprefix("torch."))


def _is_shape(found: Any) -> bool:
    return _is_sequence(found) and not any(
        _is_sequence(n) or isinstance(n, str | type) or hasattr(n, "itemsize") for n in found
    )


def _is_pair(found: Any) -> bool:
    return _is_sequence(found) and len(found) == 2 and _is_sequence(found[0])


def _is_sequence(found: object) -> bool:
    return isinstance(found, tuple | list)
