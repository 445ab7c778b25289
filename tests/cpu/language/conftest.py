"""Both devices."""

from __future__ import annotations

import pytest


@pytest.fixture(params=["cpu", "reference"])
def device(request):
    return request.param
