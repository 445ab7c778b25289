from __future__ import annotations

import gc
import threading

import numpy as np
import pytest

import tilewright as tw
from tilewright.tensors import releases
from tilewright.tensors.exporting import Wish, export
from tilewright.tensors.releases import Imported, deleting, sweep


def test_what_another_library_is_done_with_is_freed():
    sweep()
    t = tw.zeros((4,)).sync()
    capsule, exported = export(t.region, None, Wish(), readonly=False)
    assert exported in releases._OUT
    assert not exported.is_over()
    del capsule
    assert exported.is_over()
    sweep()
    assert exported not in releases._OUT
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


def test_deleters_are_called_by_who_sweeps_not_by_the_collector():
    called = []
    kind = releases._call_deleter
    deleter = kind(called.append)
    address = int(np.frombuffer(deleter, np.uintp)[0])
    imported = Imported()
    del imported  # was not taken
    imported = Imported()
    imported.due.run = deleting(address, 1234)
    del imported
    assert called == []
    sweep()
    assert called == [1234]
    sweep()
    assert called == [1234]
    assert not releases._DUE


def test_deleters_are_called_for_what_is_in_a_cycle():
    class Keeper:
        pass

    called, keeper = [], Keeper()
    deleter = releases._call_deleter(called.append)
    keeper.imported, keeper.itself = Imported(), keeper
    address = int(np.frombuffer(deleter, np.uintp)[0])
    keeper.imported.due.run = deleting(address, 5)
    del keeper
    gc.collect()
    sweep()
    assert called == [5]
