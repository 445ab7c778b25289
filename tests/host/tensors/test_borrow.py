from __future__ import annotations

import subprocess
import sys
import threading

import pytest

from tilewright.base.errors import BorrowError
from tilewright.op.place import here
from tilewright.tensors.borrow import LOCK, BorrowState, Use, refuse_ended
from tilewright.tensors.extent import Extent


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


def test_a_borrow_that_is_handed_back_needs_no_ending(state):
    before, reader = state.exclude(use("written")), state.share(use("read"))
    writer = state.exclude(use("written again"))
    writer.hand_back()
    assert state.exclusive is None and not state.slow_path and not state.owner
    assert before.ended_by() is not None and reader.ended_by() is not None, "they do not revive"


def test_the_borrow_that_one_came_out_of_gets_it_back(state):
    parent = state.exclude(use("partitioned"))
    child = parent.reborrow(use("copied into"))
    child.hand_back()
    assert state.exclusive is parent and state.owner == parent.number
    assert parent.ended_by() is None
    state.share(use("read"))
    assert parent.ended_by().what == "read"


def test_what_is_no_longer_the_latest_borrow_is_not_handed_back(state):
    first = state.exclude(use("written"))
    second = state.exclude(use("written again"))
    first.hand_back()
    assert state.exclusive is second and second.ended_by() is None


def test_a_reborrow_ends_with_its_parent(state):
    inner = state.exclude(use("borrowed")).reborrow(use("given to k"))
    state.share(use("read"))
    assert inner.ended_by().what == "read"


def test_neighbours_share_their_fate(state):
    other, third = BorrowState(), BorrowState()
    state.meet(other, Extent(0, 20), Extent(10, 30))
    reader, writer = other.share(use("read")), third.exclude(use("elsewhere"))
    state.exclude(use("written next door"))
    assert reader.ended_by().what == "written next door"
    assert writer.ended_by() is None
    mine = state.exclude(use("mine"))
    other.share(use("read next door"))
    assert mine.ended_by().what == "read next door"


def test_neighbours_share_only_what_they_have_in_common(state):
    other = BorrowState()
    state.meet(other, Extent(0, 20), Extent(10, 30))
    low, high = other.share(use("read"), Extent(10, 15)), other.share(use("read"), Extent(20, 30))
    apart = other.share(use("read"))
    state.exclude(use("written"), Extent(0, 10))
    assert apart.ended_by() is low.ended_by() is high.ended_by() is None
    state.exclude(use("written again"))
    assert low.ended_by().what == apart.ended_by().what == "written again"
    assert high.ended_by() is None


# Parts


def test_disjoint_parts_do_not_touch_each_other(state):
    left, right = Extent(0, 8), Extent(8, 16)
    reader, writer = state.share(use("read"), left), state.exclude(use("written"), right)
    second = state.exclude(use("written too"), Extent(16, 24))
    state.share(use("read again"), Extent(4, 8))
    assert reader.ended_by() is writer.ended_by() is second.ended_by() is None


def test_a_part_ends_what_it_meets(state):
    whole, left = state.share(use("read")), state.share(use("read"), Extent(0, 8))
    right = state.share(use("read"), Extent(8, 16))
    state.exclude(use("written"), Extent(4, 8))
    assert whole.ended_by().what == left.ended_by().what == "written"
    assert right.ended_by() is None


def test_using_all_ends_every_part(state):
    reader, writer = state.share(use("read"), Extent(0, 8)), state.exclude(use("w"), Extent(8, 9))
    state.share(use("all read"))
    assert reader.ended_by() is None
    assert writer.ended_by().what == "all read"
    state.exclude(use("all written"))
    assert reader.ended_by().what == "all written"


def test_a_part_ends_an_exclusive_borrow_of_all(state):
    whole = state.exclude(use("borrowed"))
    state.share(use("read"), Extent(0, 1))
    assert whole.ended_by().what == "read"


