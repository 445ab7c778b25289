"""LLVM text that runs a graph on the calling thread, as `CpuReplay.fire` and what calls it do.

A part of `quick_text`, which says what stands in braces. Whatever is unusual is found out before
anything was done, but for what a run reports, which Python hears.
"""

from __future__ import annotations

from ..driver.cpu.firing import REPORTS
from ..driver.cpu.record import CANCEL

READY = """
; Whether a replay can be run on a stream here; what changes between its runs is looked at later.
define internal i1 @may_run_here(ptr %op, ptr %replay, ptr %stream) alwaysinline {{
entry:
  %fits = call i1 @is_of(ptr %replay, {CpuReplay})
  br i1 %fits, label %look, label %no
look:
  %native = call ptr @slot(ptr %replay, i64 {replay_here_fire})
  %compiled = icmp ne ptr %native, @_Py_NoneStruct
  %nodes = call ptr @slot(ptr %stream, i64 {here_nodes})
  %runs = icmp eq ptr %nodes, @_Py_NoneStruct
  %device = call ptr @slot(ptr %stream, i64 {here_device})
  %home = call ptr @slot(ptr %op, i64 {op_home})
  %there = icmp eq ptr %device, %home
  %both = and i1 %compiled, %runs
  %all = and i1 %both, %there
  ret i1 %all
no:
  ret i1 false
}}

; The run that is next, if no other is under way; it stays the replay's. Null: a closer look.
define internal ptr @next_run(ptr %replay) alwaysinline {{
entry:
  %last = call ptr @slot(ptr %replay, i64 {replay_here_last})
  %over = icmp eq ptr %last, @_Py_NoneStruct
  %run = call ptr @slot(ptr %replay, i64 {replay_here_run})
  %some = icmp ne ptr %run, @_Py_NoneStruct
  %both = and i1 %over, %some
  br i1 %both, label %look, label %no
look:
  %scratch = call ptr @slot(ptr %run, i64 {record_scratch})
  %with = icmp ne ptr %scratch, @_Py_NoneStruct
  br i1 %with, label %yes, label %no
yes:
  ret ptr %run
no:
  ret ptr null
}}

; Whether the nodes of a replay use as many threads as a run of it may now.
define internal i1 @are_spread(ptr %replay, ptr %queue, ptr %job) alwaysinline {{
  %blocks = call i64 @word(ptr %job, i64 {job_blocks})
  %single = icmp sle i64 %blocks, 1
  %state = call ptr @link(ptr %queue, i64 {queue_state})
  %most = call i64 @word(ptr %state, i64 {state_usual})
  %told = call i64 @number_in(ptr %replay, i64 {replay_here_threads})
  %same = icmp eq i64 %told, %most
  %either = or i1 %single, %same
  ret i1 %either
}}
"""

_FORGOTTEN = "\n".join(f"  call void @set(ptr %job, i64 {i}, i64 0)" for i in (*REPORTS, CANCEL))

RENEW = f"""
; Makes a run that is over as good as new, whatever it reported.
define internal void @renew(ptr %job) {{{{
{_FORGOTTEN}
  ret void
}}}}
"""

