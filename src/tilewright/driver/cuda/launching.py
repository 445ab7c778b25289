"""LLVM text that launches kernels and graphs, and the words that say what is launched.

Called as `native` says; the driver's functions stand in braces.
"""

from __future__ import annotations

from enum import IntEnum

from ..stub.words import LaneWord, TensorWord


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


class ShotWord(IntEnum):
    """What all plain launches of one kernel over one grid have in common."""

    RECORD = 0
    """The address of a record, with the parameters that are always the same."""
    SLOTS = 1
    """How many parameters there are."""
    TENSORS = 2
    """How many of them are addresses of tensors, and which."""
    TENSOR_PLACES = 3
    NUMBERS = 4
    """How many are other numbers that differ, and which."""
    NUMBER_PLACES = 5


SHOT_WORDS = 6

TEXT = """
define internal i32 @word32(ptr %record, i64 %index) {{
  %at = getelementptr i64, ptr %record, i64 %index
  %word = load i64, ptr %at
  %low = trunc i64 %word to i32
  ret i32 %low
}}

; Launch what a record says, with these parameters; the driver's status.
define internal i32 @launch(ptr %record, ptr %parameters, ptr %stream) {{
entry:
  %context = load ptr, ptr %record
  %entered = call i32 @enter(ptr %context)
  %bad = icmp slt i32 %entered, 0
  br i1 %bad, label %refused, label %go
refused:
  %why = sub i32 0, %entered
  ret i32 %why
go:
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
  call void @leave(i32 %entered)
  ret i32 %status
}}

define i64 @tw_launch(ptr %record, ptr %stream) {{
  %parameters = call ptr @link(ptr %record, i64 {parameters})
  %status = call i32 @launch(ptr %record, ptr %parameters, ptr %stream)
  %answer = zext i32 %status to i64
  ret i64 %answer
}}

; Writes words to their places.
define internal void @scatter(ptr %target, ptr %places, ptr %words, i64 %count) {{
entry:
  br label %head
head:
  %i = phi i64 [ 0, %entry ], [ %next, %each ]
  %more = icmp slt i64 %i, %count
  br i1 %more, label %each, label %out
each:
  %place = call i64 @word(ptr %places, i64 %i)
  %word = call i64 @word(ptr %words, i64 %i)
  call void @set(ptr %target, i64 %place, i64 %word)
  %next = add i64 %i, 1
  br label %head
out:
  ret void
}}

; Writes the addresses of all tensors to their places.
define internal void @place(ptr %target, ptr %places, ptr %row, i64 %count) {{
entry:
  br label %head
head:
  %i = phi i64 [ 0, %entry ], [ %next, %each ]
  %more = icmp slt i64 %i, %count
  br i1 %more, label %each, label %out
each:
  %tensor = call ptr @link(ptr %row, i64 %i)
  %address = call i64 @word(ptr %tensor, i64 {address})
  %place = call i64 @word(ptr %places, i64 %i)
  call void @set(ptr %target, i64 %place, i64 %address)
  %next = add i64 %i, 1
  br label %head
out:
  ret void
}}

; Copies the parameters of a record, and writes where each copy is; a zero ends that.
define internal void @copy(ptr %record, i64 %count, ptr %slots, ptr %pointers) {{
entry:
  %skipped = add i64 %count, {behind_head}
  %source = getelementptr i64, ptr %record, i64 %skipped
  br label %head
head:
  %i = phi i64 [ 0, %entry ], [ %next, %each ]
  %more = icmp slt i64 %i, %count
  br i1 %more, label %each, label %out
each:
  %word = call i64 @word(ptr %source, i64 %i)
  call void @set(ptr %slots, i64 %i, i64 %word)
  %slot = getelementptr i64, ptr %slots, i64 %i
  %address = ptrtoint ptr %slot to i64
  call void @set(ptr %pointers, i64 %i, i64 %address)
  %next = add i64 %i, 1
  br label %head
out:
  call void @set(ptr %pointers, i64 %count, i64 0)
  ret void
}}

; How many launches were put on the lane's stream so, or minus the driver's status.
define i64 @tw_fire(ptr %row, ptr %numbers, ptr %shot, ptr %lane, ptr %stream) {{
entry:
  %record = call ptr @link(ptr %shot, i64 {shot_record})
  %count = call i64 @word(ptr %shot, i64 {shot_slots})
  %room = add i64 %count, 1
  %slots = alloca i64, i64 %room
  %pointers = alloca ptr, i64 %room
  call void @copy(ptr %record, i64 %count, ptr %slots, ptr %pointers)
  ; Places are those of words of the record.
  %negative = sub i64 -{behind_head}, %count
  %base = getelementptr i64, ptr %slots, i64 %negative
  %tensors = call i64 @word(ptr %shot, i64 {shot_tensors})
  %tensor_places = call ptr @link(ptr %shot, i64 {shot_tensor_places})
  call void @place(ptr %base, ptr %tensor_places, ptr %row, i64 %tensors)
  %given = call i64 @word(ptr %shot, i64 {shot_numbers})
  %number_places = call ptr @link(ptr %shot, i64 {shot_number_places})
  call void @scatter(ptr %base, ptr %number_places, ptr %numbers, i64 %given)
  ; A full queue lets the driver wait.
  %thread = call ptr @PyEval_SaveThread()
  %status = call i32 @launch(ptr %record, ptr %pointers, ptr %stream)
  call void @PyEval_RestoreThread(ptr %thread)
  %answer = call i64 @count(ptr %lane, i32 %status)
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

define i64 @tw_shoot(ptr %record, ptr %lane, ptr %stream) {{
  %parameters = call ptr @link(ptr %record, i64 {parameters})
  %thread = call ptr @PyEval_SaveThread()
  %status = call i32 @launch(ptr %record, ptr %parameters, ptr %stream)
  call void @PyEval_RestoreThread(ptr %thread)
  %answer = call i64 @count(ptr %lane, i32 %status)
  ret i64 %answer
}}

define i64 @tw_replay(ptr %context, ptr %executable, ptr %lane, ptr %stream) {{
entry:
  %thread = call ptr @PyEval_SaveThread()
  %entered = call i32 @enter(ptr %context)
  %bad = icmp slt i32 %entered, 0
  br i1 %bad, label %refused, label %go
refused:
  %why = sub i32 0, %entered
  br label %out
go:
  %launched = call i32 {cuGraphLaunch}(ptr %executable, ptr %stream)
  call void @leave(i32 %entered)
  br label %out
out:
  %status = phi i32 [ %why, %refused ], [ %launched, %go ]
  call void @PyEval_RestoreThread(ptr %thread)
  %answer = call i64 @count(ptr %lane, i32 %status)
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

NUMBERS = {
    "function": Head.FUNCTION.value,
    "parameters": Head.PARAMETERS.value,
    "behind_head": HEAD_WORDS + 1,
    "address": TensorWord.ADDRESS.value,
    "lane_put": LaneWord.PUT.value,
    **{f"shot_{word.name.lower()}": word.value for word in ShotWord},
}
"""What else stands in braces there."""
