"""Indices of views of rows: row numbers, and the elements that tiles start at.

What lies outside of the tensor is padding where the view was made with one; else it fails.
"""

from __future__ import annotations

from typing import Any

from ..base.dtypes import i32, u32
from ..base.errors import Code
from ..ir.core import Value
from .access import index_parts, unchecked_index
from .combiners import op_body
from .emit import Emitter
from .values import PartitionRef


def checked_rows(
    em: Emitter, ref: PartitionRef, index: Any
) -> tuple[tuple[Value, ...], Value | None]:
    """The index as values, and a guard that is false where a row or an element lies outside."""
    values = unchecked_index(em, ref.view, ref.name, index)
    if ref.padded or not em.checked:
        return values, None
    kind = ref.view.view
    tensor = em.defining[ref.view].one("tensor")
    guard: Value | None = None
    for axis, part in enumerate(index_parts(em, index, kind.rank, ref.name)):
        known = kind.tensor.shape[axis]
        _refuse_outside(em, ref, axis, part, known)
        extent = em.emit("extent", tensor, axis=axis) if known is None else em.index(known)
        place = _outermost(em, values[axis]) if axis == kind.sparse else values[axis]
        ok = em.emit("check", place, extent, tensor=ref.name, axis=axis, elements=True)
        guard = ok if guard is None else em.emit("andi", guard, ok)
    return values, guard


def _refuse_outside(
    em: Emitter, ref: PartitionRef, axis: int, part: Any, known: int | None
) -> None:
    if isinstance(part, Value) or (part >= 0 and (known is None or part < known)):
        return
    em.fail(
        Code.INDEX,
        f"element {part} is out of bounds of `{ref.name}` on axis {axis}",
        expected="0 or more" if known is None else f"0 <= index < {known}",
        got=str(part),
        hint="make the view with padding=..., the value of elements outside the tensor",
    )


def _outermost(em: Emitter, rows: Value) -> Value:
    """The row number that lies outside, if any does: read without a sign, those below 0 are large.

    So one reduction finds both kinds, and the check names the number.
    """
    wide = em.emit("bitcast", rows, to=u32)
    largest = em.op(
        "reduce", [wide], regions=[op_body(em, "maxi", u32)], axis=0, identities=(0,)
    ).result
    return em.emit("bitcast", largest, to=i32)
