from __future__ import annotations

import gc
import sys
import weakref

import numpy as np

from tilewright.devices.host import CPU, REFERENCE
from tilewright.tensors.region import region_of_array
from tilewright.tensors.storage import Imports


def find(imports, array, start, end, *, readonly=False, device=CPU):
    return imports.find(device, array, start, end, readonly)


def test_the_same_bytes_are_one_storage_while_it_lives():
    imports, a = Imports(), np.zeros(4)
    first = find(imports, a, 100, 132)
    assert find(imports, a, 100, 132) is first
    assert find(imports, a, 100, 132, readonly=True) is not first
    assert find(imports, a, 100, 132, device=REFERENCE) is not first
    gone = weakref.ref(first)
    del first
    assert gone() is None
    assert find(imports, a, 100, 132).address == 100


def test_overlapping_storages_know_each_other():
    imports, a = Imports(), np.zeros(4)
    low, high, apart = (find(imports, a, s, e) for s, e in ((0, 20), (20, 40), (40, 60)))
    middle = find(imports, a, 10, 30)
    known = {near.state() for near in middle.state.neighbours}
    assert known == {low.state, high.state}
    assert apart.state.neighbours == ()


def test_the_dead_are_forgotten():
    """A tensor that stays must not collect all that ever overlapped it."""
    imports, a = Imports(), np.zeros(4)
    stays = find(imports, a, 0, 10_000)
    for start in range(1000):
        find(imports, a, start, start + 8)
    assert len(imports._known) < 20
    assert len(stays.state.neighbours) <= 2


def steps(run):
    """How many lines of Python a call runs."""
    taken = 0

    def count(frame, event, argument):
        nonlocal taken
        taken += event == "line"
        return count

    before = sys.gettrace()
    sys.settrace(count)
    try:
        run()
    finally:
        sys.settrace(before)
    return taken


def test_many_arrays_take_many_times_one():
    """Not the square of that: with all of them alive, some small among large, and some new ones."""

    def several(count):
        imports, a = Imports(), np.zeros(4)
        kept = []
        for i in range(count):
            size = (8, 64, 1024)[i % 3]
            kept.append(find(imports, a, 4096 * i, 4096 * i + size))
            find(imports, a, 4096 * i + 2048, 4096 * i + 2056)
            assert imports.meet([(4096 * i, 4096 * i + 8)])
            assert not imports.meet([(4096 * i + 3000, 4096 * i + 3008)])

    few, many = steps(lambda: several(100)), steps(lambda: several(400))
    assert many < 6 * few


def test_the_dead_are_not_met_again_and_again():
    """Where many were alive there is room for many; memory that comes again has other sizes."""

    def several(count):
        imports, a = Imports(), np.zeros(4)
        kept = [find(imports, a, 16 * i, 16 * i + 8) for i in range(count)]
        kept.clear()
        for i in range(count):
            find(imports, a, 1 << 20, (1 << 20) + 8 + i)

    few, many = steps(lambda: several(100)), steps(lambda: several(400))
    assert many < 6 * few


def test_empty_memory_that_others_see_meets_nothing():
    imports, a = Imports(), np.zeros(4)
    imports.include(find(imports, a, 100, 100))
    assert not imports.meet([(0, 200)])


def test_an_array_lives_as_long_as_its_region():
    a = np.zeros(4, "f4")
    gone = weakref.ref(a)
    region = region_of_array(a, CPU)
    del a
    assert gone() is not None
    assert region.array().tolist() == [0, 0, 0, 0]
    del region
    gc.collect()
    assert gone() is None
