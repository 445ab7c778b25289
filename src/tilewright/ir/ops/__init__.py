"""All ops by name, one file per family."""

from __future__ import annotations

from ..opdef import OpDef, merged
from . import control, elementwise, layout, matmul, memory, reduction, simt  # fmt: skip

FAMILIES: dict[str, tuple[OpDef, ...]] = {
    "elementwise": elementwise.OPS,
    "layout": layout.OPS,
    "reduction": reduction.OPS,
    "matmul": matmul.OPS,
    "memory": memory.OPS,
    "control": control.OPS,
    "simt": simt.OPS,
}
"""The op families: one word names a family in every layer."""

OPS: dict[str, OpDef] = merged(
    {family: {op.name: op for op in ops} for family, ops in FAMILIES.items()}
)