def test_no_bytes_meet_nothing(state):
    whole, nothing = state.exclude(use("borrowed")), state.exclude(use("w"), Extent(4, 4))
    state.share(use("read"), Extent(4, 4))
    assert whole.ended_by() is None
    state.exclude(use("all"))
    assert nothing.ended_by() is None


def test_parts_come_out_of_one_borrow_side_by_side(state):
    outer = state.exclude(use("borrowed"))
    left, right = (outer.reborrow(use("part"), Extent(a, a + 8)) for a in (0, 8))
    inner = left.reborrow(use("given to k"))
    assert outer.ended_by() is left.ended_by() is right.ended_by() is inner.ended_by() is None
    right.reborrow(use("smaller"), Extent(8, 12))
    assert inner.ended_by() is None
    outer.reborrow(use("overlapping"), Extent(6, 10))
    assert left.ended_by().what == right.ended_by().what == inner.ended_by().what == "overlapping"
    assert outer.ended_by() is None


def test_reading_a_part_through_its_own_borrow_keeps_it(state):
    part = state.exclude(use("borrowed")).reborrow(use("part"), Extent(0, 8))
    view = state.share(use("read"), Extent(0, 8), part)
    assert part.ended_by() is view.ended_by() is None
    part.reborrow(use("written"))
    assert view.ended_by().what == "written"


def test_dead_and_ended_parts_do_not_pile_up(state):
    kept = [state.share(use("read"), Extent(0, 1))]
    for _ in range(1000):
        state.share(use("read"), Extent(0, 1))
    assert len(state.readers) <= 32
    state.exclude(use("written"), Extent(0, 1))
    assert state.readers == []
    assert kept[0].ended_by() is not None


# Messages


def test_messages(state, golden, places):
    ticket = state.exclude(use("borrowed for writing"))
    state.share(use("read by to_numpy()"))
    with pytest.raises(BorrowError) as caught:
        refuse_ended(ticket, "neg", "Tensor(...)")
    golden(places(caught.value), "ended")


def test_another_thread_is_named(state):
    ticket = state.exclude(use("borrowed for writing"))
    other = threading.Thread(target=lambda: state.share(use("read")), name="worker")
    other.start()
    other.join()
    with pytest.raises(BorrowError, match="it was read in the thread 'worker'"):
        refuse_ended(ticket, "neg", "Tensor(...)")


FORKS = """
import os, threading, warnings
import numpy as np
from tilewright.tensors import asarray
warnings.simplefilter("ignore")  # that a process with threads forks
t = asarray(np.zeros(4, "f4"))
stop = threading.Event()

def work():
    while not stop.is_set():
        t.partition_mut((2,))

threads = [threading.Thread(target=work) for _ in range(3)]
for thread in threads:
    thread.start()
for _ in range(20):
    child = os.fork()
    if child == 0:
        t.to_numpy()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
stop.set()
"""


def test_no_thread_is_inside_the_lock_when_the_process_forks():
    subprocess.run([sys.executable, "-c", FORKS], check=True, timeout=120)


def test_the_lock_is_held_by_one_thread_which_may_take_it_again():
    taken = threading.Event()

    def other():
        with LOCK:
            taken.set()

    with LOCK:
        with LOCK:
            thread = threading.Thread(target=other)
            thread.start()
        assert LOCK.is_mine()
        assert not taken.wait(0.05)
    thread.join(10)
    assert taken.is_set()
    assert not LOCK.is_mine()


def test_who_does_not_hold_the_lock_cannot_release_it():
    with pytest.raises(RuntimeError, match="does not hold the lock"):
        LOCK.release()


def test_a_forked_child_can_take_the_lock():
    code = (
        "import os, tilewright as tw\n"
        "from tilewright.tensors.borrow import LOCK\n"
        "tw.zeros(4).sync()\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        "    with LOCK: os._exit(0 if LOCK.is_mine() else 1)\n"
        "assert os.waitpid(child, 0)[1] == 0\n"
        "assert not LOCK.is_mine()\n"
    )
    assert subprocess.run([sys.executable, "-c", code], timeout=60, check=False).returncode == 0
