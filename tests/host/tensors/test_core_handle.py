"""Borrows of whole tensors for writing: by the core alone, and by the slow path."""

from __future__ import annotations

import threading
import weakref

import numpy as np
import pytest

import tilewright as tw
from support.leaks import assert_none_left
from tilewright._core import borrow_exclusive
from tilewright.devices.native_records import SlowPath
from tilewright.op.place import place_of
from tilewright.tensors import ownership
from tilewright.tensors import tensor as tensors
from tilewright.tensors.borrow import LOCK

ROUNDS = 200


@pytest.fixture(params=["python", "native"])
def borrowed(request, monkeypatch):
    """How borrows go, and which were taken in native code."""
    taken = []

    def borrow(handle, what, up):
        ticket = None if request.param == "python" else borrow_exclusive(handle, what, up + 1)
        taken.append(ticket is not None)
        return ticket

    monkeypatch.setattr(ownership, "borrow_exclusive", borrow)
    if request.param == "python":
        monkeypatch.setattr(tensors, "partition_mut", lambda *_: None)
    return request.param == "native", taken


@pytest.fixture
def tensor():
    """One that needs no closer look."""
    x = tw.from_numpy(np.arange(8, dtype=np.float32), device="cpu").sync()
    assert x.plain is not None
    return x


def test_a_borrow_is_as_pythons(borrowed, tensor):
    native, taken = borrowed
    state = tensor.region.storage.state
    epoch = state.epoch
    borrow = tensor.borrow_mut()  # here
    ticket = borrow.ticket
    assert taken == [native]
    assert (ticket.state, ticket.extent, ticket.parent, ticket.ended) == (state, None, None, None)
    assert (ticket.exclusive, ticket.by_epoch, ticket.epoch) == (True, False, epoch)
    assert state.epoch == epoch + 1 and state.owner == ticket.number
    assert state.slow_path & SlowPath.EXCLUSIVE and state.exclusive is ticket
    assert state.last_write is ticket.use and ticket.use.what == "borrowed for writing"
    assert place_of(ticket.use.location).text == "borrow = tensor.borrow_mut()  # here"
    assert ticket.use.thread == threading.current_thread().name
    assert weakref.ref(ticket)() is ticket


def test_one_ends_those_before_and_what_came_out_of_them(borrowed, tensor):
    first = tensor.borrow_mut()
    part = first.partition((4,))
    tiles = tensor.partition_mut((4,))  # ends them
    assert first.ticket.ended is part.ticket.ended is tiles.ticket.use
    with pytest.raises(tw.BorrowError, match="has ended") as raised:
        first.partition((2,))
    found = [place.text for _, place in raised.value.places]
    assert "tiles = tensor.partition_mut((4,))  # ends them" in found
    assert tiles.ticket.ended is None
    tensor.to_numpy()
    assert tiles.ticket.ended is not None
    assert tensor.region.storage.state.owner == 0


def test_views_end_too(borrowed, tensor):
    view = tensor.reshape((2, 4))
    tensor.borrow_mut()
    with pytest.raises(tw.BorrowError, match="this view cannot be used any more"):
        view.to_numpy()


def test_one_of_all_ends_those_of_parts(borrowed, tensor):
    left, right = tensor.borrow_mut().split_at(4)
    again = tensor.borrow_mut()
    assert left.ticket.ended is right.ticket.ended is again.ticket.use
    part = tensor[2:4]
    tensor.borrow_mut()
    with pytest.raises(tw.BorrowError, match="this view cannot be used any more"):
        part.to_numpy()


REFUSED = {
    "moved": (lambda x: x.partition((4,)), "this tensor was moved"),
    "shared": (tw.Arc, "moved|content of an Arc"),
}


@pytest.mark.parametrize("how", REFUSED)
def test_what_belongs_to_others_is_refused(borrowed, tensor, how):
    take, message = REFUSED[how]
    kept = take(tensor)
    with pytest.raises(tw.BorrowError, match=message):
        tensor.borrow_mut()
    assert kept is not None


def test_the_content_of_an_arc_and_what_is_read_only_is_refused(borrowed, tensor):
    content = tw.Arc(tensor).content
    with pytest.raises(tw.BorrowError, match="content of an Arc"):
        content.borrow_mut()
    array = np.zeros(4, np.float32)
    array.flags.writeable = False
    fixed = tw.asarray(array)
    with pytest.raises(tw.BorrowError, match="read-only"):
        fixed.borrow_mut()


def test_memory_that_overlaps_other_memory_is_looked_at(borrowed):
    array = np.zeros(8, np.float32)
    whole, half = tw.asarray(array), tw.asarray(array[4:])
    first = whole.borrow_mut()
    second = half.borrow_mut()
    assert first.ticket.ended_by() is second.ticket.use


def test_the_lock_may_be_held(borrowed, tensor):
    with LOCK:
        assert tensor.borrow_mut().ticket.ended is None


def test_other_threads_are_named(borrowed, tensor):
    found = []
    thread = threading.Thread(target=lambda: found.append(tensor.borrow_mut()), name="another")
    thread.start()
    thread.join(30)
    assert found[0].ticket.use.thread == "another"


def test_threads_borrow_in_turns(borrowed, tensor):
    state = tensor.region.storage.state
    epoch, wrong = state.epoch, []

    def work():
        for _ in range(ROUNDS):
            borrow = tensor.borrow_mut()
            if borrow.ticket.ended is None and borrow.ticket.state is not state:
                wrong.append(borrow)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not wrong and state.epoch == epoch + 4 * ROUNDS
    assert state.owner == (state.exclusive.number if state.exclusive else 0)


def test_nothing_is_left_behind(borrowed, tensor):
    _, taken = borrowed
    state = tensor.region.storage.state
    watched = [tensor, tensor.plain, state, type(state), None, True, False]

    def all_ways():
        tensor.borrow_mut()
        tensor.partition_mut((4,))
        tensor.borrow_mut().split_at(4)
        taken.clear()

    assert_none_left(all_ways, watched, ROUNDS)
    ticket = weakref.ref(tensor.borrow_mut().ticket)
    assert ticket() is None, "memory does not keep borrows"
    assert state.exclusive is None and not state.slow_path
