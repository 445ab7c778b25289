"""Runs programs of the CUDA toolkit: a command and a time in, how it ended out."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from ...base.config import child_environment

MISLEADING = ("CUDA_HOME", "CUDA_PATH")
"""Variables by which these programs would look for their helpers in another toolkit."""
KILL_SECONDS = 5.0

Process: TypeAlias = "subprocess.Popen[bytes]"
Wait: TypeAlias = Callable[[Process, "float | None"], bytes]
"""Waits for a process so many seconds; gives what it wrote."""


@dataclass(frozen=True, slots=True)
class Ended:
    """How a process ended: its exit status, negative for a signal; None if it was stopped."""

    status: int | None
    words: str
    """What it said; of one that was stopped, what became of it."""

    @property
    def manner(self) -> str:
        """How it ended, in words."""
        if self.status is None:
            return self.words
        if self.status < 0:
            return f"it crashed ({_signal(-self.status)})"
        return f"exit status {self.status}"


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _simply(process: Process, limit: float | None) -> bytes:
    return process.communicate(timeout=limit)[0]


def run(
    command: Sequence[str],
    limit: float | None,
    wait: Wait = _simply,
    more: Mapping[str, str] | None = None,
) -> Ended:
    """Run a program to its end, or so many seconds; OSError where it cannot be started.

    `more` is what it finds in its environment besides.
    """
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env={**child_environment(MISLEADING), **(more or {})},
        start_new_session=True,  # it starts processes of its own, which must end with it
    )
    try:
        words = wait(process, limit)
    except subprocess.TimeoutExpired:
        _stop(process)
        return Ended(None, f"stopped after {limit:g} seconds")
    except BaseException:
        _stop(process)
        raise
    return Ended(process.returncode, words.decode(errors="replace"))


def _stop(process: Process) -> None:
    """End a process and all it has started."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        process.kill()
    process.communicate(timeout=KILL_SECONDS)
