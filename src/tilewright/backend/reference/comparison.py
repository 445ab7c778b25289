"""Comparisons and selection, elementwise."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...ir.attrs import Predicate
from ...ir.core import Op
from .exact import Array
from .machine import Frame, Results, Rule, elementwise

COMPARE: dict[Predicate, Callable[[Array, Array], Array]] = {
    Predicate.EQ: np.equal,
    Predicate.NE: np.not_equal,
    Predicate.LT: np.less,
    Predicate.LE: np.less_equal,
    Predicate.GT: np.greater,
    Predicate.GE: np.greater_equal,
}


def _cmpi(frame: Frame, op: Op) -> Results:
    a, b = frame.arrays(op)
    return (COMPARE[op.attrs["predicate"]](a, b),)


def _cmpf(frame: Frame, op: Op) -> Results:
    a, b = frame.arrays(op)
    unordered = np.isnan(a) | np.isnan(b)
    return (np.where(unordered, op.attrs["unordered"], COMPARE[op.attrs["predicate"]](a, b)),)


RULES: dict[str, Rule] = {
    "cmpi": _cmpi,
    "cmpf": _cmpf,
    "select": elementwise(np.where),
}
