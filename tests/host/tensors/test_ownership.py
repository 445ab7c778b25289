from __future__ import annotations

import gc
import weakref

import pytest

from tilewright.base.errors import BorrowError
from tilewright.tensors import move, zeros


@pytest.fixture
def z():
    return zeros((4, 4)).sync()


def test_a_refused_taker_gives_back_although_somebody_holds_it(z):
    p = z.partition((2, 2))
    p.tensor.settle(failed=True)
    z.to_numpy()
    with pytest.raises(BorrowError, match="was returned to its former owner"):
        p.unpartition()


def test_a_refused_taker_that_gives_it_away_does_not_get_it_back(z):
    taker = move(z)
    taker.settle(failed=True)
    last = move(taker)
    for former in (taker, z):
        with pytest.raises(BorrowError, match="this tensor was moved"):
            former.to_numpy()
    last.to_numpy()


def test_a_refused_taker_may_be_used_again(z):
    p = z.partition((2, 2))
    p.tensor.settle(failed=True)
    p.tensor.settle(failed=False)
    with pytest.raises(BorrowError, match="this tensor was moved"):
        z.to_numpy()
    p.unpartition()


def test_after_the_taker_ran_the_old_handle_keeps_no_memory(z):
    storage = weakref.ref(z.region.storage)
    p = z.partition((2, 2))
    p.tensor.settle(failed=False)
    del p
    gc.collect()
    assert storage() is None
    assert z.shape == (4, 4)
    assert repr(z).endswith("moved)")
    with pytest.raises(BorrowError, match="this tensor was moved"):
        z.to_numpy()


def test_a_failure_before_any_take_changes_nothing(z):
    z.settle(failed=True)
    assert z.to_numpy().sum() == 0


def test_moves_in_a_row(z):
    y = move(move(z))
    assert y.to_numpy().shape == (4, 4)
    with pytest.raises(BorrowError, match="moved"):
        z.to_numpy()
    del y
    assert z.to_numpy().shape == (4, 4)


def test_the_tensor_comes_back_to_the_handle_it_came_from(z):
    y = move(z)
    w = move(y)
    del w
    for _ in range(2):
        with pytest.raises(BorrowError, match="moved"):
            z.to_numpy()
        y.to_numpy()
    w = move(y)
    w.settle(failed=True)
    with pytest.raises(BorrowError, match="moved"):
        z.to_numpy()
    y.to_numpy()
    with pytest.raises(BorrowError, match="returned to its former owner"):
        w.to_numpy()
    del y
    z.to_numpy()


def test_work_after_a_return_settles_all_moves_before(z):
    y = move(z)
    move(y)
    y.to_numpy()
    y.settle(failed=False)
    storage = weakref.ref(y.region.storage)
    del y
    gc.collect()
    assert storage() is None
    with pytest.raises(BorrowError, match="moved"):
        z.to_numpy()
