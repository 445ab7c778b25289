"""What tests of benchmarks share."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def gradients() -> Iterator[None]:
    """Turn the gradients of PyTorch on again, which benchmarks do without, for the tests behind."""
    yield
    if "torch" in sys.modules:
        sys.modules["torch"].set_grad_enabled(True)
