"""Mark typed functions as part of the kernel language: empty ones declare, others compose."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import FunctionType, GenericAlias
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar, cast

Function = TypeVar("Function", bound=Callable[..., Any])

_KEY = "__tilewright_rule__"
_BODY = "__tilewright_body__"


def declared(function: Function) -> Function:
    """Make `function` a declaration; calling it on the host raises and says what to do."""
    return _declared(function, only_in_kernels(f"tl.{function.__name__}"))


def declared_for_threads(function: Function) -> Function:
    """Make a declaration, like `declared`, for SIMT kernels."""
    return _declared(function, only_in_threads(f"simt.{function.__name__}"))


def composed(function: Function) -> Function:
    """Declare `function`, written in the kernel language; kernels inline its body.

    Calling it on the host raises, as of any declaration. Diagnostics show the line that calls it.
    """
    return _refusing(function, only_in_kernels(f"tl.{function.__name__}"), _BODY, function)


def _declared(function: Function, refusal: str) -> Function:
    return _refusing(function, refusal, _KEY, function.__name__)


def _refusing(function: Function, refusal: str, key: str, value: object) -> Function:
    """Return the host version of `function`, which raises; kernels use `value` instead."""

    @functools.wraps(function)
    def outside(*_args: object, **_keywords: object) -> NoReturn:
        raise TypeError(refusal)

    setattr(outside, key, value)
    return cast("Function", outside)


def declared_name(x: object) -> str | None:
    """Return the name of a declared function, which finds its rule; None for anything else."""
    key = getattr(x, _KEY, None) if callable(x) else None
    return key if isinstance(key, str) else None


def composed_body(x: object) -> FunctionType | None:
    """Return the function behind a composed name; None for anything else."""
    body = getattr(x, _BODY, None) if callable(x) else None
    return body if isinstance(body, FunctionType) else None


def only_in_kernels(what: str) -> str:
    """Return the message for a kernel function that was called on the host."""
    return (
        f"{what} can only be used inside a kernel\n"
        "  hint: use it in a function decorated with @tw.entry, or in one that such a kernel calls"
    )


def only_in_threads(what: str) -> str:
    """Return the message for a function of SIMT kernels that was called on the host."""
    return (
        f"{what} can only be used inside a SIMT kernel\n"
        "  hint: use it in a function decorated with @simt.kernel, or in one that such a kernel"
        " calls"
    )


class OnlyInThreads:
    """The base of classes of SIMT kernels: no instances, annotations kept as they are written."""

    def __init__(self) -> None:
        raise TypeError(only_in_threads(f"simt.{type(self).__name__}"))

    if not TYPE_CHECKING:

        def __class_getitem__(cls, parameters: object) -> GenericAlias:
            return GenericAlias(cls, parameters)
