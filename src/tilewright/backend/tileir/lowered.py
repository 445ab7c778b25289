"""Bytecode to cubin: run tileiras, read the result, keep cubins in the disk cache."""

from __future__ import annotations

import errno
import os
import signal
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from pathlib import Path
from subprocess import TimeoutExpired
from typing import TypeAlias, TypeGuard, cast

from ...base.config import current
from ...base.cubin import architecture
from ...base.elf import MAGIC
from ...base.errors import Code, CompileError
from ...base.files import RefusedError, opened, remove, write
from ...base.messages import error_is_terminal, write_error
from ...base.source import Span
from ...base.stage import ArtifactCodec, Facts, Saved
from ...ir.artifact import Artifact, sites_of
from ...ir.core import Func
from .bytecode.enums import version_text
from .bytecode.program import Program
from .bytecode.writer import TooOldError
from .bytecode.writer import write as write_bytecode
from .choices import Choices, requested
from .heuristics import Decisions
from .resource_model import resources
from .target import TileTarget, symbol
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
        """Return the error to raise, and keep the bytecode."""
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
    """Return the cubin, made in a separate folder that also holds the assembler's own files."""
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
    """Wait for a process; report a slow one once, and on a terminal its seconds."""
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
    """Return the file that keeps the bytecode of a failure or, in brackets, why there is none."""
    try:
        return str(keep(job.kernel, job.bytecode))
    except (OSError, RefusedError) as error:
        return f"(the bytecode could not be saved: {error})"


# -------------------------------------------------------------------------------------------------
# A kernel between typed IR and cubin: its function, the decisions, and its Tile IR program.


@dataclass(frozen=True, slots=True)
class Lowered:
    """A function, the decisions about it, and the Tile IR program made from both."""

    func: Func
    target: TileTarget
    decisions: Decisions
    program: Program

    def bytecode(self, *, places: bool = True) -> bytes:
        """Return the program as bytes, with the lines of Python it comes from."""
        try:
            return write_bytecode(self.program, self.target.version, places=places)
        except TooOldError as error:
            raise CompileError(
                f"{error.what} needs a newer tileiras",
                expected=f"one that reads Tile IR {version_text(error.since)}",
                got=f"one that reads Tile IR up to {version_text(self.target.version)}",
                hint="pip install --upgrade nvidia-cuda-tileiras",
                span=self.program.kernels[0].span,
                code=Code.TARGET,
            ) from None


def is_cubin(code: object) -> TypeGuard[bytes]:
    """Return whether code is a cubin; that of SIMT kernels is PTX."""
    return isinstance(code, bytes) and code.startswith(MAGIC)


# -------------------------------------------------------------------------------------------------
# The disk-cache encoding of cubins: their dependencies, the saved bytes, the restoration.
#
# The bytecode determines a kernel. Nothing else of this compiler, of Python or of the machine is
# part of the name, so that kernels compiled elsewhere are found here.

WORTH_SAYING = 64
"""Bytes of stack per thread from which on a kernel is said to spill."""

MODEL = 4
"""Counts up when the model or the generator of candidates may select another one."""

Again: TypeAlias = Callable[["Lowered", Choices], "Lowered"]
"""Lower a kernel once more, by other choices."""

CAREFUL = "branches use the alternative lowering: the assembler failed on the default one"


def codec_for(tool: Toolchain, again: Again) -> ArtifactCodec:
    """Return the disk-cache codec of one assembler's cubins; `again` lowers by other choices."""
    return ArtifactCodec(
        facts=lambda made: facts(made, tool),
        save=save,
        restore=lambda made, saved: restore(made, saved, again),
    )


