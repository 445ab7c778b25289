"""`tilewright compile`: kernels for CUDA, ahead of time and without a GPU."""

from __future__ import annotations

import time
from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path

from ..backend.tileir.export import header
from ..backend.tileir.lowered import is_cubin
from ..backend.tileir.resource_model import resources
from ..backend.tileir.target import ARCHITECTURES, is_architecture
from ..base.errors import Error
from ..compile.inspect import Made
from ..compile.store import Stats, current_store, stats
from ..ir.artifact import Artifact
from ..launch.exporting import code_of, write
from . import choosing
from .choosing import Chosen, calls, target_of
from .subcommand import FINE, Subcommand, UsageError, aligned, in_bytes, say

COLUMNS = ("KERNEL", "FOR", "SIZE", "REGISTERS", "STACK", "SHARED", "TIME")


def _add_arguments(parser: ArgumentParser) -> None:
    choosing.add_arguments(parser)
    parser.add_argument("--arch", action="extend", default=[], type=_names,
                        help="what to compile for: sm_90, or sm_90,sm_100")  # fmt: skip
    parser.add_argument("-o", "--output", type=Path, metavar="DIR", help="write the code there")
    parser.add_argument("--export", action="store_true",
                        help="write bytecode, a C header and JSON too")  # fmt: skip


def _run(given: Namespace) -> int:
    if given.export and given.output is None:
        raise UsageError("--export writes files: say where, -o DIR")
    archs = _known(given.arch or [target_of(None)])
    wanted = calls(given)
    rows: list[tuple[str, ...]] = [COLUMNS]
    before, written = stats(), _Written(given.output, whole=given.export)
    for arch in archs:
        for call in wanted:
            start = time.perf_counter()
            try:
                made = _make(call, arch, given.output)
            except Error as error:
                call.leave_out(error)
                continue
            if written.add(made, f"_{arch}" if len(archs) > 1 else ""):
                rows.append(_row(made.artifact, time.perf_counter() - start))
    if len(rows) == 1:
        raise UsageError(f"no launch of {given.file} went well")
    for line in aligned(rows):
        say(line)
    if given.output is None:
        _say_where(len(rows) - 1, before)
    return FINE


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _known(archs: Sequence[str]) -> list[str]:
    """Return architectures, each once; raise an error for an unknown one."""
    for arch in archs:
        if not is_architecture(arch):
            near = get_close_matches(arch.lower(), ARCHITECTURES, 1)
            advice = f"did you mean {near[0]}?" if near else f"there are {', '.join(ARCHITECTURES)}"
            raise UsageError(f"{arch!r} is no CUDA architecture; {advice}")
    return list(dict.fromkeys(archs))


def _say_where(count: int, before: Stats) -> None:
    """Print where the code is, if it is anywhere."""
    store, now = current_store(), stats()
    if store is None:
        say("kept nowhere: the cache is off; -o DIR writes files")
        return
    kept = now.puts - before.puts + now.hits - before.hits
    say(f"kept in {store.place}" if kept >= count else f"{count - kept} not kept in {store.place}")


def _make(call: Chosen, arch: str, output: Path | None) -> Made:
    """Compile one kernel; for files, with what they hold besides its code."""
    inspection = call.look(arch)
    return Made(inspection.artifact()) if output is None else inspection.made()


class _Written:
    """The kernels that were compiled, and their files if there are any; those alike are one."""

    def __init__(self, folder: Path | None, *, whole: bool) -> None:
        self._folder, self._whole = folder, whole
        self._found: set[tuple[str, object, str]] = set()
        self._names: Counter[str] = Counter()

    def add(self, made: Made, suffix: str) -> bool:
        """Write the requested files of a kernel under a separate name; False: it exists already."""
        artifact = made.artifact
        stem = f"{artifact.name}{suffix}"
        about = header(artifact, stem) if self._whole else ""
        alike = (stem, artifact.code, about)
        if alike in self._found:
            return False
        self._found.add(alike)
        self._names[stem] += 1
        number = self._names[stem]
        if self._folder is not None:
            self._write(made, self._folder, stem if number == 1 else f"{stem}_{number}")
        return True

    def _write(self, made: Made, folder: Path, name: str) -> None:
        if self._whole:
            write(made, folder, name)
            return
        folder.mkdir(parents=True, exist_ok=True)
        ending, code = code_of(made)
        (folder / f"{name}{ending}").write_bytes(code)


def _row(artifact: Artifact, seconds: float) -> tuple[str, ...]:
    assert isinstance(artifact.code, bytes), "code for CUDA is bytes"
    known = ("PTX", "", "")  # the driver makes code of it, where it is loaded
    if is_cubin(artifact.code):
        needs = resources(artifact.code)
        known = (str(needs.registers), f"{needs.stack_bytes} B", in_bytes(needs.shared_bytes))
    size = in_bytes(len(artifact.code))
    return artifact.name, artifact.target, size, *known, f"{seconds:.2f} s"


SUBCOMMAND = Subcommand(
    "compile",
    "compile kernels for CUDA ahead of time; no GPU is needed",
    _add_arguments,
    _run,
    choosing.WAYS,
)
