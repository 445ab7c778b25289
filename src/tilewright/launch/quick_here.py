"""LLVM text that runs a plain launch on the calling thread, as `CpuShot.fire` does.

A part of `quick_text`, which says what stands in braces. Whatever is unusual is found out before
anything was done, but for what a launch reports, which Python hears.
"""

from __future__ import annotations

READY = """
; How a plain launch runs here; null: it needs a closer look.
define internal ptr @shot_here(ptr %op, ptr %stream, ptr %known) alwaysinline {{
entry:
  %device = call ptr @slot(ptr %stream, i64 {here_device})
  %shot = call ptr @latest_shot(ptr %op, ptr %known, ptr %device, {CpuShot})
  %none = icmp eq ptr %shot, null
  br i1 %none, label %no, label %look
look:
  %nodes = call ptr @slot(ptr %stream, i64 {here_nodes})
  %runs = icmp eq ptr %nodes, @_Py_NoneStruct
  %native = call ptr @slot(ptr %shot, i64 {shot_here_fire})
  %compiled = icmp ne ptr %native, @_Py_NoneStruct
  %both = and i1 %runs, %compiled
  br i1 %both, label %yes, label %no
yes:
  ret ptr %shot
no:
  ret ptr null
}}

; A record that is as good as new, with scratch of its own; the caller owns it. Null: there is none.
define internal ptr @take_record(ptr %idle) alwaysinline {{
entry:
  %count = call i64 @PyList_Size(ptr %idle)
  %some = icmp sgt i64 %count, 0
  br i1 %some, label %look, label %no
look:
  %last = sub i64 %count, 1
  %record = call ptr @PyList_GetItem(ptr %idle, i64 %last)
  %scratch = call ptr @slot(ptr %record, i64 {record_scratch})
  %without = icmp eq ptr %scratch, @_Py_NoneStruct
  br i1 %without, label %no, label %take
take:
  call void @Py_IncRef(ptr %record)
  %taken = call i32 @PyList_SetSlice(ptr %idle, i64 %last, i64 %count, ptr null)
  ret ptr %record
no:
  ret ptr null
}}
"""

RUN = """
; Runs a launch with a record that is taken. 1: it is over; 0: it needs a closer look, and nothing
; was done; below 0: an error is set.
define internal i32 @fire_here(
    ptr %op, ptr %held, ptr %shot, ptr %stream, ptr %uses, ptr %user) {{
entry:
  %idle = call ptr @slot(ptr %shot, i64 {shot_here_idle})
  %record = call ptr @take_record(ptr %idle)
  %none = icmp eq ptr %record, null
  br i1 %none, label %closer, label %prepare
closer:
  ret i32 0
prepare:
  %queue = call ptr @address_in(ptr %stream, i64 {here_address})
  %job = call ptr @address_in(ptr %record, i64 {record_address})
  %budget = call ptr @spread(ptr %queue, ptr %job)
  %may = icmp ne ptr %budget, null
  br i1 %may, label %go, label %put_back
go:
  %both = call ptr @slot(ptr %record, i64 {record_scratch})
  %scratch = call ptr @PyTuple_GetItem(ptr %both, i64 0)
  ; Others may change the op, and what is known of its kernel, while this runs.
  call void @Py_IncRef(ptr %held)
  call void @Py_IncRef(ptr %shot)
  %native = call ptr @slot(ptr %shot, i64 {shot_here_fire})
  %words = call ptr @slot(ptr %shot, i64 {shot_here_given})
  %size = call i64 @PyTuple_Size(ptr %held)
  %row_at = sub i64 %size, 2
  %row = call ptr @PyTuple_GetItem(ptr %held, i64 %row_at)
  %answer = call i64 @run_with(ptr %native, ptr %words, ptr %row, ptr %uses, ptr %stream, ptr %user,
    ptr %record, ptr %scratch, ptr %budget)
  %silent = and i64 %answer, {quiet}
  %quiet = icmp ne i64 %silent, 0
  %bad = icmp eq i64 %answer, {failed}
  %undone = icmp eq i64 %answer, 0
  br i1 %bad, label %drop, label %judge
judge:
  %unused = or i1 %quiet, %undone
  br i1 %unused, label %keep, label %hear
keep:
  %kept = call i32 @PyList_Append(ptr %idle, ptr %record)
  %went = select i1 %undone, i32 0, i32 1
  br label %drop
hear:
  %told = call i32 @hear(ptr %op, ptr %shot, ptr %record)
  br label %drop
drop:
  %result = phi i32 [ -1, %go ], [ %went, %keep ], [ %told, %hear ]
  call void @Py_DecRef(ptr %record)
  call void @Py_DecRef(ptr %shot)
  call void @Py_DecRef(ptr %held)
  ret i32 %result
put_back:
  %again = call i32 @PyList_Append(ptr %idle, ptr %record)
  call void @Py_DecRef(ptr %record)
  ret i32 0
}}
"""

TEXT = READY + RUN
