"""`tilewright compile`: kernels for CUDA, ahead of time and without a GPU."""

from __future__ import annotations

import time
from argparse import ArgumentParser, Namespace
from collections import Counter
from pathlib import Path

from ..backend.tileir.cubin import is_cubin, resources
from ..compile.store import current_store
from ..ir.artifact import Artifact
from ..launch.exporting import CUBIN, write
from . import choosing
from .choosing import Chosen, calls, target_of
from .subcommand import FINE, Subcommand, UsageError, aligned, in_bytes, say

COLUMNS = ("KERNEL", "FOR", "SIZE", "REGISTERS", "STACK", "SHARED", "TIME")


def _add_arguments(parser: ArgumentParser) -> None:
    choosing.add_arguments(parser)
    parser.add_argument("--arch", action="append", default=[],
                        help="what to compile for, such as sm_90; may be given again")  # fmt: skip
    parser.add_argument("-o", "--output", type=Path, metavar="DIR", help="write the cubins there")
    parser.add_argument("--export", action="store_true",
                        help="write bytecode, a C header and JSON too")  # fmt: skip


def _run(given: Namespace) -> int:
    if given.export and given.output is None:
        raise UsageError("--export writes files: say where, -o DIR")
    archs = given.arch or [target_of(None)]
    wanted = calls(given)
    rows: list[tuple[str, ...]] = [COLUMNS]
    names: Counter[str] = Counter()
    for arch in archs:
        for call in wanted:
            start = time.perf_counter()
            artifact = _compile(call, arch, given, names)
            rows.append(_row(artifact, time.perf_counter() - start))
    for line in aligned(rows):
        say(line)
    if given.output is None and (store := current_store()) is not None:
        say(f"kept in {store.root}")
    return FINE


def _compile(call: Chosen, arch: str, given: Namespace, names: Counter[str]) -> Artifact:
    """Compile one kernel, and write what is wanted of it under a name of its own."""
    inspection = call.look(arch)
    if given.output is None:
        return inspection.artifact()
    made = inspection.made()
    stem = made.artifact.name if len(given.arch) < 2 else f"{made.artifact.name}_{arch}"
    names[stem] += 1
    name = stem if names[stem] == 1 else f"{stem}_{names[stem]}"
    if given.export:
        write(made, given.output, name)
    else:
        given.output.mkdir(parents=True, exist_ok=True)
        assert isinstance(made.artifact.code, bytes), "code for CUDA is bytes"
        (given.output / f"{name}{CUBIN}").write_bytes(made.artifact.code)
    return made.artifact


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
