"""Runs one workload in this process: every contestant is checked, then all are timed in turns."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from tempfile import TemporaryDirectory

from tilewright.base.config import override
from tilewright.compile import CompileOptions, KernelCache, history
from tilewright.compile.inspect import stage_times
from tilewright.frontend.capture.sources import KernelSource
from tilewright.ir.signature import Signature

from .case import OURS, Array, Case, KernelCall, NotAvailable, Trial, Workload, deviation
from .machine import Neighbours
from .records import Record, figures
from .timing import Effort, interleave

COMPILATIONS = 3


class Wrong(Exception):  # noqa: N818 - says what the answer is
    """An answer that is not within its tolerance."""


@dataclass(slots=True)
class Field:
    """Those who take part, those who cannot, and what is wrong with ours."""

    trials: dict[str, Trial] = field(default_factory=dict[str, Trial])
    absent: dict[str, str] = field(default_factory=dict[str, str])

    @property
    def problem(self) -> str:
        """Why ours does not take part."""
        return self.absent.get(OURS, "")


def contest(
    workload: Workload, threads: str, effort: Effort, notice: Callable[[int], None]
) -> Record:
    """Check and time one workload."""
    case = workload.make()
    first = first_compilation(case.call)
    entered = check(case)
    neighbours = Neighbours()
    runs = {name: trial.run for name, trial in entered.trials.items()}
    timed = interleave(runs, effort, notice) if not entered.problem else {}
    others = neighbours.share()
    times = {name: figures(e.times, e.cores) for name, e in timed.items()}
    return Record(
        workload.name, workload.about, threads, times,
        rate=case.work.rate(times[OURS].minimum) if times else "",
        goals=dict(workload.goals) if threads == "all" else {},
        absent={name: why for name, why in entered.absent.items() if name != OURS},
        problem=entered.problem,
        compile={} if entered.problem else {**first, **compilations(case.call)},
        others=others,
    )  # fmt: skip


def check(case: Case) -> Field:
    """Let everyone run once, and keep those whose answer is right."""
    entered = Field()
    expected = case.expected()
    for name, make in case.contestants.items():
        try:
            entered.trials[name] = qualify(make(), expected, case.tolerance)
        except NotAvailable as reason:
            entered.absent[name] = str(reason)
        except Exception as error:  # whatever it is, the others go on and the report shows it
            entered.absent[name] = f"{type(error).__name__}: {error}".splitlines()[0]
    return entered


def qualify(trial: Trial, expected: Array, tolerance: tuple[float, float]) -> Trial:
    """The trial itself, if its answer is right."""
    error = deviation(trial.read(trial.run()), expected, tolerance)
    if not error <= 1:
        raise Wrong(f"its error is {error:.3g} times what is allowed")
    return trial


def first_compilation(call: KernelCall) -> dict[str, float]:
    """Seconds of the first compilation for these arguments; nothing if there was one before."""
    before, begin = len(history(call.kernel.source)), time.perf_counter()
    call.kernel.compile(*call.arguments(), **call.constants)
    seconds = time.perf_counter() - begin
    return {"first": seconds} if len(history(call.kernel.source)) > before else {}


def compilations(call: KernelCall) -> dict[str, float]:
    """Seconds of each stage of a compilation, and of one that finds its code on disk: the least."""
    source = call.kernel.source
    signature = call.kernel.compile(*call.arguments(), **call.constants).signature
    runs = [stage_times(source, signature, "cpu") for _ in range(COMPILATIONS)]
    found = {name: min(run[name] for run in runs) for name in runs[0]}
    return {**found, "hit": disk_hit(source, signature)}


def disk_hit(source: KernelSource, signature: Signature) -> float:
    """Seconds that a process needs for a kernel which another one has compiled before."""
    times: list[float] = []
    with TemporaryDirectory() as folder, override(cache_dir=folder):
        for _ in range(1 + COMPILATIONS):  # the first one fills the directory
            begin = time.perf_counter()
            KernelCache().get(source, signature, "cpu", CompileOptions())
            times.append(time.perf_counter() - begin)
    return min(times[1:])
