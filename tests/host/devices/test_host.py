from __future__ import annotations

import pytest

from tilewright.devices.host import CPU, REFERENCE


@pytest.mark.parametrize("n", [0, 1, 63, 64, 65, 4097])
@pytest.mark.parametrize("zeroed", [False, True])
def test_memory(n, zeroed):
    memory = CPU.allocate(n, zeroed=zeroed)
    assert memory.nbytes == n
    assert memory.address % 64 == 0 or n == 0


@pytest.mark.parametrize("device", [CPU, REFERENCE])
def test_streams_have_numbers_of_their_own(device):
    own = device.new_stream(), device.new_stream()
    numbers = [stream.number for stream in (*device.streams(), *own)]
    assert numbers[:4] == [0, 1, 2, 3]
    assert len(set(numbers)) == 6
    assert all(stream.device is device for stream in own)
    device.synchronize()
