"""Rules for single ops, by op name, one file per family; `canonicalize` applies them."""

from __future__ import annotations

from . import arithmetic, bitwise, comparison, control, conversion, layout, memory
from .facts import Facts, Rule, facts_of

__all__ = ["RULES", "Facts", "Rule", "facts_of"]


def _merged(*tables: dict[str, Rule]) -> dict[str, Rule]:
    merged: dict[str, Rule] = {}
    for table in tables:
        if twice := merged.keys() & table.keys():
            raise ValueError(f"two rules for {', '.join(sorted(twice))}")
        merged |= table
    return merged


RULES = _merged(
    arithmetic.RULES, bitwise.RULES, comparison.RULES, control.RULES, conversion.RULES,
    layout.RULES, memory.RULES,
)  # fmt: skip
