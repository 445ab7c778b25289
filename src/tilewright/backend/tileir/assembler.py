"""Run tileiras: bytecode in, cubin out; all its failures become one kind of error."""

from __future__ import annotations

import errno
import os
import signal
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from pathlib import Path
from subprocess import TimeoutExpired

from ...base.config import current
from ...base.elf import MAGIC
from ...base.errors import Code, CompileError
from ...base.files import RefusedError, opened, remove, write
from ...base.messages import error_is_terminal, write_error
from ...base.source import Span
from .toolchain import INSTALL, Ended, Process, Toolchain, Wait, architectures, run

# -------------------------------------------------------------------------------------------------
# Bytecode on which the assembler failed, kept for bug reports: one file each, the newest ones.
#
# The files are in a private folder of the directory for temporary files, shared by all processes of
# a user. A kernel that fails again reuses its file.

MOST = 64
"""Files that are kept."""


def keep(kernel: str, bytecode: bytes) -> Path:
    """Keep the bytecode of a kernel; OSError or RefusedError where that cannot be."""
    folder = Path(tempfile.gettempdir(), f"tilewright-{os.geteuid()}")
    name = f"{kernel[:40]}-{sha256(bytecode).hexdigest()[:16]}.tileirbc"
    with opened(folder, create=True) as directory:
        write(directory, name, bytecode)
        with suppress(OSError):  # of two processes at it, the other one removes
            _limit(directory, name)
    return folder / name


def _limit(directory: int, newest: str) -> None:
    """Remove the oldest files, also incomplete ones."""
    with os.scandir(directory) as found:
        others = [(e.stat().st_mtime_ns, e.name) for e in found if e.name != newest]
    for _, name in sorted(others, reverse=True)[MOST - 1 :]:
        remove(directory, name)


# -------------------------------------------------------------------------------------------------
# The run of tileiras: bytecode in, cubin out.

PATIENCE_SECONDS, SLOW_SECONDS = 1.0, 5.0
"""Seconds after which a compilation is reported: on a terminal, and elsewhere."""
MOST_SHOWN = 2000
"""Characters of the assembler's own words in an error."""

REPORT = "report it with the saved bytecode"
HINTS: dict[int | None, str] = {
    3: f"this is a bug in Tilewright: please {REPORT}",
    -signal.SIGKILL: "the system ended it, most often for lack of memory: try smaller tiles, or"
    " fewer compilations at a time",
    None: "try smaller tiles, or give it more time: TILEWRIGHT_TILEIRAS_TIMEOUT=1200",
}
"""Advice by exit status; None for one that was stopped."""
DEFEATS = (5, -signal.SIGSEGV, -signal.SIGABRT, -signal.SIGBUS, -signal.SIGILL, -signal.SIGFPE)
"""Exit statuses of an assembler that failed in its own work."""
FULL = os.strerror(errno.ENOSPC)
ROOM = "make room there, or set TMPDIR to another directory"
OTHERWISE = f"try smaller tiles, or fewer values at once; if that does not help, {REPORT}"


@dataclass(frozen=True, slots=True)
class Job:
    """One kernel to assemble."""

    kernel: str
    arch: str
    bytecode: bytes
    span: Span | None


@dataclass(frozen=True, slots=True)
class Defeat:
    """A failure of the assembler on one kernel, which other code for this kernel may not have."""

    job: Job
    command: list[str]
    ended: Ended

    @property
    def manner(self) -> str:
        """The text of how the assembler ended."""
        return self.ended.manner

    @property
    def is_crash(self) -> bool:
        """Whether it could read the kernel, and crashed or gave up all the same."""
        return self.ended.status in DEFEATS

    def error(self) -> CompileError:
        """Return what to raise; keeps the bytecode."""
        return _failure(self.job, self.command, self.ended)


def assemble(job: Job, tool: Toolchain) -> bytes:
    """Return the cubin of a kernel."""
    made = attempt(job, tool)
    if isinstance(made, Defeat):
        raise made.error()
    return made


def attempt(job: Job, tool: Toolchain, wait: Wait | None = None) -> bytes | Defeat:
    """Return the cubin of a kernel, unless it defeats the assembler, or takes it too long.

    `wait` waits for the process; by default it reports compilations that take long.
    """
    if not tool.is_here:
        raise _elsewhere(job, tool)
    try:
        with tempfile.TemporaryDirectory(prefix="tilewright-") as folder:
            return _assembled(job, tool, folder, wait or partial(_wait, job))
    except OSError as error:
        raise _no_room(job, error) from None


