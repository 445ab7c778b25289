"""Launches on memory that another library keeps for a call, in the order of its own stream.

That memory is unknown here, so there is no borrow, nothing to keep and nothing to wait for;
addresses and numbers go in, and that is all. Memory that is known after all, or used twice, takes
the slow path, and so does a launch that reports to the host later.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from struct import pack
from typing import Any

from .._core import are_apart
from ..devices.cuda.device import CudaDevice
from ..devices.protocol import Stream
from ..op.nesting import THREAD
from ..op.trace import Tracing
from .arguments import Bound
from .code import Lending
from .operation import Launch
from .protocol import Runnable
from .recent import Recent

KINDS = 256
"""Kinds of calls that a kernel remembers."""


class ExternalCalls:
    """The calls of one kernel by their kind: all but addresses and numbers."""

    def __init__(self) -> None:
        self._known: Recent[Hashable, ExternalCode] = Recent(KINDS)

    def run(
        self, kind: Hashable, addresses: list[int], numbers: Sequence[Any], stream: Stream
    ) -> bool:
        """Run a call on a stream; on the CPU it is over then. False: it needs the slow path."""
        found = self._known.get(kind)
        if found is None or THREAD.starting is not None or Tracing.active is not None:
            return False
        return found.run(addresses, numbers, stream)

    def learn(self, kind: Hashable, launch: Launch[Any]) -> None:
        """Remember what a launch that has been compiled needs, for calls of the same kind."""
        if not launch.is_lengthy():
            bound, code = launch.made_ready()
            if (lending := code.run.lending) is not None:
                self._known.keep(kind, ExternalCode(bound, code, lending))


class ExternalCode:
    """Code for calls of one kind."""

    __slots__ = ("_code", "_extents", "_form", "_lending", "_written")

    def __init__(self, bound: Bound, code: Runnable, lending: Lending) -> None:
        self._code, self._form, self._lending = code, bound.form, lending
        layouts = [region.layout for region in bound.memory]
        self._extents = b"".join([pack("qq", layout.low, layout.high) for layout in layouts])
        """The bytes before each address that are used, and behind it."""
        self._written = len(bound.outputs)

    def run(self, addresses: list[int], numbers: Sequence[Any], stream: Stream) -> bool:
        """Run one; False: it needs the slow path, and nothing was done."""
        code = self._code
        if code.compiled.stale() is not None:
            return False
        given = tuple(self._form.accept(numbers)) if numbers else ()
        code.check(given)
        if not (self._are_apart(addresses) or self._are_apart_at_last(addresses, stream)):
            return False
        return self._lending(addresses, given, stream)

    def _are_apart(self, addresses: list[int]) -> bool:
        """Return whether written memory is used once and all memory is unknown here."""
        return are_apart(addresses, self._extents, self._written)

    def _are_apart_at_last(self, addresses: list[int], stream: Stream) -> bool:
        """Do the same after releasing all finished work."""
        device = stream.device
        if not isinstance(device, CudaDevice):
            return False
        device.reclaim()
        return self._are_apart(addresses)
