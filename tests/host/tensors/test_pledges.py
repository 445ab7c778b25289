"""What an op is given is borrowed where it is built, though others must run before it."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
from op_kit import WATCHDOG
from tilewright import f32
from tilewright.base.errors import BorrowError
from tilewright.op.place import here
from tilewright.tensors.pledges import is_strange, pledge_of, pledged


@tw.entry
def add(z: tl.TensorMut[f32], x: tl.Tensor[f32], y: tl.Tensor[f32]) -> None:
    z.store(tl.load_tile_like(x, z) + tl.load_tile_like(y, z))


@pytest.fixture(autouse=True)
def on_the_reference_device():
    with tw.device("reference"):
        yield


def made(value=1.0):
    return tw.full((4,), value).sync()


def lazy():
    return tw.empty((4,)).partition((4,))


def test_what_is_memory_is_borrowed():
    x, z = made(), made()
    found = pledged((x, (z.partition_mut((2,)), 3), "text", [z], tw.Arc(made())), "op", here())
    assert [pledge.ticket.exclusive for pledge in found] == [False, True, False]
    tw.fill(x, 2).sync()
    with pytest.raises(BorrowError, match="its shared borrow of Tensor"):
        found[0].check()
    found[1].check()
    z.to_numpy()
    with pytest.raises(BorrowError, match="its exclusive borrow of Tensor"):
        found[1].check()


def test_an_array_that_kernels_cannot_use_is_no_memory_here():
    swapped = np.ones(4, ">f4")
    texts = np.array(["a", "b"])
    assert pledge_of(swapped, "op", here()) is None
    assert pledge_of(texts, "op", here()) is None
    assert tw.value(texts).sync() is texts
    assert tw.zip(swapped, 1).sync()[0] is swapped


def test_an_array_of_another_library_is_not_looked_into_before_it_is_used():
    class Strange:
        def __dlpack__(self, **wishes):
            raise AssertionError("looked into")

        def __dlpack_device__(self):
            raise AssertionError("looked into")

    strange = Strange()
    assert tw.zip(tw.value(strange), 1).sync() == (strange, 1)
    with pytest.raises(BorrowError, match="it borrows a Strange"):
        tw.spawn(tw.value(strange))


@pytest.mark.parametrize("value", [1, "a", None, np.float32(1), (1,), tw.f32(1)])
def test_most_values_are_no_arrays(value):
    assert not is_strange(value)
    assert tw.value(value).sync() == value


def test_a_pledge_of_a_part_is_ended_by_what_meets_it():
    x = made()
    part = x.borrow_mut()[2:]
    op = add(tw.zeros((2,)).partition((2,)), x[:2], tw.ones((2,))).out()
    tw.fill(part, 9).sync()
    assert np.array_equal(op.sync().to_numpy(), np.full(2, 2, "f4"))
    op = add(tw.zeros((2,)).partition((2,)), x[:2], tw.ones((2,)))
    tw.fill(x.borrow_mut()[1:], 9).sync()
    with pytest.raises(BorrowError, match="its shared borrow"):
        op.sync()


def test_the_message_names_both_lines(golden, places):
    x = made()
    op = add(lazy(), x, tw.ones((4,)))
    x.borrow_mut()
    with pytest.raises(BorrowError) as caught:
        op.sync()
    golden(places(caught.value))


def test_conflicts_are_refused_where_the_launch_is_built(golden, places):
    x, z = made(), made()
    with pytest.raises(BorrowError) as caught:
        add(z.partition_mut((4,)), z, tw.ones((4,)))
    golden(places(caught.value), "arguments")
    with pytest.raises(BorrowError) as caught:
        add(z.partition_mut((4,)), x, tw.fill(x, 3))
    golden(places(caught.value), "an_op")


def test_ops_of_a_refused_launch_can_be_used(recwarn):
    z = made()
    op = tw.fill(made(), 3)
    with pytest.raises(BorrowError):
        add(z.partition_mut((4,)), z, op)
    assert op.sync().shape == (4,)
    with pytest.raises(BorrowError):
        add(z.partition_mut((4,)), z, tw.fill(made(), 3))
    assert not recwarn.list


def test_an_argument_op_that_takes_the_memory_is_found_out():
    """It is known only when it runs: a function captured the tensor."""
    x = made()
    op = add(lazy(), x, tw.value(1).then(lambda _: tw.fill(x, 5)).then(lambda _: tw.ones((4,))))
    with pytest.raises(BorrowError, match="`add` cannot run: its shared borrow"):
        op.sync()


def test_another_thread_may_take_the_memory_while_an_argument_runs():
    x = made()

    def write():
        with tw.device("reference"):
            tw.fill(x, 5).sync()

    def meanwhile(tensor):
        thread = threading.Thread(target=write)
        thread.start()
        thread.join(WATCHDOG)
        return tensor

    op = add(lazy(), x, tw.ones((4,)).map(meanwhile))
    with pytest.raises(BorrowError, match="its shared borrow"):
        op.sync()


def test_nothing_runs_where_a_borrow_has_ended():
    x, ran = made(), []
    op = add(lazy().inspect(ran.append), x, tw.ones((4,)))
    tw.fill(x, 5).sync()
    with pytest.raises(BorrowError):
        op.sync()
    assert not ran


def test_the_host_that_writes_holds_up_a_launch_with_a_lazy_argument():
    x = made()
    with x.borrow_mut().numpy() as a:
        with pytest.raises(BorrowError, match="while the host writes it through NumPy"):
            add(lazy(), x, tw.ones((4,))).sync()
        a[:] = 5


def test_a_long_chain_of_launches_is_built_in_linear_time():
    x, op = made(), tw.zeros((4,))
    for _ in range(3000):
        op = add(lazy(), x, op).out()
    op.close()
