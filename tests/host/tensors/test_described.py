from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
from tilewright.tensors.described import described, refuse_address

RIGHT = {"shape": (2, 3), "typestr": "<f4", "data": (4096, False), "version": 3}


def test_what_is_said():
    found = described(object(), RIGHT)
    assert (found.layout.dtype, found.layout.shape, found.layout.strides) == (
        tw.f32,
        (2, 3),
        (3, 1),
    )
    assert (found.address, found.readonly, found.stream) == (4096, False, None)


@pytest.mark.parametrize(
    "change",
    [
        {"shape": [np.int64(2), 3]}, {"strides": (np.int64(12), 4)}, {"strides": [12, 4]},
        {"data": (np.uint64(4096), 0)}, {"mask": None}, {"version": 2}, {"descr": []},
    ],
)  # fmt: skip
def test_other_ways_to_say_it(change):
    assert described(object(), {**RIGHT, **change}) == described(object(), RIGHT)


@pytest.mark.parametrize(
    "change",
    [
        {"shape": None}, {"shape": 6}, {"shape": (2, -3)}, {"shape": (2.0, 3)}, {"typestr": None},
        {"typestr": ">f4"}, {"typestr": "<c8"}, {"typestr": "f99"}, {"strides": (12,)},
        {"strides": (12, 2)}, {"strides": 4}, {"data": None}, {"data": 4096}, {"data": (-1, False)},
        {"data": (None, False)}, {"mask": object()}, {"stream": 0}, {"stream": -1},
        {"stream": "1"},
    ],
)  # fmt: skip
def test_nonsense(change):
    with pytest.raises(tw.ShapeError, match="the metadata of this object is invalid"):
        described(object(), {**RIGHT, **change})


def test_no_dict():
    with pytest.raises(tw.ShapeError, match="the metadata of this"):
        described(object(), None)


def test_addresses():
    layout = described(object(), RIGHT).layout
    refuse_address(object(), layout, 4096)
    for address in (0, 4097, 4098):
        with pytest.raises(tw.ShapeError):
            refuse_address(object(), layout, address)
    refuse_address(object(), described(object(), {**RIGHT, "shape": (0, 3)}).layout, 0)
