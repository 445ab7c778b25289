"""Comparisons and selection, elementwise."""

from __future__ import annotations

from collections.abc import Sequence

from ...base.dtypes import bool_
from ..opdef import declare
from ..types import Type
from .rules import Attrs, compare, is_bits, is_float, need, tile


def _select(types: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
    cond, a, b = tile(types[0]), tile(types[1]), tile(types[2])
    need(cond == a.with_elem(bool_), f"condition {cond} does not fit {a}")
    need(a == b, f"choices differ: {a}, {b}")
    return (a,)


OPS = (
    declare("cmpi", "core", "lhs rhs", compare(is_bits),
            "Compares integers (by their signedness) or booleans.", attrs={"predicate": None}),
    declare("cmpf", "core", "lhs rhs", compare(is_float),
            "Compares floats; with a NaN the answer is `unordered`.",
            attrs={"predicate": None, "unordered": False}),
    declare("select", "core", "cond a b", _select, "a where cond, else b."),
)  # fmt: skip
