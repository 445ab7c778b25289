"""Plain launches of kernels that report nothing, on CUDA: one native call, and nothing to settle.

Such a launch cannot fail alone, so nobody needs to hear how it ended: memory notes its number, and
its stream says how far it is. Events are made when somebody waits.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import partial
from operator import getitem
from struct import Struct
from types import ModuleType
from typing import Any, NoReturn, cast

from ..array.borrow import borrow_words
from ..array.flight import PUTS, tell_put
from ..array.order import tidy
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
        "_dtypes", "_fire", "_kept", "_label", "_pack", "_watches", "_words", "context", "given",
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
        self.context, self._label = context, label
        self._fire = context.calls.fire
        self._dtypes = [(which, dtype) for _, which, dtype in numbers]
        self._pack = Struct(f"{len(numbers)}Q").pack
        given = (ctypes.c_int64 * len(numbers))(*[place for place, _, _ in numbers])
        words = self._words = new_words(SHOT_WORDS)
        words[:] = [
            record.address, len(record.words) - record.slots, len(places),
            ctypes.addressof(places), len(numbers), ctypes.addressof(given), written,
            ctypes.addressof(borrow_words()), 0, 0, context.calls.fire_now,
        ]  # fmt: skip
        self.given = ctypes.addressof(words)
        """Where its words are, for native code."""
        self._kept = (record, places, given, keep)
        self._watches: tuple[object, Words] = (), new_words(0)

    def watch(self, captured: Sequence[Captured]) -> None:
        """Fire only while names that the kernel captured are what they were."""
        places = [_place_of(one.read) for one in captured]
        watches = new_words(3 * len(captured))
        watches[:] = [
            each
            for (where, key), one in zip(places, captured, strict=True)
            for each in (id(where), 0 if key is None else id(key), id(one.value))
        ]
        self._watches = (captured, places), watches
        self._words[ShotWord.WATCHED] = len(captured)
        self._words[ShotWord.WATCHES] = ctypes.addressof(watches)

    def fire(
        self, held: Held, numbers: Sequence[Any], stream: CudaStream, use: FirstUse, waits: bool
    ) -> bool:
        """Put one on a stream, and wait for it if asked to; False: it needs a closer look.

        `launch.quick` does the same in native code.
        """
        context, lane, (uses, user, up) = self.context, stream.lane.address, use
        if not context.is_fine:
            return False
        given = self._packed(numbers) if numbers else b""
        before = stream.point() if waits else None
        put = self._fire(
            self.given, uses, user, up, held[-2], given, lane, stream.handle,
            EAGER if waits else 0,
        )  # fmt: skip
        if put == 0:  # memory may have an account of work that is over
            return tidy(held[:-3]) and self.fire(held, numbers, stream, use, waits)
        if PUTS.waiting:
            tell_put()
        if put < 0:
            self.refuse(held, put)
        if before is not None:
            stream.waited(before, put, self, held)
            return True
        kept = stream.kept
        kept.append((self, held))
        if len(kept) in FEW_OR_MANY:
            stream.tend()
        return True

    def refuse(self, held: Held, put: int) -> NoReturn:
        """Raise for a launch that the driver did not take: minus why."""
        raise self.context.failure(f"to launch {self(held)}", -put)

    def __call__(self, held: Held) -> str:
        """A launch in words, for its stream."""
        return self._label(held[-3].spot)

    def _packed(self, numbers: Sequence[Any]) -> bytes:
        return self._pack(*[slot_of(dtype, numbers[i]) for i, dtype in self._dtypes])


def _place_of(read: Callable[[], Any]) -> tuple[object, str | None]:
    """A dictionary and a key where a value is read from; or the function itself.

    What modules have is in their dictionaries, as long as nothing is said about their attributes.
    """
    known: Any = read
    if isinstance(read, partial) and len(known.args) == 2 and not known.keywords:
        owner, name = known.args
        if known.func is getitem and type(owner) is dict:
            return cast("object", owner), name
        if known.func is getattr and type(owner) is ModuleType and name in vars(owner):
            return vars(owner), name
    return cast("object", read), None
