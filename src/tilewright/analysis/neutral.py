"""Identities of reductions and scans: initial values that leave every element as it is.

A kernel names an identity, and for a sum it is usually 0.0, although -0.0 + 0.0 is 0.0. Where a
single op combines the elements, its exact identity is known (-0.0 for a sum), and no result depends
on the one that was named.
"""

from __future__ import annotations

import math
from typing import TypeAlias

from ..ir.core import Op
from .structure import combiners

Number: TypeAlias = float | int | bool


def identities_of(op: Op) -> tuple[Number, ...]:
    """Return the initial values of a reduction or scan, one for each input."""
    found = [_neutral(inner) for inner in combiners(op)]
    given: tuple[Number, ...] = op.attrs["identities"]
    return tuple(g if f is None else f for g, f in zip(given, found, strict=True))


def _neutral(inner: Op | None) -> Number | None:
    """Return the neutral number of an operation on the elements of one input, if it is one."""
    if inner is None or inner.defn.neutral is None:
        return None
    if not inner.attrs.get("nan", True):  # where NaN loses, all others win
        return math.nan
    return inner.defn.neutral(inner.result.tile.dtype)
