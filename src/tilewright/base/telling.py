"""Warnings about the machine that work runs on: they are told, and never end that work."""

from __future__ import annotations

import warnings


class _Unheard:
    """An error on its way to nobody: Python hands what finalizers raise to `sys.unraisablehook`."""

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
