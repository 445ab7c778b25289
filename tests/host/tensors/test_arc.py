from __future__ import annotations

import threading

import numpy as np
import pytest

from tilewright.base.errors import BorrowError, ShapeError
from tilewright.kernels import fill, ones
from tilewright.op.ambient import default_device
from tilewright.op.core import shared, value
from tilewright.tensors import Arc, from_numpy, zeros


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


def test_what_is_no_tensor_has_no_owner():
    with pytest.raises(TypeError, match=r"`tw\.Arc` takes over a tensor, got ndarray"):
        Arc(np.zeros(4, np.float32))


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
    with pytest.raises(BorrowError, match="was returned to its former owner"):
        kept.check_usable()


def test_the_content_kept_elsewhere_does_not_become_writable(arc):
    content = arc.value
    t = arc.unwrap_arc()
    t.partition_mut((2,))
    with pytest.raises(BorrowError, match=r"consumed by unwrap_arc\(\)"):
        content.to_numpy()


FACTS = ("shape", "strides", "dtype", "device", "ndim", "size", "num_bytes", "nbytes",
         "is_contiguous")  # fmt: skip


@pytest.mark.parametrize("fact", FACTS)
def test_an_arc_answers_for_its_tensor(arc, fact):
    assert getattr(arc, fact) == getattr(arc.value, fact)
    arc.unwrap_arc()
    assert getattr(arc, fact) == getattr(arc.content, fact), "in every state"


def matrix():
    return Arc(from_numpy(np.arange(6, dtype="f4").reshape(2, 3)).sync())


@pytest.mark.parametrize(
    ("seen", "expected"),
    [
        pytest.param(lambda a: a.view((3, 2)), [[0, 1], [2, 3], [4, 5]], id="view"),
        pytest.param(lambda a: a.slice(range(1), range(1, 3)), [[1, 2]], id="slice"),
        pytest.param(lambda a: a.permute(1, 0), [[0, 3], [1, 4], [2, 5]], id="permute"),
        pytest.param(lambda a: a.transpose(), [[0, 3], [1, 4], [2, 5]], id="transpose"),
        pytest.param(lambda a: a.T, [[0, 3], [1, 4], [2, 5]], id="T"),
        pytest.param(lambda a: a[1], [3, 4, 5], id="index"),
        pytest.param(lambda a: a.dup().sync(), [[0, 1, 2], [3, 4, 5]], id="dup"),
        pytest.param(lambda a: a.to(a.device).sync(), [[0, 1, 2], [3, 4, 5]], id="to"),
        pytest.param(lambda a: a.reshape(-1), [0, 1, 2, 3, 4, 5], id="reshape"),
        pytest.param(lambda a: a.reshape(6).reinterpret("u4"), [0, 0x3F800000, 0x40000000,
                     0x40400000, 0x40800000, 0x40A00000], id="reinterpret"),
    ],
)  # fmt: skip
def test_an_arc_gives_what_its_tensor_gives(seen, expected):
    assert seen(matrix()).to_numpy().tolist() == expected


@pytest.mark.cpu_alone
def test_an_arc_is_read_by_other_libraries():
    arc = matrix()
    for array in (np.asarray(arc), np.from_dlpack(arc), np.array(arc)):
        assert array.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert (len(arc), arc[1, 2].item(), arc.reshape(6)[3:4].item()) == (2, 5, 3)
    assert arc.device_pointer().address == arc.value.device_pointer().address
    assert Arc(zeros(()).sync()).item() == 0


def test_an_arc_in_another_form_owns():
    arc = matrix()
    other, third = arc.reshape((3, 2)), arc.reinterpret("i4")
    assert [arc.value.owners(), other.value.owners(), third.value.owners()] == [3] * 3
    for owner in (arc, other):
        with pytest.raises(BorrowError, match="shared by 3"):
            owner.unwrap_arc()
    content, copy = arc.value, third.clone()
    del arc, third
    assert other.to_numpy().shape == (3, 2)
    del copy
    tensor = other.unwrap_arc()
    assert tensor.shape == (3, 2)
    for gone in (content, other):
        with pytest.raises(BorrowError, match=r"consumed by unwrap_arc\(\)"):
            gone.to_numpy()
    fill(tensor, 7).sync()
    assert tensor.to_numpy().tolist() == [[7, 7]] * 3


def test_a_form_that_was_taken_out_and_dropped_is_given_back():
    arc = matrix()
    other = arc.reshape(6)
    del arc
    other.unwrap_arc()
    assert other.to_numpy().tolist() == [0, 1, 2, 3, 4, 5]
    assert other.try_partition((3,)).grid == (2,)


def test_a_form_needs_what_a_view_needs():
    arc = matrix()
    with pytest.raises(ShapeError, match="elements"):
        arc.reshape((4, 2))
    assert arc.value.owners() == 1
    tensor = arc.unwrap_arc()
    with pytest.raises(BorrowError, match="consumed by"):
        arc.reshape(6)
    assert tensor.shape == (2, 3)


OF_ARCS = {
    "reshape": ((3, 2),), "view": ((3, 2),), "slice": (range(1),), "partition": ((2, 2),),
    "try_partition": ((2, 2),), "unwrap_arc": (), "dup": (), "to_numpy": (), "to_host_vec": (),
    "reinterpret": ("i4",),
}  # fmt: skip


@pytest.mark.parametrize("method", OF_ARCS)
def test_ops_that_give_an_arc_have_the_methods_of_its_tensor(method):
    makers = (lambda: value(matrix()), lambda: ones((2, 3)).shared(), lambda: shared(matrix()))
    for make in makers:
        expected = getattr(ones((2, 3)), method)(*OF_ARCS[method]).sync()
        result = getattr(make(), method)(*OF_ARCS[method]).sync()
        assert result.shape == expected.shape
        owns = method in ("reshape", "reinterpret")
        assert type(result) is (Arc if owns else type(expected))


def test_who_used_a_shared_op_last_is_its_only_owner(arc):
    other = shared(arc.clone()).reshape((2, 2)).sync()
    assert other.value.owners() == 2
    kept = zeros((4,)).shared()
    with pytest.raises(BorrowError, match="needs the only owner"):
        kept.unwrap_arc().sync()
    tensor = zeros((4,)).shared().unwrap_arc().sync()
    assert fill(tensor, 3).sync() is tensor


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
