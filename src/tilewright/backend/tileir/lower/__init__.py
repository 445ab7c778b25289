"""Typed IR to a Tile IR program: one file of rules per op family, merged here."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from ....base.tables import merged
from . import (
    arithmetic,
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
    token,
)  # fmt: skip
from .emitter import Rule

FAMILIES: dict[str, Mapping[str, Rule]] = {
    "control": control.RULES, "grid": grid.RULES, "creation": creation.RULES,
    "arithmetic": arithmetic.RULES, "math": math.RULES, "comparison": comparison.RULES,
    "bitwise": bitwise.RULES, "conversion": conversion.RULES, "layout": layout.RULES,
    "reduction": reduction.RULES, "matmul": matmul.RULES, "memory": memory.RULES,
    "pointer": pointer.RULES, "atomics": atomics.RULES, "debug": debug.RULES, "token": token.RULES,
}  # fmt: skip

RULES: Mapping[str, Rule] = MappingProxyType(merged(FAMILIES))
