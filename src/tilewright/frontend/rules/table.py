"""All rules by name: how each word of the language becomes IR; one file per family."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from ...base.tables import merged
from . import control, conversion, elementwise, layout, matmul, memory, pointers, reduction, simt

Rule: TypeAlias = Callable[..., Any]
"""`rule(em, ...)`, with the parameters of the declaration in `lang`, gives what the call gives."""

FAMILIES: dict[str, Mapping[str, Rule]] = {
    "control": control.CONTROL_RULES, "grid": memory.GRID_RULES, "creation": layout.CREATION_RULES,
    "arithmetic": elementwise.ARITHMETIC_RULES, "math": elementwise.MATH_RULES,
    "comparison": elementwise.COMPARISON_RULES,
    "bitwise": elementwise.BITWISE_RULES, "conversion": conversion.RULES,
    "layout": layout.LAYOUT_RULES,
    "reduction": reduction.RULES, "matmul": matmul.RULES, "memory": memory.MEMORY_RULES,
    "pointer": pointers.POINTER_RULES, "atomics": pointers.ATOMICS_RULES,
    "debug": control.DEBUG_RULES,
    "threads": simt.THREADS_RULES, "slices": simt.SLICES_RULES, "shared": simt.SHARED_RULES,
    "warps": simt.WARPS_RULES, "assembly": simt.ASSEMBLY_RULES,
}  # fmt: skip

RULES: dict[str, Rule] = merged(FAMILIES)

PROPERTIES: frozenset[str] = frozenset[str]().union(
    elementwise.PROPERTIES, simt.ASSEMBLY_PROPERTIES, pointers.ATOMICS_PROPERTIES,
    elementwise.PROPERTIES,
    elementwise.PROPERTIES,
    control.PROPERTIES, conversion.PROPERTIES, layout.CREATION_PROPERTIES, control.PROPERTIES,
    memory.GRID_PROPERTIES, layout.LAYOUT_PROPERTIES, elementwise.PROPERTIES, matmul.PROPERTIES,
    memory.MEMORY_PROPERTIES,
    pointers.POINTER_PROPERTIES, reduction.PROPERTIES, simt.SHARED_PROPERTIES,
    simt.SLICES_PROPERTIES,
    simt.THREADS_PROPERTIES, simt.WARPS_PROPERTIES,
)  # fmt: skip
"""The names in RULES that are read, not called."""
