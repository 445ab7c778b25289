"""Plain launches of kernels that report nothing, on CUDA: one native call, and nothing to settle.

Such a launch cannot fail alone, so nobody needs to hear how it ended: memory notes its number, and
its stream says how far it is. Events are made when somebody waits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from .._core import CUDA_EAGER
from ..base.dtypes import AnyDType
from ..devices.cuda.context import Context
from ..devices.cuda.record import Record
from ..devices.cuda.stream import CudaStream
from ..devices.native_records import PlanWord
from ..devices.protocol import AnyUse
from ..op.place import Location, place_of
from ..tensors.order import regions_of, tidy
from ..tensors.pending_work import SUBMISSIONS, notify_submitted
from .arguments import Held
from .launch_plan import LaunchPlan, Places


def label_of(kernel: str, location: Location) -> str:
    """A launch in words, should it turn out to have brought the device down."""
    return f"`{kernel}`, launched at {place_of(location)},"


class CudaPlan(LaunchPlan):
    """Launches of one kernel over one grid on CUDA."""

    __slots__ = ("_label", "_submit", "context")

    runs_here = False

    def __init__(
        self,
        context: Context,
        record: Record,
        places: Places,
        written: int,
        numbers: Sequence[tuple[int, int, AnyDType]],
        label: Callable[[Location], str],
        keep: object = None,
    ) -> None:
        """The record has the parameters that are always the same; the rest is as for all plans."""
        super().__init__(places, written, numbers, (record, keep))
        self.context, self._label = context, label
        self._submit = context.calls.submit_launch
        words = self._words
        words[PlanWord.RECORD] = record.address
        words[PlanWord.SLOTS] = len(record.words) - record.slots
        words[PlanWord.DRIVER] = context.calls.native_driver

    def submit(
        self, held: Held, numbers: Sequence[Any], stream: CudaStream, use: AnyUse, waits: bool
    ) -> bool:
        """Put one on a stream, and wait for it if asked to; False: it needs a closer look.

        `_core` does the same in native code.
        """
        context, timeline, (uses, user, up) = self.context, stream.timeline.address, use
        if not context.is_fine:
            return False
        given = self.packed(numbers) if numbers else b""
        before = stream.point() if waits else None
        try:
            put = self._submit(
                self.given, uses, user, up, held[-2], given, timeline, stream.handle,
                CUDA_EAGER if waits else 0,
            )  # fmt: skip
            if SUBMISSIONS.waiting:
                notify_submitted()
            if put > 0:
                stream.seen(before, put, self, held)
        except BaseException:  # an interrupt: it may be there
            stream.keep(self, held)
            raise
        if put == 0:  # memory may have an account of work that is over
            return tidy(regions_of(held)) and self.submit(held, numbers, stream, use, waits)
        if put < 0:
            self.refuse(held, put)
        return True

    def refuse(self, held: Held, put: int) -> NoReturn:
        """Raise for a launch that the driver did not take: minus why."""
        raise self.context.failure(f"the launch of {self(held)}", -put)

    def __call__(self, held: Held) -> str:
        """A launch in words, for its stream."""
        return self._label(held[-3].location)
