"""Obligations at the end: the worst place of each, and what was settled on the way."""

from __future__ import annotations

from dataclasses import replace

import pytest

from support.ir import Kernel, span_of
from tilewright.analysis.bounds.check_placement import (
    BOUNDED,
    FORCED,
    SETTLED,
    bounded,
    checked_place,
    final_placements,
    is_of_span,
    named,
    worse,
)
from tilewright.base.dtypes import f32, i32
from tilewright.ir.core import BoundsCheck, Func, Placement

LINE, OTHER = span_of(3), span_of(4)


def obligation(placement: Placement, span=LINE, axis: int | None = 0) -> BoundsCheck:
    return BoundsCheck(span, "x", axis, placement, "why", "how")


def checked(*obligations: BoundsCheck, hoisted: bool = False) -> Func:
    """A function with one check of x on a line."""
    k = Kernel()
    k.tensor("x", f32, 1)
    k.span = LINE
    k.emit("check", k.i32(0), k.i32(1), tensor="x", axis=0, hoisted=hoisted)
    return replace(k.finish(), obligations=obligations)


def test_of_two_the_one_that_costs_more_stays():
    order = [Placement.PROVED, Placement.AT_LAUNCH, Placement.HOISTED, Placement.IN_PLACE]
    assert list(Placement) == order
    for k, cheap in enumerate(order):
        assert worse(None, obligation(cheap)).placement is cheap
        for dear in order[k:]:
            assert worse(obligation(cheap), obligation(dear)).placement is dear
            assert worse(obligation(dear), obligation(cheap)).placement is dear


def test_of_two_that_cost_the_same_the_first_is_reported():
    first, second = (replace(obligation(Placement.IN_PLACE), reason=r) for r in ("one", "two"))
    assert worse(first, second).reason == "one"
    assert worse(second, first).reason == "two"


@pytest.mark.parametrize("hoisted", [False, True])
def test_a_check_that_is_left_says_where_it_is(hoisted):
    (found,) = final_placements(checked(obligation(Placement.IN_PLACE), hoisted=hoisted))
    assert found.placement is (Placement.HOISTED if hoisted else Placement.IN_PLACE)
    assert (found.reason, found.advice) == ("why", "how")


def test_a_check_that_nobody_decided_about_is_forced():
    (found,) = final_placements(checked())
    assert (found.placement, found.reason, found.tensor) == (Placement.IN_PLACE, FORCED, "x")


def test_a_check_that_is_gone_was_settled():
    gone = final_placements(
        checked(obligation(Placement.IN_PLACE), obligation(Placement.IN_PLACE, OTHER))
    )
    assert [o.placement for o in gone] == [Placement.IN_PLACE, Placement.PROVED]
    assert (gone[1].reason, gone[1].advice) == (SETTLED, "")
    for placement in (Placement.PROVED, Placement.AT_LAUNCH):
        kept = obligation(placement, OTHER)
        assert final_placements(checked(obligation(Placement.IN_PLACE), kept))[1] == kept


def test_checks_of_other_axes_and_lines_are_others():
    found = final_placements(checked(obligation(Placement.IN_PLACE, axis=1)))
    assert [(o.axis, o.placement) for o in found] == [
        (1, Placement.PROVED), (0, Placement.IN_PLACE)
    ]  # fmt: skip


def test_names():
    assert named("x", 2) == "axis 2 of `x`"
    assert named("x", None) == "`x`"
    k = Kernel()
    tile = k.op("check", k.i32(0), k.i32(1), tensor="x", axis=1)
    element = k.op("check_index", k.i32(0), k.i32(1), slice="y")
    assert checked_place(tile) == ("x", 1)
    assert checked_place(element) == ("y", None)


def test_spans_of_tiles_are_assertions_about_a_tensor():
    k = Kernel()
    of_user = k.op("assert", k.true(), message="")
    of_span = k.op("assert", k.true(), message="", tensor="z", axis=0)
    assert not is_of_span(of_user)
    assert is_of_span(of_span)
    assert not is_of_span(k.op("check", k.i32(0), k.i32(1), tensor="x", axis=0))
    k.block.ops[-2].span = LINE
    (found, *_) = [o for o in final_placements(k.finish()) if o.tensor == "z"]
    assert (found.placement, found.axis) == (Placement.IN_PLACE, 0)


def test_views_of_rows_are_bounded_wherever_their_index_points():
    k = Kernel()
    x = k.tensor("x", f32, 2)
    rows = k.emit("iota", size=4, dtype=i32)
    view = k.view(x, (4, 2), sparse=0)
    k.emit("load_view", view, [rows, k.i32(0)])
    k.emit("load_view", view, [rows, k.i32(0)], k.true())
    k.load(x, (4, 2))
    found = list(bounded(k.finish()))
    assert [(o.tensor, o.axis, o.placement) for o in found] == [
        ("x", 0, Placement.PROVED), ("x", 1, Placement.PROVED)
    ]  # fmt: skip
    assert {o.reason for o in found} == {BOUNDED}