RUN = """
; Runs a replay whose turn it is, over its graph's memory. 1: it is over; 0: it needs a closer look,
; and nothing was done; below 0: an error is set.
define internal i32 @run_next(
    ptr %op, ptr %graph, ptr %replay, ptr %memory, ptr %stream, ptr %user) {{
entry:
  %run = call ptr @next_run(ptr %replay)
  %none = icmp eq ptr %run, null
  br i1 %none, label %closer, label %prepare
closer:
  ret i32 0
prepare:
  %queue = call ptr @address_in(ptr %stream, i64 {here_address})
  %job = call ptr @address_in(ptr %run, i64 {record_address})
  %spread = call i1 @are_spread(ptr %replay, ptr %queue, ptr %job)
  br i1 %spread, label %ask, label %closer
ask:
  %budget = call ptr @spread(ptr %queue, ptr %job)
  %may = icmp ne ptr %budget, null
  br i1 %may, label %go, label %closer
go:
  ; The handler of a signal that interrupts this must not find it.
  call void @Py_IncRef(ptr %run)
  %nothing = call ptr @own(ptr @_Py_NoneStruct)
  call void @give(ptr %replay, i64 {replay_here_run}, ptr %nothing)
  %native = call ptr @slot(ptr %replay, i64 {replay_here_fire})
  %words = call ptr @slot(ptr %memory, i64 {memory_address})
  %built = call ptr @slot(ptr %op, i64 {op_built})
  %uses = call ptr @slot(ptr %op, i64 {op_uses})
  %both = call ptr @slot(ptr %run, i64 {record_scratch})
  %scratch = call ptr @PyTuple_GetItem(ptr %both, i64 0)
  %answer = call i64 @run_with(ptr %native, ptr %words, ptr %built, ptr %uses, ptr %stream,
    ptr %user, ptr %run, ptr %scratch, ptr %budget)
  %bad = icmp eq i64 %answer, {failed}
  br i1 %bad, label %renew, label %judge
judge:
  %silent = and i64 %answer, {quiet}
  %quiet = icmp ne i64 %silent, 0
  %undone = icmp eq i64 %answer, 0
  %went = select i1 %undone, i32 0, i32 1
  %unused = or i1 %quiet, %undone
  br i1 %unused, label %keep, label %hear
hear:
  %told = call i32 @hear(ptr %op, ptr %graph, ptr %run)
  br label %renew
renew:
  %ended = phi i32 [ -1, %go ], [ %told, %hear ]
  call void @renew(ptr %job)
  br label %keep
keep:
  %result = phi i32 [ %went, %judge ], [ %ended, %renew ]
  call void @give(ptr %replay, i64 {replay_here_run}, ptr %run)
  ret i32 %result
}}

; The same when its turn has come, as Python takes it.
define internal i32 @run_in_turn(ptr %op, ptr %graph, ptr %replay, ptr %stream, ptr %user) {{
entry:
  %error = alloca [3 x ptr]
  %take = call ptr @slot(ptr %replay, i64 {replay_here_take})
  %taken = call ptr @PyObject_CallNoArgs(ptr %take)
  call void @Py_DecRef(ptr %taken)
  %interrupted = icmp eq ptr %taken, null
  br i1 %interrupted, label %failed, label %look
failed:
  ret i32 -1
look:
  ; Another thread may have given the graph other arguments meanwhile.
  %memory = call ptr @memory_of(ptr %graph)
  %none = icmp eq ptr %memory, null
  br i1 %none, label %leave, label %run
run:
  call void @Py_IncRef(ptr %memory)
  %ran = call i32 @run_next(
    ptr %op, ptr %graph, ptr %replay, ptr %memory, ptr %stream, ptr %user)
  call void @Py_DecRef(ptr %memory)
  br label %leave
leave:
  %result = phi i32 [ 0, %look ], [ %ran, %run ]
  call void @set_aside(ptr %error)
  %end = call ptr @slot(ptr %replay, i64 {replay_here_leave})
  %left = call ptr @PyObject_CallNoArgs(ptr %end)
  call void @Py_DecRef(ptr %left)
  call void @raise_again(ptr %error)
  ret i32 %result
}}

; The same for a replay that may not be one of the CPU, or not ready.
define internal i32 @end_here(ptr %op, ptr %graph, ptr %replay, ptr %stream, ptr %user) {{
entry:
  %error = alloca [3 x ptr]
  %may = call i1 @may_run_here(ptr %op, ptr %replay, ptr %stream)
  br i1 %may, label %go, label %closer
closer:
  ret i32 0
go:
  call void @Py_IncRef(ptr %graph)
  call void @Py_IncRef(ptr %replay)
  %fired = call i32 @run_in_turn(
    ptr %op, ptr %graph, ptr %replay, ptr %stream, ptr %user)
  %uses = call ptr @slot(ptr %op, i64 {op_uses})
  %count = call i64 @PyList_Size(ptr %uses)
  %used = icmp sgt i64 %count, 0
  %failed = icmp slt i32 %fired, 0
  %lost = and i1 %failed, %used
  br i1 %lost, label %drop, label %out
drop:
  call void @set_aside(ptr %error)
  call void @spend(ptr %op)
  call void @raise_again(ptr %error)
  br label %out
out:
  call void @Py_DecRef(ptr %replay)
  call void @Py_DecRef(ptr %graph)
  ret i32 %fired
}}
"""

TEXT = READY + RENEW + RUN
