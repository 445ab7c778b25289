"""Work that could only be put on its stream in part, or whose end nobody waited for."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

import tilewright as tw
from tilewright.devices.cuda import copying
from tilewright.tensors import putting, transfer

REFUSED = 1


@pytest.fixture
def pieces(monkeypatch):
    """Copies of more than 8 bytes go in several."""
    monkeypatch.setattr(copying, "PIECE", 8)


@pytest.fixture
def made(monkeypatch):
    """The arrays that were made to be filled, as long as they live."""
    found: list[weakref.ref[np.ndarray]] = []

    class Arrays:
        def __getattr__(self, name):
            return getattr(np, name)

        def empty(self, *args):
            class Watched(np.ndarray):
                """Can be referred to weakly."""

            array = np.empty(*args).view(Watched)
            found.append(weakref.ref(array))
            return array

    for module in (putting, transfer):
        monkeypatch.setattr(module, "np", Arrays())
    return found


def fail_third(fake, call):
    for status in (0, 0, REFUSED):
        fake.fail(call, status)


def test_what_a_part_writes_stays_alive_until_it_has(fake_cuda, fake_gpu, pieces, made):
    """The array that was to be filled belongs to nobody else."""
    t = tw.from_numpy(np.arange(8, dtype="i8"), device=fake_gpu).sync()
    stream = fake_gpu.new_stream()
    fake_cuda.hold(stream)
    fail_third(fake_cuda, "copy_out")
    with pytest.raises(tw.DriverError, match="rejected copy_out"):
        t.copy_to_host().sync_on(stream)
    gc.collect()
    assert made[0]() is not None
    fake_cuda.release()
    stream.synchronize()
    gc.collect()
    assert made[0]() is None
    assert np.array_equal(t.to_numpy(), np.arange(8)), "and all goes on"


def test_who_follows_waits_for_the_part(fake_cuda, fake_gpu, pieces):
    t = tw.zeros((8,), tw.i64, device=fake_gpu).sync()
    stream = fake_gpu.new_stream()
    fake_cuda.hold(stream)
    fail_third(fake_cuda, "copy_in")
    with pytest.raises(tw.DriverError, match="rejected copy_in"):
        t.borrow_mut().copy_from(np.arange(1, 9)).sync_on(stream)
    other = fake_gpu.new_stream()
    copied = t.dup().start_on(other)
    assert not other.idle(), "it waits for the stream that is held"
    fake_cuda.release()
    assert copied.to_numpy().tolist() == [1, 2, 0, 0, 0, 0, 0, 0]


def test_an_interrupt_leaves_no_array_behind_that_is_still_written(fake_cuda, fake_gpu, made):
    t = tw.from_numpy(np.arange(8, dtype="i8"), device=fake_gpu).sync()
    stream = fake_gpu.streams()[0]
    fake_cuda.hold(stream)
    waits = fake_cuda.await_event

    def interrupted(*args):
        raise KeyboardInterrupt

    fake_cuda.await_event = interrupted
    with pytest.raises(KeyboardInterrupt):
        t.to_numpy()
    fake_cuda.await_event = waits
    gc.collect()
    assert made[0]() is not None
    fake_cuda.release()
    stream.synchronize()
    gc.collect()
    assert made[0]() is None


def test_on_a_lost_device_nothing_is_on_its_way(fake_cuda, fake_gpu):
    t = tw.from_numpy(np.arange(8, dtype="i8"), device=fake_gpu).sync()
    fake_cuda.lost = 700
    for _ in range(2):
        with pytest.raises(tw.DriverError, match="has failed on cuda:0"):
            t.copy_to_host().sync()
