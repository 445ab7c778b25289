"""Parts of messages: texts of numbers, warnings about the machine, and progress on long work."""

from __future__ import annotations

import reprlib
import sys
import warnings
from contextlib import suppress

# -------------------------------------------------------------------------------------------------
# Texts of numbers in messages.

LONG = 4096
"""Integers with more bits are not written out; Python refuses to for much longer ones."""


def number_text(number: object) -> str:
    """Return a number as Python writes it; of a very long integer how long it is.

    >>> number_text(1.5), number_text(1 << 5000)
    ('1.5', 'an integer of 5001 bits')
    """
    if isinstance(number, int) and number.bit_length() > LONG:
        return f"an integer of {number.bit_length()} bits"
    return summary(number) if hasattr(number, "summary") else reprlib.repr(number)


def summary(thing: object) -> str:
    """Return the repr of an object for a sentence: of a tensor, that without its values.

    A text is what it is.
    """
    return thing if isinstance(thing, str) else str(getattr(thing, "summary", None) or repr(thing))


# -------------------------------------------------------------------------------------------------
# Warnings about the machine; they never stop the work.


class _Unheard:
    """An error for `sys.unraisablehook`, which Python calls for errors in finalizers."""

    __slots__ = ("error",)

    def __init__(self, error: BaseException) -> None:
        self.error = error

    def __del__(self) -> None:
        raise self.error


def tell(message: str, stacklevel: int = 1) -> None:
    """Warn of what is no fault of the program; where warnings are errors, it goes on even so.

    `python -W error` then shows the warning as it shows the errors of finalizers.
    """
    try:
        warnings.warn(message, RuntimeWarning, stacklevel=stacklevel + 1)
    except RuntimeWarning as error:
        _Unheard(error)


# -------------------------------------------------------------------------------------------------
# Progress on long work, on the standard error. A stream that is missing or closed does no harm.


def error_is_terminal() -> bool:
    """Return whether the standard error is a terminal."""
    with suppress(OSError, ValueError):
        return sys.stderr is not None and sys.stderr.isatty()
    return False


def write_error(text: str) -> None:
    """Write to the standard error at once, if there is one."""
    with suppress(OSError, ValueError):
        if sys.stderr is not None:
            sys.stderr.write(text)
            sys.stderr.flush()
