"""Tiles of tensors: where they lie, what is outside, padding, order of axes."""

from __future__ import annotations

import math

import numpy as np
import pytest

from simulator.tile_ir.machine import TileIRError
from support.tile_ir import Built
from tilewright.backend.tileir.bytecode.types import (
    F32,
    I32,
    I64,
    INDEX,
    TOKEN,
    GatherView,
    PaddingMode,
    PartitionView,
    Pointer,
    StridedView,
    TensorView,
    TileValueType,
)

POINTER = TileValueType(Pointer(F32))
TENSOR = TensorView(F32, (None, None), (None, 1))
X = np.arange(5 * 7, dtype=np.float32).reshape(5, 7)


def loading(view, index, shape=(5, 7), **attrs):
    """Load one tile of a tensor, and store it densely."""
    built = Built(POINTER, POINTER)
    rows, columns = (built.number(n, I64) for n in shape)
    tensor = built.one("make_tensor_view", TENSOR, built.args[0], [rows, columns],
                       [built.number(7, I64)])  # fmt: skip
    maker = {PartitionView: "make_partition_view", StridedView: "make_strided_view",
             GatherView: "make_gather_scatter_view"}[type(view)]  # fmt: skip
    cut = built.one(maker, view, tensor)
    places = [
        built.number(i, I32, np.shape(i)) if np.ndim(i) else built.number(i, I32) for i in index
    ]
    kind = TileValueType(F32, view.tile)
    tile, _ = built.op("load_view_tko", [kind, TOKEN], cut, places, **attrs)
    strides = (view.tile[1], 1)
    whole = built.one(
        "make_tensor_view", TensorView(F32, view.tile, strides), built.args[1], [], []
    )
    dense = PartitionView(view.tile, TensorView(F32, view.tile, strides), (0, 1))
    out = built.one("make_partition_view", dense, whole)
    zero = built.number(0, I32)
    built.op("store_view_tko", [TOKEN], tile, out, [zero, zero])
    return built


def loaded(view, index, **attrs):
    out = np.full(view.tile, -1, np.float32)
    loading(view, index, **attrs).run(X.copy(), out)
    return out


def padded(shape, value=0.0):
    whole = np.full((8, 8), value, np.float32)
    whole[:5, :7] = X
    return whole


PADDINGS = {
    PaddingMode.zero: 0.0, PaddingMode.neg_zero: -0.0, PaddingMode.nan: math.nan,
    PaddingMode.pos_inf: math.inf,
    PaddingMode.neg_inf: -math.inf,
}  # fmt: skip


@pytest.mark.parametrize("padding", PADDINGS)
def test_tiles_are_padded(padding):
    view = PartitionView((2, 4), TENSOR, (0, 1), padding)
    whole = padded((8, 8), PADDINGS[padding])
    for i in range(3):
        for j in range(2):
            expected = whole[2 * i : 2 * i + 2, 4 * j : 4 * j + 4]
            got = loaded(view, (i, j))
            np.testing.assert_array_equal(got, expected)
            assert (np.signbit(got) == np.signbit(expected)).all()


def test_axes_in_another_order():
    view = PartitionView((4, 2), TENSOR, (1, 0), PaddingMode.zero)
    np.testing.assert_array_equal(loaded(view, (1, 2)), padded((8, 8))[4:6, 4:8].T)


def test_tiles_that_overlap():
    view = StridedView((2, 4), (1, 3), TENSOR, (0, 1), PaddingMode.zero)
    np.testing.assert_array_equal(loaded(view, (3, 1)), padded((8, 8))[3:5, 3:7])


def test_gathered_rows():
    """Rows by their numbers; the other index counts elements."""
    view = GatherView((4, 2), TENSOR, 0, PaddingMode.zero)
    np.testing.assert_array_equal(
        loaded(view, ([4, 0, 7, 1], 3)), padded((8, 8))[[4, 0, 7, 1], 3:5]
    )


def test_what_nothing_pads_is_unspecified():
    got = loaded(PartitionView((2, 4), TENSOR, (0, 1)), (2, 1))
    assert (got[0, :3] == X[4, 4:]).all()
    assert not np.isin(got[1], [0.0, -1.0, *X.ravel()]).any()


def test_a_tile_outside_of_the_index_space_touches_nothing():
    view = PartitionView((2, 4), TENSOR, (0, 1), PaddingMode.zero)
    for index in ((3, 0), (0, 2), (-1, 0)):
        assert (loaded(view, index) == 0).all()


def test_promises_to_be_inside():
    view = PartitionView((2, 4), TENSOR, (0, 1))
    np.testing.assert_array_equal(loaded(view, (1, 0), inbounds=(1, 1)), X[2:4, :4])
    with pytest.raises(TileIRError, match="axis 1 was promised to be inside, up to 7 of 7"):
        loaded(view, (1, 1), inbounds=(1, 1))
    with pytest.raises(TileIRError, match="padded view"):
        loaded(PartitionView((2, 4), TENSOR, (0, 1), PaddingMode.zero), (0, 0), inbounds=(1, 1))


def test_extents_beyond_the_memory_are_noticed():
    view = PartitionView((8, 8), TENSOR, (0, 1), PaddingMode.zero)
    with pytest.raises(TileIRError, match="parameter 0, which has 140 bytes"):
        loaded(view, (0, 0), shape=(6, 7))


def test_stores_are_cut_off():
    built = Built(POINTER)
    tensor_kind = TensorView(F32, (5, 7), (7, 1))
    tensor = built.one("make_tensor_view", tensor_kind, built.args[0], [], [])
    view = built.one("make_partition_view", PartitionView((4, 4), tensor_kind, (0, 1)), tensor)
    ones = built.number(1.0, F32, (4, 4))
    built.op("store_view_tko", [TOKEN], ones, view, [built.number(1, I32)] * 2)
    x = X.copy()
    built.run(x)
    expected = X.copy()
    expected[4:, 4:] = 1
    np.testing.assert_array_equal(x, expected)


def test_counts():
    built, out = Built(POINTER, TileValueType(Pointer(I32))), np.zeros(4, np.int32)
    kind = TensorView(F32, (5, 7), (7, 1))
    tensor = built.one("make_tensor_view", kind, built.args[0], [], [])
    view = built.one("make_partition_view", PartitionView((4, 2), kind, (1, 0)), tensor)
    found = [*built.op("get_tensor_shape", [INDEX] * 2, tensor),
             *built.op("get_index_space_shape", [INDEX] * 2, view)]  # fmt: skip
    for at, value in enumerate(found):
        where = built.one(
            "offset", TileValueType(Pointer(I32)), built.args[1], built.number(at, I32)
        )
        built.op("store_ptr_tko", [TOKEN], where, value)
    built.run(X.copy(), out)
    assert out.tolist() == [5, 7, 2, 3]


def test_a_tile_has_the_type_of_its_view():
    built = Built(POINTER)
    kind = TensorView(F32, (8,), (1,))
    tensor = built.one("make_tensor_view", kind, built.args[0], [], [])
    view = built.one("make_partition_view", PartitionView((4,), kind, (0,)), tensor)
    built.op("load_view_tko", [TileValueType(F32, (8,)), TOKEN], view, [built.number(0, I32)])
    with pytest.raises(TileIRError, match=r"8xf32.* through"):
        built.run(np.zeros(8, np.float32))
