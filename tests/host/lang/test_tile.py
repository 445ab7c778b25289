from __future__ import annotations

import pytest

import tilewright.lang as tl
from tilewright.base.dtypes import f32


def test_tiles_are_not_made_on_the_host():
    with pytest.raises(TypeError, match="can only be used inside a kernel"):
        tl.Tile()


def test_annotations_can_be_written_with_and_without_an_element_type():
    assert tl.Tile[f32].__args__ == (f32,)
    assert tl.Tile[f32].__origin__ is tl.Tile
