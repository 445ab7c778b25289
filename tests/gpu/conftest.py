"""Tests that need an NVIDIA GPU; `pytest tests/gpu` where there is one, skipped elsewhere."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import tilewright as tw
from support.suites import TABLE
from tilewright.base.errors import ContextError
from tilewright.devices.registry import gpus

HERE = Path(__file__).parent

# JAX would take most of the memory for itself, and other tests run beside it.
os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    if TABLE in config.stash:
        terminalreporter.section("on the GPU")
        terminalreporter.write(config.stash[TABLE])


def _reason() -> str:
    """Why there is no GPU to test on; "" if there is one."""
    try:
        return "" if gpus() else "no GPU"
    except ContextError as error:
        return error.message


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    mine = [item for item in items if HERE in item.path.parents]
    reason = _reason() if mine else ""
    for item in mine:
        if reason:
            item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture(autouse=True)
def device():
    """The first GPU, which is the default device in these tests."""
    with tw.device("cuda") as found:
        yield found
