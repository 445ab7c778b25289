"""Ops whose endings are native code: the same as those of Python, where nothing is unusual.

Such an op is of a class that comes from one of Python, to whose methods it leaves whatever needs a
closer look. What is special about kernels and about graphs, they say themselves.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from enum import IntEnum
from typing import Any, TypeAlias

from .._core import CUDA_EAGER, cuda_text_entries, set_cuda_stream, set_process
from ..base.config import OVERRIDDEN
from ..driver.cpu.calling import DECLARATIONS
from ..driver.cpu.firing import QUIET, TOLD_BITS, UNFINISHED
from ..driver.cpu.layouts import Native, native_type, offset
from ..driver.cpu.native import NativeFunction
from ..driver.cpu.pool import ALONE, SLICE
from ..driver.cpu.record import Record
from ..driver.cpu.runtime.calls import Calls, compiled
from ..driver.cpu.runtime.words import Job, Queue, State
from ..driver.cpu.stream import CpuStream
from ..driver.cuda.context import Context
from ..driver.cuda.stream import MANY, CudaStream
from ..driver.dues import Dues
from ..driver.lane import Lane
from ..driver.protocol import Stream
from ..driver.stub.lanes import LANES
from ..driver.stub.python import at
from ..driver.stub.shots import FAILED
from ..op.ambient import choose_stream
from ..op.core import DeviceOp
from ..op.nesting import THREAD
from ..op.trace import Tracing
from . import quick_here, quick_text
from .flight import PUTS, tell_put

ENDINGS = ("start_on", "sync_on", "sync", "drop")
_NAMES = {name: sys.intern(name) for name in ("start()", "sync()")}
"""What native code asks for, as objects that are there for good."""

Slots: TypeAlias = Mapping[str, tuple[type, Sequence[str]]]
"""Slots that native code reads or writes, by what it calls their owners."""

_OF_STREAMS = (
    "_dropped", "_dues", "_marks", "_others", "_waiting", "completed", "device", "handle", "kept",
    "lane",
)  # fmt: skip
_SLOTS: Slots = {
    "context": (Context, ("handle", "is_fine")),
    "stream": (CudaStream, _OF_STREAMS),
    "here": (CpuStream, ("_calls", "_nodes", "address", "device", "lane")),
    "calls": (Calls, ("give_up", "resume")),
    "record": (Record, ("address", "scratch")),
    "lane": (Lane, ("address",)),
}

_WORDS: Mapping[str, Sequence[IntEnum]] = {
    "queue": (Queue.HEAD, Queue.STATE),
    "state": (State.STOP, State.USUAL, State.WORKERS),
    "job": (Job.BLOCKS, Job.THREADS),
}
"""Words that native code reads or writes, by what it calls their owners."""

_NUMBERS: Mapping[str, int] = {
    "failed": FAILED, "eager": CUDA_EAGER, "unfinished": UNFINISHED, "quiet": QUIET,
    "told_bits": TOLD_BITS, "NOWHERE": quick_here.NOWHERE, "THERE": quick_here.THERE,
    "HERE": quick_here.HERE,
}  # fmt: skip

_OBJECTS: Mapping[str, object] = {
    "CudaStream": CudaStream, "CpuStream": CpuStream, "have_helpers": CpuStream.have_helpers,
    "ALONE": ALONE, "SLICE": SLICE, "OVERRIDDEN": OVERRIDDEN, "no_numbers": b"",
    "zero": 0, "start": _NAMES["start()"], "sync": _NAMES["sync()"],
}  # fmt: skip

_JUDGED = ("op", "stream", "here")
"""What is looked at before a slot of it is read."""

_BEFORE = "".join((LANES, quick_text.DECLARED, quick_here.DECLARED))
_TEXT = quick_text.TEXT + quick_here.TEXT

_KEPT: list[object] = []
"""What native code refers to, for good."""


def native_endings(
    op: Any,
    text: str,
    before: str,
    slots: Slots,
    objects: Mapping[str, object],
    numbers: Mapping[str, int],
    symbols: Sequence[str],
    judged: Sequence[str],
) -> list[NativeFunction]:
    """The functions of a text that ends ops of a class: those of `ENDINGS`, then others.

    `before` is text in which nothing stands in braces. There is an `is_whole_...` for each kind of
    object in `judged`.
    """
    known: dict[str, Any] = {**_offsets({**_SLOTS, **slots}), **_NUMBERS, **numbers}
    for what, words in _WORDS.items():
        known |= words_of(what, words)
    set_process(Tracing, THREAD, PUTS, tell_put)
    set_cuda_stream(CudaStream, Lane, Dues, MANY)
    known |= {name: f"inttoptr (i64 {each} to ptr)" for name, each in cuda_text_entries().items()}
    own = {"start_on": op.start_on, "sync_on": op.sync_on, "dropped": op.__del__,
           "sync_method": op.sync, "chosen": _chosen, **_OBJECTS, **objects}  # fmt: skip
    known |= {name: at(each) for name, each in own.items()}
    _KEPT.append((op, own))
    judging = "".join(_is_whole(what, {**_SLOTS, **slots}[what]) for what in (*_JUDGED, *judged))
    whole = "".join((DECLARATIONS, before, _BEFORE, judging, (_TEXT + text).format(**known)))
    return list(compiled(whole, (*ENDINGS, *symbols), optimize=True).values())


def _is_whole(what: str, slots: tuple[type, Sequence[str]]) -> str:
    """Text that finds out whether an object has all its slots: Python can make one without any."""
    cls, names = slots
    lines = ["%whole0 = or i1 true, true"]
    for i, name in enumerate(names):
        lines += (
            f"%slot{i} = call ptr @slot(ptr %object, i64 {offset(cls, name)})",
            f"%there{i} = icmp ne ptr %slot{i}, null",
            f"%whole{i + 1} = and i1 %whole{i}, %there{i}",
        )
    body = "\n".join(f"  {line}" for line in (*lines, f"ret i1 %whole{len(names)}"))
    return f"\ndefine internal i1 @is_whole_{what}(ptr %object) alwaysinline {{\n{body}\n}}\n"


def quick_class(base: type, native: Native) -> Any:
    """What comes from a class, with native code for some of its methods."""
    described = {"__slots__": (), "__module__": base.__module__, "__doc__": base.__doc__,
                 "__qualname__": base.__qualname__}  # fmt: skip
    bases = (native_type(base.__name__, native), base)
    return type(base)(base.__name__, bases, described)


def quick_op(base: type, endings: Sequence[NativeFunction], **others: NativeFunction) -> Any:
    """The class of ops with these endings, and other methods."""
    start_on, sync_on, sync, drop = endings
    methods = {"start_on": start_on, "sync_on": sync_on, "sync": sync, **others}
    return quick_class(base, Native(finalize=drop, methods=methods))


def _chosen(op: DeviceOp[Any]) -> Stream:
    """The stream that an op goes to which is told none."""
    return choose_stream(op.name, op.home)


def _offsets(slots: Slots) -> dict[str, Any]:
    return {
        f"{what}_{name.lstrip('_')}": offset(cls, name)
        for what, (cls, names) in slots.items()
        for name in names
    }


def words_of(what: str, words: Iterable[IntEnum]) -> dict[str, int]:
    """Where words are, by what native code calls their owner, and their names."""
    return {f"{what}_{word.name.lower()}": word.value for word in words}
