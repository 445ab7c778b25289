"""All rules by name: how each word of the language becomes IR; one file per family."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from ...base.tables import merged
from . import (
    arithmetic,
    assembly,
    atomics,
    bitwise,
    comparison,
    control,
    conversion,
    creation,
    debug,
    grid,
    layout,
    math,
    matmul,
    memory,
    pointer,
    reduction,
    shared,
    slices,
    threads,
    warps,
)

Rule: TypeAlias = Callable[..., Any]
"""`rule(em, ...)`, with the parameters of the declaration in `lang`, gives what the call gives."""

FAMILIES: dict[str, Mapping[str, Rule]] = {
    "control": control.RULES, "grid": grid.RULES, "creation": creation.RULES,
    "arithmetic": arithmetic.RULES, "math": math.RULES, "comparison": comparison.RULES,
    "bitwise": bitwise.RULES, "conversion": conversion.RULES, "layout": layout.RULES,
    "reduction": reduction.RULES, "matmul": matmul.RULES, "memory": memory.RULES,
    "pointer": pointer.RULES, "atomics": atomics.RULES, "debug": debug.RULES,
    "threads": threads.RULES, "slices": slices.RULES, "shared": shared.RULES,
    "warps": warps.RULES, "assembly": assembly.RULES,
}  # fmt: skip

RULES: dict[str, Rule] = merged(FAMILIES)

PROPERTIES: frozenset[str] = frozenset[str]().union(
    arithmetic.PROPERTIES, assembly.PROPERTIES, atomics.PROPERTIES, bitwise.PROPERTIES,
    comparison.PROPERTIES,
    control.PROPERTIES, conversion.PROPERTIES, creation.PROPERTIES, debug.PROPERTIES,
    grid.PROPERTIES, layout.PROPERTIES, math.PROPERTIES, matmul.PROPERTIES, memory.PROPERTIES,
    pointer.PROPERTIES, reduction.PROPERTIES, shared.PROPERTIES, slices.PROPERTIES,
    threads.PROPERTIES, warps.PROPERTIES,
)  # fmt: skip
"""The names in RULES that are read, not called."""
