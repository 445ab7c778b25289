"""Runs tileiras: bytecode in, cubin out, and every way it can fail as one kind of error."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ...base.config import child_environment, current
from ...base.elf import MAGIC
from ...base.errors import Code, CompileError
from ...base.source import Span
from .toolchain import INSTALL, MISLEADING, Toolchain, architectures

PATIENCE_SECONDS = 1.0
"""After this a terminal is told what takes so long."""
KILL_SECONDS = 5.0
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
OTHERWISE = f"try smaller tiles, or fewer values at once; if that does not help, {REPORT}"


@dataclass(frozen=True, slots=True)
class Job:
    """One kernel to assemble."""

    kernel: str
    arch: str
    bytecode: bytes
    span: Span | None


@dataclass(frozen=True, slots=True)
class Ended:
    """How a process ended: its exit status, negative for a signal; None if it was stopped."""

    status: int | None
    words: str


def assemble(job: Job, tool: Toolchain) -> bytes:
    """The cubin of a kernel."""
    if not tool.is_here:
        raise _elsewhere(job, tool)
    with tempfile.TemporaryDirectory(prefix="tilewright-") as folder:
        source, target = Path(folder, "kernel.tileirbc"), Path(folder, "kernel.cubin")
        source.write_bytes(job.bytecode)
        options = ["--lineinfo"] if current().line_info else []
        command = [tool.path, "--gpu-name", job.arch, *options, str(source), "-o", str(target)]
        ended = _run(job, command)
        if ended.status == 0 and target.is_file():
            cubin = target.read_bytes()
            if cubin.startswith(MAGIC):
                return cubin
            raise _failure(job, command, ended, "what it wrote is not a cubin")
    if ended.status == 0:
        raise _failure(job, command, ended, "it wrote nothing")
    if ended.status is not None and ended.status > 0:
        known = architectures(tool.path)
        if known and job.arch not in known:
            raise _too_old(job, tool, known)
    raise _failure(job, command, ended, _manner(ended))


def _run(job: Job, command: list[str]) -> Ended:
    limit = current().tileiras_timeout or None
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=child_environment(MISLEADING),
            start_new_session=True,  # it starts processes of its own, which must end with it
        )
    except OSError as error:
        raise _failure(job, command, Ended(None, ""), f"it cannot be started: {error}") from None
    try:
        words = _wait(job, process, limit)
    except subprocess.TimeoutExpired:
        _stop(process)
        return Ended(None, f"stopped after {limit} seconds")
    except BaseException:
        _stop(process)
        raise
    return Ended(process.returncode, words.decode(errors="replace"))


def _wait(job: Job, process: subprocess.Popen[bytes], limit: float | None) -> bytes:
    """Wait for a process; say what it is, once, where somebody is watching."""
    start = time.monotonic()
    try:
        return process.communicate(timeout=min(PATIENCE_SECONDS, limit or PATIENCE_SECONDS))[0]
    except subprocess.TimeoutExpired:
        if limit is not None and limit <= PATIENCE_SECONDS:
            raise
    say = _teller()
    say(f"tilewright: compiling `{job.kernel}` for {job.arch} ...")
    try:
        return process.communicate(timeout=None if limit is None else limit - PATIENCE_SECONDS)[0]
    finally:
        say(f" {time.monotonic() - start:.1f} s\n")


def _teller() -> Callable[[str], None]:
    """Writes to the terminal, if there is one."""
    terminal = sys.stderr
    if terminal is None or not terminal.isatty():
        return lambda text: None

    def say(text: str) -> None:
        terminal.write(text)
        terminal.flush()

    return say


def _stop(process: subprocess.Popen[bytes]) -> None:
    """End a process and all it has started."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        process.kill()
    process.communicate(timeout=KILL_SECONDS)


def _manner(ended: Ended) -> str:
    if ended.status is None:
        return ended.words
    if ended.status < 0:
        try:
            name = signal.Signals(-ended.status).name
        except ValueError:
            name = f"signal {-ended.status}"
        return f"it crashed ({name})"
    return f"exit status {ended.status}"


def _elsewhere(job: Job, tool: Toolchain) -> CompileError:
    return CompileError(
        f"`{job.kernel}` for {job.arch} was not compiled ahead of time, and cannot be here",
        expected="its cubin in the cache, or tileiras",
        got=f"a cache without it, and {tool.path}, which only describes tileiras {tool.release}",
        hint=f"compile it where tileiras is and bring that cache, or {INSTALL}",
        span=job.span,
        code=Code.TOOLCHAIN,
    )


def _too_old(job: Job, tool: Toolchain, known: Sequence[str]) -> CompileError:
    return CompileError(
        f"tileiras {tool.release} cannot make `{job.kernel}`: it does not know {job.arch}",
        expected=", ".join(known),
        got=job.arch,
        hint="pip install --upgrade nvidia-cuda-tileiras",
        span=job.span,
        code=Code.TOOLCHAIN,
    )


def _failure(job: Job, command: list[str], ended: Ended, manner: str) -> CompileError:
    saved = _saved(job)
    shown = " ".join([*command[:-3], saved, *command[-2:-1], "kernel.cubin"])
    words = ended.words.strip() if ended.status is not None else ""
    said = f"; it says: {words[:MOST_SHOWN]}" if words else "; it says nothing"
    advice = HINTS.get(ended.status, OTHERWISE)
    return CompileError(
        f"tileiras could not make `{job.kernel}` for {job.arch}",
        expected="a cubin",
        got=f"{manner}{said}",
        hint=f"{advice}\n  to see it again: {shown}",
        span=job.span,
        code=Code.TOOLCHAIN,
    )


def _saved(job: Job) -> str:
    """Keep the bytecode of a failure, readable by its user alone."""
    try:
        handle, path = tempfile.mkstemp(prefix=f"tilewright-{job.kernel[:40]}-", suffix=".tileirbc")
        with os.fdopen(handle, "wb") as file:
            file.write(job.bytecode)
    except OSError as error:
        return f"(the bytecode could not be saved: {error})"
    return path
