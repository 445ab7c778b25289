"""Plain launches on the CPU: one native call builds nothing in Python.

One that the caller waits for is over when that call returns, or is resumed until it is. So memory
notes its number while it runs, and nobody has to hear of it but the caller, who is told what it
reported. Others are put on their stream so if they cannot report anything.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from ..array.flight import fail_unlisted
from ..array.order import tidy
from ..base.dtypes import AnyDType
from ..driver.cpu.calling import OFTEN
from ..driver.cpu.firing import QUIET, Fire, firing
from ..driver.cpu.record import Record
from ..driver.cpu.run import QUIET as NOTHING_SAID
from ..driver.cpu.run import Launcher, RawReport
from ..driver.cpu.stream import CpuStream
from ..driver.lane import Lane
from ..driver.protocol import AnyUse
from ..driver.stub.shots import ShotWord
from ..op.outcome import Outcome
from .arguments import Held
from .shots import Places, PlainShot


class CpuShot(PlainShot):
    """Launches of one kernel over one grid on the CPU."""

    __slots__ = ("_fire", "_idle", "_kernel", "_launcher", "_left", "_tell", "starts")

    runs_here = True

    def __init__(
        self,
        launcher: Launcher,
        places: Places,
        written: int,
        numbers: Sequence[tuple[int, int, AnyDType]],
        tell: Callable[[RawReport], None],
        kernel: str,
        *,
        quiet: bool,
    ) -> None:
        """`tell` is told what a launch reported, if it was anything; it may raise.

        `quiet`: that is never anything, unless all is being stopped.
        """
        super().__init__(places, written, numbers)
        self._launcher, self._tell, self._kernel = launcher, tell, kernel
        self._idle = launcher.idle
        self.starts = quiet
        self._fire: Fire | None = None
        self._left = OFTEN

    def fire(
        self, held: Held, numbers: Sequence[Any], stream: CpuStream, use: AnyUse, waits: bool
    ) -> bool:
        """Run one here, or put it on its stream; False: it needs a closer look.

        `launch.quick` does the first in native code.
        """
        if self._fire is None:
            return self._hasten()
        given = self.packed(numbers) if numbers else b""
        if (self._run if waits else self._put)(held, given, stream, use):
            return True
        # Memory may have an account of work that is over.
        return tidy(held[:-3]) and self.fire(held, numbers, stream, use, waits)

    def _run(self, held: Held, given: bytes, stream: CpuStream, use: AnyUse) -> bool:
        """Run one here, where memory and stream need no closer look."""
        native, record = firing().fire, self._launcher.record()
        told = stream.fire(native, record, use, self.given, held[-2], given)
        if told == 0 or told & QUIET:
            self._idle.append(record)
        else:
            self.hear(record)
        return told != 0

    def _put(self, held: Held, given: bytes, stream: CpuStream, use: AnyUse) -> bool:
        """Put one on its stream, where memory needs no closer look."""
        native, record = firing().start, self._launcher.record()
        passed = partial(self._passed, [record], held, stream.lane)
        begun = stream.begin(native, record, use, self.given, held[-2], given, passed)
        if not begun:
            self._idle.append(record)
        return begun != 0

    def _passed(self, run: list[Record], held: Held, lane: Lane, number: int) -> None:
        """The stream has passed one; its memory was kept until now. May be called again."""
        try:
            self._tell_of(self._launcher.report_again(run))
        except Exception as error:  # all is being stopped: it was not run
            outcome = Outcome(((self._kernel, held[-3].spot),))
            outcome.settle(error)
            memory, written = [each.region for each in held[:-3]], self._words[ShotWord.WRITTEN]
            fail_unlisted(lane, number, outcome, memory[:written], memory[written:])
        lane.passed(number)

    def hear(self, record: Record) -> None:
        """Tell what a launch that is over reported, if it was anything."""
        self._tell_of(self._launcher.report(record))

    def _tell_of(self, report: RawReport) -> None:
        if report is not NOTHING_SAID:
            self._tell(report)

    def _hasten(self) -> bool:
        """One more takes the usual way; if there are many, native code is worth its making."""
        self._left -= 1
        if self._left <= 0:
            self._fire = firing().fire
        return False
