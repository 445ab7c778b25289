"""All rules by the name of the language function; one file per family."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from ...ir.opdef import merged
from . import control, conversion, elementwise, layout, matmul, memory, pointers, reduction, simt

Rule: TypeAlias = Callable[..., Any]
"""`rule(em, ...)`, with the parameters of the declaration in `lang`, returns the call's result."""

FAMILIES: dict[str, Mapping[str, Rule]] = {
    "elementwise": {**elementwise.RULES, **conversion.RULES},
    "layout": layout.RULES,
    "reduction": reduction.RULES,
    "matmul": matmul.RULES,
    "memory": {**memory.RULES, **pointers.RULES},
    "control": control.RULES,
    "simt": simt.RULES,
}

RULES: dict[str, Rule] = merged(FAMILIES)

READ = (
    "shape", "extent", "size", "rank", "ndim", "dtype", "grid", "T", "elements", "width",
    "row", "col",
)  # fmt: skip
PROPERTIES = frozenset(key for key in RULES if "." in key and key.partition(".")[2] in READ)
"""The names in RULES that are read, not called."""
