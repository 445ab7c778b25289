"""The error function in more digits than f64 has, and others of NumPy by name."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

WIDE = np.longdouble
ROOT_OF_PI = WIDE(1.772453850905516) - WIDE(7.666586499825799e-17)
"""A sum of two f64, so that more digits than those of one are right."""
ALL_ONE = 7.0
"""From here on 1 - erf is below what a long double distinguishes."""
TERMS = 220


def erf(x: Any) -> Array:
    """The error function of real numbers, as long doubles, by a series of positive terms.

    erf(x) = 2 / sqrt(pi) exp(-x^2) (x + 2/3 x^3 + 4/15 x^5 + ...), so that nothing cancels.
    """
    x = np.asarray(x, WIDE)
    size = np.minimum(np.abs(x), WIDE(ALL_ONE))
    square = size * size
    term, total = size, size
    for n in range(1, TERMS):
        term = term * (2 * square) / (2 * n + 1)
        total = total + term
    result = 2 / ROOT_OF_PI * np.exp(-square) * total
    return np.copysign(np.where(size >= ALL_ONE, WIDE(1), result), x)


def numpy_function(name: str) -> Any:
    """A function of real numbers by its name in the language."""
    return OTHERS[name] if name in OTHERS else getattr(np, name)


OTHERS: dict[str, Any] = {
    "erf": erf, "rsqrt": lambda x: 1 / np.sqrt(x), "true_div": np.divide, "pow": np.power,
    "atan2": np.arctan2, "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan,
}  # fmt: skip
