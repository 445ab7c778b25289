"""Shapes are one argument or several, as in NumPy, wherever something is reshaped."""

from __future__ import annotations

import pytest

import tilewright as tw
from tilewright.tensors.tensor import BorrowMut

MAKERS = {
    "tensor": lambda: tw.zeros((8,)).sync(),
    "Arc": lambda: tw.Arc(tw.zeros((8,)).sync()),
    "borrow": lambda: tw.zeros((8,)).sync().borrow_mut(),
    "op": lambda: tw.zeros((8,)),
}


def shape_of(found):
    if isinstance(found, tw.DeviceOp):
        found = found.sync()
    return found.tensor.shape if isinstance(found, BorrowMut) else found.shape


@pytest.mark.parametrize("kind", MAKERS)
@pytest.mark.parametrize("method", ["reshape", "view"])
def test_shapes_are_given_as_in_numpy(kind, method):
    if (kind, method) == ("borrow", "view"):
        pytest.skip("a borrow is reshaped only")
    for given, expected in [
        (((2, 4),), (2, 4)), ((2, 4), (2, 4)), ((2, -1), (2, 4)), ((8,), (8,)), (([4, 2],), (4, 2))
    ]:  # fmt: skip
        assert shape_of(getattr(MAKERS[kind](), method)(*given)) == expected
    with pytest.raises(tw.ShapeError, match="8 elements cannot have the shape"):
        shape_of(getattr(MAKERS[kind](), method)(3, 3))


def test_no_axes():
    assert tw.zeros((1,)).sync().reshape().shape == ()
