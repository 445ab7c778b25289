"""Fixtures for pytest: put `pytest_plugins = ["tilewright.testing.plugin"]` in your conftest.py."""

from __future__ import annotations

from collections.abc import Generator

import pytest

from ..devices.host import NULL
from ..devices.null import HappensBefore, NullDevice
from ..op.ambient import device


@pytest.fixture
def null_device() -> Generator[NullDevice, None, None]:
    """Make the null device the default one: it records enqueued work and runs nothing.

    `null_device.entries` is the recorded work; between `hold()` and `release()` nothing passes, so
    tests can inspect work in flight; after `defer()` work passes where the program waits for it.
    Two conflicting uses of memory without an order between them fail the test.
    """
    NULL.entries.clear()
    NULL.order = HappensBefore()
    with device(NULL):
        yield NULL
    races = list(map(str, NULL.races))
    NULL.release()
    NULL.synchronize()
    NULL.entries.clear()
    assert not races, races
