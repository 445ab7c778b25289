"""Calls a combinator's function: a tuple result becomes separate arguments, checked beforehand."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import lru_cache
from operator import methodcaller
from types import BuiltinFunctionType, FunctionType
from typing import Any

from .context import ExecutionContext
from .place import Spot


class Maker:
    """A function of Tilewright's own that makes ops, and can be told where the program stands."""

    __slots__ = ()

    result_count: int
    """How many arguments it takes, and how many results its ops give: the same."""

    def call_at(self, spot: Spot, args: tuple[Any, ...], /) -> Any:
        """Call it with these arguments, for a program that stands there."""
        raise NotImplementedError


def call(
    verb: str,
    function: Callable[..., Any],
    value: Any,
    extra: tuple[Any, ...],
    ctx: ExecutionContext,
) -> Any:
    """Call `function` with an op's result, then the extra arguments bound when building.

    Only a result that is exactly a tuple is taken apart; NamedTuples and lists are one value.
    """
    results = results_in(value)
    maker: Any = function
    if isinstance(maker, Maker) and len(results) + len(extra) == maker.result_count:
        return maker.call_at(ctx.ended_at or ctx.whence(), (*results, *extra))
    _check(verb, function, results, extra)
    return function(*results, *extra)


def results_in(value: object) -> tuple[Any, ...]:
    """The results that a value stands for: its elements if it is a tuple, else itself."""
    several: Any = value
    return several if type(value) is tuple else (value,)


def _check(
    verb: str, function: Callable[..., Any], results: tuple[Any, ...], extra: tuple[Any, ...]
) -> None:
    taken = _positional(function)
    count = len(results) + len(extra)
    if taken is None or taken[0] <= count <= taken[1]:
        return
    noun = "result" if len(results) == 1 else "results as separate arguments"
    tail = f" and the {len(extra)} extra arguments" if extra else ""
    raise TypeError(
        f"the function given to `{verb}` is called with the {len(results)} {noun}{tail};"
        f" it takes {_range(*taken)}\n"
        f"  results: {', '.join(type(r).__name__ for r in results)}"
    )


def _range(least: int, most: float) -> str:
    if least == most:
        return str(least)
    return f"at least {least}" if most == float("inf") else f"{least} to {most}"


def _positional(function: Callable[..., Any]) -> tuple[int, float] | None:
    """The least and greatest number of positional arguments; None where nobody can say."""
    maker: Any = function
    if isinstance(maker, Maker):
        return maker.result_count, maker.result_count
    if isinstance(function, FunctionType) and not hasattr(function, "__wrapped__"):
        code = function.__code__
        if not code.co_flags & inspect.CO_VARARGS and not code.co_kwonlyargcount:
            return code.co_argcount - len(function.__defaults__ or ()), code.co_argcount
    if isinstance(function, methodcaller):
        return 1, 1
    count = getattr(function, "result_count", None)
    if isinstance(count, int):  # a kernel of others: it gives what it was given
        return count, count
    if isinstance(function, type | BuiltinFunctionType):
        return _remembered(function)
    return _of_signature(function)


def _of_signature(function: Callable[..., Any]) -> tuple[int, float] | None:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # some builtins have no signature
        return None
    placed = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    least = sum(p.default is p.empty for p in placed)
    open_ended = any(p.kind is p.VAR_POSITIONAL for p in parameters)
    return least, float("inf") if open_ended else len(placed)


_remembered = lru_cache(256)(_of_signature)
"""For classes and builtin functions, of which there are few: finding out takes long."""
