from __future__ import annotations

import gc

import numpy as np
import pytest

from tilewright.array.borrow import BorrowState
from tilewright.array.lease import (
    EXPORT,
    HOST_WRITE,
    VIEW,
    Act,
    Holder,
    Lent,
    lent_to_numpy,
    refuse_leased,
)
from tilewright.base.errors import BorrowError
from tilewright.op.place import here

NEVER = lambda: False  # noqa: E731


@pytest.fixture
def state():
    return BorrowState()


def test_a_lease_lives_as_long_as_its_last_array(state):
    memory = np.arange(4, dtype="u1")
    interface = {**memory.__array_interface__, "data": (memory.ctypes.data, True)}
    holder = Holder(interface, memory)
    state.lease(lent_to_numpy(VIEW, holder, here()))
    part = np.asarray(holder)[1:3][::-1]
    del holder
    gc.collect()
    assert len(state.live_leases()) == 1
    del part
    assert state.live_leases() == []


@pytest.mark.parametrize(
    ("kind", "refused"),
    [
        (VIEW, {Act.WRITE}), (EXPORT, {Act.WRITE, Act.TAKE}),
        (HOST_WRITE, {Act.READ, Act.WRITE, Act.TAKE}),
    ],
)  # fmt: skip
def test_what_a_lease_refuses(state, kind, refused):
    state.lease(Lent(kind, here(), NEVER))
    for act in Act:
        if act in refused:
            with pytest.raises(BorrowError, match=f"would {act.value} a tensor while"):
                refuse_leased(state, act, "`neg`", "a tensor")
        else:
            refuse_leased(state, act, "`neg`", "a tensor")


@pytest.mark.parametrize("kind", [VIEW, EXPORT, HOST_WRITE], ids=["view", "export", "host_write"])
def test_messages(state, kind, golden, places):
    state.lease(Lent(kind, here(), NEVER))
    with pytest.raises(BorrowError) as caught:
        refuse_leased(state, Act.WRITE, "`neg`", "Tensor(...)")
    golden(places(caught.value))
