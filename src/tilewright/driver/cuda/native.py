"""LLVM text of the few calls that are made all the time: one call from Python is one step.

    tw_launch(record, stream, event)         launch, then record the event unless it is null
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
from enum import IntEnum
from typing import Any, NamedTuple

from ..cpu.calling import Kind, Signature
from ..cpu.runtime import common
from ..cpu.runtime.calls import callables
from .results import NOT_READY

EAGER = 1_000_000
"""Nanoseconds in which a waiting thread does not sleep."""
LONGEST_NAP = 500_000

DRIVER = (
    "cuCtxGetCurrent", "cuCtxPushCurrent", "cuCtxPopCurrent", "cuLaunchKernel", "cuEventRecord",
    "cuEventQuery",
)  # fmt: skip
"""What the text calls; their addresses are written into it."""


class Head(IntEnum):
    """Positions of the 64-bit words with which the record of a launch begins."""

    CONTEXT = 0
    FUNCTION = 1
    GRID = 2
    BLOCK = 5
    SHARED = 8
    PARAMETERS = 9
    """The address of an array of addresses, one per parameter."""


HEAD_WORDS = 10

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

LAUNCH = """
define internal i32 @word32(ptr %record, i64 %index) {{
  %at = getelementptr i64, ptr %record, i64 %index
  %word = load i64, ptr %at
  %low = trunc i64 %word to i32
  ret i32 %low
}}

define i64 @tw_launch(ptr %record, ptr %stream, ptr %event) {{
entry:
  %context = load ptr, ptr %record
  %entered = call i32 @enter(ptr %context)
  %bad = icmp slt i32 %entered, 0
  br i1 %bad, label %refused, label %go
refused:
  %why = sub i32 0, %entered
  %reason = zext i32 %why to i64
  ret i64 %reason
go:
  %function_at = getelementptr i64, ptr %record, i64 1
  %function = load ptr, ptr %function_at
  %gx = call i32 @word32(ptr %record, i64 2)
  %gy = call i32 @word32(ptr %record, i64 3)
  %gz = call i32 @word32(ptr %record, i64 4)
  %bx = call i32 @word32(ptr %record, i64 5)
  %by = call i32 @word32(ptr %record, i64 6)
  %bz = call i32 @word32(ptr %record, i64 7)
  %shared = call i32 @word32(ptr %record, i64 8)
  %parameters_at = getelementptr i64, ptr %record, i64 9
  %parameters = load ptr, ptr %parameters_at
  %launched = call i32 {cuLaunchKernel}(ptr %function,
    i32 %gx, i32 %gy, i32 %gz, i32 %bx, i32 %by, i32 %bz,
    i32 %shared, ptr %stream, ptr %parameters, ptr null)
  %failed = icmp ne i32 %launched, 0
  %silent = icmp eq ptr %event, null
  %over = or i1 %failed, %silent
  br i1 %over, label %out, label %mark
mark:
  %marked = call i32 {cuEventRecord}(ptr %event, ptr %stream)
  br label %out
out:
  %status = phi i32 [ %launched, %go ], [ %marked, %mark ]
  call void @leave(i32 %entered)
  %answer = zext i32 %status to i64
  ret i64 %answer
}}

define i64 @tw_record(ptr %context, ptr %event, ptr %stream) {{
entry:
  %entered = call i32 @enter(ptr %context)
  %bad = icmp slt i32 %entered, 0
  br i1 %bad, label %refused, label %go
refused:
  %why = sub i32 0, %entered
  %reason = zext i32 %why to i64
  ret i64 %reason
go:
  %status = call i32 {cuEventRecord}(ptr %event, ptr %stream)
  call void @leave(i32 %entered)
  %answer = zext i32 %status to i64
  ret i64 %answer
}}
"""

AWAIT = """
declare i32 @nanosleep(ptr, ptr)

