from __future__ import annotations

import gc

import numpy as np
import pytest

from support.lending import lent
from tilewright.base.dtypes import f32, i32
from tilewright.base.errors import BorrowError, ShapeError
from tilewright.devices.host import REFERENCE
from tilewright.op.ambient import default_device
from tilewright.tensors import asarray, empty, from_numpy, meta, move, zeros


@pytest.fixture
def t():
    return from_numpy(np.arange(24, dtype="f4").reshape(4, 6)).sync()


def test_metadata(t):
    assert t.shape == (4, 6)
    assert t.strides == (6, 1)
    assert t.dtype is f32
    assert (t.ndim, t.size, t.num_bytes, t.nbytes, len(t)) == (2, 24, 96, 96, 4)
    assert t.is_contiguous
    assert t.device is default_device()
    assert t.device_id == t.device.ordinal
    assert zeros((1,), device="cpu").sync().device_id is None


def test_metadata_and_repr_work_in_every_state(t, without_places):
    def shown(tensor):
        return without_places(tensor.summary)

    p = t.partition((2, 2))
    assert (t.shape, t.dtype, shown(t)) == ((4, 6), f32, "Tensor(shape=(4, 6), dtype=f32, moved)")
    back = p.unpartition()
    assert shown(back) == "Tensor(shape=(4, 6), dtype=f32)"
    assert repr(p).endswith("grid=(2, 3), consumed by unpartition())")
    assert shown(back[0]) == "Tensor(shape=(6,), dtype=f32, view)"
    assert shown(meta((2,))) == "Tensor(shape=(2,), dtype=f32, meta)"
    assert shown(empty((2,)).sync()) == "Tensor(shape=(2,), dtype=f32, uninitialized)"
    there = zeros((2,), device="reference").sync()
    assert there.summary == "Tensor(shape=(2,), dtype=f32, device='reference')"
    assert repr(there) == "Tensor([0., 0.], shape=(2,), dtype=f32, device='reference')"


def test_to_numpy_copies(t):
    a = t.to_numpy()
    a[:] = 0
    assert t.to_numpy()[3, 5] == 23


def test_use_after_partition(t, golden, places):
    p = t.partition((2, 2))  # noqa: F841 - kept, or the tensor would come back
    with pytest.raises(BorrowError) as caught:
        t.to_numpy()
    golden(places(caught.value))


@pytest.mark.parametrize(
    "use",
    [
        lambda t: t.to_numpy(), lambda t: lent(t), lambda t: t.partition((1, 1)),
        lambda t: t.partition_mut((1, 1)), lambda t: t[0], lambda t: t.reshape(24),
        lambda t: move(t), lambda t: t.borrow_mut(), lambda t: t.device_pointer(),
    ],
)  # fmt: skip
def test_every_use_of_a_moved_tensor_is_refused(t, use):
    kept = move(t)
    with pytest.raises(BorrowError, match=r"this tensor was moved: consumed by tw\.move\(\)"):
        use(t)
    assert kept.to_numpy().size == 24


def test_a_taker_that_is_dropped_gives_back(t):
    t.partition((2, 2))
    assert t.to_numpy()[0, 1] == 1
    move(move(t))
    t.partition_mut((2, 2))


def test_a_partition_that_was_turned_back_keeps_its_tensor(t):
    back = t.partition((2, 2)).unpartition()
    gc.collect()
    with pytest.raises(BorrowError, match="moved"):
        t.to_numpy()
    assert back.to_numpy().shape == (4, 6)


def test_views(t):
    a = t.to_numpy()
    for key in (1, -1, slice(1, 3), slice(None, None, -2), (..., 2), (slice(1, 4), None, 3), None):
        np.testing.assert_array_equal(t[key].to_numpy(), a[key])
    np.testing.assert_array_equal(t[1:, ::2][::-1, 1].to_numpy(), a[1:, ::2][::-1, 1])
    assert [row.to_numpy()[0] for row in t] == [0, 6, 12, 18]


def test_reshape(t):
    np.testing.assert_array_equal(t.reshape((2, -1)).to_numpy(), np.arange(24).reshape(2, 12))
    np.testing.assert_array_equal(t.view(24).to_numpy(), np.arange(24))
    with pytest.raises(ShapeError, match="24 elements cannot have the shape"):
        t.reshape((5, 5))
    with pytest.raises(ShapeError, match="only a contiguous tensor"):
        t[:, 1:].reshape(-1)


