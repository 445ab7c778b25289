"""Threads: the state of memory changes in one piece, and who loses is told who won."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import tilewright as tw
from ownership.kernels import neg
from support.together import together

THREADS, ROUNDS = 8, 50
TILE = (2, 2)


def tensor(value):
    return tw.from_numpy(np.full((4, 4), value, "f4")).sync()


def test_who_loses_is_told_who_won():
    z, x = tensor(0), tensor(1)
    op = neg(z.partition_mut(TILE), x)
    winner = threading.Thread(target=z.to_numpy, name="the winner")
    winner.start()
    winner.join()
    with pytest.raises(tw.BorrowError, match="in the thread 'the winner'"):
        op.sync()


@pytest.mark.parametrize("take", [tw.move, tw.Arc, lambda z: z.partition(TILE)])
def test_a_tensor_is_taken_by_one(take):
    for _ in range(ROUNDS):
        z = tensor(0)
        results = together(*[lambda z=z: take(z)] * THREADS)
        errors = [r for r in results if isinstance(r, Exception)]
        assert len(errors) == THREADS - 1
        assert all(isinstance(error, tw.BorrowError) for error in errors)


def test_one_of_the_owners_is_the_last():
    for _ in range(ROUNDS):
        arc = tw.Arc(tensor(0))
        results = together(*[arc.unwrap_arc] * THREADS)
        assert sum(isinstance(r, tw.Tensor) for r in results) == 1


def test_writers_and_readers_of_one_tensor():
    """Each launch that runs is whole: a reader sees one writer's values, never a mixture."""
    z = tensor(0)

    def write(value):
        return neg(z.partition_mut(TILE), np.full((4, 4), value, "f4")).sync()

    def read():
        out = tw.empty((4, 4)).sync()
        neg(out.partition_mut(TILE), z).sync()
        return out.to_numpy()

    for i in range(ROUNDS):
        acts = [read, *[lambda v=v: write(v) for v in range(3)], z.to_numpy, read]
        for result in together(*acts):
            if isinstance(result, np.ndarray):
                assert len(np.unique(result)) == 1, i
            elif isinstance(result, Exception):
                assert isinstance(result, tw.BorrowError)


def test_disjoint_parts_are_written_by_all_at_once():
    z = tw.zeros((THREADS, 4)).sync()
    borrow = z.borrow_mut()
    rows = [borrow[i : i + 1].partition((1, 4)) for i in range(THREADS)]
    sources = [np.full((1, 4), -i, "f4") for i in range(THREADS)]
    for _ in range(ROUNDS):
        acts = [lambda i=i: neg(rows[i], sources[i]).sync() for i in range(THREADS)]
        assert not [r for r in together(*acts) if isinstance(r, Exception)]
    np.testing.assert_array_equal(z.to_numpy()[:, 0], np.arange(THREADS))


@pytest.mark.cpu_alone
def test_leases_and_writers():
    """A write that starts while an array lives would be seen by its owner."""
    z = tensor(0)

    def look():
        array = np.asarray(z)
        return all(len(np.unique(array)) == 1 for _ in range(20))

    def write(value):
        neg(z.partition_mut(TILE), np.full((4, 4), value, "f4")).sync()

    for _ in range(ROUNDS):
        looks = together(look, lambda: write(1), look, lambda: write(2), look)
        assert all(r is True for r in looks if isinstance(r, bool))
        assert all(isinstance(r, tw.BorrowError) for r in looks if isinstance(r, Exception))
