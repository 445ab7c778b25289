"""LLVM text that launches kernels and graphs, and the words that say what is launched.

Called as `native` says; the driver's functions stand in braces.
"""

from __future__ import annotations

from enum import IntEnum

from ..stub.shapes import counted
from ..stub.shots import FAILED, ShotWord
from ..stub.words import LaneWord
from .entering import exported, within


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


STATUS_BITS = 16
"""What firing gives is how many launches were put on the stream, and how waiting for them ended."""

KERNEL = """
define internal i32 @word32(ptr %record, i64 %index) {{
  %at = getelementptr i64, ptr %record, i64 %index
  %word = load i64, ptr %at
  %low = trunc i64 %word to i32
  ret i32 %low
}}

; Launch what a record says, with these parameters; the driver's status.
define internal i32 @call_kernel(ptr %record, ptr %parameters, ptr %stream) {{
  %function = call ptr @link(ptr %record, i64 {function})
  %gx = call i32 @word32(ptr %record, i64 2)
  %gy = call i32 @word32(ptr %record, i64 3)
  %gz = call i32 @word32(ptr %record, i64 4)
  %bx = call i32 @word32(ptr %record, i64 5)
  %by = call i32 @word32(ptr %record, i64 6)
  %bz = call i32 @word32(ptr %record, i64 7)
  %shared = call i32 @word32(ptr %record, i64 8)
  %status = call i32 {cuLaunchKernel}(ptr %function,
    i32 %gx, i32 %gy, i32 %gz, i32 %bx, i32 %by, i32 %bz,
    i32 %shared, ptr %stream, ptr %parameters, ptr null)
  ret i32 %status
}}
"""

LAUNCHES = """
define i64 @tw_launch(ptr %record, ptr %stream) {{
  %context = load ptr, ptr %record
  %parameters = call ptr @link(ptr %record, i64 {parameters})
  %status = call i32 @kernel(ptr %context, ptr %record, ptr %parameters, ptr %stream)
  %answer = zext i32 %status to i64
  ret i64 %answer
}}

; Work of a lane was put on its stream, or refused.
define internal i64 @count(ptr %lane, i32 %status) {{
entry:
  %told = call i64 @tw_put(ptr %lane)
  %failed = icmp ne i32 %status, 0
  br i1 %failed, label %no, label %yes
no:
  %why = zext i32 %status to i64
  %minus = sub i64 0, %why
  ret i64 %minus
yes:
  %before = call i64 @word(ptr %lane, i64 {lane_put})
  %now = add i64 %before, 1
  call void @set(ptr %lane, i64 {lane_put}, i64 %now)
  ret i64 %now
}}
"""

