"""Launches in native code: the same as the classes of Python do, where nothing needs a closer look.

A kernel that is called with plain tensors, and often, becomes a `quick` one: calling it gives an op
whose endings are native, too. Both are of classes that come from those they stand for, and leave
whatever is unusual to their methods; so these say what launches mean, and `quick_text` how most of
them go.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from enum import IntEnum
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from ..array.quick import Slots, native_endings, quick_class, quick_op
from ..base.config import OVERRIDDEN
from ..driver.cpu.calling import OFTEN
from ..driver.cpu.firing import QUIET, TOLD_BITS, UNFINISHED
from ..driver.cpu.layouts import Native, offset
from ..driver.cpu.pool import ALONE, SLICE
from ..driver.cpu.record import CANCEL, Record
from ..driver.cpu.runtime.calls import Calls
from ..driver.cpu.runtime.words import Job, Queue, State
from ..driver.cpu.stream import CpuStream
from ..driver.cuda.stream import CudaStream
from ..driver.stub.lanes import LANES
from ..driver.stub.shots import ShotWord
from ..driver.stub.text import BINDING
from ..driver.stub.words import new_words
from .arguments import Held
from .firing import CudaShot
from .firing_here import CpuShot
from .form import Known
from .operation import Launch
from .quick_here import DECLARED
from .quick_text import QUICK_WORDS, TEXT, QuickWord

if TYPE_CHECKING:
    from .definition import Entry

_SLOTS: Slots = {
    "op": (Launch, ("_args", "_built", "_examined", "_held", "_kernel", "_request", "_uses")),
    "known": (Known, ("home", "latest")),
    "shot": (CudaShot, ("context", "given")),
    "shot_here": (CpuShot, ("_fire", "_idle", "given")),
    "here": (CpuStream, ("_calls", "_nodes", "address", "device", "lane")),
    "calls": (Calls, ("resume",)),
    "record": (Record, ("address", "scratch")),
}
_WORDS: Mapping[str, Sequence[IntEnum]] = {
    "quick": tuple(QuickWord),
    "queue": (Queue.HEAD, Queue.STATE),
    "state": (State.STOP, State.USUAL, State.WORKERS),
    "job": (Job.BLOCKS, Job.CANCELLED, Job.THREADS),
}
"""Words that native code reads or writes, by what it calls their owners."""


_BEFORE = BINDING + LANES + DECLARED


def hasten(entry: Entry) -> None:
    """A kernel was called with plain tensors: if that happens often, let native code do it."""
    entry.plain_calls += 1
    if entry.plain_calls >= OFTEN:
        make_quick(entry)


def make_quick(entry: Entry) -> None:
    """Let native code build the launches of a kernel from now on."""
    kernel, plain = entry.kernel, entry.kernel.plain
    assert plain is not None, "it was called with plain tensors"
    base: Any = type(entry)
    quick, words = _quick(base), new_words(QUICK_WORDS)
    bare, asked = kernel.bare, kernel.asked
    words[:] = [plain.call, id(kernel), id(bare), id(asked), id(quick.op)]
    entry.quick_keeps = (words, bare, asked)
    entry.quick = ctypes.addressof(words)
    entry.__class__ = quick.entry


class _Quick(NamedTuple):
    entry: type[Entry]
    op: type[Launch[Any]]


@cache
def _quick(base: Any) -> _Quick:
    """The classes whose objects are as those of Python, in native code; made at first use."""

    def called(entry: Entry, args: tuple[Any, ...], keywords: Mapping[str, Any] | None) -> Any:
        return base.__call__(entry, *args, **(keywords or {}))

    objects = {
        "CudaShot": CudaShot, "left": _left, "called": called, "empty": (), "CpuShot": CpuShot,
        "CpuStream": CpuStream, "OVERRIDDEN": OVERRIDDEN, "ALONE": ALONE, "SLICE": SLICE,
        "no_numbers": b"", "heard": _heard, "have_helpers": CpuStream.have_helpers,
    }  # fmt: skip
    numbers = {
        "entry_quick": offset(base, "quick"), "shot_fire": ShotWord.FIRE.value,
        "unfinished": UNFINISHED, "quiet": QUIET, "told_bits": TOLD_BITS, "job_cancel": CANCEL,
        **{f"{of}_{word.name.lower()}": word.value for of, all_ in _WORDS.items() for word in all_},
    }  # fmt: skip
    op = base.launches
    *endings, call = native_endings(op, TEXT, _BEFORE, _SLOTS, objects, numbers, ("call",))
    entry = quick_class(base, Native(call=call))
    entry.is_quick = True
    return _Quick(entry, quick_op(op, endings))


def _heard(op: Launch[Any], shot: CpuShot, record: Record) -> None:
    """As `CpuShot.fire` goes on where a launch that is over may have something to report."""
    try:
        shot.hear(record)
    except BaseException as error:
        op.fail(error)
        raise


def _left(
    shot: CudaShot, held: Held, stream: CudaStream, others: int, kept: Any, count: int, answer: int
) -> None:
    """As `CudaShot.fire` goes on where a launch was refused, or is not over yet."""
    if answer < 0:
        shot.refuse(held, answer)
    stream.waited((others, kept, count), answer, shot, held)
