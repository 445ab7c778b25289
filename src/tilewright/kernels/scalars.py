"""Numbers as users give them: which are numbers, and which are whole."""

from __future__ import annotations

from numbers import Integral, Real


def is_number(x: object) -> bool:
    """Return whether x is a real number of Python or NumPy; a bool is not."""
    return not isinstance(x, bool) and isinstance(x, Real)


def is_whole(x: object) -> bool:
    """Return whether x is an int of Python or NumPy; a bool is not."""
    return not isinstance(x, bool) and isinstance(x, Integral)
