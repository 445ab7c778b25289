from __future__ import annotations

import ctypes
import gc
import threading

import numpy as np
import pytest

import tilewright as tw
from tilewright._core import take_capsule
from tilewright.tensors import dlpack, releases
from tilewright.tensors.exporting import Wish, export
from tilewright.tensors.releases import sweep


def test_what_another_library_is_done_with_is_freed():
    sweep()
    t = tw.zeros((4,)).sync()
    capsule, exported = export(t.region, None, Wish(), readonly=False)
    assert exported in releases.OUT
    assert not exported.is_over()
    del capsule
    assert exported.is_over()
    sweep()
    assert exported not in releases.OUT
    assert exported.is_over()


@pytest.mark.cpu_alone
def test_exports_end_in_any_thread():
    """Capsules and arrays are dropped by many threads while others export and sweep."""
    t = tw.from_numpy(np.arange(1000)).sync()
    wrong = []

    def work(seed):
        random = np.random.default_rng(seed)
        for _ in range(100):
            array = np.from_dlpack(t)
            part = array[int(random.integers(900)) :]
            capsule = t.__dlpack__(max_version=(1, 0))
            del array
            if part[0] != t.to_numpy()[part[0]]:
                wrong.append(part)
            del part, capsule
            sweep()

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert t.region.storage.state.live_leases() == []
    t.partition_mut((10,))


class Managed:
    """A capsule that a library exports, and how often its deleter was called."""

    def __init__(self):
        self.called = []
        self._deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(self.called.append)
        self._tensor = dlpack.Plain(deleter=ctypes.cast(self._deleter, ctypes.c_void_p).value or 0)

    @property
    def address(self):
        return ctypes.addressof(self._tensor)

    def take(self):
        return take_capsule(dlpack.new_capsule(b"dltensor", self.address, 0))


def test_deleters_are_called_by_who_sweeps_not_by_the_collector():
    managed = Managed()
    taken = managed.take()
    sweep()
    del taken
    assert managed.called == []
    sweep()
    assert managed.called == [managed.address]
    sweep()
    assert managed.called == [managed.address]


def test_deleters_are_called_for_what_is_in_a_cycle():
    class Keeper:
        pass

    managed, keeper = Managed(), Keeper()
    keeper.taken, keeper.itself = managed.take(), keeper
    del keeper
    gc.collect()
    sweep()
    assert managed.called == [managed.address]


def test_a_managed_tensor_without_a_deleter_needs_none():
    tensor = dlpack.Plain()
    take_capsule(dlpack.new_capsule(b"dltensor", ctypes.addressof(tensor), 0))
    sweep()
