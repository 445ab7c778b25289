"""LLVM text that puts what was recorded on streams: graphs, or the one kernel of a graph.

As `launching`, whose text stands before it.
"""

from __future__ import annotations

from ..stub.words import MemoryWord
from .entering import within

REPLAYS = """
; Borrows memory once more, begins work with it, and notes who does, in words of memory and as the
; first use of an op; as `first_use` says.
define internal ptr @claim_memory(
    ptr %memory, ptr %uses, ptr %user, ptr %known, ptr %built, ptr %lane) {{
entry:
  %borrows = call ptr @link(ptr %memory, i64 {memory_borrows})
  %what = call ptr @link(ptr %memory, i64 {memory_what})
  %row = call ptr @link(ptr %memory, i64 {memory_row})
  %written = call i64 @word(ptr %memory, i64 {memory_written})
  %count = call i64 @word(ptr %memory, i64 {memory_count})
  %first = call ptr @first_use(ptr %uses, ptr %user, ptr %known)
  %lost = icmp eq ptr %first, null
  %used = icmp eq ptr %first, @_Py_NoneStruct
  %no = or i1 %lost, %used
  br i1 %no, label %out, label %name
name:
  %use = call ptr @use_at(ptr %borrows, ptr %what, ptr %built, ptr null)
  %nameless = icmp eq ptr %use, null
  br i1 %nameless, label %drop, label %lock
lock:
  %locked = call i32 @lock_borrows(ptr %borrows)
  %failing = icmp slt i32 %locked, 0
  br i1 %failing, label %interrupted, label %begin
interrupted:
  call void @Py_DecRef(ptr %use)
  br label %drop
drop:
  call void @Py_DecRef(ptr %first)
  ret ptr null
begin:
  %number = call i64 @tw_claim(ptr %row, i64 %written, i64 %count, ptr %lane)
  %unready = icmp slt i64 %number, 0
  br i1 %unready, label %refused, label %note
note:
  call void @note_uses(ptr %row, ptr %borrows, ptr %use, i64 %written)
  %noted = call i32 @PyList_Append(ptr %uses, ptr %first)
  br label %done
refused:
  call void @Py_DecRef(ptr %first)
  %none = call ptr @own(ptr @_Py_NoneStruct)
  br label %done
done:
  %answer = phi ptr [ %first, %note ], [ %none, %refused ]
  call void @unlock_borrows(ptr %borrows, i32 %locked)
  call void @Py_DecRef(ptr %use)
  ret ptr %answer
out:
  ret ptr %first
}}

; Puts a graph on a stream, or the one kernel that it consists of, as work of a lane.
define internal i64 @put_graph(
    ptr %context, ptr %record, ptr %executable, ptr %lane, ptr %stream) {{
entry:
  %thread = call ptr @let_others()
  %many = icmp eq ptr %record, null
  br i1 %many, label %all, label %one
one:
  %parameters = call ptr @link(ptr %record, i64 {parameters})
  %launched = call i32 @kernel(ptr %context, ptr %record, ptr %parameters, ptr %stream)
  br label %tell
all:
  %replayed = call i32 @graph(ptr %context, ptr %executable, ptr %stream)
  br label %tell
tell:
  %status = phi i32 [ %launched, %one ], [ %replayed, %all ]
  call void @go_on(ptr %thread)
  %count = call i64 @count(ptr %lane, i32 %status)
  ret i64 %count
}}

; As `tw_fire_now`, for what was recorded.
define i64 @tw_replay_now(
    ptr %context, ptr %record, ptr %executable, ptr %memory, ptr %uses, ptr %user, ptr %known,
    ptr %built, ptr %lane, ptr %stream, i64 %budget) {{
entry:
  %claimed = call ptr @claim_memory(
    ptr %memory, ptr %uses, ptr %user, ptr %known, ptr %built, ptr %lane)
  %failed = icmp eq ptr %claimed, null
  br i1 %failed, label %out, label %judge
out:
  ret i64 {failed}
judge:
  call void @Py_DecRef(ptr %claimed)
  %closer = icmp eq ptr %claimed, @_Py_NoneStruct
  br i1 %closer, label %no, label %put
no:
  ret i64 0
put:
  %count = call i64 @put_graph(
    ptr %context, ptr %record, ptr %executable, ptr %lane, ptr %stream)
  %answer = call i64 @seen(ptr %context, i64 %count, ptr %lane, ptr %stream, i64 %budget)
  ret i64 %answer
}}

define ptr @tw_replay(
    ptr %context, ptr %record, ptr %executable, ptr %memory, ptr %uses, ptr %user, ptr %known,
    ptr %built, ptr %lane, ptr %stream, i64 %budget) {{
  %answer = call i64 @tw_replay_now(
    ptr %context, ptr %record, ptr %executable, ptr %memory, ptr %uses, ptr %user, ptr %known,
    ptr %built, ptr %lane, ptr %stream, i64 %budget)
  %object = call ptr @told(i64 %answer)
  ret ptr %object
}}

define i64 @tw_shoot(ptr %record, ptr %lane, ptr %stream) {{
  %context = load ptr, ptr %record
  %count = call i64 @put_graph(ptr %context, ptr %record, ptr null, ptr %lane, ptr %stream)
  ret i64 %count
}}
"""

TEXT = within("graph", "{cuGraphLaunch}", {"executable": "ptr", "stream": "ptr"}) + REPLAYS

NUMBERS = {f"memory_{word.name.lower()}": word.value for word in MemoryWord}
"""What else stands in braces there, besides the numbers of `launching`."""
