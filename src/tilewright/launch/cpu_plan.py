"""Plain launches on the CPU, which the core runs or enqueues.

One that the caller waits for is over when the core returns. So memory notes its number while it
runs, and only the caller gets its report. Memory notes the number of the others, too; their reports
are delivered when their stream has passed them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..base.dtypes import AnyDType
from ..devices.cpu.record import Record
from ..devices.cpu.run import QUIET as NOTHING_SAID
from ..devices.cpu.run import Launcher, RawReport
from ..devices.native_records import PlanWord
from ..devices.timeline import Timeline
from ..op.outcome import Outcome
from ..tensors.order import regions_of
from ..tensors.pending_work import fail_unlisted
from .arguments import Held
from .launch_plan import LaunchPlan, Places


class CpuPlan(LaunchPlan):
    """Launches of one kernel over one grid on the CPU."""

    __slots__ = ("_idle", "_launcher", "_tell", "is_quiet")

    def __init__(
        self,
        launcher: Launcher,
        places: Places,
        written: int,
        numbers: Sequence[tuple[int, int, AnyDType]],
        tell: Callable[[RawReport], None],
        *,
        quiet: bool,
    ) -> None:
        """Plan launches; `tell` receives what a launch reported, if anything, and may raise.

        `quiet`: no launch reports anything, unless all work is being stopped.
        """
        super().__init__(places, written, numbers)
        self._launcher, self._tell = launcher, tell
        self._idle = launcher.idle
        self.is_quiet = quiet

    def hear(self, record: Record) -> None:
        """Deliver the report of a finished launch, if it reported anything."""
        self._tell_of(self._launcher.report(record))

    def hear_started(
        self, record: Record, held: Held, outcome: Outcome | None, timeline: Timeline, number: int
    ) -> None:
        """Deliver the report of an enqueued launch; this may be called again.

        Its memory was kept until now.
        """
        if outcome is None:  # it reports nothing, but may not be run if all is being stopped
            outcome = Outcome(((held[-1].form.kernel, held[-3].location),))
        try:
            self._tell_of(self._launcher.report_again([record]))
        except Exception as error:
            outcome.settle(error)
            memory, written = regions_of(held), self._words[PlanWord.WRITTEN]
            fail_unlisted(timeline, number, outcome, memory[:written], memory[written:])
        else:
            outcome.settle()

    def _tell_of(self, report: RawReport) -> None:
        if report is not NOTHING_SAID:
            self._tell(report)