FIRE = """
; Lets other threads run Python, if there are any: a full queue lets the driver wait.
define internal ptr @let_others() {{
entry:
  %alone = call i1 @is_alone()
  br i1 %alone, label %stay, label %leave
stay:
  ret ptr null
leave:
  %thread = call ptr @PyEval_SaveThread()
  ret ptr %thread
}}

define internal void @go_on(ptr %thread) {{
entry:
  %stayed = icmp eq ptr %thread, null
  br i1 %stayed, label %out, label %back
back:
  call void @PyEval_RestoreThread(ptr %thread)
  br label %out
out:
  ret void
}}

; Puts a launch on a stream with the tensors of a row and other numbers; as `count` says.
define internal i64 @put_kernel(ptr %shot, ptr %row, ptr %numbers, ptr %lane, ptr %stream) {{
entry:
  %record = call ptr @link(ptr %shot, i64 {shot_record})
  %context = load ptr, ptr %record
  %count = call i64 @word(ptr %shot, i64 {shot_slots})
  %room = add i64 %count, 1
  %slots = alloca i64, i64 %room
  %pointers = alloca ptr, i64 %room
  %skipped = add i64 %count, {behind_head}
  %source = getelementptr i64, ptr %record, i64 %skipped
  call void @copy(ptr %source, ptr %slots, ptr %pointers, i64 %count)
  ; Places are those of words of the record.
  %negative = sub i64 0, %skipped
  %base = getelementptr i64, ptr %slots, i64 %negative
  call void @fill(ptr %shot, ptr %row, ptr %numbers, ptr %base)
  %thread = call ptr @let_others()
  %status = call i32 @kernel(ptr %context, ptr %record, ptr %pointers, ptr %stream)
  call void @go_on(ptr %thread)
  %answer = call i64 @count(ptr %lane, i32 %status)
  ret i64 %answer
}}

; Waits until all on a stream is done, or time is up; if all that its lane has begun was put there,
; the lane knows that it is over.
define internal i64 @see_through(ptr %context, ptr %lane, ptr %stream, i64 %budget) {{
entry:
  %unput = call i64 @word(ptr %lane, i64 {lane_unput})
  %issued = call i64 @word(ptr %lane, i64 {lane_issued})
  %thread = call ptr @let_others()
  %status = call i32 @drain(ptr %context, ptr %stream, i64 %budget)
  call void @go_on(ptr %thread)
  %all_put = icmp eq i64 %unput, 0
  %well = icmp eq i32 %status, 0
  %over = and i1 %all_put, %well
  br i1 %over, label %tell, label %out
tell:
  %told = call i64 @tw_pass(ptr %lane, i64 %issued)
  br label %out
out:
  %answer = zext i32 %status to i64
  ret i64 %answer
}}

define internal i64 @begin(ptr %shot, ptr %row, ptr %lane, ptr %there) {{
  %number = call i64 @numbered(ptr %shot, ptr %row, ptr %lane)
  ret i64 %number
}}

; Begins a plain launch, puts it on its stream, and waits for it if there is a budget for that.
; Notes that its op was used, in a list of its uses that must be empty. Gives how many were put
; there, shifted, and how the waiting ended; minus why it could not be put there; or 0 if it could
; not be begun. The least number: an error is set.
define i64 @tw_fire_now(
    ptr %shot, ptr %uses, ptr %user, ptr %known, ptr %row, ptr %numbers, ptr %lane, ptr %stream,
    i64 %budget) {{
entry:
  %begun = call i64 @opened(
    ptr %shot, ptr %uses, ptr %user, ptr %known, ptr %row, ptr %lane, ptr null)
  %unready = icmp sle i64 %begun, 0
  br i1 %unready, label %out, label %put
out:
  ret i64 %begun
put:
  %count = call i64 @put_kernel(ptr %shot, ptr %row, ptr %numbers, ptr %lane, ptr %stream)
  %record = call ptr @link(ptr %shot, i64 {shot_record})
  %context = load ptr, ptr %record
  %answer = call i64 @seen(ptr %context, i64 %count, ptr %lane, ptr %stream, i64 %budget)
  ret i64 %answer
}}

define ptr @tw_fire(
    ptr %shot, ptr %uses, ptr %user, ptr %known, ptr %row, ptr %numbers, ptr %lane, ptr %stream,
    i64 %budget) {{
  %answer = call i64 @tw_fire_now(
    ptr %shot, ptr %uses, ptr %user, ptr %known, ptr %row, ptr %numbers, ptr %lane, ptr %stream,
    i64 %budget)
  %object = call ptr @told(i64 %answer)
  ret ptr %object
}}

; What `count` gave, and how waiting ended, if there is a budget for that.
define internal i64 @seen(ptr %context, i64 %count, ptr %lane, ptr %stream, i64 %budget) {{
entry:
  %refused = icmp slt i64 %count, 0
  br i1 %refused, label %out, label %look
look:
  %shifted = shl i64 %count, {status_bits}
  %waits = icmp sgt i64 %budget, 0
  br i1 %waits, label %wait, label %out
wait:
  %status = call i64 @see_through(ptr %context, ptr %lane, ptr %stream, i64 %budget)
  %both = or i64 %shifted, %status
  br label %out
out:
  %answer = phi i64 [ %count, %entry ], [ %shifted, %look ], [ %both, %wait ]
  ret i64 %answer
}}
"""

COPY = counted("copy", "ptr %source, ptr %slots, ptr %pointers", """
    %word = call i64 @word(ptr %source, i64 %i)
    call void @set(ptr %slots, i64 %i, i64 %word)
    %slot = getelementptr i64, ptr %slots, i64 %i
    %address = ptrtoint ptr %slot to i64
    call void @set(ptr %pointers, i64 %i, i64 %address)
""", after="call void @set(ptr %pointers, i64 %count, i64 0)")  # fmt: skip
"""Copies parameters, and writes where each copy is; a zero ends that. Nothing is in braces there.
"""
_RECORDED = {"event": "ptr", "stream": "ptr"}

TEXT = "".join((
    KERNEL,
    within("kernel", "@call_kernel", {"record": "ptr", "parameters": "ptr", "stream": "ptr"}),
    within("record", "{cuEventRecord}", _RECORDED),
    exported("record", _RECORDED),
    LAUNCHES,
    FIRE,
))  # fmt: skip

NUMBERS = {
    "function": Head.FUNCTION.value,
    "parameters": Head.PARAMETERS.value,
    "behind_head": HEAD_WORDS + 1,
    "failed": FAILED,
    "status_bits": STATUS_BITS,
    **{f"lane_{word.name.lower()}": word.value for word in LaneWord},
    **{f"shot_{word.name.lower()}": word.value for word in ShotWord},
}
"""What else stands in braces there."""
