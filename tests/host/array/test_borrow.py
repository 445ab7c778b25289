from __future__ import annotations

import gc

import numpy as np
import pytest

from tilewright.array.borrow import BorrowState, Lease, Use, refuse_ended, refuse_leased
from tilewright.base.errors import BorrowError
from tilewright.op.place import here


def use(what):
    return Use(what, here())


@pytest.fixture
def state():
    return BorrowState()


def test_shared_borrows_stand_together(state):
    a, b = state.share(use("read")), state.share(use("read"))
    assert a.ended_by() is None
    assert b.ended_by() is None


def test_an_exclusive_borrow_ends_earlier_ones_of_both_kinds(state):
    reader, writer = state.share(use("read")), state.exclude(use("written"))
    assert reader.ended_by().what == "written"
    assert writer.ended_by() is None
    state.exclude(use("written again"))
    assert writer.ended_by().what == "written again"


def test_a_read_ends_exclusive_borrows_only(state):
    writer = state.exclude(use("written"))
    reader = state.share(use("read"))
    assert writer.ended_by().what == "read"
    assert reader.ended_by() is None


def test_a_reborrow_comes_back(state):
    outer = state.exclude(use("borrowed"))
    inner = outer.reborrow(use("given to k"))
    assert inner.ended_by() is None
    assert outer.ended_by() is None
    again = outer.reborrow(use("given to k again"))
    assert inner.ended_by().what == "given to k again"
    assert again.ended_by() is None


def test_a_reborrow_ends_with_its_parent(state):
    inner = state.exclude(use("borrowed")).reborrow(use("given to k"))
    state.share(use("read"))
    assert inner.ended_by().what == "read"


def test_neighbours_share_their_fate(state):
    other, third = BorrowState(), BorrowState()
    state.meet(other)
    reader, writer = other.share(use("read")), third.exclude(use("elsewhere"))
    state.exclude(use("written next door"))
    assert reader.ended_by().what == "written next door"
    assert writer.ended_by() is None
    mine = state.exclude(use("mine"))
    other.share(use("read next door"))
    assert mine.ended_by().what == "read next door"


def test_a_lease_lives_as_long_as_its_last_array(state):
    memory = np.arange(4, dtype="u1")
    lease = Lease(
        {**memory.__array_interface__, "data": (memory.ctypes.data, True)}, memory, here()
    )
    state.lease(lease)
    part = np.asarray(lease)[1:3][::-1]
    del lease
    gc.collect()
    assert state.live_lease() is not None
    del part
    assert state.live_lease() is None


def test_messages(state, golden, places):
    ticket = state.exclude(use("borrowed for writing"))
    state.share(use("read by to_numpy()"))
    with pytest.raises(BorrowError) as caught:
        refuse_ended(ticket, "neg", "Tensor(...)")
    golden(places(caught.value), "ended")
    lease = Lease({}, None, here())
    state.lease(lease)
    with pytest.raises(BorrowError) as caught:
        refuse_leased(state, "neg", "Tensor(...)")
    golden(places(caught.value), "leased")