def test_an_op_hands_its_tensor_over_when_reshaped():
    p = zeros((6,)).reshape((2, 3)).partition((1, 1)).sync()
    assert p.shape == (2, 3)
    p.unpartition().partition_mut((2, 2))


def test_ops_forward_to_their_tensor():
    np.testing.assert_array_equal(zeros((2, 3)).to_numpy().sync(), np.zeros((2, 3)))
    z = zeros((4,)).partition((2,)).unpartition().sync()
    assert z.shape == (4,)


def test_a_view_ends_when_its_tensor_is_written(t, golden, places):
    v = t[1:]
    t.partition_mut((2, 2))
    with pytest.raises(BorrowError) as caught:
        v.to_numpy()
    golden(places(caught.value))


def test_a_view_ends_when_its_tensor_is_moved(t):
    v = t.reshape(24)
    kept = t.partition((2, 2))
    with pytest.raises(BorrowError, match=r"it was consumed by partition\(\(2, 2\)\)"):
        v.to_numpy()
    del kept


def test_reading_does_not_end_a_view(t):
    v = t[1:]
    t.to_numpy()
    assert v.to_numpy().shape == (3, 6)


def test_a_view_cannot_be_written(t):
    with pytest.raises(BorrowError, match="shared borrow of its tensor"):
        t[1:].partition_mut((1, 1))


def test_arithmetic_and_truth_are_refused_with_advice(t):
    for use in (lambda: t + 1, lambda: 2 * t, lambda: np.ones((4, 6)) - t, lambda: t @ t):
        with pytest.raises(TypeError, match="write a kernel"):
            use()
    with pytest.raises(TypeError, match="no truth value"):
        bool(t)


def test_reading_what_nothing_has_written(golden, places):
    t = empty((2, 2)).sync()
    with pytest.raises(BorrowError) as caught:
        t.to_numpy()
    golden(places(caught.value))
    with pytest.raises(BorrowError):
        lent(t)
    assert empty((0, 2)).sync().to_numpy().shape == (0, 2)


def test_a_description_has_nothing_to_read():
    with pytest.raises(BorrowError, match="a description without memory"):
        meta((2, 2)).to_numpy()


def test_writing_needs_indices_that_do_not_share_memory():
    a = np.lib.stride_tricks.as_strided(np.zeros(8, "f4"), (4, 4), (4, 4))
    with pytest.raises(ShapeError, match="share memory"):
        asarray(a).partition_mut((2, 2))


def test_a_device_pointer_knows_its_address(t):
    p = t[1:].device_pointer()
    assert int(p) == p.address
    assert p.address == t.region.address + 24
    assert repr(p).startswith("DevicePointer(f32, 0x")


def test_borrow_mut(t):
    p = t.borrow_mut().partition((2, 2))
    p.check_usable()
    t.to_numpy()
    with pytest.raises(BorrowError, match=r"it was read by to_numpy\(\)"):
        p.check_usable()


def test_borrow_mut_again_ends_the_first(t):
    first = t.borrow_mut()
    t.borrow_mut()
    with pytest.raises(BorrowError, match="it was borrowed for writing"):
        first.partition((1, 1))


# Parts


def test_disjoint_parts_are_borrowed_side_by_side(t):
    m = t.borrow_mut()
    low, high = m[:2].partition((2, 2)), m[2:].partition((2, 2))
    assert (low.shape, low.grid, high.shape) == ((2, 6), (1, 3), (2, 6))
    low.check_usable()
    high.check_usable()


def test_overlapping_parts_end_the_earlier_one(t, golden, places):
    m = t.borrow_mut()
    low = m[:3].partition((2, 2))
    m[2:].partition((2, 2)).check_usable()
    with pytest.raises(BorrowError) as caught:
        low.check_usable()
    golden(places(caught.value))


def test_columns_are_parts_too(t):
    left, right = t.borrow_mut().split_at(2, axis=1)
    assert (left.shape, right.shape) == ((4, 2), (4, 4))
    left.partition((2, 2))
    right.partition((2, 2)).check_usable()
    left.partition((4, 2)).check_usable()
    empty, all_of_it = t.borrow_mut().split_at(0)
    assert (empty.shape, all_of_it.shape) == ((0, 6), (4, 6))
    with pytest.raises(ShapeError, match="an index from 0 to 4"):
        t.borrow_mut().split_at(5)


