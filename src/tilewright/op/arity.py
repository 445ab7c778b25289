"""Calls a combinator's function: a tuple result becomes separate arguments, checked beforehand."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import lru_cache
from operator import methodcaller
from types import BuiltinFunctionType
from typing import Any, Never, TypeAlias

from .._core import call_function
from .place import Location


class Maker:
    """A function of Tilewright that makes ops, and takes the location of the program."""

    __slots__ = ()

    result_count: int | None
    """How many arguments it takes, and how many results its ops give: the same; None: any number
    that its signature takes."""

    def call_at(self, location: Location, args: tuple[Any, ...], /) -> Any:
        """Call it with these arguments, for a program at a location."""
        raise NotImplementedError


call: Callable[..., Any] = call_function
"""Calls a function with an op's result, then the extra arguments bound when building.

Only a result that is exactly a tuple is taken apart; NamedTuples and lists are one value."""


def results_in(value: object) -> tuple[Any, ...]:
    """Return the results in a value: the elements of a tuple, else the value itself."""
    several: Any = value
    return several if type(value) is tuple else (value,)


def refuse_count(
    verb: str, least: int, most: int | None, results: tuple[Any, ...], extra: tuple[Any, ...]
) -> Never:
    """Raise for a function that does not take so many arguments."""
    noun = "result" if len(results) == 1 else "results as separate arguments"
    tail = f" and the {len(extra)} extra arguments" if extra else ""
    raise TypeError(
        f"the function given to `{verb}` is called with the {len(results)} {noun}{tail};"
        f" it takes {_range(least, most)}\n"
        f"  results: {', '.join(type(r).__name__ for r in results)}"
    )


def _range(least: int, most: int | None) -> str:
    if least == most:
        return str(least)
    return f"at least {least}" if most is None else f"{least} to {most}"


Taken: TypeAlias = "tuple[int, int | None] | None"
"""The least and greatest number of positional arguments, the latter None for no limit; None:
unknown.
"""


def positional(function: Callable[..., Any]) -> Taken:
    """Return how many arguments a callable takes, where the core cannot determine it."""
    if isinstance(function, methodcaller):
        return 1, 1
    if isinstance(function, type | BuiltinFunctionType):
        return _remembered(function)
    return _of_signature(function)


def _of_signature(function: Callable[..., Any]) -> Taken:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # some builtins have no signature
        return None
    placed = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    least = sum(p.default is p.empty for p in placed)
    open_ended = any(p.kind is p.VAR_POSITIONAL for p in parameters)
    return least, None if open_ended else len(placed)


_remembered = lru_cache(256)(_of_signature)
"""For classes and builtin functions, of which there are few: finding out takes long."""
