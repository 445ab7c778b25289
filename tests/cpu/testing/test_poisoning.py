from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
from tilewright.base import dtypes as dt
from tilewright.testing import poison

IN_MEMORY = [d for d in dt.ALL if d is not dt.f4e2m1fn]


@pytest.mark.parametrize("dtype", IN_MEMORY, ids=repr)
def test_every_type(dtype):
    t = tw.zeros((3, 5), dtype).sync()
    assert poison(t) is t
    found = t.to_numpy()
    if dtype.is_float:
        assert np.isnan(found.astype("f4")).all()
    elif dtype is dt.bool_:
        assert found.all()
    else:
        byte = 0xBB if dtype is dt.f4e2m1fnx2 else 0xAB
        assert (found.view("u1") == byte).all()


def test_arrays_parts_and_empty_tensors():
    a = np.zeros((4, 6), "f4")
    assert poison(a[:, ::2]) is not None
    assert np.isnan(a[:, ::2]).all() and (a[:, 1::2] == 0).all()
    t = tw.empty((4,)).sync()
    assert np.isnan(poison(t).to_numpy()).all()
    z = tw.zeros((4,)).sync()
    poison(z.borrow_mut()[1:3])
    assert np.isnan(z.to_numpy()).tolist() == [False, True, True, False]
    with pytest.raises(TypeError, match="poison takes a tensor or an array, got list"):
        poison([1, 2])
