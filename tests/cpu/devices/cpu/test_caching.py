"""The pool of host memory: recycling, zeroing, limits, statistics, threads, fork."""

from __future__ import annotations

import ctypes
import gc
import threading

import numpy as np
import pytest

from support.interrupts import MOST_POINTS, raise_at, raise_behind
from support.numbers import fresh_rng
from tilewright.base.errors import DriverError
from tilewright.devices.cpu import caching
from tilewright.devices.cpu.caching import HostPool, size_class
from tilewright.devices.cpu.memory import OutOfMemoryError
from tilewright.devices.host import CPU

SIZES = [0, 1, 63, 64, 65, 4097, 1_000_003, (1 << 20) + 1]


def contents(memory):
    return np.frombuffer(ctypes.string_at(memory.address, memory.nbytes), np.uint8)


def poison(memory):
    ctypes.memset(memory.address, 255, memory.nbytes)


@pytest.mark.parametrize("nbytes", SIZES)
def test_memory_is_aligned_and_apart(nbytes):
    pool = HostPool()
    pieces = [pool.allocate(nbytes, zeroed=False) for _ in range(5)]
    for i, piece in enumerate(pieces):
        assert piece.nbytes == nbytes and piece.address % 64 == 0
        ctypes.memset(piece.address, i, nbytes)
    assert all((contents(piece) == i).all() for i, piece in enumerate(pieces))
    assert len({piece.address for piece in pieces}) == 5


@pytest.mark.parametrize("nbytes", SIZES)
@pytest.mark.parametrize("pool", [HostPool(), CPU.pool])
def test_zeroed_memory_is_zero_however_it_was_used(pool, nbytes):
    for _ in range(4):
        dirty = pool.allocate(nbytes, zeroed=False)
        poison(dirty)
        del dirty
        assert not contents(pool.allocate(nbytes, zeroed=True)).any()


def test_what_is_freed_is_used_again():
    pool = HostPool()
    first = pool.allocate(1 << 20, zeroed=False)
    address = first.address
    del first
    again = pool.allocate((1 << 20) - 5, zeroed=False)
    assert again.address == address, "nearly the same size"
    assert pool.allocate(1 << 20, zeroed=False).address != address


def test_sizes_are_rounded_up_by_an_eighth_at_most():
    for n in [*range(2000), *fresh_rng().integers(1, 1 << 40, 500).tolist()]:
        size = size_class(n)
        assert n <= size <= max(64, n + max(64, n // 8)) and size % 64 == 0
        assert size_class(size) == size


def test_statistics():
    pool = HostPool()
    first = pool.allocate(1 << 20, zeroed=False)
    second = pool.allocate(1 << 19, zeroed=True)
    assert pool.stats().used == pool.stats().reserved == 3 << 19
    del first
    gc.collect()
    stats = pool.stats()
    assert (stats.used, stats.used_high) == (1 << 19, 3 << 19)
    assert (stats.reserved, stats.reserved_high) == (3 << 19, 3 << 19)
    pool.trim()
    assert pool.stats().reserved == pool.stats().used == second.nbytes


def test_no_more_is_kept_than_the_threshold_says():
    pool = HostPool()
    pool.set_release_threshold(3 << 20)
    pieces = [pool.allocate(1 << 20, zeroed=False) for _ in range(5)]
    last = pieces[-1].address
    while pieces:
        del pieces[0]
    assert pool.stats().reserved == 3 << 20
    assert pool.allocate(1 << 20, zeroed=False).address == last, "the oldest went first"
    pool.set_release_threshold(0)
    assert pool.stats().reserved == 0


def test_too_much_is_an_error_with_sizes_after_one_more_try():
    tried = []
    pool = HostPool(reclaim=lambda: tried.append(pool.stats().reserved))
    held, kept = pool.allocate(1 << 20, zeroed=False), pool.allocate(1 << 20, zeroed=False)
    del kept
    with pytest.raises(DriverError) as caught:
        pool.allocate(1 << 60, zeroed=False)
    assert "out of memory: 1152921504606846976 bytes (1073741824.00 GiB)" in str(caught.value)
    assert "got: 1048576 bytes (0.00 GiB) in use on this device" in str(caught.value)
    assert tried == [2 << 20]
    assert pool.stats().reserved == held.nbytes, "what was unused has been given back"
    with pytest.raises(DriverError, match="got: -1"):
        pool.allocate(-1, zeroed=False)


def test_a_second_try_may_succeed(monkeypatch):
    pool, tries = HostPool(), []

    def scarce(nbytes, *, zeroed):
        tries.append(nbytes)
        if len(tries) == 1:
            raise OutOfMemoryError("out of memory")
        return allocate(nbytes, zeroed=zeroed)

    allocate = caching.allocate
    monkeypatch.setattr(caching, "allocate", scarce)
    assert not contents(pool.allocate(100, zeroed=True)).any()
    assert tries == [128, 128]


def test_many_threads():
    pool, wrong = HostPool(), []

    def work(seed):
        rng = np.random.default_rng(seed)
        held = []
        for _ in range(300):
            zeroed = bool(rng.integers(2))
            piece = pool.allocate(int(rng.integers(1, 5000)), zeroed=zeroed)
            if zeroed and contents(piece).any():
                wrong.append("not zero")
            ctypes.memset(piece.address, seed, piece.nbytes)
            held.append(piece)
            if len(held) > 10:
                old = held.pop(int(rng.integers(10)))
                if not (contents(old) == seed).all():
                    wrong.append("shared")

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(1, 6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    gc.collect()
    assert pool.stats().used == 0


def test_work_in_flight_keeps_its_memory():
    """Memory that only a finished job kept is found when there would be none without it."""
    stream = CPU.new_stream()
    memory = CPU.allocate(1 << 20, zeroed=False)
    address = memory.address
    stream.after(lambda: None)
    CPU.streams()
    stream._callbacks.add(0, None, memory)
    del memory
    assert CPU.allocate(1 << 20, zeroed=False).address != address
    with pytest.raises(DriverError, match="out of memory"):
        CPU.allocate(1 << 60, zeroed=False)
    assert not stream._callbacks


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # in finalizers
@pytest.mark.parametrize("interrupt", [raise_at, raise_behind])
def test_what_is_kept_can_be_released_wherever_an_interrupt_came(interrupt):
    pool = HostPool()

    def use_again() -> None:
        for _ in range(2):
            pool.allocate(1000, zeroed=False)

    for point in range(1, MOST_POINTS):
        is_over = not interrupt(point, use_again)
        use_again()
        pool.trim()
        assert pool.unused == 0, point
        assert pool.stats().reserved == 0, point
        if is_over:
            break
    assert 3 < point < MOST_POINTS - 1
