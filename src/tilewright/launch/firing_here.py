"""Plain launches that the caller waits for, on the CPU: one native call builds nothing in Python.

Such a launch is over when that call returns, or is resumed until it is. So memory notes its number
while it runs, and nobody has to hear of it but the caller, who is told what it reported.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..array.order import tidy
from ..base.dtypes import AnyDType
from ..driver.cpu.calling import OFTEN
from ..driver.cpu.firing import QUIET, Fire, firing
from ..driver.cpu.record import Record
from ..driver.cpu.run import QUIET as NOTHING_SAID
from ..driver.cpu.run import Launcher, RawReport
from ..driver.cpu.stream import CpuStream
from ..driver.protocol import AnyUse
from .arguments import Held
from .shots import Places, PlainShot


class CpuShot(PlainShot):
    """Launches of one kernel over one grid on the CPU."""

    __slots__ = ("_fire", "_idle", "_launcher", "_left", "_tell")

    starts = False

    def __init__(
        self,
        launcher: Launcher,
        places: Places,
        written: int,
        numbers: Sequence[tuple[int, int, AnyDType]],
        tell: Callable[[RawReport], None],
    ) -> None:
        """`tell` is told what a launch reported, if it was anything; it may raise."""
        super().__init__(places, written, numbers)
        self._launcher, self._tell = launcher, tell
        self._idle = launcher.idle
        self._fire: Fire | None = None
        self._left = OFTEN

    def fire(
        self, held: Held, numbers: Sequence[Any], stream: CpuStream, use: AnyUse, waits: bool
    ) -> bool:
        """Run one here; False: it needs a closer look.

        `launch.quick` does the same in native code.
        """
        native, launcher = self._fire, self._launcher
        if native is None:
            return self._hasten()
        given = self.packed(numbers) if numbers else b""
        record = launcher.record()
        told = stream.fire(native, record, use, self.given, held[-2], given)
        if told & QUIET:
            launcher.idle.append(record)
            return True
        if told == 0:  # memory may have an account of work that is over
            launcher.idle.append(record)
            return tidy(held[:-3]) and self.fire(held, numbers, stream, use, waits)
        self.hear(record)
        return True

    def hear(self, record: Record) -> None:
        """Tell what a launch that is over reported, if it was anything."""
        report = self._launcher.report(record)
        if report is not NOTHING_SAID:
            self._tell(report)

    def _hasten(self) -> bool:
        """One more takes the usual way; if there are many, native code is worth its making."""
        self._left -= 1
        if self._left <= 0:
            self._fire = firing().fire
        return False
