"""What a worker process that dies says of its end, told with the test that it died in.

Otherwise it stands somewhere among the dots that all processes print, and not in the summary.
"""

from __future__ import annotations

import faulthandler
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import pytest

GIVEN = "last_words"
"""What workers are told under this name: the file to write to."""
SECONDS_TO_END = 5.0
FRAMES = 12
"""So many lines are told of each thread: behind them stands how tests are run."""

FOLDER = pytest.StashKey[Path]()
FILE = pytest.StashKey[Any]()


@pytest.hookimpl(trylast=True)  # after pytest, which has the same written to its own output
def pytest_configure(config: pytest.Config) -> None:
    """In a worker: have a crash write the stacks of all threads to a file."""
    given = getattr(config, "workerinput", {})
    if GIVEN in given:
        config.stash[FILE] = Path(given[GIVEN]).open("w", encoding="utf-8")  # noqa: SIM115
        faulthandler.enable(config.stash[FILE])


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """In the process that has workers: tell each of them where to write."""
    stash = node.config.stash
    if FOLDER not in stash:
        stash[FOLDER] = Path(tempfile.mkdtemp(prefix="last-words-"))
    node.workerinput[GIVEN] = str(stash[FOLDER] / node.gateway.id)


@pytest.hookimpl(optionalhook=True)
def pytest_handlecrashitem(report: Any) -> None:
    """Add to a failure how its worker ended, and what it wrote."""
    worker = report.node
    written = Path(worker.workerinput[GIVEN])
    words = written.read_text(encoding="utf-8", errors="replace") if written.exists() else ""
    report.longrepr = f"{report.longrepr}: {_ended(worker.gateway)}\n{_shortened(words)}"


def _ended(gateway: Any) -> str:
    try:
        status = gateway._io.popen.wait(SECONDS_TO_END)
    except subprocess.TimeoutExpired:
        return "it still runs"
    return f"ended by {signal.Signals(-status).name}" if status < 0 else f"exit status {status}"


def _shortened(words: str) -> str:
    """The thread that crashed first: what reads the failure may cut its end off."""
    threads = sorted(words.split("\n\n"), key=lambda each: "Current thread" not in each)
    return "\n\n".join("\n".join(each.splitlines()[:FRAMES]) for each in threads)


def pytest_unconfigure(config: pytest.Config) -> None:
    """Leave nothing behind."""
    if FOLDER in config.stash:
        shutil.rmtree(config.stash[FOLDER])
    if FILE in config.stash:
        faulthandler.disable()
        config.stash[FILE].close()
