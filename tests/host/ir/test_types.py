"""Types of IR values: their text, and views' loaded tiles."""

from __future__ import annotations

import pytest

from ir_kit import tensor, tile
from tilewright.base.dtypes import bool_, f32, i32
from tilewright.ir.core import Value
from tilewright.ir.types import I32, TOKEN, PtrType, TileType, ViewType


@pytest.mark.parametrize(
    ("type_", "text"),
    [
        (TileType(f32), "tile<f32>"),
        (tile(4, 8), "tile<4x8xf32>"),
        (TileType(PtrType(f32), (4,)), "tile<4xptr<f32>>"),
        (TileType(bool_, (2,)), "tile<2xbool>"),
        (tensor(None, 8), "tensor<?x8xf32, strides=[?,1]>"),
        (tensor(4, mutable=True), "tensor_mut<4xf32, strides=[1]>"),
        (ViewType(tensor(4), (2,), (0,)), "view<tile=(2,), tensor<4xf32, strides=[1]>>"),
        (ViewType(tensor(4), (2,), (0,), step=(1,), sparse=0, padding=None),
         "view<tile=(2,), tensor<4xf32, strides=[1]>, step=(1,), sparse=0, padding=None>"),
        (TOKEN, "token"),
    ],
)  # fmt: skip
def test_text(type_, text):
    assert str(type_) == text


def test_tiles_know_their_parts():
    assert (tile(4, 8).rank, tile(4, 8).size, TileType(f32).size) == (2, 32, 1)
    assert tile(4).with_elem(i32) == TileType(i32, (4,))
    assert tile(4).with_shape((2, 2)) == tile(2, 2)
    assert ViewType(tensor(4), (2,), (0,)).loaded == tile(2)


def test_pointers_have_no_dtype():
    with pytest.raises(AssertionError, match="no dtype"):
        _ = TileType(PtrType(f32)).dtype


def test_values_say_what_they_are_not():
    for name in ("tensor", "view"):
        with pytest.raises(AssertionError, match=f"expected a {name}, got tile<i32>"):
            getattr(Value(I32), name)
    with pytest.raises(AssertionError, match="expected a tile, got token"):
        _ = Value(TOKEN).tile


def test_paddings_are_compared_by_their_bits():
    def padded(value):
        return ViewType(tensor(4), (2,), (0,), padding=value)

    assert padded(float("nan")) == padded(float("nan"))
    assert hash(padded(float("nan"))) == hash(padded(float("nan")))
    assert padded(0.0) != padded(-0.0)
