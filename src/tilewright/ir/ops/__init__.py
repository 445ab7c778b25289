"""All ops by name, one file per family."""

from __future__ import annotations

from ...base.tables import merged
from ..opdef import OpDef
from . import control, elementwise, layout, matmul, memory, reduction, simt  # fmt: skip

FAMILIES: dict[str, tuple[OpDef, ...]] = {
    "control": control.CONTROL_OPS, "grid": control.GRID_OPS, "creation": layout.CREATION_OPS,
    "arithmetic": elementwise.ARITHMETIC_OPS, "math": elementwise.MATH_OPS,
    "comparison": elementwise.COMPARISON_OPS,
    "bitwise": elementwise.BITWISE_OPS, "conversion": elementwise.CONVERSION_OPS,
    "layout": layout.LAYOUT_OPS,
    "reduction": reduction.OPS, "matmul": matmul.OPS, "memory": memory.MEMORY_OPS,
    "pointer": memory.POINTER_OPS, "atomics": memory.ATOMICS_OPS, "debug": control.DEBUG_OPS,
    "token": memory.TOKEN_OPS,
    "threads": simt.THREADS_OPS, "slices": simt.SLICES_OPS, "shared": simt.SHARED_OPS,
    "warps": simt.WARPS_OPS,
    "assembly": simt.ASSEMBLY_OPS,
}  # fmt: skip

OPS: dict[str, OpDef] = merged(
    {family: {op.name: op for op in ops} for family, ops in FAMILIES.items()}
)
