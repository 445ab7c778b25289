"""Launches in native code: the same as the classes of Python do, where nothing needs a closer look.

A kernel that is called with plain tensors, and often, becomes a `quick` one: calling it gives an op
whose endings are native, too. Both are of classes that come from those they stand for, and leave
whatever is unusual to their methods; so these say what launches mean, and `quick_text` how most of
them go.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from ..array.quick import Slots, native_endings, quick_class, quick_op, words_of
from ..base.forking import llvm_lock, made_once
from ..driver.cpu.calling import OFTEN
from ..driver.cpu.layouts import Native
from ..driver.cpu.record import Record
from ..driver.cuda.stream import CudaStream
from ..driver.stub.shots import ShotWord
from ..driver.stub.text import BINDING
from ..driver.stub.words import new_words
from ..op.context import ExecutionContext
from .arguments import Held
from .firing import CudaShot
from .firing_here import CpuShot
from .form import Known
from .operation import Launch
from .quick_text import QUICK_WORDS, TEXT, QuickWord

if TYPE_CHECKING:
    from .definition import Entry

_SLOTS: Slots = {
    "op": (Launch, ("_args", "_built", "_examined", "_held", "_kernel", "_request", "_uses")),
    "known": (Known, ("home", "latest")),
    "shot": (CudaShot, ("context", "given")),
    "shot_here": (CpuShot, ("_fire", "_idle", "given")),
    "ctx": (ExecutionContext, ("lent", "recording", "stream", "waits")),
}


def hasten(entry: Entry) -> None:
    """A kernel was called with plain tensors: if that happens often, let native code do it."""
    entry.plain_calls += 1
    if entry.plain_calls >= OFTEN:
        make_quick(entry)


def make_quick(entry: Entry) -> None:
    """Let native code build the launches of a kernel from now on."""
    with llvm_lock():  # threads that launch the same kernel come here together
        if not entry.is_quick:
            _turn_quick(entry, _quick(type(entry)))


def _turn_quick(entry: Entry, quick: _Quick) -> None:
    kernel, plain, words = entry.kernel, entry.kernel.plain, new_words(QUICK_WORDS)
    assert plain is not None, "it was called with plain tensors"
    bare, asked = kernel.bare, kernel.asked
    words[:] = [plain.call, id(kernel), id(bare), id(asked), id(quick.op)]
    entry.quick_keeps = (words, plain, kernel, bare, asked, quick)
    entry.quick = ctypes.addressof(words)
    entry.__class__ = quick.entry


class _Quick(NamedTuple):
    entry: type[Entry]
    op: type[Launch[Any]]


@made_once
def _quick(base: Any) -> _Quick:
    """The classes whose objects are as those of Python, in native code; made at first use."""

    def called(entry: Entry, args: tuple[Any, ...], keywords: Mapping[str, Any] | None) -> Any:
        return base.__call__(entry, *args, **(keywords or {}))

    objects = {
        "CudaShot": CudaShot, "left": _left, "called": called, "empty": (), "CpuShot": CpuShot,
        "heard": _heard, "ExecutionContext": ExecutionContext, "execute": "",
        "executed": base.launches.execute, "called_at": base.call_at, "tuple": tuple,
    }  # fmt: skip
    numbers = {
        "shot_driver": ShotWord.DRIVER.value, **words_of("quick", QuickWord),
    }  # fmt: skip
    op, slots = base.launches, {**_SLOTS, "entry": (base, ("quick",))}
    symbols = "call", "call_at", "execute"
    *endings, call, call_at, execute = native_endings(
        op, TEXT, BINDING, slots, objects, numbers, symbols, ("entry", "ctx")
    )
    entry = quick_class(base, Native(call=call, methods={"call_at": call_at}))
    entry.is_quick = True
    return _Quick(entry, quick_op(op, endings, execute=execute))


def _heard(op: Launch[Any], shot: CpuShot, record: Record) -> None:
    """As `CpuShot.fire` goes on where a launch that is over may have something to report."""
    try:
        shot.hear(record)
    except BaseException as error:
        op.fail(error)
        raise


def _left(
    shot: CudaShot, held: Held, stream: CudaStream, others: int, kept: Any, upto: int, answer: int
) -> None:
    """As `CudaShot.fire` goes on where a launch was refused, or is not over yet."""
    if answer < 0:
        shot.refuse(held, answer)
    stream.waited((others, kept, upto), answer, shot, held)
