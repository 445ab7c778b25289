"""The native types of memory and tensors bear wrong and missing arguments."""

from __future__ import annotations

import gc
import weakref

import pytest

import tilewright as tw
from tilewright import _core
from tilewright.devices.host import CPU
from tilewright.tensors.borrow import BorrowState, Use
from tilewright.tensors.extent import Extent
from tilewright.tensors.layout import row_major
from tilewright.tensors.partition import Partition
from tilewright.tensors.region import Region
from tilewright.tensors.storage import Storage
from tilewright.tensors.tensor import BorrowMut

USE = Use("tested", None)
TYPES = [
    _core.BorrowState, _core.Extent, _core.Layout, _core.Tiling, _core.Storage, _core.Region,
    _core.Title, _core.Handle, _core.Access, _core.BlockPool, Storage, Region, tw.Tensor, Partition,
    BorrowMut,
]  # fmt: skip


def attributes(cls):
    return [name for name in dir(cls) if not name.startswith("__")]


@pytest.mark.parametrize("cls", TYPES)
def test_objects_that_were_never_initialized_can_be_looked_at(cls):
    """And collected; what they lack is an error."""
    thing = cls.__new__(cls)
    for name in attributes(cls):
        try:
            getattr(thing, name)
        except (AttributeError, RuntimeError, TypeError):
            continue
    del thing
    gc.collect()


WRONG = {
    "a storage of text": lambda: Storage(CPU, "0", 4, None),
    "a storage without a device": lambda: Storage(3, 0, 4, None),
    "a region of no storage": lambda: Region(None, row_major(tw.f32, (4,)), 0),
    "a region without a layout": lambda: Region(Storage(CPU, 0, 16, None), None, 0),
    "a region of a storage that is not initialized": lambda: Region(
        object.__new__(Storage), row_major(tw.f32, (4,)), 0
    ),
    "a tensor of no region": lambda: tw.Tensor(None, None),
    "a partition of no tensor": lambda: Partition(None, None, None),
    "a borrow of a list": lambda: BorrowState().share(USE, []),
    "a borrow out of text": lambda: BorrowState().exclude(USE, None, "parent"),
    "a borrow without a use": lambda: BorrowState().share(),
    "writing again without a borrow": lambda: BorrowState().rewrite(None, USE),
    "leases that are no tuple": lambda: setattr(BorrowState(), "leases", []),
    "neighbours that are no tuple": lambda: setattr(BorrowState(), "neighbours", None),
    "a reason that is no number": lambda: BorrowState().mark("reason", True),
    "a new tensor of no region": lambda: _core.new_tensor(3),
    "a partition of a number": lambda: _core.partition_mut(3, (4,), 0),
    "taking over a number": lambda: _core.take_over(3, "what", "hint", 0),
    "turning back a number": lambda: _core.unpartition(3, 0),
    "an exclusive borrow of a tensor that is not initialized": lambda: _core.borrow_exclusive(
        object.__new__(tw.Tensor), "what", 0
    ),
    "a ticket of no state": lambda: _core.ticket_of_epoch(None, USE, None, 0),
    "a region for a tensor": lambda: setattr(tw.ones(4).sync(), "region", 3),
    "a new ticket": lambda: _core.Ticket(),
    "new memory": lambda: _core.PooledMemory(),
    "memory of text": lambda: _core.BlockPool()._take("4"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_arguments_are_type_errors(case):
    with pytest.raises(TypeError):
        WRONG[case]()


def test_a_region_beyond_all_addresses_is_an_overflow():
    with pytest.raises(OverflowError):
        Region(Storage(CPU, 0, 16, None), row_major(tw.f32, (4,)), (1 << 63) - 4)


def test_states_and_tickets_are_no_cycle():
    """Memory does not keep its borrows, so that both are gone without the garbage collector."""
    gc.disable()
    try:
        state = BorrowState()
        whole = state.exclude(USE)
        part = whole.reborrow(USE, Extent(0, 4))
        known = [weakref.ref(each) for each in (state, whole, part)]
        del state, whole, part
        assert [ref() for ref in known] == [None, None, None]
    finally:
        gc.enable()


def test_a_borrow_that_is_dropped_is_not_the_reason_for_a_slow_path():
    state = BorrowState()
    kept = state.share(USE, Extent(0, 4))
    dropped = state.exclude(USE, Extent(8, 12))
    assert state.slow_path and state.writers == [dropped] and state.readers == [kept]
    del dropped, kept
    assert not state.slow_path and not state.writers and not state.readers
