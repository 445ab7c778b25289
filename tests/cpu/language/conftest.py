"""Both devices, and random numbers whose seed is shown when a test fails."""

from __future__ import annotations

import pytest

from support.numbers import fresh_rng


@pytest.fixture(params=["cpu", "reference"])
def device(request):
    return request.param


@pytest.fixture
def rng():
    return fresh_rng()
