"""Launches in native code: the same as the classes of Python do, where nothing needs a closer look.

A kernel that was called with plain tensors becomes a `quick` one: calling it gives an op whose
endings are native, too. Both are classes that come from those they stand for, and leave whatever is
unusual to their methods; so these say what launches mean, and `quick_text` how most of them go.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from ..array.order import PUTS, tell_put
from ..driver.cpu.calling import DECLARATIONS
from ..driver.cpu.layouts import Native, native_type, offset
from ..driver.cpu.runtime.calls import compiled
from ..driver.cuda.context import Context
from ..driver.cuda.launching import FAILED, STATUS_BITS, ShotWord
from ..driver.cuda.stream import FEW_OR_MANY, STATUS_MASK, CudaStream
from ..driver.cuda.waiting import EAGER
from ..driver.dues import Dues
from ..driver.lane import Lane
from ..driver.stub.spots import at
from ..driver.stub.text import BINDING
from ..driver.stub.words import new_words
from ..op.nesting import THREAD
from ..op.trace import Tracing
from .arguments import Held
from .firing import CudaShot
from .form import Known
from .operation import Launch
from .quick_text import DECLARED, QUICK_WORDS, TEXT, QuickWord

if TYPE_CHECKING:
    from .definition import Entry

_NAMES = {name: sys.intern(name) for name in ("tend", "sweep", "start()", "sync()")}
"""What native code asks for, as objects that are there for good."""

_SLOTS: dict[str, tuple[type, tuple[str, ...]]] = {
    "op": (Launch, ("_args", "_built", "_examined", "_held", "_kernel", "_request", "_uses")),
    "known": (Known, ("home", "latest")),
    "shot": (CudaShot, ("context", "given")),
    "context": (Context, ("is_fine",)),
    "stream": (
        CudaStream,
        ("_dues", "_marks", "_others", "completed", "device", "handle", "kept", "lane"),
    ),
    "lane": (Lane, ("address",)),
    "dues": (Dues, ("_items",)),
    "threads": (type(THREAD), ("names",)),
    "tracing": (type(Tracing), ("active",)),
    "puts": (type(PUTS), ("waiting",)),
}
"""Slots that native code reads or writes."""


OFTEN = 64
"""Plain calls of a kernel after which native code is worth the time it takes to be made, once."""


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

    _KEPT.append(called)
    symbols = ("call", "start_on", "sync_on", "drop")
    text = _text(base, called)
    call, start_on, sync_on, drop = compiled(text, symbols, optimize=True).values()
    calls = native_type("Entry", Native(call=call))
    endings = native_type(
        "Launch", Native(finalize=drop, methods={"start_on": start_on, "sync_on": sync_on})
    )
    return _Quick(_subclass(calls, base), _subclass(endings, Launch))


_KEPT: list[Any] = []
"""What native code refers to, for good."""


def _subclass(native: type, base: type) -> Any:
    """What comes from a class, with the native code of another."""
    described = {"__slots__": (), "__module__": base.__module__, "__doc__": base.__doc__,
                 "__qualname__": base.__qualname__}  # fmt: skip
    return type(base)(base.__name__, (native, base), described)


def _left(
    shot: CudaShot, held: Held, stream: CudaStream, others: int, kept: Any, count: int, answer: int
) -> None:
    """As `CudaShot.fire` goes on where a launch was refused, or is not over yet."""
    if answer < 0:
        shot.refuse(held, answer)
    stream.waited((others, kept, count), answer, shot, held)


def _text(base: type[Entry], called: Any) -> str:
    """The text, for this interpreter; `called` is given calls that need a closer look."""
    known: dict[str, Any] = {
        f"{what}_{name.lstrip('_')}": offset(cls, name)
        for what, (cls, names) in _SLOTS.items()
        for name in names
    }
    op: Any = Launch
    objects: dict[str, object] = {
        "CudaShot": CudaShot, "CudaStream": CudaStream, "Tracing": Tracing, "THREAD": THREAD,
        "PUTS": PUTS, "tell_put": tell_put, "left": _left, "called": called, "zero": 0,
        "empty": (), "start_on": op.start_on, "sync_on": op.sync_on,
        "dropped": op.__del__, "start": _NAMES["start()"], "sync": _NAMES["sync()"],
        **{name: _NAMES[name] for name in ("tend", "sweep")},
    }  # fmt: skip
    few, many = FEW_OR_MANY
    known |= {
        "entry_quick": offset(base, "quick"),
        "shot_fire": ShotWord.FIRE.value, "few": few, "many": many, "failed": FAILED,
        "status_bits": STATUS_BITS, "status_mask": STATUS_MASK, "eager": EAGER,
        "zero_object": _address(id(0)),
        **{f"quick_{word.name.lower()}": word.value for word in QuickWord},
        **{name: at(each) for name, each in objects.items()},
    }  # fmt: skip
    return "".join((DECLARATIONS, BINDING, DECLARED, TEXT.format(**known)))


def _address(number: int) -> str:
    return f"inttoptr (i64 {number} to ptr)"
