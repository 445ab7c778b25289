from __future__ import annotations

import sys

import pytest

from op_kit import FailsOnDevice, HandStream
from tilewright.base.errors import LaunchError
from tilewright.op.context import ExecutionContext
from tilewright.op.outcome import Outcome


@pytest.fixture
def unraisable(monkeypatch):
    seen = []
    monkeypatch.setattr(sys, "unraisablehook", seen.append)
    return seen


def test_an_ending_raises_the_error_of_its_work_with_the_chain():
    with pytest.raises(LaunchError, match="check failed") as caught:
        FailsOnDevice().map(str).sync_on(HandStream())
    notes = [note.split(",")[0] for note in caught.value.__notes__]
    assert notes == ["while running `FailsOnDevice`", "while running `FailsOnDevice.map`"]


def test_the_first_error_counts(unraisable):
    with pytest.raises(LaunchError, match="one"):
        FailsOnDevice("one").then(lambda _: FailsOnDevice("two")).sync_on(HandStream())
    assert unraisable == []


def test_an_error_nobody_saw_is_reported_once(unraisable):
    outcome = Outcome((("neg", None),))
    outcome.settle(LaunchError("check failed"))
    del outcome
    (report,) = unraisable
    assert str(report.exc_value) == "check failed"
    assert report.exc_value.__notes__[-1] == "the exception of the op `neg` was never retrieved"


def test_an_error_that_was_seen_is_not_reported(unraisable):
    outcome = Outcome()
    outcome.settle(LaunchError("check failed"))
    with pytest.raises(LaunchError):
        outcome.check()
    del outcome
    assert unraisable == []


def test_work_that_went_well():
    outcome = Outcome()
    outcome.settle()
    outcome.check()
    assert not outcome.failed()


def test_what_an_op_runs_for():
    ctx = ExecutionContext(HandStream())
    op = FailsOnDevice()
    ctx.running = [FailsOnDevice() for _ in range(20)]
    assert len(ctx.trail(op)) == 9
    assert ctx.trail(op)[0] == ("FailsOnDevice", op.built)
