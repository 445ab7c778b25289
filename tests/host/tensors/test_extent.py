from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewright.base.dtypes import f32
from tilewright.devices.host import CPU
from tilewright.tensors.extent import Extent
from tilewright.tensors.layout import layout_of
from tilewright.tensors.region import Region
from tilewright.tensors.storage import Storage

MEMORY = Storage(CPU, 1000, 400, object())


def region(shape, strides, first=0):
    return Region(MEMORY, layout_of(f32, shape, strides), 1000 + 4 * first)


@pytest.mark.parametrize(
    ("one", "other", "meet"),
    [
        ((0, 8), (8, 16), False), ((0, 9), (8, 16), True), ((0, 0), (0, 8), False),
        ((4, 4), (0, 8), False), ((0, 16), (4, 8), True),
    ],
)  # fmt: skip
def test_extents(one, other, meet):
    assert Extent(*one).meets(Extent(*other)) == Extent(*other).meets(Extent(*one)) == meet


def test_interleaved_regions():
    left, right = region((10, 5), (10, 1)), region((10, 5), (10, 1), 5)
    assert left.overlaps(right)
    assert not left.meets(right)
    assert left.meets(region((10, 5), (10, 1), 4))
    assert region((50,), (2,)).meets(Extent(1000, 1001))
    assert not region((50,), (2,)).meets(region((50,), (2,), 1))
    assert not region((10,), (10,)).meets(Extent(1004, 1040))


strided = st.tuples(
    st.lists(st.tuples(st.integers(0, 4), st.integers(-7, 7)), max_size=3), st.integers(0, 9)
)


def elements(shape, strides, first):
    return {first + int(np.dot(index, strides)) for index in np.ndindex(shape)}


@given(strided, strided)
def test_two_regions_meet_where_they_have_an_element_in_common(one, other):
    (a, first_a), (b, first_b) = one, other
    shapes = [(tuple(n for n, _ in dims), tuple(s for _, s in dims)) for dims in (a, b)]
    ours = region(*shapes[0], first_a + 40)
    its = region(*shapes[1], first_b + 40)
    common = elements(*shapes[0], first_a) & elements(*shapes[1], first_b)
    assert ours.meets(its) == its.meets(ours) == bool(common)


def test_what_is_too_hard_to_tell_is_taken_to_meet():
    steps = tuple(2**n * 3 for n in range(8))
    assert region((4,) * 8, steps).meets(region((4,) * 8, steps, 1)) in (True, False)


def test_descriptions_meet_only_themselves():
    one, other = (Storage(CPU, 0, 400, None) for _ in range(2))
    layout = layout_of(f32, (4,), (1,))
    assert Region(one, layout, 0).meets(Region(one, layout, 8))
    assert not Region(one, layout, 0).meets(Region(one, layout, 16))
    assert not Region(one, layout, 0).meets(Region(other, layout, 0))
    assert not Region(one, layout, 1000).meets(region((4,), (1,)))
