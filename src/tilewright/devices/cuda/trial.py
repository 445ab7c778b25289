"""Tries code of unknown origin in a separate process, before it is loaded in this one.

A cubin is machine code; tile kernels even contain some for the host's processor, which the driver
runs. No reader can prove such code sound. So the driver loads it elsewhere first, and if that
process dies, this one does not.
"""

from __future__ import annotations

import hashlib
import signal
import subprocess
import sys
import threading
import weakref
from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

from ...base.config import child_environment
from ...base.errors import DriverError
from . import trial_child
from .results import STICKY
from .trial_child import CALLS, REPLY, REQUEST, STARTING

PATIENCE = 120.0
"""Seconds that a process may take, its start included."""
DYING_SECONDS = 10.0
"""How long a process that closed its end may take to be gone."""
MOST_KNOWN = 1024
PYTHON = "python3"
"""Where a program that embeds Python does not say which."""
TRUST = "load it with trusted=True if you know that it is sound"


class Verdict(NamedTuple):
    """Which call of the driver was the last, and the status it gave."""

    call: str
    status: int


class Death(NamedTuple):
    """How a process ended that was to load code."""

    manner: str
    late: bool
    """Whether it was ended because it took too long."""


class Trial:
    """Loads code for one device in another process; one that was used already serves again."""

    def __init__(self, command: Sequence[str], patience: float = PATIENCE) -> None:
        self._command = command
        self._patience = patience
        self._turn = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._known: dict[bytes, Verdict | Death] = {}
        """How code fared, by its hash."""

    def attempt(self, code: bytes) -> Verdict:
        """Load code with all its kernels and return the driver's log; raise if the driver dies."""
        name = hashlib.sha256(code).digest()
        with self._turn:
            found = self._known.get(name)
            if found is None:
                found = self._try(code)
                if len(self._known) >= MOST_KNOWN:
                    self._known.clear()
                self._known[name] = found
        if isinstance(found, Death):
            raise DriverError(
                "this code cannot be loaded on a CUDA device",
                expected="code that the driver can load",
                got=f"{len(code)} bytes; the process that tried them first {found.manner}",
                hint="it is damaged: build it again",
            )
        return found

    def _try(self, code: bytes) -> Verdict | Death:
        was_used = self._process is not None
        found = self._ask(code)
        if isinstance(found, Death) and was_used and not found.late:
            # It may have died of what it did before, or have ended for want of work.
            found = self._ask(code)
        if isinstance(found, Verdict):
            if found.call in STARTING and found.status:
                self._end()
                raise _untried(f"{found.call} gives {found.status} there")
            if found.status in STICKY:
                self._end()
        return found

    def _ask(self, code: bytes) -> Verdict | Death:
        process = self._process or self._start()
        assert process.stdin is not None
        assert process.stdout is not None
        late = threading.Event()
        watchdog = threading.Timer(self._patience, _kill, (process, late))
        watchdog.start()
        try:
            process.stdin.write(REQUEST.pack(len(code)) + code)
            process.stdin.flush()
            reply = process.stdout.read(REPLY.size)
        except OSError:
            reply = b""
        except BaseException:  # an interrupt: its answer would be taken for that of the next
            self._end()
            raise
        finally:
            watchdog.cancel()
        if len(reply) == REPLY.size:
            call, status = REPLY.unpack(reply)
            return Verdict(CALLS[call], status)
        status = self._end(DYING_SECONDS)
        manner = f"took more than {self._patience:g} s" if late.is_set() else _manner(status)
        return Death(manner, late.is_set())

    def _start(self) -> subprocess.Popen[bytes]:
        try:
            process = subprocess.Popen(
                self._command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=child_environment(()),
            )
        except OSError as error:
            raise _untried(str(error)) from None
        self._process = process
        weakref.finalize(self, end, process)
        return process

    def _end(self, patience: float = 0.0) -> int:
        process, self._process = self._process, None
        return end(process, patience) if process is not None else 0


def trial_on(library: str, ordinal: int) -> Trial:
    """Return a trial of code for one device, by the driver in a library."""
    return Trial(
        [sys.executable or PYTHON, "-I", "-S", trial_child.__file__, library, str(ordinal)]
    )


def end(process: subprocess.Popen[bytes], patience: float = 0.0) -> int:
    """End a process, which may be about to; gives its exit status, negative for a signal."""
    assert process.stdin is not None
    assert process.stdout is not None
    with suppress(OSError):  # what was not written yet cannot be
        process.stdin.close()
    process.stdout.close()
    try:
        return process.wait(patience)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()


def _kill(process: subprocess.Popen[bytes], late: threading.Event) -> None:
    late.set()
    process.kill()


def _manner(status: int) -> str:
    if status >= 0:
        return f"ended with status {status}"
    name = signal.Signals(-status).name if -status in set(signal.Signals) else f"signal {-status}"
    return f"died ({name})"


def _untried(why: str) -> DriverError:
    return DriverError(
        "this code cannot be tested in a separate process before it is loaded",
        got=why,
        hint=TRUST,
    )
