"""Enumerations that ops take as arguments: rounding, overflow, predicates, memory order, padding.

The sets are those of the IR; where one is taken, its text (`"zero"`) is accepted too.
"""

from __future__ import annotations

from ..ir.attrs import AtomicMode, Ordering, Overflow, Predicate, Rounding, Scope

__all__ = [
    "AtomicMode",
    "Ordering",
    "Overflow",
    "Predicate",
    "Rounding",
    "Scope",
    "nan",
    "neg_inf",
    "neg_zero",
    "pos_inf",
    "zero",
]

zero = 0
"""Padding that is neutral for sums; the default of every load."""

neg_zero = -0.0
"""Padding that leaves even the sign of a zero sum alone."""

pos_inf = float("inf")
"""Padding that is neutral for `reduce_min`."""

neg_inf = float("-inf")
"""Padding that is neutral for `reduce_max`."""

nan = float("nan")
"""Padding that shows up in every result it reaches."""