@pytest.mark.parametrize("axis", [2, -3])
def test_an_axis_that_is_not_there_is_not_split(t, axis):
    with pytest.raises(ShapeError, match=f"there is no axis {axis}"):
        t.borrow_mut().split_at(1, axis)


@pytest.mark.parametrize("given", [(1.0,), ("x",), (1, 0.0)])
def test_what_is_no_integer_splits_nothing(t, given):
    with pytest.raises(TypeError, match="cannot be interpreted as an integer"):
        t.borrow_mut().split_at(*given)


def test_numpys_integers_split_too(t):
    parts = t.borrow_mut().split_at(np.int64(1), np.int8(-1))
    assert [part.shape for part in parts] == [(4, 1), (4, 5)]


def test_a_view_apart_from_what_is_written_stands(t):
    top, bottom = t[:2], t[2:]
    t.borrow_mut()[2:].partition((2, 2))
    # borrow_mut() itself is of all of the tensor, so both have ended
    for view in (top, bottom):
        with pytest.raises(BorrowError, match="take the view again"):
            view.to_numpy()
    m = t.borrow_mut()
    part = m[2:].partition((2, 2))
    m[:2].partition((2, 2))
    part.check_usable()


def test_using_the_tensor_ends_a_part(t, golden, places):
    part = t.borrow_mut()[1:3]
    t[:1].to_numpy()
    part.partition((1, 1))
    t[:2].to_numpy()
    with pytest.raises(BorrowError) as caught:
        part.partition((1, 1))
    golden(places(caught.value))


def test_a_part_can_be_read_where_it_is_borrowed(t, without_places):
    p = t.borrow_mut()[1:3, ::2].partition((1, 1))
    np.testing.assert_array_equal(p.unpartition().to_numpy(), np.arange(24).reshape(4, 6)[1:3, ::2])
    p.check_usable()
    shown = without_places(p.unpartition().summary)
    assert shown == "Tensor(shape=(2, 3), dtype=f32, part)"
    p.unpartition().partition_mut((2, 2)).check_usable()
    with pytest.raises(BorrowError, match="a part cannot be moved"):
        p.unpartition().partition((1, 1))


def test_parts_of_parts(t):
    m = t.borrow_mut().reshape((24,))[4:20]
    assert (m.shape, m.dtype, m.device) == ((16,), f32, default_device())
    inner = m[2:4].partition((2,))
    m[8:].partition((2,))
    inner.check_usable()
    m.partition((2,))
    with pytest.raises(BorrowError, match="it was borrowed for writing"):
        inner.check_usable()


def test_unwritten_memory_is_readable_where_it_was_written(without_places):
    t = empty((4, 6)).sync()
    m = t.borrow_mut()
    m[:, :3].partition((2, 2)).tensor.region.mark_written()
    assert t[1:, 1:3].to_numpy().shape == (3, 2)
    assert without_places(repr(t)) == "Tensor(shape=(4, 6), dtype=f32, uninitialized)"
    with pytest.raises(BorrowError, match="which nothing has written"):
        t[:, 2:4].to_numpy()
    t.borrow_mut()[:, 3:].partition((2, 2)).tensor.region.mark_written()
    assert t.to_numpy().shape == (4, 6)


def test_devices():
    t = zeros((2,), i32, device=REFERENCE).sync()
    assert t.device is REFERENCE
    assert t.to_numpy().tolist() == [0, 0]


@pytest.mark.parametrize("size", [0, 1, 2])
def test_parts_of_small_tensors_stand_side_by_side(size):
    left, right = zeros((size,), device="cpu").sync().borrow_mut().split_at(size // 2)
    one, other = left.partition((4,)), right.partition((4,))
    assert one.ticket.ended is None and other.ticket.ended is None
    assert one.shape == (size // 2,) and other.shape == (size - size // 2,)


@pytest.mark.parametrize("how", ["partition", "partition_mut"])
def test_a_tile_shape_of_floats_is_an_error_whatever_was_asked_for_before(how):
    tensor = zeros((8,), device="cpu").sync()
    tensor.partition_mut((2,))
    with pytest.raises(TypeError, match="a sequence of ints"):
        getattr(tensor, how)((2.0,))
