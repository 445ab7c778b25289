"""Equality of extents, checked at compile time, at launch, or in the kernel."""

from __future__ import annotations

from ...base.errors import Code
from ...ir.attrs import Predicate
from ...ir.core import Value
from ...ir.launch_expr import Expr, LaunchCheck
from ..rules.control import assert_condition
from .builder import SemanticBuilder
from .values import OutputRef, TensorRef


def require_same_extents(em: SemanticBuilder, src: TensorRef | OutputRef, dst: OutputRef) -> None:
    """Require that `src`, which is loaded like `dst`, has the extents of the tensor behind it.

    Of an output that a launch covers in part, those of the part will do. Extents of parameters are
    compared once, at launch, wherever in the kernel the load stands.
    """
    if not em.checked or src.value is dst.value:
        return
    message = f"`{src.name}` must have the extents of `{dst.name}` in load_tile_like"
    hint = (
        f"if the extents of `{src.name}` may differ, specify the padding:"
        f" tl.load_tile_like({src.name}, {dst.name}, padding=0)"
    )
    for axis, (there, needed) in enumerate(zip(src.type.shape, dst.type.shape, strict=True)):
        if there is not None and needed is not None and not dst.partial:
            if there != needed:
                em.fail(
                    Code.SHAPE,
                    message,
                    expected=f"{src.name}.shape[{axis}] = {needed}, as `{dst.name}`",
                    got=f"{src.name}.shape[{axis}] = {there}",
                    hint=hint,
                )
        elif src.type.param is None:
            assert_condition(em, _same(em, src, dst, axis), message)
        else:
            check = _condition(("extent", src.type.param, axis), dst, axis)
            em.require_at_launch(LaunchCheck(check, message, em.span, hint=hint))


def _condition(there: Expr, dst: OutputRef, axis: int) -> Expr:
    whole: Expr = ("extent", dst.type.param, axis)
    same: Expr = ("eq", there, whole)
    if not dst.partial:
        return same
    reached = ("mul", ("grid", axis), ("const", dst.tile[axis]))
    return ("or", same, ("eq", there, ("min", whole, reached)))


def _same(em: SemanticBuilder, src: TensorRef | OutputRef, dst: OutputRef, axis: int) -> Value:
    """Require equal extents of a tensor whose extents only the kernel knows."""
    there, whole = (em.emit("extent", ref.value, axis=axis) for ref in (src, dst))
    same = em.emit("cmpi", there, whole, predicate=Predicate.EQ)
    if not dst.partial:
        return same
    grid = em.signature.grid
    blocks = em.emit("num_blocks", axis=axis) if grid is None else em.index(grid[axis])
    reached = em.emit("muli", blocks, em.index(dst.tile[axis]))
    part = em.emit("mini", whole, reached)
    return em.emit("ori", same, em.emit("cmpi", there, part, predicate=Predicate.EQ))
