"""What reductions and scans may begin with: numbers that leave every element as it is.

A kernel names one, and 0.0 is what everybody writes for a sum; but -0.0 + 0.0 is 0.0. Where one
operation combines the elements, its own neutral number is known, and no result depends on what was
named.
"""

from __future__ import annotations

import math
from typing import TypeAlias

from ..ir.core import Op, Value

Number: TypeAlias = float | int | bool


def identities_of(op: Op) -> tuple[Number, ...]:
    """What a reduction or scan begins with, one number for each input."""
    (body,) = op.regions
    makers = {result: inner for inner in body.ops for result in inner.results}
    ends = body.terminator.operands
    pairs = zip(body.args[::2], body.args[1::2], strict=True)
    found = [_neutral(makers.get(end), set(pair)) for end, pair in zip(ends, pairs, strict=True)]
    given: tuple[Number, ...] = op.attrs["identities"]
    return tuple(g if f is None else f for g, f in zip(given, found, strict=True))


def _neutral(inner: Op | None, pair: set[Value]) -> Number | None:
    """The neutral number of an operation on the elements of one input, if it is one."""
    if inner is None or inner.defn.neutral is None or set(inner.operands) != pair:
        return None
    if not inner.attrs.get("nan", True):  # where NaN loses, all others win
        return math.nan
    return inner.defn.neutral(inner.result.tile.dtype)
