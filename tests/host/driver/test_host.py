from __future__ import annotations

import threading

import pytest

from tilewright.base.errors import ContextError
from tilewright.driver.host import CPU, DEVICES, REFERENCE, get_device


def test_devices_by_name():
    assert get_device("cpu") is CPU
    assert get_device("reference") is REFERENCE
    assert list(DEVICES) == ["cpu", "reference"]
    with pytest.raises(ContextError, match="there is no device 'gpu'"):
        get_device("gpu")


@pytest.mark.parametrize("n", [0, 1, 63, 64, 65, 4097])
def test_memory(n):
    zeroed, arbitrary = CPU.allocate(n, zeroed=True), CPU.allocate(n, zeroed=False)
    assert zeroed.nbytes == arbitrary.nbytes == n
    assert not zeroed.any()
    for memory in (zeroed, arbitrary):
        assert memory.ctypes.data % 64 == 0 or n == 0
        memory[:] = 1


def test_work_of_several_threads_takes_turns():
    inside = []

    def work():
        inside.append(1)
        assert len(inside) == 1
        inside.pop()

    threads = [
        threading.Thread(target=lambda: [CPU.stream().submit(work) for _ in range(200)])
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert inside == []


def test_work_may_be_nested_and_gives_its_result():
    stream = CPU.stream()
    assert stream.submit(lambda: stream.submit(lambda: 5)) == 5
    stream.synchronize()
    assert stream.device is CPU
