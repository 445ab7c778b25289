"""Tiles that start at any element: offsets count elements, so the tiles are those of step 1.

An offset is checked as an index is, unless a padding is written out: then what lies outside of the
tensor is padding, wherever the tile starts. Those of an output stay in the region of the block.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...base.errors import Code
from ...base.shapes import Shape
from ...ir.core import Value
from .access import counted, make_view, static_tile_count, tile_count
from .builder import SemanticBuilder
from .operands import parts
from .values import OutputRef, TensorRef, describe


def view_at(em: SemanticBuilder, ref: TensorRef | OutputRef, shape: Any, padding: Any = 0) -> Value:
    """Return a view of tiles that start at any element; of an output, in this block's region."""
    frame = ref.tile if isinstance(ref, OutputRef) else None
    rank = ref.type.rank
    return make_view(em, ref, shape, padding=padding, step=(1,) * rank, frame=frame)


def offset_parts(em: SemanticBuilder, offsets: Any, view: Value, name: str) -> Sequence[Any]:
    """Return offsets as one part per axis; a bare number will do for one axis."""
    given, rank = parts(offsets), view.view.rank
    if len(given) != rank:
        em.fail(
            Code.RANK,
            f"`{name}` has {counted(rank, 'axis')}, the offsets {counted(len(given), 'number')}",
            expected=counted(rank, "offset"),
            got=describe(offsets),
        )
    return given


def free_offsets(em: SemanticBuilder, view: Value, name: str, offsets: Any) -> tuple[Value, ...]:
    """Return offsets as values, which may lie anywhere."""
    given = offset_parts(em, offsets, view, name)
    return tuple(em.index(part, f"offsets[{k}]") for k, part in enumerate(given))


def checked_offsets(
    em: SemanticBuilder, view: Value, name: str, offsets: Any, *, region: Shape | None = None
) -> tuple[tuple[Value, ...], Value | None]:
    """Return offsets as values, and a guard that is false where one lies outside.

    A constant that always lies outside is rejected. `region` is the shape of this block's region,
    in which offsets of an output count.
    """
    values = free_offsets(em, view, name, offsets)
    if not em.checked:
        return values, None
    guard: Value | None = None
    for axis, part in enumerate(offset_parts(em, offsets, view, name)):
        _refuse_outside(em, view, name, axis, part, region)
        extent = em.index(tile_count(em, view, axis))
        ok = em.emit("check", values[axis], extent, tensor=name, axis=axis, elements=True)
        guard = ok if guard is None else em.emit("andi", guard, ok)
    return values, guard


def _refuse_outside(
    em: SemanticBuilder, view: Value, name: str, axis: int, part: Any, region: Shape | None
) -> None:
    known = static_tile_count(view.view, axis)
    if isinstance(part, Value) or (part >= 0 and (known is None or part < known)):
        return
    inside = "of the block's region of" if region is not None else "of"
    em.fail(
        Code.INDEX,
        f"element {part} is out of bounds {inside} `{name}` on axis {axis}",
        expected="0 or more" if known is None else f"0 <= offset < {known}",
        got=str(part),
        hint=None if region is not None else "write padding=..., the value of elements outside",
    )
