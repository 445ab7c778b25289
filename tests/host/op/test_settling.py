"""What is settled at the end of work, whichever thread comes to it first."""

from __future__ import annotations

import threading

import pytest

from tilewright.devices.host import CPU
from tilewright.op.context import ExecutionContext


@pytest.fixture
def context():
    return ExecutionContext(CPU.new_stream())


def test_what_comes_behind_a_failed_ending_goes_back(context):
    """An interrupt ends a wait while the launch runs; its stream passes it later."""
    seen = []
    context.end(failed=True)
    context.settle_later(seen.append)
    assert seen == [True]


@pytest.mark.parametrize("failed", [False, True])
def test_the_first_ending_counts(context, failed):
    seen = []
    context.settle_later(seen.append)
    context.end(failed=failed)
    context.end(failed=not failed)
    context.settle_later(seen.append)
    assert seen == [failed, failed]


def test_no_thread_loses_what_another_settles():
    for _ in range(200):
        context, seen = ExecutionContext(CPU.new_stream()), []
        ready = threading.Barrier(3)

        def settle(context=context, seen=seen, ready=ready):
            ready.wait()
            context.settle_later(seen.append)

        threads = [threading.Thread(target=settle) for _ in range(2)]
        for thread in threads:
            thread.start()
        ready.wait()
        context.end(failed=True)
        for thread in threads:
            thread.join()
        assert seen == [True, True]
