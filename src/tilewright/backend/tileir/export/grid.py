"""The launch grid of a kernel as expressions over what a launch knows."""

from __future__ import annotations

from ....ir.launch_expr import Expr
from ....ir.signature import OutputSpec, Signature


def logical_grid(signature: Signature) -> tuple[Expr, ...] | None:
    """The number of blocks along each logical axis; None where the caller decides."""
    if signature.grid is not None:
        return tuple(("const", n) for n in signature.grid)
    outputs = [spec for spec in signature.params if isinstance(spec, OutputSpec)]
    if not outputs or any(spec.groups is not None for spec in outputs):
        return None  # blocks of mapped outputs are as many as the caller likes
    chosen = max(outputs, key=lambda spec: len(spec.tile))
    blocks: list[Expr] = [
        ("ceildiv", ("extent", chosen.name, axis), ("const", tile))
        for axis, tile in enumerate(chosen.tile)
    ]
    return (*blocks, *[("const", 1)] * (signature.grid_rank - len(blocks)))
