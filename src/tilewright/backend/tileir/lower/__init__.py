"""Typed IR to a Tile IR program: one file of rules per op family, merged here."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from ....base.tables import merged
from . import (  # fmt: skip
    control,
    conversion,
    elementwise,
    layout,
    matmul,
    memory,
    pointers,
    reduction,
)
from .emitter import Rule

FAMILIES: dict[str, Mapping[str, Rule]] = {
    "control": control.CONTROL_RULES, "grid": control.GRID_RULES, "creation": layout.CREATION_RULES,
    "arithmetic": elementwise.ARITHMETIC_RULES, "math": elementwise.MATH_RULES,
    "comparison": elementwise.COMPARISON_RULES,
    "bitwise": elementwise.BITWISE_RULES, "conversion": conversion.RULES,
    "layout": layout.LAYOUT_RULES,
    "reduction": reduction.RULES, "matmul": matmul.RULES, "memory": memory.MEMORY_RULES,
    "pointer": pointers.POINTER_RULES, "atomics": pointers.ATOMICS_RULES,
    "debug": control.DEBUG_RULES, "token": memory.TOKEN_RULES,
}  # fmt: skip

RULES: Mapping[str, Rule] = MappingProxyType(merged(FAMILIES))
