from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

from tilewright._core import count_imports, find_import, include_import, meets_import
from tilewright.devices.host import CPU, REFERENCE
from tilewright.tensors.storage import Storage

BASE = 1 << 20
"""No memory of this process is as low as that."""


def find(start, end, *, owner=None, readonly=False, device=CPU):
    owner = np.zeros(4) if owner is None else owner
    return find_import(device, owner, BASE + start, BASE + end, readonly)


def meets(start, end):
    return meets_import(BASE + start, BASE + end)


def test_the_same_bytes_are_one_storage_while_it_lives():
    first = find(100, 132)
    assert type(first) is Storage
    assert find(100, 132) is first
    assert find(100, 132, readonly=True) is not first
    assert find(100, 132, device=REFERENCE) is not first
    gone = weakref.ref(first)
    del first
    assert gone() is None
    assert find(100, 132).address == BASE + 100


def test_overlapping_storages_know_each_other():
    low, high, apart = (find(s, e) for s, e in ((0, 20), (20, 40), (40, 60)))
    middle = find(10, 30)
    known = {near.state() for near in middle.state.neighbours}
    assert known == {low.state, high.state}
    assert apart.state.neighbours == ()
    assert middle.order.root() is low.order.root() is high.order.root()


def test_the_dead_are_forgotten():
    """A tensor that stays must not collect all that ever overlapped it."""
    before = count_imports()
    stays = find(0, 10_000)
    for start in range(1000):
        find(start, start + 8)
    assert count_imports() == before + 1
    assert len(stays.state.neighbours) <= 2
    del stays
    assert count_imports() == before
    assert not meets(0, 10_000)


def test_what_the_collector_takes_apart_is_not_found():
    class Owner:
        pass

    class Dying:
        found = None

        def __del__(self):
            Dying.found = find(0, 64)

    owner = Owner()
    owner.storage, owner.dying = find(0, 64, owner=owner), Dying()
    first = weakref.ref(owner.storage)
    del owner
    gc.collect()
    found, Dying.found = Dying.found, None
    assert found.state.epoch == 0
    assert first() in (None, found)  # which the collector then left alone
    del found
    gc.collect()
    assert not meets(0, 64)


def test_empty_memory_meets_nothing():
    include_import(find(100, 100))
    assert find(100, 100) is not find(100, 100)
    assert not meets(0, 200)


def test_memory_of_our_own_is_found_when_others_have_seen_it():
    ours = Storage(CPU, BASE + 8, 16, np.zeros(2))
    assert not meets(8, 24)
    include_import(ours)
    include_import(ours)
    assert meets(8, 24)
    assert find(8, 24) is ours
    del ours
    assert not meets(8, 24)


def test_wrong_arguments_are_refused():
    with pytest.raises(TypeError):
        find_import(CPU, None, 0, 1)
    with pytest.raises(ValueError, match="ends"):
        find_import(CPU, None, 2, 1, False)
    with pytest.raises(TypeError):
        include_import(object.__new__(Storage))
    for span in ((), (1, "2"), (1,)):
        with pytest.raises(TypeError):
            meets_import(*span)
    storage = find(0, 8)
    with pytest.raises(RuntimeError, match="stays as it is"):
        storage.__init__(CPU, 0, 8, None)
