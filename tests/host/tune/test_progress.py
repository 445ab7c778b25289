"""The line on the terminal."""

from __future__ import annotations

import io
import sys

from tilewright.tune import progress
from tilewright.tune.progress import Progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_terminal_is_told_and_cleaned(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(progress, "PATIENCE_SECONDS", 0.0)
    with Progress("matmul") as shown:
        shown.show("compiling", 3, 4)
        assert terminal.getvalue().endswith("[##################......] compiling 3/4")
    assert terminal.getvalue().endswith("\r\x1b[K")


def test_nothing_is_said_of_what_is_quick(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with Progress("matmul") as shown:
        shown.show("compiling", 3, 4)
    assert terminal.getvalue() == ""


def test_nothing_is_said_elsewhere(monkeypatch):
    monkeypatch.setattr(progress, "PATIENCE_SECONDS", 0.0)
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    with Progress("matmul") as shown:
        shown.show("compiling", 3, 4)
    assert sys.stderr.getvalue() == ""


def test_a_terminal_that_is_gone_does_no_harm(monkeypatch):
    monkeypatch.setattr(progress, "PATIENCE_SECONDS", 0.0)
    closed = Terminal()
    closed.close()
    for stderr in (None, closed):
        monkeypatch.setattr(sys, "stderr", stderr)
        with Progress("matmul") as shown:
            shown.show("compiling", 3, 4)
