from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
from tilewright.base.errors import BorrowError


@tw.entry
def neg(z: tl.TensorMut, x: tl.Tensor) -> None:
    z.store(-tl.load_tile_like(x, z))


@pytest.fixture(autouse=True)
def on_reference():
    with tw.device("reference"):
        yield


@pytest.fixture
def t():
    return tw.from_numpy(np.arange(24, dtype="f4").reshape(4, 6)).sync()


def test_the_host_writes_in_place(t):
    with t.borrow_mut().numpy() as a:
        assert a.__array_interface__["data"][0] == t.region.address
        assert a[3, 5] == 23
        a[:] = 7
    assert (t.to_numpy() == 7).all()
    assert a.size == 0  # the variable outlives the block, its memory does not


def test_the_same_cell_again(t):
    for value in (1, 2):
        with t.borrow_mut().numpy() as a:
            a[:] = value
        neg(t.partition_mut((2, 2)), np.ones((4, 6), "f4")).sync()
    assert (t.to_numpy() == -1).all()
    assert a.size == 0


def test_a_part_is_written(t):
    expected = t.to_numpy()
    with t.borrow_mut()[1:3, ::2].numpy() as a:
        assert a.shape == (2, 3)
        a += 100
    expected[1:3, ::2] += 100
    assert (t.to_numpy() == expected).all()


@pytest.mark.parametrize("dtype", ["bfloat16", "float8_e5m2", "int8", "bool"])
def test_every_element_type(dtype):
    t = tw.zeros((3,), dtype).sync()
    with t.borrow_mut().numpy() as a:
        a[1] = 1
    assert t.to_numpy().astype("f4").tolist() == [0, 1, 0]


def test_nothing_else_uses_the_tensor_meanwhile(t, golden, places):
    with t.borrow_mut().numpy() as a:
        with pytest.raises(BorrowError) as caught:
            t.to_numpy()
        golden(places(caught.value), "read")
        with pytest.raises(BorrowError, match="while the host writes it through NumPy"):
            neg(tw.zeros((4, 6)).partition((2, 2)), t).sync()
        with pytest.raises(BorrowError, match="would write"):
            neg(t.partition_mut((2, 2)), np.ones((4, 6), "f4")).sync()
        with pytest.raises(BorrowError, match="would take over"):
            tw.move(t)
        a[:] = 5
    assert (t.to_numpy() == 5).all()


def test_an_op_built_before_is_stale_after(t):
    op = neg(tw.zeros((4, 6)).sync().partition_mut((2, 2)), t)
    with t.borrow_mut().numpy() as a:
        a[:] = 5
    with pytest.raises(BorrowError, match="its shared borrow of"):
        op.sync()


def test_an_op_built_inside_is_stale_after(t):
    out = tw.zeros((4, 6)).sync()
    with t.borrow_mut().numpy() as a:
        op = neg(out.partition_mut((2, 2)), t)
        a[:] = 5
    with pytest.raises(BorrowError, match="it was written by the host through NumPy"):
        op.sync()


def test_parts_of_the_array_must_not_be_kept(t, golden, places):
    with pytest.raises(BorrowError) as caught, t.borrow_mut().numpy() as a:
        part = a[1:]
    golden(places(caught.value))
    with pytest.raises(BorrowError, match="the host writes it through NumPy"):
        t.to_numpy()
    part[:] = 1
    del part
    assert t.to_numpy()[1, 0] == 1


def test_an_error_in_the_block_passes(t):
    with pytest.raises(ValueError, match="broadcast"), t.borrow_mut().numpy() as a:
        a[:] = np.ones(5)
    assert t.to_numpy()[0, 1] == 1


def test_memory_counts_as_written():
    t = tw.empty((4,)).sync()
    with t.borrow_mut().numpy() as a:
        a[:] = 3
    assert t.to_numpy().tolist() == [3] * 4
    assert tw.zeros((0, 3)).sync().borrow_mut().numpy().__enter__().shape == (0, 3)
