"""Select the candidate of a kernel that is shipped: by what compiling it says.

The default of the tables is compiled first. If it neither spills nor leaves bandwidth unused, it is
shipped. Otherwise others are compiled in parallel, for about a second, and the model of resources
chooses among all that the assembler has finished. A candidate that fails is a line of
`kernel.explain()`, and an error only if no other works.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextvars import copy_context
from dataclasses import dataclass, replace
from functools import partial
from subprocess import TimeoutExpired
from threading import BoundedSemaphore, Event
from typing import TypeAlias

from ...base.config import current
from ...base.errors import CompileError
from ...base.system import usable_cpus
from ...base.threads import Crew
from ...ir.signature import OutputSpec
from .choices import Choices, requested
from .features import Traits
from .lower.versions import CHOSEN
from .lowered import WORTH_SAYING, Defeat, Job, Lowered, attempt
from .resource_model import (
    PHASES,
    Estimate,
    Report,
    candidates,
    estimate,
    memory_code,
    processor_of,
    rank,
    resources,
)
from .toolchain import Process, Toolchain

PATIENCE = 3.0
"""If the default spills many bytes, the search may take so many times as long as compiling it."""
LARGE = 5000
"""A default of more instructions that spills nothing is shipped: the assembler takes seconds for
each candidate, and so much code is bound by its instructions, which others do not change."""
STEP_SECONDS = 0.05
OVER = "stopped, the time for candidates was over"

Relower: TypeAlias = Callable[[Choices], Lowered]
"""Lower a kernel again, with other choices."""


@dataclass(frozen=True, slots=True)
class CandidateTrial:
    """A candidate: what it was made from, and its code, or why there is none."""

    made: Lowered
    cubin: bytes | None
    seconds: float
    failure: str = ""
    careful: bool = False
    judged: tuple[Report, Estimate] | None = None
    """What is known of its code, and the terms of the model; None without code."""

    @property
    def instructions(self) -> int:
        """The instructions of its code; 0 without code."""
        return 0 if self.judged is None else self.judged[0].code.instructions

    @property
    def is_good(self) -> bool:
        """Whether no other candidate can be much better."""
        return self.judged is not None and self.judged[1].is_good


def trial(made: Lowered, cubin: bytes, seconds: float, *, careful: bool = False) -> CandidateTrial:
    """Return a candidate that has been compiled, judged by the model."""
    traits = Traits(made.func)
    report = Report(
        resources(cubin), memory_code(cubin), bool(traits.products), _blocks_of_launch(made),
        traits.loaded_bytes, traits.stored_bytes, 2 if CHOSEN in made.decisions.lines else 1,
        traits.load_depth,
    )  # fmt: skip
    terms = estimate(report, processor_of(made.target))
    return CandidateTrial(made, cubin, seconds, careful=careful, judged=(report, terms))


@dataclass(frozen=True, slots=True)
class Selection:
    """The candidate that is shipped, and the lines that say why."""

    winner: CandidateTrial
    lines: tuple[str, ...]
    is_default: bool
    seconds: float


def select(made: Lowered, tool: Toolchain, relower: Relower, with_care: Relower) -> Selection:
    """Return the best candidate of a kernel; raise the default's error if none compiles."""
    start = time.perf_counter()
    default, defeat = _default(made, tool, with_care)
    trials = [default]
    seconds = current().selection_seconds
    untried: tuple[str, ...] = ()
    if seconds and not default.careful and not default.is_good:
        limit = None
        spilled = 0 if default.judged is None else default.judged[1].spilled_bytes
        if default.judged is not None:
            # The time of the default says how fast this machine is now.
            limit = seconds + (PATIENCE if spilled >= WORTH_SAYING else 1.0) * default.seconds
        if not spilled and default.instructions > LARGE:
            untried = (f"no other candidate is tried: it has {default.instructions} instructions",)
        else:
            trials += compile_candidates(_others(default), made, tool, relower, limit)
    if all(each.judged is None for each in trials):
        assert defeat is not None, "the default has code, or has failed"
        raise defeat.error()
    found = _best(trials, time.perf_counter() - start)
    return replace(found, lines=(*found.lines, *untried))


def _default(
    made: Lowered, tool: Toolchain, with_care: Relower
) -> tuple[CandidateTrial, Defeat | None]:
    """Assemble the default; what crashes the assembler is lowered once more, with care."""
    start = time.perf_counter()
    found = attempt(job_of(made), tool)
    if not isinstance(found, Defeat):
        return trial(made, found, time.perf_counter() - start), None
    if found.is_crash:
        again = attempt(job_of(with_care(made.decisions.choices)), tool)
        if not isinstance(again, Defeat):
            return trial(made, again, time.perf_counter() - start, careful=True), None
    return CandidateTrial(made, None, time.perf_counter() - start, found.manner), found


def job_of(made: Lowered) -> Job:
    """Return the job of the assembler for a kernel."""
    kernel = made.program.kernels[0]
    return Job(kernel.name, made.target.arch, made.bytecode(), kernel.span)


def _others(default: CandidateTrial) -> list[Choices]:
    """Return the candidates beside the default."""
    made = default.made
    report = None
    if default.judged is not None:
        report, terms = default.judged
        # The launch of a persistent kernel has as many blocks as its occupancy says.
        if report.blocks_of_launch is not None and not terms.spilled_bytes:
            return []
    fixed = requested(made.target.codegen_hints)
    processor = processor_of(made.target)
    return candidates(made.decisions.choices, report, processor, fixed, _forms(made))


