"""LLVM text of the few calls that are made all the time: one call from Python is one step.

    tw_launch(record, stream)
    tw_fire(row, numbers, shot, lane, stream)   fill in the parameters of a plain launch, and launch
    tw_shoot(record, lane, stream)           launch, as work of a lane
    tw_replay(context, executable, lane, stream)   put a graph on a stream
    tw_idle(context, stream)                 whether all on a stream is done
    tw_drain(context, stream, budget)        look for that until it is so or time is up
    tw_record(context, event, stream)
    tw_query(context, event)                 whether an event has passed
    tw_await(context, event, budget)         look for an event until it has passed or time is up
    tw_await_any(context, events, count, word, seen, budget)

Each makes the context current where it is not, and leaves the thread as it found it. The results
are the driver's own. Waiting threads look at once and often in the first millisecond; later they
sleep a sixteenth of the time they have waited.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from ..cpu.calling import Kind, Signature
from ..cpu.runtime import common
from ..cpu.runtime.calls import callables
from ..stub.lanes import LANES
from ..stub.records import RECORDS
from . import launching, waiting

DRIVER = (
    "cuCtxGetCurrent", "cuCtxPushCurrent", "cuCtxPopCurrent", "cuLaunchKernel", "cuGraphLaunch",
    "cuEventRecord", "cuEventQuery", "cuStreamQuery",
)  # fmt: skip
"""What the text calls; their addresses are written into it."""


ENTER = """
; 0: the context is current; 1: it is now, and must be left; else minus the status.
define internal i32 @enter(ptr %context) {{
  %place = alloca ptr
  %asked = call i32 {cuCtxGetCurrent}(ptr %place)
  %bad = icmp ne i32 %asked, 0
  br i1 %bad, label %refused, label %look
look:
  %current = load ptr, ptr %place
  %same = icmp eq ptr %current, %context
  br i1 %same, label %in, label %push
in:
  ret i32 0
push:
  %status = call i32 {cuCtxPushCurrent}(ptr %context)
  %worked = icmp eq i32 %status, 0
  br i1 %worked, label %pushed, label %refused
pushed:
  ret i32 1
refused:
  %why = phi i32 [ %asked, %0 ], [ %status, %push ]
  %minus = sub i32 0, %why
  ret i32 %minus
}}

define internal void @leave(i32 %entered) {{
  %pushed = icmp eq i32 %entered, 1
  br i1 %pushed, label %pop, label %out
pop:
  %place = alloca ptr
  %ignored = call i32 {cuCtxPopCurrent}(ptr %place)
  br label %out
out:
  ret void
}}
"""


def text(addresses: Mapping[str, int]) -> str:
    """The whole module, for driver functions at these addresses."""
    known: dict[str, Any] = {n: f"inttoptr (i64 {a} to ptr)" for n, a in addresses.items()}
    parts = (ENTER, launching.TEXT, waiting.TEXT)
    numbers = {**launching.NUMBERS, **waiting.NUMBERS}
    return common.text() + RECORDS + LANES + "".join(p.format(**known, **numbers) for p in parts)


_A, _N, _B = Kind.ADDRESS, Kind.NUMBER, Kind.BYTES

SIGNATURES: dict[str, Signature] = {
    "launch": Signature((_A, _A), releases=True),  # a full queue lets it wait
    "fire": Signature((_B, _B, _A, _A, _A)),
    "shoot": Signature((_A, _A, _A)),
    "replay": Signature((_A, _A, _A, _A)),
    "record": Signature((_A, _A, _A)),
    "query": Signature((_A, _A)),
    "idle": Signature((_A, _A)),
    "drain": Signature((_A, _A, _N), releases=True),
    "await": Signature((_A, _A, _N), releases=True),
    "await_any": Signature((_A, _A, _N, _A, _N, _N), releases=True),
}


class Quick(NamedTuple):
    """The compiled calls."""

    launch: Callable[[int, int], int]
    fire: Callable[[bytes, bytes, int, int, int], int]
    shoot: Callable[[int, int, int], int]
    replay: Callable[[int, int, int, int], int]
    record: Callable[[int, int, int], int]
    query: Callable[[int, int], int]
    idle: Callable[[int, int], int]
    drain: Callable[[int, int, int], int]
    await_event: Callable[[int, int, int], int]
    await_any: Callable[[int, int, int, int, int, int], int]


def quick_calls(addresses: Mapping[str, int]) -> Quick:
    """Compile the calls, for good."""
    return Quick(*callables(text(addresses), SIGNATURES, optimize=True).values())