def _assembled(job: Job, tool: Toolchain, folder: str, wait: Wait) -> bytes | Defeat:
    """Return the cubin, made in a folder, which is the assembler's own for its files as well."""
    source, target = Path(folder, "kernel.tileirbc"), Path(folder, "kernel.cubin")
    source.write_bytes(job.bytecode)
    options = ["--lineinfo"] if current().line_info else []
    command = [tool.path, "--gpu-name", job.arch, *options, str(source), "-o", str(target)]
    try:
        ended = run(command, current().tileiras_timeout or None, wait, {"TMPDIR": folder})
    except OSError as error:
        raise _failure(job, command, Ended(None, f"it cannot be started: {error}")) from None
    if ended.status == 0 and target.is_file():
        cubin = target.read_bytes()
        if cubin.startswith(MAGIC):
            return cubin
        raise _failure(job, command, ended, "its output is not a cubin")
    if ended.status == 0:
        raise _failure(job, command, ended, "it has no output")
    if ended.status is not None and ended.status > 0:
        known = architectures(tool.path)
        if known and job.arch not in known:
            raise _too_old(job, tool, known)
    if ended.status is None or ended.status in (*DEFEATS, -signal.SIGKILL):
        return Defeat(job, command, ended)
    raise _failure(job, command, ended)


def _wait(job: Job, process: Process, limit: float | None) -> bytes:
    """Wait for a process; say what it does, once, and on a terminal how long it took."""
    start = time.monotonic()
    terminal = error_is_terminal()
    patience = PATIENCE_SECONDS if terminal else SLOW_SECONDS
    try:
        return process.communicate(timeout=patience if limit is None else min(patience, limit))[0]
    except TimeoutExpired:
        if limit is not None and limit <= patience:
            raise
    what = f"tilewright: compiling `{job.kernel}` for {job.arch}"
    write_error(f"{what} ..." if terminal else f"{what} takes more than {patience:g} s\n")
    try:
        return process.communicate(timeout=None if limit is None else limit - patience)[0]
    finally:
        if terminal:
            write_error(f" {time.monotonic() - start:.1f} s\n")


def _elsewhere(job: Job, tool: Toolchain) -> CompileError:
    return CompileError(
        f"`{job.kernel}` for {job.arch} was not compiled ahead of time and cannot be here",
        expected="its cubin in the cache, or tileiras",
        got=f"a cache without it, and {tool.path}, which only describes tileiras {tool.release}",
        hint=f"compile it where tileiras is and bring that cache, or {INSTALL}",
        span=job.span,
        code=Code.TOOLCHAIN,
    )


def _too_old(job: Job, tool: Toolchain, known: Sequence[str]) -> CompileError:
    return CompileError(
        f"tileiras {tool.release} cannot compile `{job.kernel}`: it does not support {job.arch}",
        expected=", ".join(known),
        got=job.arch,
        hint="pip install --upgrade nvidia-cuda-tileiras",
        span=job.span,
        code=Code.TOOLCHAIN,
    )


def _no_room(job: Job, error: OSError) -> CompileError:
    return CompileError(
        f"`{job.kernel}` cannot be compiled: there is no room for temporary files",
        expected="a directory that can be written, and room in it",
        got=str(error),
        hint=ROOM,
        span=job.span,
        code=Code.TOOLCHAIN,
    )


def _failure(job: Job, command: list[str], ended: Ended, manner: str | None = None) -> CompileError:
    saved = _saved(job)
    shown = " ".join([*command[:-3], saved, *command[-2:-1], "kernel.cubin"])
    words = ended.words.strip() if ended.status is not None else ""
    said = f"; it says: {words[:MOST_SHOWN]}" if words else "; it says nothing"
    advice = ROOM if FULL in words else HINTS.get(ended.status, OTHERWISE)
    return CompileError(
        f"tileiras could not compile `{job.kernel}` for {job.arch}",
        expected="a cubin",
        got=f"{manner or ended.manner}{said}",
        hint=f"{advice}\n  to reproduce it: {shown}",
        span=job.span,
        code=Code.TOOLCHAIN,
    )


def _saved(job: Job) -> str:
    """Return where the bytecode of a failure is kept now; or why it is not, in brackets."""
    try:
        return str(keep(job.kernel, job.bytecode))
    except (OSError, RefusedError) as error:
        return f"(the bytecode could not be saved: {error})"
