from __future__ import annotations

import sys
import threading

from op_kit import WATCHDOG, in_threads
from tilewright.op.signals import Signal


def test_everybody_is_called_once():
    signal, seen = Signal(), []
    signal.call(lambda: seen.append("early"))
    assert not signal.done()
    signal.set()
    signal.set()
    signal.call(lambda: seen.append("late"))
    assert seen == ["early", "late"]
    assert signal.done()


def test_waiting():
    signal = Signal()
    assert not signal.wait(0)
    threading.Timer(0.01, signal.set).start()
    assert in_threads(lambda: signal.wait(WATCHDOG)) == [True] * 16


def test_a_call_that_fails_keeps_nobody_from_going_on(monkeypatch):
    reports, seen, signal = [], [], Signal()
    monkeypatch.setattr(sys, "unraisablehook", reports.append)
    signal.call(lambda: 1 / 0)
    signal.call(lambda: seen.append(True))
    signal.set()
    assert seen == [True]
    assert [report.exc_type for report in reports] == [ZeroDivisionError]
