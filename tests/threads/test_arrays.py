"""Threads give the same arrays to launches, and take arrays out of the same tensors."""

from __future__ import annotations

import gc
import weakref
from collections import Counter

import numpy as np
import pytest

import tilewright as tw
from support.numbers import fresh_rng
from support.together import by_all
from threads.kernels import add_one, scaled
from tilewright.launch.recent import Recent
from tilewright.op.policy import SpreadDevices, StreamPoolRoundRobin

pytestmark = pytest.mark.cpu_alone

THREADS, ROUNDS, SIZE, TILE = 8, 24, 100, 16


def numbers() -> np.ndarray:
    return fresh_rng().standard_normal(SIZE).astype("f4")


def poisoned() -> tw.Tensor:
    return tw.full((SIZE,), np.nan).sync()


def test_one_array_is_read_by_all():
    array = numbers()

    def work(number):
        for i in range(ROUNDS):
            out, factor = poisoned(), np.float32(number - i)
            scaled(out.partition_mut(TILE), array, float(factor)).sync()
            np.testing.assert_array_equal(out.to_numpy(), array * factor)

    by_all(THREADS, work)


def test_arrays_that_overlap_come_and_go():
    """Each import finds the others by their addresses, while these end in other threads."""
    array = np.zeros(4 * SIZE, "f4")

    def work(number):
        for i in range(ROUNDS):
            start = (number * 7 + i) % SIZE
            part = tw.asarray(array[start : start + SIZE])
            again = tw.asarray(array[start : start + SIZE])
            assert part.to_numpy().sum() == again.to_numpy().sum() == 0

    by_all(THREADS, work)


def test_increments_through_aliases_of_one_array():
    """Tensors that several threads made of one array have one borrow state."""
    array = np.zeros(SIZE, "f4")

    def work(_):
        done = 0
        for _ in range(ROUNDS):
            z = tw.asarray(array)
            try:
                add_one(z.partition_mut(TILE)).sync()
                done += 1
            except tw.BorrowError:
                pass
        return done

    done = sum(by_all(THREADS, work))
    assert done > 0
    np.testing.assert_array_equal(array, np.full(SIZE, done, "f4"))


def test_exports_are_refused_or_see_whole_launches():
    z = tw.zeros((SIZE,)).sync()

    def look(number):
        seen = 0
        for i in range(ROUNDS):
            try:
                array = np.asarray(z) if (number + i) % 2 else np.from_dlpack(z)
            except tw.BorrowError:
                continue
            values = np.unique(array)
            assert len(values) == 1
            assert values[0] >= seen
            seen = values[0]
            del array

    def write(_):
        done = 0
        for _ in range(ROUNDS):
            try:
                add_one(z.partition_mut(TILE)).sync()
                done += 1
            except tw.BorrowError:
                pass
        return done

    done = by_all(THREADS, lambda number: (write if number % 4 == 0 else look)(number))
    gc.collect()
    expected = sum(each for each in done if each is not None)
    np.testing.assert_array_equal(z.to_numpy(), np.full(SIZE, expected, "f4"))


def test_memory_that_threads_hand_to_each_other_is_freed():
    alive = weakref.WeakSet()

    def work(_):
        for _ in range(ROUNDS):
            z = tw.zeros((SIZE,)).sync()
            view, arc = z[1:], tw.Arc(tw.ones((SIZE,)).sync())
            alive.add(z)
            clone = arc.clone()
            assert view.to_numpy().sum() == 0
            del z, view, arc, clone

    by_all(THREADS, work)
    gc.collect()
    assert not alive


def test_streams_are_handed_out_in_turn():
    device = tw.zeros((1,)).sync().device
    for policy, count in ((StreamPoolRoundRobin(device, 4), 4), (SpreadDevices([device], 4), 4)):
        drawn = by_all(THREADS, lambda _, p=policy: [p.next_stream() for _ in range(10 * ROUNDS)])
        times = Counter(each for some in drawn for each in some)
        assert set(times.values()) == {THREADS * 10 * ROUNDS // count}


def test_a_table_of_recent_things_keeps_its_room():
    table: Recent[int, int] = Recent(8)

    def work(number):
        for i in range(20 * ROUNDS):
            table.keep(number * 10_000 + i, i)
            assert table.get(number * 10_000 + i, i) == i

    by_all(THREADS, work)
    assert len(table) <= 8 + THREADS
