"""Rules for single ops, by op name, one file per family; `canonicalize` applies them."""

from __future__ import annotations

from ...base.tables import merged
from . import arithmetic, bitwise, comparison, control, conversion, layout, memory
from .facts import Facts, Rule, facts_of

__all__ = ["RULES", "Facts", "Rule", "facts_of"]


RULES: dict[str, Rule] = merged({
    "arithmetic": arithmetic.RULES, "bitwise": bitwise.RULES, "comparison": comparison.RULES,
    "control": control.RULES, "conversion": conversion.RULES, "layout": layout.RULES,
    "memory": memory.RULES,
})  # fmt: skip
