"""Allocation: aligned, writable, of any size that there is."""

from __future__ import annotations

import numpy as np
import pytest

from tilewright.base.errors import DriverError
from tilewright.devices.cpu.memory import address_of, allocate


@pytest.mark.parametrize("nbytes", [0, 1, 63, 64, 65, 4096, 1_000_003])
def test_allocations_are_aligned_and_apart(nbytes):
    arrays = [allocate(nbytes) for _ in range(5)]
    for i, array in enumerate(arrays):
        assert array.shape == (nbytes,)
        assert array.dtype == np.uint8
        assert address_of(array) % 64 == 0
        array[:] = i
    assert all((array == i).all() for i, array in enumerate(arrays))


def test_zeroed():
    for _ in range(20):
        dirty = allocate(10_000)
        dirty[:] = 255
        del dirty
        assert not allocate(10_000, zeroed=True).any()


def test_too_much_memory_is_an_error_with_the_size():
    with pytest.raises(DriverError, match=r"out of memory: 1152921504606846976 bytes \(.* GiB\)"):
        allocate(1 << 60)
    with pytest.raises(DriverError, match="out of memory"):
        allocate(1 << 100)


def test_a_negative_size_is_refused():
    with pytest.raises(DriverError, match="got: -1"):
        allocate(-1)
