"""Turns a typed, empty function into a declaration: a name for use in kernels only."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import GenericAlias
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar, cast

Function = TypeVar("Function", bound=Callable[..., Any])

_KEY = "__tilewright_rule__"


def declared(function: Function) -> Function:
    """Make `function` a declaration; calling it on the host raises and says what to do."""
    return _declared(function, only_in_kernels(f"tl.{function.__name__}"))


def declared_for_threads(function: Function) -> Function:
    """Make a declaration, like `declared`, for SIMT kernels."""
    return _declared(function, only_in_threads(f"simt.{function.__name__}"))


def _declared(function: Function, refusal: str) -> Function:
    @functools.wraps(function)
    def outside(*_args: object, **_keywords: object) -> NoReturn:
        raise TypeError(refusal)

    setattr(outside, _KEY, function.__name__)
    return cast("Function", outside)


def declared_name(x: object) -> str | None:
    """The name of a declared function, under which its rule stands; None for anything else."""
    key = getattr(x, _KEY, None) if callable(x) else None
    return key if isinstance(key, str) else None


def only_in_kernels(what: str) -> str:
    """The text for a kernel word that was used on the host."""
    return (
        f"{what} can only be used inside a kernel\n"
        "  hint: use it in a function decorated with @tw.entry, or in one that such a kernel calls"
    )


def only_in_threads(what: str) -> str:
    """The text for a word of SIMT kernels that was used on the host."""
    return (
        f"{what} can only be used inside a SIMT kernel\n"
        "  hint: use it in a function decorated with @simt.kernel, or in one that such a kernel"
        " calls"
    )


class OnlyInThreads:
    """Of a class of SIMT kernels: no instances, and annotations kept as they are written."""

    def __init__(self) -> None:
        raise TypeError(only_in_threads(f"simt.{type(self).__name__}"))

    if not TYPE_CHECKING:

        def __class_getitem__(cls, parameters: object) -> GenericAlias:
            return GenericAlias(cls, parameters)