def artifact(
    made: Lowered,
    cubin: bytes,
    *,
    careful: bool = False,
    seconds: float | None = None,
    selected: Choices | None = None,
    candidates: Sequence[str] = (),
) -> Artifact:
    """Return the artifact of a kernel, from its cubin; `careful` if its assembler needed that.

    `seconds` is how long the assembler took, for all `candidates`, which are lines about them;
    `selected` are choices other than the default ones.
    """
    func = made.func
    hints = made.decisions.hints.get(made.target.arch, {})
    return Artifact(
        name=symbol(func.name),
        target=made.target.arch,
        signature=func.signature,
        code=cubin,
        launch_checks=func.launch_checks,
        sites=sites_of(func),
        occupancy=int(hints.get("occupancy", 1)),
        cluster=int(hints.get("num_cta_in_cga", 1)),
        turned=made.decisions.turned,
        decisions=(
            *made.decisions.lines,
            *([CAREFUL] if careful else []),
            *candidates,
            *_needs(cubin),
        ),
        choices=() if selected is None else tuple(selected.given.items()),
        candidates=tuple(candidates),
        seconds=None if seconds is None else round(seconds, 1),
    )


def _needs(cubin: bytes) -> Iterator[str]:
    """Yield the size of a kernel's code and its resources; a few spilled bytes are not reported."""
    found = resources(cubin)
    yield (
        f"machine code: {found.code_bytes / 1024:.1f} KiB, {found.registers} registers and"
        f" {found.stack_bytes} bytes of stack per thread, {found.shared_bytes} bytes of shared"
        " memory"
    )
    if found.stack_bytes >= WORTH_SAYING:
        yield f"each thread spills {found.stack_bytes} bytes: use smaller tiles, or more warps"


def facts(made: Lowered, tool: Toolchain) -> Facts:
    """Return everything that can change the cubin. Places in the source do where it names them."""
    with_lines, seconds = current().line_info, current().selection_seconds
    asked = requested(made.target.codegen_hints)
    return {
        "made": "cubin",
        "kernel": made.func.name,
        "arch": made.target.arch,
        "version": version_text(made.target.version),
        "bytecode": sha256(made.bytecode(places=with_lines)).hexdigest(),
        "lines": int(with_lines),
        # What the search may vary: a hint that equals the default is in no other way seen.
        "selection": f"model {MODEL}, {seconds:g} s, fixed: {asked}" if seconds else None,
        "tileiras": tool.fingerprint,
    }


def save(made: Lowered, kept: Artifact) -> Saved:
    """Return the cubin; all else follows from the kernel at hand."""
    assert isinstance(kept.code, bytes)
    more: dict[str, object] = {"careful": 1} if CAREFUL in kept.decisions else {}
    if kept.choices:
        more["choices"] = dict(kept.choices)
    if kept.candidates:
        more["candidates"] = list(kept.candidates)
    if kept.seconds is not None:
        more["tenths"] = round(10 * kept.seconds)
    return Saved({"symbol": kept.name, "arch": kept.target, **more}, kept.code)


def restore(made: Lowered, saved: Saved, again: Again) -> Artifact:
    """Return the artifact of a kernel from the saved one of an equal kernel, or raise."""
    if saved.metadata.get("symbol") != symbol(made.func.name):
        raise ValueError("not the code of this kernel")
    if saved.metadata.get("arch") != made.target.arch or (
        architecture(saved.code) != made.target.arch
    ):
        raise ValueError("for another architecture")
    tenths = saved.metadata.get("tenths")
    seconds = tenths / 10 if isinstance(tenths, int) else None
    careful = bool(saved.metadata.get("careful"))
    selected = _choices(saved.metadata.get("choices"))
    winner = made if selected is None else again(made, selected)
    lines = _lines(saved.metadata.get("candidates", []))
    return artifact(
        winner, saved.code, careful=careful, seconds=seconds, selected=selected, candidates=lines
    )


def _choices(found: object) -> Choices | None:
    if found is None:
        return None
    if not isinstance(found, dict):
        raise ValueError("not choices")
    return Choices.of_mapping(cast("dict[str, object]", found))


def _lines(found: object) -> list[str]:
    lines = cast("list[object]", found) if isinstance(found, list) else [None]
    if not all(isinstance(line, str) for line in lines):
        raise ValueError("not lines")
    return cast("list[str]", lines)
