"""Plain launches of kernels that report nothing, on CUDA: one native call, and nothing to settle.

Such a launch cannot fail alone, so nobody needs to hear how it ended: memory notes its number, and
its stream says how far it is. Events are made when somebody waits.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from struct import Struct
from typing import Any

from ..array.borrow import borrow_words
from ..array.order import PUTS, tell_put, tidy
from ..base.dtypes import AnyDType
from ..driver.cuda.context import Context
from ..driver.cuda.launching import SHOT_WORDS, ShotWord
from ..driver.cuda.record import Record
from ..driver.cuda.stream import FEW_OR_MANY, CudaStream
from ..driver.cuda.waiting import EAGER
from ..driver.protocol import FirstUse
from ..driver.stub.words import Words, new_words
from ..frontend.interpret import Captured
from ..op.place import Spot
from .arguments import Held
from .scalars import slot_of

Places = ctypes.Array[ctypes.c_int64]


class CudaShot:
    """Launches of one kernel over one grid: addresses and numbers go in."""

    __slots__ = (
        "_context", "_dtypes", "_fire", "_given", "_kept", "_label", "_pack", "_watches",
        "_words",
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
        self._context, self._label = context, label
        self._fire = context.calls.fire
        self._dtypes = [(which, dtype) for _, which, dtype in numbers]
        self._pack = Struct(f"{len(numbers)}Q").pack
        given = (ctypes.c_int64 * len(numbers))(*[place for place, _, _ in numbers])
        words = self._words = new_words(SHOT_WORDS)
        words[:] = [
            record.address, len(record.words) - record.slots, len(places),
            ctypes.addressof(places), len(numbers), ctypes.addressof(given), written,
            ctypes.addressof(borrow_words()), 0, 0,
        ]  # fmt: skip
        self._given = ctypes.addressof(words)
        self._kept = (record, places, given, keep)
        self._watches: tuple[Sequence[Captured], Words] = (), new_words(0)

    def watch(self, captured: Sequence[Captured]) -> None:
        """Fire only while names that the kernel captured are what they were."""
        watches = new_words(2 * len(captured))
        watches[:] = [id(each) for one in captured for each in (one.read, one.value)]
        self._watches = captured, watches
        self._words[ShotWord.WATCHED] = len(captured)
        self._words[ShotWord.WATCHES] = ctypes.addressof(watches)

    def fire(
        self, held: Held, numbers: Sequence[Any], stream: CudaStream, use: FirstUse, waits: bool
    ) -> bool:
        """Put one on a stream, and wait for it if asked to; False: it needs a closer look."""
        context, lane, (uses, user, up) = self._context, stream.lane.address, use
        if not context.is_fine:
            return False
        given = self._packed(numbers) if numbers else b""
        before = stream.point() if waits else None
        put = self._fire(
            self._given, uses, user, up, held[-2], given, lane, stream.handle,
            EAGER if waits else 0,
        )  # fmt: skip
        if put == 0:  # memory may have an account of work that is over
            return tidy(held[:-3]) and self.fire(held, numbers, stream, use, waits)
        if PUTS.waiting:
            tell_put()
        if put < 0:
            raise context.failure(f"to launch {self._words_for(held)}", -put)
        if before is not None:
            stream.waited(before, put, self._words_for, held)
            return True
        kept = stream.kept
        kept.append((self._words_for, held))
        if len(kept) in FEW_OR_MANY:
            stream.tend()
        return True

    def _words_for(self, held: Held) -> str:
        """A launch in words."""
        return self._label(held[-3].spot)

    def _packed(self, numbers: Sequence[Any]) -> bytes:
        return self._pack(*[slot_of(dtype, numbers[i]) for i, dtype in self._dtypes])
