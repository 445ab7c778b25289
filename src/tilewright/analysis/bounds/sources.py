"""Symbolic ranges of values that come from the launch alone, by op."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...ir.core import Op
from ...ir.launch_expr import Expr
from .linear import number
from .proofs import Prover
from .symbolic_range import SymbolicRange, point_range


def _constant(prover: Prover, op: Op) -> SymbolicRange:
    return point_range(number(int(op.attrs["value"])))


def _extent(prover: Prover, op: Op) -> SymbolicRange | None:
    return _size(prover, op.one("tensor").tensor.shape, op.one("tensor").tensor.param,
                 op.attrs["axis"], 1)  # fmt: skip


def _num_tiles(prover: Prover, op: Op) -> SymbolicRange | None:
    view, k = op.one("view").view, int(op.attrs["axis"])
    axis, step = view.dim_map[k], (view.step or view.tile)[k]
    shape = view.tensor.shape if view.frame is None else view.frame
    return _size(prover, shape, view.tensor.param, axis, step)


def _size(
    prover: Prover, shape: Sequence[int | None], param: str | None, axis: int, step: int
) -> SymbolicRange | None:
    extent = shape[axis]
    if extent is None and param is None:
        return None
    expr: Expr = ("extent", param, axis) if extent is None else ("const", extent)
    return point_range(prover.algebra.of(("ceildiv", expr, ("const", step))))


def _num_blocks(prover: Prover, op: Op) -> SymbolicRange:
    return point_range(prover.algebra.of(("grid", int(op.attrs["axis"]))))


def _length(prover: Prover, op: Op) -> SymbolicRange:
    return point_range(prover.algebra.of(("length", op.one("slice").tensor.param)))


SOURCES: dict[str, Callable[[Prover, Op], SymbolicRange | None]] = {
    "constant": _constant, "extent": _extent, "num_tiles": _num_tiles, "num_blocks": _num_blocks,
    "length": _length,
}  # fmt: skip
"""Values that come from the launch, by op; an op with bounds of its own is one more row."""
