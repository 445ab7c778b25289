"""Typed IR to a Tile IR program: one file of rules per op family, merged here."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from ....ir.opdef import merged
from . import (  # fmt: skip
    control,
    conversion,
    elementwise,
    layout,
    matmul,
    memory,
    pointers,
    reduction,
    reports,
)
from .emitter import Rule

FAMILIES: dict[str, Mapping[str, Rule]] = {
    "elementwise": {**elementwise.RULES, **conversion.RULES},
    "layout": layout.RULES,
    "reduction": reduction.RULES,
    "matmul": matmul.RULES,
    "memory": {**memory.RULES, **pointers.RULES},
    "control": {**control.RULES, **reports.RULES},
}

RULES: Mapping[str, Rule] = MappingProxyType(merged(FAMILIES))
