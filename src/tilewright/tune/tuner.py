"""Tuning one call: compile all candidates in parallel, drop those that fail or are wrong, race."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from contextvars import copy_context
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from ..base.errors import Error, LaunchError
from ..base.system import usable_cpus
from ..base.threads import Crew
from .choice import Choice
from .clock import Clock, Scrub, clock_for
from .progress import Progress
from .race import Runner, race
from .records import Tried
from .report import first_line
from .sandbox import Results, Sandbox

Failure: TypeAlias = Error | TypeError | ValueError
FAILURES = (Error, TypeError, ValueError)
"""Errors that rule a candidate out. Others are bugs, or interrupts, and end the tuning."""
SHOWN = 8
"""Candidates that the error names if all fail."""


@dataclass(frozen=True, slots=True)
class Options:
    """How candidates are judged."""

    tolerance: float | None = None
    """How far results may be apart, relative to their magnitude; None: as their type says."""
    flush: bool = False
    """Whether the caches of the device are flushed before each launch."""


@dataclass(eq=False)
class Tuning:
    """The tuning of one kernel for one call."""

    kernel: str
    choices: Sequence[Choice]
    sandbox: Sandbox
    options: Options
    dropped: dict[int, str] = field(default_factory=dict[int, str])
    """Why candidates are out, by number."""
    _building: threading.Lock = field(default_factory=threading.Lock)

    def run(self) -> tuple[Choice, tuple[Tried, ...]]:
        """Return the fastest candidate whose results are right, and what became of each."""
        with Progress(self.kernel) as progress:
            self._compile(progress)
            self._check(progress)
            left = [i for i in range(len(self.choices)) if i not in self.dropped]
            if not left:
                self._refuse_all()
            clocks = self._clocks(left)

            def report(done: int, still: int) -> None:
                progress.show("measuring, left", len(left) - still, len(left))

            runners = race(len(left), lambda number: clocks[number].sample(), progress=report)
        return self.choices[left[runners[0].number]], self._tried(left, runners)

    def _compile(self, progress: Progress) -> None:
        """Compile all candidates, several at a time: assemblers are processes, LLVM has no GIL."""
        count, workers = len(self.choices), min(len(self.choices), usable_cpus())
        crew = Crew(workers, "tilewright-tune")
        jobs = [crew.submit(copy_context().run, self._compile_one, i) for i in range(count)]
        jobs.append(crew.submit(copy_context().run, self.sandbox.prepare))
        try:
            for i, job in enumerate(jobs):
                job.result()
                progress.show("compiling", min(i + 1, count), count)
        except BaseException:
            crew.close(wait=False)
            raise
        crew.close()

    def _compile_one(self, number: int) -> None:
        """Compile and load one candidate; its launch is built only for that."""
        try:
            with self._building:  # each borrows the same copies, and ends the borrow before it
                launch = self.sandbox.build(self.choices[number])
        except FAILURES as error:
            self.dropped[number] = first_line(error)
            return
        try:
            launch.compile()
        except FAILURES as error:
            self.dropped[number] = first_line(error)
        finally:
            launch.close()

    def _check(self, progress: Progress) -> None:
        """Run each candidate once; drop those that fail, or differ from the first that does not."""
        expected: Results | None = None
        for i, choice in enumerate(self.choices):
            if i in self.dropped:
                continue
            try:
                self.sandbox.run(choice)
            except FAILURES as error:
                self.dropped[i] = first_line(error)
                continue
            if expected is None:
                expected = self.sandbox.results()
            elif wrong := self.sandbox.disagreement(expected, self.options.tolerance):
                self.dropped[i] = wrong
            progress.show("checking", i + 1, len(self.choices))

    def _clocks(self, left: Sequence[int]) -> list[Clock]:
        self.sandbox.restore()
        scrub = Scrub(self.sandbox.device) if self.options.flush else None
        return [clock_for(self._builder(self.choices[i]), self.sandbox.stream, scrub) for i in left]

    def _builder(self, choice: Choice) -> Callable[[], Any]:
        return lambda: self.sandbox.build(choice)

    def _tried(self, left: Sequence[int], runners: Sequence[Runner]) -> tuple[Tried, ...]:
        timed = [
            Tried(self._text(left[r.number]), r.seconds, len(r.samples), r.left) for r in runners
        ]
        rest = [Tried(self._text(i), None, 0, why) for i, why in sorted(self.dropped.items())]
        return (*timed, *rest)

    def _text(self, number: int) -> str:
        return self.choices[number].config.text

    def _refuse_all(self) -> None:
        listed = [f"{self._text(i)}: {why}" for i, why in sorted(self.dropped.items())]
        more = f"\n    and {len(listed) - SHOWN} more" if len(listed) > SHOWN else ""
        raise LaunchError(
            f"`{self.kernel}` cannot be tuned: none of its {len(self.choices)} configurations works"
            " for these arguments",
            got="\n    ".join(listed[:SHOWN]) + more,
            hint="launch the kernel with one of them to see its whole error",
        )


def tune(
    kernel: str, choices: Sequence[Choice], sandbox: Sandbox, options: Options
) -> tuple[Choice, tuple[Tried, ...], float]:
    """Tune one call: what is chosen, what became of each candidate, and how long it took."""
    begun = time.perf_counter()
    choice, tried = Tuning(kernel, choices, sandbox, options).run()
    return choice, tried, time.perf_counter() - begun
