from __future__ import annotations

import ctypes
import gc
from functools import partial

import pytest

from support.fake_cuda import TOTAL
from support.interrupts import MOST_POINTS, raise_at
from tilewright.base.errors import DriverError
from tilewright.devices.cuda.staging import KEPT


@pytest.mark.parametrize("nbytes", [0, 1, 255, 256, 5000])
def test_memory(device, nbytes):
    memory = device.allocate(nbytes, zeroed=True)
    assert memory.nbytes == nbytes
    assert memory.address % 256 == 0
    assert not any(ctypes.string_at(memory.address, nbytes))


def test_a_negative_size_is_refused(device):
    with pytest.raises(DriverError, match="a size of 0 or more"):
        device.allocate(-1, zeroed=False)


def test_memory_goes_back_with_its_object(device, fake):
    memory = device.allocate(1000, zeroed=False)
    assert device.pool.stats().used >= 1000
    del memory
    assert device.pool.stats().used == 0


def test_the_pool_keeps_a_part_of_the_device_and_can_be_told_otherwise(device, fake):
    device.pool.set_release_threshold(77)
    assert [entry[1] for entry in fake.log if entry[0] == "threshold"] == [TOTAL // 4, 77]


def test_when_memory_runs_out_what_is_kept_is_given_back_first(device, fake):
    device.allocate(8, zeroed=False)
    fake.room, fake.reserved = 10_000, 9_000
    memory = device.allocate(5_000, zeroed=False)
    assert memory.nbytes == 5_000
    assert fake.trims == 1


def test_when_memory_runs_out_finished_work_is_let_go_of(device, fake):
    stream = device.new_stream()
    stream.put(device.allocate(6_000, zeroed=False), fake.fill, stream_memory(device), 0, 1, 1,
               stream.handle)  # fmt: skip
    fake.room = 10_000
    assert device.allocate(5_000, zeroed=False).nbytes == 5_000


def stream_memory(device):
    device.scrap = device.allocate(8, zeroed=False)
    return device.scrap.address


def test_out_of_memory_says_how_much_there_is(device, fake):
    kept = device.allocate(4_000, zeroed=False)
    fake.room = 10_000
    with pytest.raises(DriverError, match=r"out of memory: 20000 bytes .* on cuda:0") as caught:
        device.allocate(20_000, zeroed=False)
    assert "in use here" in caught.value.got and "free" in caught.value.got
    assert device.allocate(1_000, zeroed=False).nbytes == 1_000
    assert kept.nbytes == 4_000


def test_another_refusal_is_not_lack_of_memory(device, fake):
    device.allocate(8, zeroed=False)
    fake.fail("allocate", 1)
    with pytest.raises(DriverError, match="rejected allocate"):
        device.allocate(16, zeroed=False)


def test_memory_is_used_again_without_a_call_of_the_driver(device, fake):
    first = device.allocate(1000, zeroed=False)
    address, there = first.address, len(fake.memory)
    del first
    fake.fail("allocate", 1)
    assert device.allocate(1000, zeroed=False).address == address
    assert len(fake.memory) == there
    with pytest.raises(DriverError, match="rejected allocate"):
        device.allocate(1001, zeroed=False)  # which is another size


def test_memory_used_again_is_zero_where_that_is_asked_for(device):
    memory = device.allocate(64, zeroed=False)
    address = memory.address
    ctypes.memset(address, 7, 64)
    del memory
    again = device.allocate(64, zeroed=True)
    assert again.address == address
    assert not any(ctypes.string_at(address, 64))


def test_unused_memory_beyond_what_is_kept_is_given_back(device, fake):
    device.pool.set_release_threshold(3000)
    kept = {device.allocate(n, zeroed=False).address for n in (1000, 1500)}
    assert kept <= fake.memory.keys()
    held = [device.allocate(n, zeroed=False) for n in (1000, 1500, 2000)]
    while held:
        del held[0]
    device.pool.stats()
    assert device.pool.unused == 2000, "what was not used for longest goes first"
    device.pool.trim()
    assert device.pool.unused == 0
    assert not kept & fake.memory.keys()


def test_pinned_memory_of_a_cycle_is_unpinned_once_the_pool_lets_go_of_it(device, fake):
    class Holder:
        pass

    holder = Holder()
    holder.itself, holder.memory = holder, device.staging.allocate(5000)
    address = holder.memory.address
    del holder
    gc.collect()
    again = device.staging.allocate(5000)
    other = device.staging.allocate(5000)
    assert again.address == address
    assert other.address != address
    assert address in fake.pinned


def test_pinned_memory_beyond_what_is_kept_is_given_back(device, fake):
    large = device.staging.allocate(KEPT + 1)
    address = large.address
    assert address in fake.pinned
    del large
    device.staging.allocate(64)
    assert address not in fake.pinned


@pytest.mark.usefixtures("in_finalizers_too")
@pytest.mark.parametrize("zeroed", [False, True])
def test_no_memory_is_lost_wherever_an_interrupt_comes(device, fake, zeroed):
    device.prepare()
    made = []
    for point in range(1, MOST_POINTS):
        is_interrupted = raise_at(point, partial(add_memory, made, device, zeroed))
        made.clear()
        gc.collect()
        device.pool.trim()  # gives all back that is unused
        assert not fake.memory, point
        if not is_interrupted:
            break
    assert 1 < point < MOST_POINTS - 1


def add_memory(made, device, zeroed):
    made.append(device.allocate(8, zeroed=zeroed))