define internal void @rest(i64 %waited) {{
entry:
  %time = alloca [2 x i64]
  %early = icmp slt i64 %waited, {eager}
  br i1 %early, label %spin, label %sleep
spin:
  call void @pause()
  ret void
sleep:
  %part = lshr i64 %waited, 4
  %nap = call i64 @llvm.smin.i64(i64 %part, i64 {nap})
  store i64 0, ptr %time
  %rest_at = getelementptr i64, ptr %time, i64 1
  store i64 %nap, ptr %rest_at
  %ignored = call i32 @nanosleep(ptr %time, ptr null)
  ret void
}}

define i64 @tw_await_any(
    ptr %context, ptr %events, i64 %count, ptr %word, i64 %seen, i64 %budget) {{
entry:
  %entered = call i32 @enter(ptr %context)
  %bad = icmp slt i32 %entered, 0
  br i1 %bad, label %refused, label %begin
refused:
  %why = sub i32 0, %entered
  %reason = zext i32 %why to i64
  ret i64 %reason
begin:
  %start = call i64 @now(i32 {clock})
  br label %look
look:
  br label %each
each:
  %i = phi i64 [ 0, %look ], [ %next, %unready ]
  %more = icmp slt i64 %i, %count
  br i1 %more, label %ask, label %glance
ask:
  %event_at = getelementptr ptr, ptr %events, i64 %i
  %event = load ptr, ptr %event_at
  %status = call i32 {cuEventQuery}(ptr %event)
  %unready_yet = icmp eq i32 %status, {not_ready}
  br i1 %unready_yet, label %unready, label %out
unready:
  %next = add i64 %i, 1
  br label %each
glance:
  %now_there = load atomic i64, ptr %word acquire, align 8
  %called = icmp ne i64 %now_there, %seen
  br i1 %called, label %out, label %clock
clock:
  %time = call i64 @now(i32 {clock})
  %waited = sub i64 %time, %start
  %late = icmp sge i64 %waited, %budget
  br i1 %late, label %out, label %on
on:
  call void @rest(i64 %waited)
  br label %look
out:
  %result = phi i32 [ %status, %ask ], [ 0, %glance ], [ {not_ready}, %clock ]
  call void @leave(i32 %entered)
  %answer = zext i32 %result to i64
  ret i64 %answer
}}

define i64 @tw_await(ptr %context, ptr %event, i64 %budget) {{
entry:
  %events = alloca ptr
  %word = alloca i64, align 8
  store ptr %event, ptr %events
  store i64 0, ptr %word
  %status = call i64 @tw_await_any(
    ptr %context, ptr %events, i64 1, ptr %word, i64 0, i64 %budget)
  ret i64 %status
}}

define i64 @tw_query(ptr %context, ptr %event) {{
  %status = call i64 @tw_await(ptr %context, ptr %event, i64 0)
  ret i64 %status
}}
"""


def text(addresses: Mapping[str, int]) -> str:
    """The whole module, for driver functions at these addresses."""
    known: dict[str, Any] = {n: f"inttoptr (i64 {a} to ptr)" for n, a in addresses.items()}
    numbers = {
        "eager": EAGER, "nap": LONGEST_NAP, "clock": common.MONOTONIC, "not_ready": NOT_READY,
    }  # fmt: skip
    parts = [part.format(**known, **numbers) for part in (ENTER, LAUNCH, AWAIT)]
    return common.text() + "".join(parts)


_A, _N = Kind.ADDRESS, Kind.NUMBER

SIGNATURES: dict[str, Signature] = {
    "launch": Signature((_A, _A, _A), releases=True),  # a full queue lets it wait
    "record": Signature((_A, _A, _A)),
    "query": Signature((_A, _A)),
    "await": Signature((_A, _A, _N), releases=True),
    "await_any": Signature((_A, _A, _N, _A, _N, _N), releases=True),
}


class Quick(NamedTuple):
    """The compiled calls."""

    launch: Callable[[int, int, int], int]
    record: Callable[[int, int, int], int]
    query: Callable[[int, int], int]
    await_event: Callable[[int, int, int], int]
    await_any: Callable[[int, int, int, int, int, int], int]


def quick_calls(addresses: Mapping[str, int]) -> Quick:
    """Compile the calls, for good."""
    return Quick(*callables(text(addresses), SIGNATURES, optimize=True).values())
