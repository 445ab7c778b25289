"""Plain launches of kernels that report nothing, on CUDA: two native calls, and nothing to settle.

Such a launch cannot fail alone, so nobody needs to hear how it ended: memory notes its number, and
its stream says how far it is. Events are made when somebody waits.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from struct import Struct
from typing import Any

from ..array.borrow import LOCK
from ..array.order import PUTS, begin, tell_put
from ..base.dtypes import AnyDType
from ..driver.cuda.context import Context
from ..driver.cuda.launching import SHOT_WORDS
from ..driver.cuda.record import Record
from ..driver.cuda.stream import FEW_OR_MANY, CudaStream
from ..driver.stub.calls import stub
from ..driver.stub.words import new_words
from ..op.place import Spot
from .arguments import Held
from .scalars import slot_of

Places = ctypes.Array[ctypes.c_int64]


class CudaShot:
    """Launches of one kernel over one grid: addresses and numbers go in."""

    __slots__ = (
        "_context", "_count", "_dtypes", "_fire", "_given", "_kept", "_label", "_pack", "_reserve",
        "_words", "_written",
    )  # fmt: skip

    def __init__(
        self,
        context: Context,
        record: Record,
        places: Places,
        written: int,
        numbers: Sequence[tuple[int, int, AnyDType]],
        label: Callable[[Spot], str],
        keep: object = None,
    ) -> None:
        """`numbers` are a place in the record, which of the launch's numbers, and its type.

        `keep` lives as long as this.
        """
        self._context, self._written, self._label = context, written, label
        self._fire, self._reserve = context.calls.fire, stub().reserve
        self._count = len(places)
        self._dtypes = [(which, dtype) for _, which, dtype in numbers]
        self._pack = Struct(f"{len(numbers)}Q").pack
        given = (ctypes.c_int64 * len(numbers))(*[place for place, _, _ in numbers])
        words = self._words = new_words(SHOT_WORDS)
        words[:] = [
            record.address, len(record.words) - record.slots, len(places),
            ctypes.addressof(places), len(numbers), ctypes.addressof(given),
        ]  # fmt: skip
        self._given = ctypes.addressof(words)
        self._kept = (record, places, given, keep)

    def fire(self, held: Held, numbers: Sequence[Any], stream: CudaStream, waits: bool) -> bool:
        """Put one on a stream, and wait for it if asked to; False: it needs a closer look."""
        context, lane, row = self._context, stream.lane, held[-2]
        if not context.is_fine:
            context.check()
        LOCK.acquire()  # half of what a `with` takes
        try:
            begun = self._reserve(row, self._written, self._count, lane.address, 0)
        finally:
            LOCK.release()
        if begun < 0 and begin(lane, held, self._written) < 0:
            return False
        words = self._packed(numbers) if numbers else b""
        put = self._fire(row, words, self._given, lane.address, stream.handle)
        if PUTS.waiting:
            tell_put()
        if put < 0:
            raise context.failure(f"to launch {self._words_for(held)}", -put)
        if waits:
            stream.drain(self._words_for, held)
        else:
            stream.kept.append((self._words_for, held))
            if len(stream.kept) in FEW_OR_MANY:
                stream.tend()
        return True

    def _words_for(self, held: Held) -> str:
        """A launch in words."""
        return self._label(held[-3].spot)

    def _packed(self, numbers: Sequence[Any]) -> bytes:
        return self._pack(*[slot_of(dtype, numbers[i]) for i, dtype in self._dtypes])
