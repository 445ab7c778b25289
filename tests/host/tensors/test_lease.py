from __future__ import annotations

import weakref

import numpy as np
import pytest

from tilewright.base.errors import BorrowError
from tilewright.op.place import here
from tilewright.tensors.borrow import BorrowState
from tilewright.tensors.extent import Extent
from tilewright.tensors.lease import EXPORT, EXPORT_MUT, HOST_WRITE, VIEW, Act, Lease, refuse_leased

NEVER = lambda: False  # noqa: E731


@pytest.fixture
def state():
    return BorrowState()


def lend_while_alive(state, user):
    ref = weakref.ref(user)
    state.lease(Lease(VIEW, here(), lambda: ref() is None))


def test_a_lease_lives_as_long_as_its_user(state):
    user = np.zeros(1)
    lend_while_alive(state, user)
    assert len(state.live_leases()) == 1
    del user
    assert state.live_leases() == []


def test_what_overlaps_leased_memory_is_leased(state):
    other, user = BorrowState(), np.zeros(1)
    state.meet(other, Extent(0, 8), Extent(4, 12))
    lend_while_alive(other, user)
    assert len(state.live_leases()) == 1
    del user
    assert state.live_leases() == []


@pytest.mark.parametrize(
    ("kind", "refused"),
    [
        (VIEW, {Act.WRITE}), (EXPORT_MUT, set(Act)), (EXPORT, {Act.WRITE, Act.TAKE}),
        (HOST_WRITE, {Act.READ, Act.WRITE, Act.TAKE}),
    ],
)  # fmt: skip
def test_what_a_lease_refuses(state, kind, refused):
    state.lease(Lease(kind, here(), NEVER))
    for act in Act:
        if act in refused:
            with pytest.raises(BorrowError, match=f"would {act.value} a tensor while"):
                refuse_leased(state, act, "`neg`", "a tensor")
        else:
            refuse_leased(state, act, "`neg`", "a tensor")


@pytest.mark.parametrize("kind", [VIEW, EXPORT, HOST_WRITE], ids=["view", "export", "host_write"])
def test_messages(state, kind, golden, places):
    state.lease(Lease(kind, here(), NEVER))
    with pytest.raises(BorrowError) as caught:
        refuse_leased(state, Act.WRITE, "`neg`", "Tensor(...)")
    golden(places(caught.value))
