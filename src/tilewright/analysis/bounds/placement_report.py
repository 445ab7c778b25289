"""Reports where every bounds check of a finished function is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ...ir.core import BoundsCheck, Func, Op, Placement
from ...ir.ops.control import ASSERT
from ...ir.ops.memory import CHECK, LOAD_VIEW, STORE_VIEW
from ...ir.ops.simt import CHECK_INDEX

RANK = {placement: number for number, placement in enumerate(Placement)}

CHECKS = (CHECK, CHECK_INDEX)
"""Ops that compare an index with what it must be below: of a tile, of an element of a slice."""

SETTLED = "it is unreachable, or equal to an earlier check"
BOUNDED = "rows and elements outside of the tensor load as padding and are not stored"
FORCED = "all checks are forced"


def final_placements(func: Func) -> tuple[BoundsCheck, ...]:
    """The obligations of a function, placed where its checks are now."""
    left: dict[tuple[object, ...], BoundsCheck] = {}
    for op in func.walk():
        if op.is_a(*CHECKS) or is_of_span(op):
            found = _of_check(op)
            left[found.key] = worse(left.get(found.key), found)
    placed = [_placed(o, left.pop(o.key, None)) for o in func.obligations]
    return (*placed, *left.values())


def bounded(func: Func) -> Iterator[BoundsCheck]:
    """Those of accesses through views of rows, which any index meets."""
    for op in func.walk():
        if not op.is_a(LOAD_VIEW, STORE_VIEW):
            continue
        view = op.one("view").view
        if op.maybe("guard") is not None:
            continue  # its index has checks of its own
        if view.sparse is not None and view.tensor.param is not None:
            for axis in view.dim_map:
                yield BoundsCheck(op.span, view.tensor.param, axis, Placement.PROVED, BOUNDED)


def worse(old: BoundsCheck | None, new: BoundsCheck) -> BoundsCheck:
    """Of two with one key, the one that costs more."""
    return new if old is None or RANK[old.placement] < RANK[new.placement] else old


def checked_place(op: Op) -> tuple[str, int | None]:
    """The tensor and the axis that a check is about; a slice has no axes."""
    if op.is_a(CHECK_INDEX):
        return op.attrs["slice"], None
    return op.attrs["tensor"], op.attrs["axis"]


def named(tensor: str, axis: int | None) -> str:
    """What a check is about, in words."""
    return f"`{tensor}`" if axis is None else f"axis {axis} of `{tensor}`"


def is_of_span(op: Op) -> bool:
    """Whether an op checks that a span of tiles lies inside of an output."""
    return op.is_a(ASSERT) and bool(op.attrs["tensor"])


def _of_check(op: Op) -> BoundsCheck:
    placement = Placement.HOISTED if op.attrs.get("hoisted") else Placement.IN_PLACE
    return BoundsCheck(op.span, *checked_place(op), placement, FORCED)


def _placed(decided: BoundsCheck, left: BoundsCheck | None) -> BoundsCheck:
    if left is not None:
        return replace(decided, placement=left.placement)
    if decided.placement is Placement.IN_PLACE:
        return replace(decided, placement=Placement.PROVED, reason=SETTLED, advice="")
    return decided
