"""What operations say of arguments of a wrong kind.

Kernels and shapes are checked where they are used. If a call fails in another way, its arguments
are compared with the annotations of the operation, so that a call that succeeds pays nothing.
"""

from __future__ import annotations

import functools
import inspect
import numbers
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar, cast

F = TypeVar("F", bound=Callable[..., Any])


def explained(function: F) -> F:
    """Return an operation whose errors name the argument that is of a wrong kind."""

    @functools.wraps(function)
    def call(*args: Any, **named: Any) -> Any:
        try:
            return function(*args, **named)
        except Exception as error:
            problem = problem_of(function, args, named, error)
            if problem is None:
                raise
            raise problem from error

    return cast("F", call)


def one_axis(function: F) -> F:
    """Return an operation that refuses both names of an axis, and explains its errors."""
    place = place_of_axis(function)
    inner = explained(function)

    @functools.wraps(function)
    def call(*args: Any, **named: Any) -> Any:
        if place is not None and "dim" in named:
            refuse_two_axes(function, len(args), named, place)
        return inner(*args, **named)

    return cast("F", call)


def problem_of(
    function: Callable[..., Any], args: Sequence[Any], named: Mapping[str, Any], error: Exception
) -> TypeError | None:
    """Return the error of the first argument that is of a wrong kind; None: all are right.

    An error of ours, which quotes names, stays.
    """
    if "`" in str(error):
        return None
    signature = inspect.signature(function)
    try:
        given = signature.bind(*args, **named).arguments
    except TypeError:
        return None
    for name, value in given.items():
        p = signature.parameters[name]
        kind = str(p.annotation).removesuffix(" | None")
        if (value is None and (p.default is None or kind != p.annotation)) or name in OF_ANY_KIND:
            continue
        fits, expected = KINDS.get(kind, (_is_anything, ""))
        if not fits(value):
            got = _described(value)
            return TypeError(f"`{name}` of `{function.__name__}` is {expected}; got {got}")
    return None


def refuse_two_axes(
    function: Callable[..., Any], count: int, named: Mapping[str, Any], place: int
) -> None:
    """Raise if a call has both names of an axis."""
    if named["dim"] is not None and (count > place or "axis" in named):
        raise TypeError(
            f"`{function.__name__}` takes `axis`, or `dim`, which is PyTorch's name for it; got"
            " both: leave one out"
        )


def place_of_axis(function: Callable[..., Any]) -> int | None:
    """Return where the axis is among the parameters, if it has two names; else None."""
    code = function.__code__
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    return names.index("axis") if "axis" in names and "dim" in names else None


def _is_anything(value: object) -> bool:
    return True


def _is_array(value: Any) -> bool:
    layout = str(getattr(value, "layout", "torch.strided"))
    return hasattr(value, "shape") and hasattr(value, "dtype") and layout == "torch.strided"


def _is_int(value: object) -> bool:
    return hasattr(value, "__index__")


def _is_number(value: object) -> bool:
    return isinstance(value, numbers.Real) or getattr(value, "shape", None) == ()


def _is_sequence_of(fits: Callable[[Any], bool], count: int | None = None) -> Any:
    def check(value: Any) -> bool:
        if type(value) not in (tuple, list):
            return False
        return all(map(fits, value)) and len(value) == (count or len(value))

    return check


def _are_ints(value: object) -> bool:
    return _is_int(value) or _is_sequence_of(_is_int)(value)


ARRAY = "an array (from NumPy, PyTorch, JAX, CuPy or another library with DLPack), or a tensor"
KINDS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "Any": (_is_array, ARRAY),
    "int": (_is_int, "an int"),
    "float": (_is_number, "a number"),
    "int | Sequence[int]": (_are_ints, "an int, or several"),
    "Pair": (_are_ints, "an int, or one for each axis"),
    "Axis": (_are_ints, "an axis, several, or None for all"),
    "tuple[float, float]": (_is_sequence_of(_is_number, 2), "two numbers"),
}
"""By annotation: whether a value fits, and what is expected."""
OF_ANY_KIND = frozenset({"dtype", "options", "seed", "step"})
"""Parameters that are not arrays, though any value is declared."""


def _described(value: Any) -> str:
    """Return a description of an argument in one line."""
    if hasattr(value, "dtype"):
        layout = getattr(value, "layout", "")
        return f"{type(value).__name__} of {value.dtype}{f', {layout}' if layout else ''}"
    return f"{value!r:.60}"
