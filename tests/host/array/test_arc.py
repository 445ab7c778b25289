from __future__ import annotations

import threading

import pytest

from tilewright.array import Arc, zeros
from tilewright.base.errors import BorrowError, ShapeError
from tilewright.op.ambient import default_device
from tilewright.op.core import value


@pytest.fixture
def arc():
    return Arc(zeros((4,)).sync())


def test_an_arc_takes_its_tensor_over():
    t = zeros((4,)).sync()
    arc = Arc(t)
    with pytest.raises(BorrowError, match=r"consumed by tw\.Arc\(\)"):
        t.to_numpy()
    assert arc.to_numpy().tolist() == [0] * 4
    assert (arc.shape, arc.dtype.name, arc.device.name) == ((4,), "f32", default_device().name)


def test_clones_are_counted(arc, without_places):
    other = arc.clone()
    assert without_places(repr(arc)) == "Arc(Tensor(shape=(4,), dtype=f32), 2 owners)"
    assert other.value is arc.value
    del other
    assert repr(arc).endswith("1 owner)")


def test_only_the_last_owner_may_write(arc, golden, places):
    other = arc.clone()
    with pytest.raises(BorrowError) as caught:
        arc.try_partition((2,))
    golden(places(caught.value))
    del other
    p = arc.try_partition((2,))
    assert p.grid == (2,)
    for use in (arc.clone, arc.unwrap_arc, arc.to_numpy, lambda: arc.value, lambda: arc.reshape(4)):
        with pytest.raises(BorrowError, match=r"consumed by try_partition\(\(2,\)\)"):
            use()


def test_a_wrong_tile_does_not_use_it_up(arc):
    with pytest.raises(ShapeError):
        arc.try_partition((2, 2))
    assert arc.unwrap_arc().partition_mut((2,)).grid == (2,)


def test_nobody_writes_through_the_content(arc):
    with pytest.raises(BorrowError, match="content of an Arc"):
        arc.value.partition_mut((2,))
    with pytest.raises(BorrowError, match="content of an Arc"):
        arc.value.partition((2,))


def test_what_was_taken_out_and_dropped_is_given_back(arc):
    arc.try_partition((2,))
    arc.unwrap_arc()
    assert arc.to_numpy().tolist() == [0] * 4
    kept = arc.try_partition((2,))
    kept.settle(failed=True)
    assert arc.clone().shape == (4,)
    with pytest.raises(BorrowError, match="went back to the variable it came from"):
        kept.check_usable()


def test_the_content_kept_elsewhere_does_not_become_writable(arc):
    content = arc.value
    t = arc.unwrap_arc()
    t.partition_mut((2,))
    with pytest.raises(BorrowError, match=r"consumed by unwrap_arc\(\)"):
        content.to_numpy()


def test_forwards(arc):
    assert arc.reshape((2, 2)).shape == (2, 2)
    other = arc.clone()
    assert (arc.shape, other.value.owners()) == ((4,), 2)


def test_clones_die_by_themselves_in_any_thread(arc):
    clones = [arc.clone() for _ in range(64)]
    threads = [threading.Thread(target=clones.pop) for _ in clones]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert arc.unwrap_arc().to_numpy().tolist() == [0] * 4


def test_try_partition_of_ops_and_tensors(arc):
    partition = value(arc).try_partition((2,)).sync()
    assert partition.unpartition().to_numpy().tolist() == [0, 0, 0, 0]
    assert zeros((4,)).sync().try_partition((2,)).grid == (2,)
    assert zeros((4,)).try_partition((2,)).sync().grid == (2,)
    shared = zeros((4,)).shared()
    kept = shared.sync()
    with pytest.raises(BorrowError, match="needs the only owner"):
        shared.try_partition((2,)).sync()
    assert kept.shape == (4,)
