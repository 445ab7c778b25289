"""One op made of several that run on different devices, each on a stream of its own device."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._core import run_op
from ..base.errors import SchedulingError
from ..devices.protocol import Device
from .ambient import choose_stream
from .context import ExecutionContext
from .core import DeviceOp
from .settling import Settling


class OnDevices(DeviceOp[tuple[Any, ...]]):
    """Runs all its parts, at the same time where they are on different devices.

    The stream that it runs on waits for all of them; the result is the tuple of theirs.
    """

    def __init__(self, name: str, parts: Sequence[DeviceOp[Any]]) -> None:
        self._name, self.made_of = name, tuple(parts)
        for part in parts:
            part.check_standing()
        for part in parts:
            part.claim(name)
        self.effect = any(part.effect for part in parts)
        self.host_data = any(part.host_data for part in parts)
        self.result_count = len(self.made_of)
        homes = [part.home for part in parts]
        self._home = next((home for home in homes if home is not None), None)

    @property
    def name(self) -> str:
        """As it was called."""
        return self._name

    @property
    def home(self) -> Device | None:
        """Where the first part must run."""
        return self._home

    def is_lengthy(self) -> bool:
        """Return whether starting any part is lengthy."""
        return any(part.is_lengthy() for part in self.made_of)

    def execute(self, ctx: ExecutionContext) -> tuple[Any, ...]:
        """Start the parts on other devices first, so that this thread may run those on its own."""
        results: dict[int, Any] = {}
        ours = [n for n, part in enumerate(self.made_of) if part.home in (None, ctx.device)]
        others = [n for n in range(len(self.made_of)) if n not in ours]
        if others and ctx.is_capturing:
            raise SchedulingError(
                f"`{self.name}` cannot be captured: a graph belongs to one device",
                got=f"work on {', '.join(self._names())}",
                hint="capture a graph for each device, on a stream of that device",
            )
        if others and ctx.settling is None:
            ctx.settling = Settling()
        there: dict[Device, ExecutionContext] = {}
        for number in others:
            part = self.made_of[number]
            assert part.home is not None
            if part.home not in there:
                there[part.home] = _elsewhere(ctx, self.name, part.home)
            results[number] = run_op(part, there[part.home])
        for number in ours:
            results[number] = run_op(self.made_of[number], ctx)
        for other in there.values():
            ctx.stream.wait_for(other.stream.record())
        return tuple([results[number] for number in range(len(self.made_of))])

    def _names(self) -> list[str]:
        return [*dict.fromkeys([p.home.name for p in self.made_of if p.home is not None])]


def _elsewhere(ctx: ExecutionContext, name: str, home: Device) -> ExecutionContext:
    """Return the context of work on another device that is a part of work in this one."""
    other = ExecutionContext(choose_stream(name, home))
    other.outcomes, other.settling, other.lent = ctx.outcomes, ctx.settling, ctx.lent
    other.in_flight, other.detached, other.on_loop = ctx.in_flight, ctx.detached, ctx.on_loop
    other.running, other.made, other.ended_at = ctx.running, ctx.made, ctx.ended_at
    return other
