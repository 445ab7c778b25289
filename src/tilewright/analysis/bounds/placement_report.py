"""Report the placement of each bounds check of a finished function."""

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
    """Return the obligations of a function, placed where its checks are now."""
    # Passes after the placement may merge, hoist or remove checks; what remains in the IR decides.
    left: dict[tuple[object, ...], BoundsCheck] = {}
    for op in func.walk():
        if op.is_a(*CHECKS) or is_of_span(op):
            found = _of_check(op)
            left[found.key] = worse(left.get(found.key), found)
    placed = [_placed(o, left.pop(o.key, None)) for o in func.obligations]
    return (*placed, *left.values())


def bounded(func: Func) -> Iterator[BoundsCheck]:
    """Yield the checks of accesses through padded row views, which accept any index."""
    for op in func.walk():
        if not op.is_a(LOAD_VIEW, STORE_VIEW):
            continue
        view = op.one("view").view
        if op.maybe("guard") is not None:
            continue  # its index has its own checks
        if view.sparse is not None and view.tensor.param is not None:
            for axis in view.dim_map:
                yield BoundsCheck(op.span, view.tensor.param, axis, Placement.PROVED, BOUNDED)


def worse(old: BoundsCheck | None, new: BoundsCheck) -> BoundsCheck:
    """Return the more expensive one of two checks with the same key."""
    return new if old is None or RANK[old.placement] < RANK[new.placement] else old


def checked_place(op: Op) -> tuple[str, int | None]:
    """Return the tensor and the axis that a check is about; a slice has no axes."""
    if op.is_a(CHECK_INDEX):
        return op.attrs["slice"], None
    return op.attrs["tensor"], op.attrs["axis"]


def named(tensor: str, axis: int | None) -> str:
    """Return the text for the place that a check is about."""
    return f"`{tensor}`" if axis is None else f"axis {axis} of `{tensor}`"


def is_of_span(op: Op) -> bool:
    """Return whether an op checks that a span of tiles lies inside of an output."""
    return op.is_a(ASSERT) and bool(op.attrs["tensor"])


def _of_check(op: Op) -> BoundsCheck:
    placement = Placement.HOISTED if op.attrs.get("hoisted") else Placement.IN_PLACE
    return BoundsCheck(op.span, *checked_place(op), placement, FORCED)


def _placed(decided: BoundsCheck, left: BoundsCheck | None) -> BoundsCheck:
    if left is not None:
        return replace(decided, placement=left.placement)
    if decided.placement is Placement.IN_PLACE:
        # No check is left for it, although none was proved: a pass found it redundant.
        return replace(decided, placement=Placement.PROVED, reason=SETTLED, advice="")
    return decided
