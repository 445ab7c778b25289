"""LLVM text that looks for events and streams, once or until time is up.

Called as `native` says; the driver's functions stand in braces.
"""

from __future__ import annotations

from ..cpu.runtime import common
from .entering import exported, within
from .results import NOT_READY

EAGER = 1_000_000
"""Nanoseconds in which a waiting thread does not sleep."""
LONGEST_NAP = 500_000

ASKING = """
declare i32 @nanosleep(ptr, ptr)

; Whether time is up; if not, waits a little first.
define internal i1 @rest(i64 %start, i64 %budget) {{
entry:
  %time = alloca [2 x i64]
  %now = call i64 @now(i32 {clock})
  %waited = sub i64 %now, %start
  %late = icmp sge i64 %waited, %budget
  br i1 %late, label %out, label %on
on:
  %early = icmp slt i64 %waited, {eager}
  br i1 %early, label %spin, label %sleep
spin:
  call void @pause()
  br label %out
sleep:
  %part = lshr i64 %waited, 4
  %nap = call i64 @llvm.smin.i64(i64 %part, i64 {nap})
  store i64 0, ptr %time
  %rest_at = getelementptr i64, ptr %time, i64 1
  store i64 %nap, ptr %rest_at
  %ignored = call i32 @nanosleep(ptr %time, ptr null)
  br label %out
out:
  ret i1 %late
}}

; Asks events until one has passed, a word has changed, or time is up.
define internal i32 @ask_events(
    ptr %events, i64 %count, ptr %word, i64 %seen, i64 %budget) {{
entry:
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
  br i1 %called, label %out, label %wait
wait:
  %late = call i1 @rest(i64 %start, i64 %budget)
  br i1 %late, label %out, label %look
out:
  %result = phi i32 [ %status, %ask ], [ 0, %glance ], [ {not_ready}, %wait ]
  ret i32 %result
}}

; Asks a stream until all on it is done, or time is up.
define internal i32 @ask_stream(ptr %stream, i64 %budget) {{
entry:
  %start = call i64 @now(i32 {clock})
  br label %ask
ask:
  %status = call i32 {cuStreamQuery}(ptr %stream)
  %unready = icmp eq i32 %status, {not_ready}
  br i1 %unready, label %wait, label %out
wait:
  %late = call i1 @rest(i64 %start, i64 %budget)
  br i1 %late, label %out, label %ask
out:
  ret i32 %status
}}
"""

OFTEN = """
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

define i64 @tw_idle(ptr %context, ptr %stream) {{
  %status = call i64 @tw_drain(ptr %context, ptr %stream, i64 0)
  ret i64 %status
}}

define i64 @tw_query(ptr %context, ptr %event) {{
  %status = call i64 @tw_await(ptr %context, ptr %event, i64 0)
  ret i64 %status
}}
"""

_EVENTS = {"events": "ptr", "count": "i64", "word": "ptr", "seen": "i64", "budget": "i64"}
_STREAM = {"stream": "ptr", "budget": "i64"}

TEXT = "".join((
    ASKING,
    within("await_any", "@ask_events", _EVENTS),
    exported("await_any", _EVENTS),
    within("drain", "@ask_stream", _STREAM),
    exported("drain", _STREAM),
    OFTEN,
))  # fmt: skip

NUMBERS = {
    "eager": EAGER,
    "nap": LONGEST_NAP,
    "clock": common.MONOTONIC,
    "not_ready": NOT_READY,
}
"""What else stands in braces there."""
