"""All ops by name, one file per family."""

from __future__ import annotations

from ...base.tables import merged
from ..opdef import OpDef
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
    token,
    warps,
)  # fmt: skip

FAMILIES: dict[str, tuple[OpDef, ...]] = {
    "control": control.OPS, "grid": grid.OPS, "creation": creation.OPS,
    "arithmetic": arithmetic.OPS, "math": math.OPS, "comparison": comparison.OPS,
    "bitwise": bitwise.OPS, "conversion": conversion.OPS, "layout": layout.OPS,
    "reduction": reduction.OPS, "matmul": matmul.OPS, "memory": memory.OPS,
    "pointer": pointer.OPS, "atomics": atomics.OPS, "debug": debug.OPS, "token": token.OPS,
    "threads": threads.OPS, "slices": slices.OPS, "shared": shared.OPS, "warps": warps.OPS,
    "assembly": assembly.OPS,
}  # fmt: skip

OPS: dict[str, OpDef] = merged(
    {family: {op.name: op for op in ops} for family, ops in FAMILIES.items()}
)
