"""Plain launches on CUDA: one native call.

A launch that reports nothing cannot fail alone, so its end needs no observer: memory notes its
number, and its stream shows how far it is. Events are recorded when a thread waits.

A launch that reports has a place in pinned memory for that, from a pool of its plan. Its timeline
lists it until the core has read the report: the next thread that waits for it does, or the stream
once it has passed it (`native/python/cuda_reports.cpp`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from .._core import BlockPool, Reported, set_cuda_launch_classes, set_report_classes
from ..base.cuda_abi import CudaLaunchWord
from ..base.dtypes import AnyDType
from ..devices.cpu.run import RawReport
from ..devices.cuda.context import Context
from ..devices.cuda.record import PinnedReport, Record
from ..devices.cuda.stream import CudaStream
from ..devices.native_records import PlanWord
from ..devices.timeline import Timeline
from ..op.context import ExecutionContext
from ..op.core import DeviceOp
from ..op.outcome import Outcome
from ..op.place import Location, place_of
from ..tensors.borrow import LOCK
from ..tensors.order import regions_of
from ..tensors.pending_work import fail_unlisted
from .arguments import Held
from .launch_plan import LaunchPlan, Places


def label_of(kernel: str, location: Location) -> str:
    """Describe a launch, for the error that names it if it caused the loss of the device."""
    return f"`{kernel}`, launched at {place_of(location)},"


class Reporting:
    """How launches of one kernel report: where, and to whom."""

    __slots__ = ("kernel", "new", "tell")

    def __init__(
        self,
        kernel: str,
        new: Callable[[], PinnedReport],
        tell: Callable[[RawReport], None],
    ) -> None:
        """Handle reports; `tell` receives what a launch reported, if anything, and may raise."""
        self.kernel, self.new, self.tell = kernel, new, tell


class CudaPlan(LaunchPlan):
    """Launches of one kernel over one grid on CUDA."""

    __slots__ = ("_idle", "_label", "_reporting", "context", "pools")

    def __init__(
        self,
        context: Context,
        record: Record,
        places: Places,
        written: int,
        numbers: Sequence[tuple[int, int, AnyDType]],
        label: Callable[[Location], str],
        keep: object = None,
        reporting: Reporting | None = None,
        pools: tuple[BlockPool, BlockPool] | None = None,
    ) -> None:
        """Plan launches over a record that has the constant parameters, as all plans do.

        `reporting`: the last parameter is the address for reports. `pools`: memory of the device,
        and pinned memory, for launches that read host arrays.
        """
        super().__init__(places, written, numbers, (record, keep))
        self.context, self._label, self._reporting = context, label, reporting
        self.pools = pools
        """Where the core takes memory for arrays of the host that launches read; None: they do not.
        """
        self._idle: list[PinnedReport] = []
        """Places to report in that are as good as new."""
        words = self._words
        words[PlanWord.RECORD] = record.address
        words[PlanWord.SLOTS] = len(record.words) - record.slots
        words[PlanWord.DRIVER] = context.calls.native_driver
        if reporting is not None:
            words[PlanWord.REPORT] = len(record.words) - 1

    def refuse(self, held: Held, put: int) -> NoReturn:
        """Raise for a launch that the driver did not take: minus why."""
        raise self.context.failure(f"the launch of {self(held)}", -put)

    def __call__(self, held: Held) -> str:
        """Describe a launch for its stream."""
        return self._label(held[-3].location)

    def new_report(self) -> PinnedReport:
        """Return a place to report in."""
        assert self._reporting is not None
        return self._reporting.new()

    def hear(self, report: PinnedReport) -> None:
        """Deliver the report of a launch that was waited for; raise its error."""
        raw = self._read(report)
        self._recycle(report)
        self._tell(raw)

    def hear_started(self, report: PinnedReport, launch: Reported) -> None:
        """Deliver the report of a launch that its stream has passed; this may be called again.

        Its memory was kept until now.
        """
        error: Exception | None = None
        try:
            self._tell(self._read(report))
        except Exception as raised:
            error = raised.with_traceback(None)  # its frames would keep the launch, and its memory
        outcome: Outcome | None = launch.outcome
        if error is not None and outcome is None:
            launch.outcome = outcome = Outcome(((self._kernel, launch.held[-3].location),))
        if outcome is not None:
            outcome.settle(error)
        memory, written = regions_of(launch.held), self._words[PlanWord.WRITTEN]
        if error is None:
            with LOCK:
                launch.timeline.end(launch.number)
        else:
            assert outcome is not None
            fail_unlisted(
                launch.timeline, launch.number, outcome, memory[:written], memory[written:]
            )
        self._recycle(report)

    @property
    def _kernel(self) -> str:
        assert self._reporting is not None
        return self._reporting.kernel

    def _read(self, report: PinnedReport) -> RawReport | None:
        return report.read() or (RawReport(problem=lost) if (lost := self.context.lost) else None)

    def _tell(self, raw: RawReport | None) -> None:
        if raw is not None:
            assert self._reporting is not None
            self._reporting.tell(raw)

    def _recycle(self, report: PinnedReport) -> None:
        report.clear()
        self._idle.append(report)


def listen(op: DeviceOp[Any], ctx: ExecutionContext, launch: Reported) -> None:
    """Register the outcome of an enqueued launch with the work of the context."""
    outcome = ctx.outcome(op)
    if not ctx.waits:  # who waits hears of all that is due at the end
        outcome.event = ctx.stream.record()
    launch.outcome = outcome


def unfinished(
    plan: CudaPlan, held: Held, stream: CudaStream, others: int, kept: Any, upto: int, answer: int
) -> None:
    """Continue `CudaPlan.submit` after a refused launch, or one that is not over."""
    if answer < 0:
        plan.refuse(held, answer)
    stream.waited((others, kept, upto), answer, plan, held)


set_cuda_launch_classes({
    "CudaPlan": CudaPlan, "Context": Context, "listen": listen, "unfinished": unfinished,
})  # fmt: skip
set_report_classes({
    "CudaPlan": CudaPlan, "Context": Context, "PinnedReport": PinnedReport, "Timeline": Timeline,
    "ERROR_TAKEN": int(CudaLaunchWord.ERROR_TAKEN), "PRINT_USED": int(CudaLaunchWord.PRINT_USED),
})  # fmt: skip
