"""Select the candidate of a kernel that is shipped: by what compiling it says.

The default of the tables is compiled first. If it neither spills nor leaves bandwidth unused, it is
shipped. Otherwise others are compiled in parallel, for about a second, and the model of resources
chooses among all that the assembler has finished. A candidate that fails is a line of
`kernel.explain()`, and an error only if no other works.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import wait as wait_for
from contextvars import copy_context
from dataclasses import dataclass
from functools import partial
from subprocess import TimeoutExpired
from threading import Event
from typing import TypeAlias

from ...base.config import current
from ...base.errors import CompileError
from ...ir.signature import OutputSpec
from .assembler import Defeat, Job, attempt
from .choices import Choices, requested
from .features import Traits
from .lowered import Lowered
from .processors import Processor, processor_of
from .resource_model import Estimate, Report, candidates, estimate, rank
from .resources import memory_code, resources
from .toolchain import Process, Toolchain

PATIENCE = 3.0
"""If the default spills, the search may take this many times as long as compiling it did."""
STEP_SECONDS = 0.05

Relower: TypeAlias = Callable[[Choices], Lowered]
"""Lower a kernel again, with other choices."""


@dataclass(frozen=True, slots=True)
class Trial:
    """A candidate: what it was made from, and its code, or why there is none."""

    made: Lowered
    cubin: bytes | None
    seconds: float
    failure: str = ""
    careful: bool = False

    def judged(self, processor: Processor) -> tuple[Report, Estimate] | None:
        """Return what is known of its code, and the terms of the model; None without code."""
        if self.cubin is None:
            return None
        traits = Traits(self.made.func)
        report = Report(
            resources(self.cubin), memory_code(self.cubin), bool(traits.products),
            _blocks_of_launch(self.made), traits.loaded_bytes,
        )  # fmt: skip
        return report, estimate(report, processor)


@dataclass(frozen=True, slots=True)
class Selection:
    """The candidate that is shipped, and the lines that say why."""

    winner: Trial
    lines: tuple[str, ...]
    is_default: bool
    seconds: float


def select(made: Lowered, tool: Toolchain, relower: Relower, with_care: Relower) -> Selection:
    """Return the best candidate of a kernel; raises what the default fails with if none works."""
    start = time.perf_counter()
    default, defeat = _default(made, tool, with_care)
    trials = [default]
    processor = processor_of(made.target)
    found = default.judged(processor)
    seconds = current().selection_seconds
    if seconds and not default.careful and (found is None or not found[1].is_good):
        limit = seconds if found is not None else current().tileiras_timeout or float("inf")
        if found is not None and found[1].spilled_bytes:
            limit += PATIENCE * default.seconds
        others = _others(made, found, processor)
        trials += compile_candidates(others, tool, relower, limit)
    try:
        return _best(trials, processor, time.perf_counter() - start)
    except ValueError:
        assert defeat is not None, "the default has code, or has failed"
        raise defeat.error() from None


def _default(made: Lowered, tool: Toolchain, with_care: Relower) -> tuple[Trial, Defeat | None]:
    """Assemble the default; what crashes the assembler is lowered once more, with care."""
    start = time.perf_counter()
    found = attempt(job_of(made), tool)
    if not isinstance(found, Defeat):
        return Trial(made, found, time.perf_counter() - start), None
    if found.is_crash:
        careful = with_care(made.decisions.choices)
        again = attempt(job_of(careful), tool)
        if not isinstance(again, Defeat):
            return Trial(made, again, time.perf_counter() - start, careful=True), None
    return Trial(made, None, time.perf_counter() - start, found.manner), found


def job_of(made: Lowered) -> Job:
    """Return what the assembler is to do for a kernel."""
    kernel = made.program.kernels[0]
    return Job(kernel.name, made.target.arch, made.bytecode(), kernel.span)


def _others(
    made: Lowered, found: tuple[Report, Estimate] | None, processor: Processor
) -> list[Choices]:
    """Return the candidates beside the default."""
    default, fixed = made.decisions.choices, requested(made.target.codegen_hints)
    if found is None:
        return candidates(default, None, processor, frozenset(fixed))
    report, terms = found
    # The launch of a persistent kernel has as many blocks as its occupancy says.
    if report.blocks_of_launch is not None and not terms.spilled_bytes:
        return []
    return candidates(default, report, processor, frozenset(fixed))


def _blocks_of_launch(made: Lowered) -> int | None:
    """Return the blocks that a launch puts on a multiprocessor, if it has no more of them."""
    specs = made.func.signature.params
    if not any(isinstance(s, OutputSpec) and s.groups is not None for s in specs):
        return None
    return made.decisions.choices.occupancy or 1


def _best(trials: Sequence[Trial], processor: Processor, seconds: float) -> Selection:
    """Return the selection of the best trial; ValueError if none has code."""
    judged = [(trial, trial.judged(processor)) for trial in trials]
    ranked = [(rank(found[1]), k) for k, (_, found) in enumerate(judged) if found is not None]
    _, best = min(ranked)
    lines = _table(judged, best, processor)
    return Selection(trials[best], tuple(lines), best == 0, seconds)


def _table(
    judged: Sequence[tuple[Trial, tuple[Report, Estimate] | None]], best: int, processor: Processor
) -> list[str]:
    """Return the terms of the model for each candidate, a line each."""
    if len(judged) == 1 and judged[0][1] is not None:
        report, terms = judged[0][1]
        return [f"resources: {terms.text(report)} of the speed"]
    needed = 2 * processor.needed_bytes / 1024
    allowed = f"{needed:.0f} KiB in flight per multiprocessor allow"
    lines = [f"{len(judged)} candidates, by spilled bytes, then by speed, which {allowed} in full:"]
    for k, (trial, found) in enumerate(judged):
        marks = [w for w, is_so in (("default", k == 0), ("chosen", k == best)) if is_so]
        mark = f" ({', '.join(marks)})" if marks else ""
        said = f"failed: {trial.failure}" if found is None else found[1].text(found[0])
        lines.append(f"- {trial.made.decisions.choices.text}{mark}: {said}")
    return lines


# -------------------------------------------------------------------------------------------------
# Candidates in parallel: a thread for each waits for its assembler, which is a process.


def compile_candidates(
    wanted: Sequence[Choices], tool: Toolchain, relower: Relower, seconds: float
) -> list[Trial]:
    """Lower and assemble candidates in parallel, as many at a time as there are cores.

    What has not been finished after so many seconds is stopped, or not begun. No failure raises.
    """
    if not wanted:
        return []
    stop, workers = Event(), min(_cores(), len(wanted))
    pool = ThreadPoolExecutor(workers, "tilewright-candidates")
    try:
        futures: list[Future[Trial | None]] = [
            pool.submit(copy_context().run, partial(_trial, each, tool, relower, stop))
            for each in wanted
        ]
        wait_for(futures, timeout=None if seconds == float("inf") else seconds)
    finally:
        stop.set()
        pool.shutdown(cancel_futures=False)
    return [trial for future in futures if (trial := future.result()) is not None]


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _trial(choices: Choices, tool: Toolchain, relower: Relower, stop: Event) -> Trial | None:
    """Return one candidate; None if there was no time to begin it."""
    if stop.is_set():
        return None
    start = time.perf_counter()
    made = relower(choices)
    try:
        found = attempt(job_of(made), tool, partial(_wait, stop))
    except CompileError as error:
        return Trial(made, None, time.perf_counter() - start, error.got or str(error))
    if isinstance(found, Defeat):
        why = "stopped, the time for candidates was over" if stop.is_set() else found.manner
        return Trial(made, None, time.perf_counter() - start, why)
    return Trial(made, found, time.perf_counter() - start)


def _wait(stop: Event, process: Process, limit: float | None) -> bytes:
    """Wait for a process until it ends, its time is over, or it is not wanted any more."""
    end = None if limit is None else time.monotonic() + limit
    while True:
        try:
            return process.communicate(timeout=STEP_SECONDS)[0]
        except TimeoutExpired:
            if stop.is_set() or (end is not None and time.monotonic() > end):
                raise