def _forms(made: Lowered) -> list[dict[str, bool]]:
    """Return other forms of the accesses than the default has."""
    accesses = made.decisions.accesses.values()
    apart = made.decisions.multiversioned or any(a.whole_first for a in accesses)
    found = [{"whole_first": not apart}] if any(a.view is not None for a in accesses) else []
    if any(a.streamed for a in accesses):
        found.append({"async_loads": False})
    return found


def _blocks_of_launch(made: Lowered) -> int | None:
    """Return the blocks that a launch puts on a multiprocessor, if it has no more of them."""
    specs = made.func.signature.params
    if not any(isinstance(s, OutputSpec) and s.groups is not None for s in specs):
        return None
    return made.decisions.choices.occupancy or 1


def _best(trials: Sequence[CandidateTrial], seconds: float) -> Selection:
    """Return the selection of the best of the trials, at least one of which has code."""
    ranked = [(rank(t.judged[1]), k) for k, t in enumerate(trials) if t.judged is not None]
    _, best = min(ranked)
    return Selection(trials[best], tuple(_table(trials, best)), best == 0, seconds)


def _table(trials: Sequence[CandidateTrial], best: int) -> list[str]:
    """Return the terms of the model for each candidate, a line each."""
    only = trials[0].judged
    if len(trials) == 1 and only is not None:
        return [f"resources: {only[1].text(only[0])}"]
    needed = PHASES * processor_of(trials[0].made.target).needed_bytes / 1024
    lines = [
        (
            f"{len(trials)} candidates, ranked by spilled bytes, then by the bandwidth that they"
            f" can reach ({needed:.0f} KiB of loads in flight per multiprocessor reach all of it):"
        )
    ]
    for k, each in enumerate(trials):
        marks = [w for w, is_so in (("default", k == 0), ("chosen", k == best)) if is_so]
        mark = f" ({', '.join(marks)})" if marks else ""
        terms = each.judged
        said = f"failed: {each.failure}" if terms is None else terms[1].text(terms[0])
        lines.append(f"- {each.made.decisions.choices.text}{mark}: {said}")
    return lines


# -------------------------------------------------------------------------------------------------
# Candidates in parallel: a thread for each waits for its assembler, which is a process.

CORES = usable_cpus()
ROOM = BoundedSemaphore(CORES)
"""For the candidates of all kernels that are compiled at the same time."""


def compile_candidates(
    wanted: Sequence[Choices], default: Lowered, tool: Toolchain, relower: Relower,
    seconds: float | None,
) -> list[CandidateTrial]:  # fmt: skip
    """Lower candidates, and assemble them in parallel, as many at a time as there are cores.

    Return them in order, up to the first good one: those after it are stopped, so that the result
    does not depend on which is finished first. After so many seconds all are stopped. Of those with
    equal programs the first is assembled. No failure raises.
    """
    if not wanted:
        return []
    stop, end = Event(), None if seconds is None else time.monotonic() + seconds
    crew = Crew(min(CORES, len(wanted)), "tilewright-candidates")
    futures: list[Future[CandidateTrial]] = []
    try:
        # One after the other: Python would do no two of them at a time.
        for made in _distinct(wanted, default, relower):
            futures.append(crew.submit(copy_context().run, _assembled, made, tool, stop))
            if any(f.done() and f.result().is_good for f in futures):
                break
            if end is not None and time.monotonic() > end:
                break
        enough = _wait_for_good(futures, end)
    finally:
        stop.set()
        crew.close()
    return [future.result() for future in futures[:enough]]


def _distinct(
    wanted: Sequence[Choices], default: Lowered, relower: Relower
) -> Iterator[Lowered | CandidateTrial]:
    """Yield the candidates that differ from those before them, or why there is none."""
    seen = {default.bytecode()}
    for choices in wanted:
        try:
            made = relower(choices)
            program = made.bytecode()
        except CompileError as error:
            named = replace(default, decisions=replace(default.decisions, choices=choices))
            yield CandidateTrial(named, None, 0.0, str(error))
            continue
        if program not in seen:
            seen.add(program)
            yield made


def _wait_for_good(futures: Sequence[Future[CandidateTrial]], end: float | None) -> int:
    """Wait until a good candidate and all before it are finished; return how many these are."""
    for number, future in enumerate(futures, 1):
        try:
            left = None if end is None else max(end - time.monotonic(), 0.0)
            if future.result(left).is_good:
                return number
        except TimeoutError:
            break
    return len(futures)


def _assembled(made: Lowered | CandidateTrial, tool: Toolchain, stop: Event) -> CandidateTrial:
    """Return one candidate with its code, or why there is none."""
    if isinstance(made, CandidateTrial):
        return made
    with ROOM:
        if stop.is_set():
            return CandidateTrial(made, None, 0.0, OVER)
        start = time.perf_counter()
        try:
            found = attempt(job_of(made), tool, partial(_wait, stop))
        except CompileError as error:
            return CandidateTrial(made, None, time.perf_counter() - start, error.got or str(error))
    seconds = time.perf_counter() - start
    if isinstance(found, Defeat):
        return CandidateTrial(made, None, seconds, OVER if stop.is_set() else found.manner)
    return trial(made, found, seconds)


def _wait(stop: Event, process: Process, limit: float | None) -> bytes:
    """Wait for a process until it ends, its time is over, or it is not wanted any more."""
    end = None if limit is None else time.monotonic() + limit
    while True:
        try:
            return process.communicate(timeout=STEP_SECONDS)[0]
        except TimeoutExpired:
            if stop.is_set() or (end is not None and time.monotonic() > end):
                raise
