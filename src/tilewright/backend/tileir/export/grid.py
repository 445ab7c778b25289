"""The launch grid of a kernel as expressions over what a launch knows."""

from __future__ import annotations

from functools import reduce

from ....base.shapes import Shape
from ....ir.launch_expr import Expr
from ....ir.signature import OutputSpec, Signature


def logical_grid(signature: Signature) -> tuple[Expr, ...] | None:
    """The number of blocks along each logical axis; None where the caller decides."""
    if signature.block is not None:
        return _grid_of_threads(signature, signature.block)
    if signature.grid is not None:
        return tuple(("const", n) for n in signature.grid)
    found = [spec for spec in signature.params if isinstance(spec, OutputSpec)]
    outputs = [spec for spec in found if not spec.shared]
    if not outputs or any(spec.groups is not None for spec in outputs):
        return None  # blocks of mapped outputs are as many as the caller likes
    chosen = max(outputs, key=lambda spec: len(spec.tile))
    blocks: list[Expr] = [
        ("ceildiv", ("extent", chosen.name, axis), ("const", tile))
        for axis, tile in enumerate(chosen.tile)
    ]
    return (*blocks, *[("const", 1)] * (signature.grid_rank - len(blocks)))


def _grid_of_threads(signature: Signature, block: Shape) -> tuple[Expr, ...] | None:
    """Of a SIMT kernel, along x, y and z: as of launches that say nothing of it.

    A thread for each element of the longest slice that is written. How slices are rows and columns
    is not known here.
    """
    lengths: list[Expr] = [
        ("length", spec.name) for spec in signature.params if isinstance(spec, OutputSpec)
    ]
    if not lengths or len(block) != 1:
        return None
    longest, (threads,) = reduce(lambda a, b: ("max", a, b), lengths), block
    return ("ceildiv", longest, ("const", threads)), ("const", 1), ("const", 1)
