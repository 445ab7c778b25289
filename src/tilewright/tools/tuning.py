"""`tilewright tune`: choose configurations of tuned kernels beforehand, and show what was tried."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from contextlib import ExitStack, redirect_stdout
from pathlib import Path

from ..base.config import override
from ..op.ambient import device
from ..tune import Report, TunedKernel, export, import_
from ..tune.records import afresh
from ..tune.report import watching
from .loading import load_file
from .run import run_program
from .subcommand import FINE, Subcommand, UsageError, say

MORE = """\
which calls are tuned:
  kernel.declare(...)    in the file, with tw.meta(...) for tensors, which get random numbers
  else                   those of the file's program, which is run"""


def _add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("file", type=Path, help="a Python file with kernels under tw.autotune")
    parser.add_argument("--kernel", metavar="NAME", help="one kernel; else all")
    parser.add_argument("--device", help="where it is measured, as TILEWRIGHT_DEVICE")
    parser.add_argument("--again", action="store_true", help="measure also what has a record")
    parser.add_argument("--import", type=Path, metavar="PATH", dest="imported",
                        help="use the records of a file, and keep them here")  # fmt: skip
    parser.add_argument("--export", type=Path, metavar="PATH",
                        help="write the records of these kernels into a file")  # fmt: skip
    parser.add_argument("--plot", type=Path, metavar="FOLDER",
                        help="draw the times of each choice there")  # fmt: skip


def _run(given: Namespace) -> int:
    reports: list[Report] = []
    with ExitStack() as settings:
        settings.enter_context(override(autotune="full"))
        if given.device:
            settings.enter_context(device(given.device))
        if given.imported is not None:
            import_(given.imported, keep=True)
        if given.again:
            settings.enter_context(afresh())
        settings.enter_context(watching(reports.append))
        _tune(given.file, given.kernel)
    shown = [report for report in reports if given.kernel in (None, report.kernel)]
    if not shown:
        which = f"`{given.kernel}`" if given.kernel else "any kernel under tw.autotune"
        raise UsageError(f"{given.file} does not launch {which}, nor declare how")
    say("\n\n".join(map(str, shown)))
    _keep(given, shown)
    return FINE


def _tune(path: Path, name: str | None) -> None:
    """Tune what a file declares, else what its program launches."""
    kernels = {n: k for n, k in tuned_of(path).items() if name in (None, n)}
    declared = [kernel for kernel in kernels.values() if kernel.declared]
    for kernel in declared:
        kernel.tune_declared()
    if not declared:
        with redirect_stdout(sys.stderr):  # what the program prints is not the command's answer
            status = run_program(path, ())
        if status:
            raise UsageError(f"{path} ended with status {status}")


def tuned_of(path: Path) -> Mapping[str, TunedKernel]:
    """Return the tuned kernels of a file, by name."""
    found = vars(load_file(path)).values()
    return {kernel.__name__: kernel for kernel in found if isinstance(kernel, TunedKernel)}


def _keep(given: Namespace, reports: list[Report]) -> None:
    if given.export is not None:
        count = export(given.export, kernels=sorted({report.kernel for report in reports}))
        say(f"\n{given.export}: {count} record{'s' * (count != 1)}")
    if given.plot is not None:
        given.plot.mkdir(parents=True, exist_ok=True)
        for number, report in enumerate(reports):
            report.plot(given.plot / f"{report.kernel}_{number}.png")


SUBCOMMAND = Subcommand(
    "tune",
    "choose configurations of kernels under tw.autotune, and show what was tried",
    _add_arguments,
    _run,
    MORE,
)
