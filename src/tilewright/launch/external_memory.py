"""Launches on memory that another library keeps for a call, in the order of its own stream.

Nobody here knows that memory, so there is nobody to borrow it from, nothing to keep and nothing to
wait for; addresses and numbers go in, and that is all. Where it is known after all, is used twice,
or where the launch reports to the host later, somebody must look closer.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

from .._core import meets_import
from ..devices.cuda.device import CudaDevice
from ..devices.protocol import Stream
from ..op.nesting import THREAD
from ..op.trace import Tracing
from .arguments import Bound
from .operation import Launch
from .protocol import Runnable
from .recent import Recent
from .report import QUIET, deliver

KINDS = 256
"""Kinds of calls that a kernel remembers."""


class ExternalCalls:
    """The calls of one kernel by their kind: all but addresses and numbers."""

    def __init__(self) -> None:
        self._known: Recent[Hashable, ExternalCode] = Recent(KINDS)

    def run(
        self, kind: Hashable, addresses: Sequence[int], numbers: Sequence[Any], stream: Stream
    ) -> bool:
        """Run a call on a stream; on the CPU it is over then. False: it needs a closer look."""
        found = self._known.get(kind)
        if found is None or THREAD.starting is not None or Tracing.active is not None:
            return False
        return found.run(addresses, numbers, stream)

    def learn(self, kind: Hashable, launch: Launch[Any]) -> None:
        """Remember what a launch that has been compiled needs, for calls of the same kind."""
        if not launch.is_lengthy():
            bound, code = launch.made_ready()
            if code.run.lending is not None:
                self._known.keep(kind, ExternalCode(bound, code))


class ExternalCode:
    """Code for calls of one kind."""

    __slots__ = ("_code", "_form", "_spans", "_written")

    def __init__(self, bound: Bound, code: Runnable) -> None:
        self._code, self._form = code, bound.form
        self._spans = [(region.layout.low, region.layout.high) for region in bound.memory]
        self._written = len(bound.outputs)

    def run(self, addresses: Sequence[int], numbers: Sequence[Any], stream: Stream) -> bool:
        """Run one; False: it needs a closer look, and nothing was done."""
        code, lending = self._code, self._code.run.lending
        if lending is None or code.compiled.stale() is not None:
            return False
        given = self._form.accept(numbers)
        code.check(given)
        spans = [(a + low, a + high) for a, (low, high) in zip(addresses, self._spans, strict=True)]
        if _is_met(spans, self._written) or (meets_import(spans) and _still_met(spans, stream)):
            return False
        report = lending(addresses, given, stream)
        if report is not QUIET and (error := deliver(code.kernel, report)) is not None:
            raise error
        return True


def _still_met(spans: Sequence[tuple[int, int]], stream: Stream) -> bool:
    """Whether memory is known here after all that is over was let go of."""
    device = stream.device
    if isinstance(device, CudaDevice):
        device.reclaim()
    return meets_import(spans)


def _is_met(spans: Sequence[tuple[int, int]], written: int) -> bool:
    """Whether memory that is written may be used twice."""
    for i in range(written):
        start, end = spans[i]
        for other_start, other_end in spans[i + 1 :]:
            if other_start < end and start < other_end:
                return True
    return False
