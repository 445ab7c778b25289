"""Which views Tile IR has, and which paddings."""

from __future__ import annotations

from dataclasses import replace
from math import inf, nan

import pytest

from tilewright.backend.tileir.accesses import padding_of, tile_view, tiles_per_frame
from tilewright.backend.tileir.bytecode.enums import V13_2, V13_4
from tilewright.backend.tileir.bytecode.types import PaddingMode, PartitionView, StridedView
from tilewright.base.dtypes import bool_, f8e8m0fnu, f32, i32
from tilewright.ir.types import TensorType, ViewType

TENSOR = TensorType(f32, (None, 100), (None, 1))
VIEW = ViewType(TENSOR, (4, 8), (0, 1))


def test_tiles_side_by_side():
    found = tile_view(VIEW, V13_4, padded=True)
    assert isinstance(found, PartitionView)
    assert str(found) == (
        "partition_view<tile=(4x8), padding_value = zero, tensor_view<?x100xf32, strides=[?,1]>>"
    )


def test_stores_need_no_padding():
    assert tile_view(replace(VIEW, padding=3.5), V13_4, padded=False).padding is None


def test_overlapping_tiles_came_later():
    view = replace(VIEW, step=(2, 8))
    assert isinstance(tile_view(view, V13_4, padded=True), StridedView)
    assert tile_view(view, V13_2, padded=True) is None


FRAMES = {(8, 16): True, (4, 8): True, (6, 8): False, (2, 8): False}


@pytest.mark.parametrize("frame", FRAMES)
def test_frames_that_tiles_fit(frame):
    view = replace(VIEW, frame=frame)
    assert (tile_view(view, V13_4, padded=True) is not None) == FRAMES[frame]


def test_tiles_in_a_frame():
    assert [tiles_per_frame(replace(VIEW, frame=(8, 32)), k) for k in (0, 1)] == [2, 4]


NONE = {
    "gather": replace(VIEW, sparse=0),
    "other padding": replace(VIEW, padding=2.5),
    "no elements": replace(VIEW, tensor=replace(TENSOR, shape=(None, 0))),
    "all rows the same": replace(VIEW, tensor=replace(TENSOR, strides=(0, 1))),
    "no axes": ViewType(TensorType(f32, (), ()), (), ()),
}


@pytest.mark.parametrize("name", NONE)
def test_views_that_it_does_not_have(name):
    assert tile_view(NONE[name], V13_4, padded=True) is None


PADDINGS = [
    (0, f32, PaddingMode.zero), (-0.0, f32, PaddingMode.neg_zero), (nan, f32, PaddingMode.nan),
    (inf, f32, PaddingMode.pos_inf), (-inf, f32, PaddingMode.neg_inf), (1.0, f32, None),
    (0, i32, PaddingMode.zero), (7, i32, None), (True, bool_, None), (2.0**-127, f8e8m0fnu, None),
]  # fmt: skip


@pytest.mark.parametrize(("value", "dtype", "expected"), PADDINGS)
def test_paddings(value, dtype, expected):
    assert padding_of(value, dtype) is expected
