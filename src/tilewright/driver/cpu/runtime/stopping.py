"""LLVM text that stops work: one job, all of a stream, or everything.

void tw_give_up(entry)                       have a job, or a list of jobs, not run to its end
void tw_cancel(queue)                        the same for all that is there
void tw_stop(state)                          run nothing any more, send workers home
"""

from __future__ import annotations

from ....base.cpu_abi import LaunchWord
from .common import OF_QUEUE, words
from .words import Job, Queue, State

TEXT = f"""
; Ask a job to stop where it is.
define internal void @give_up(ptr %job) {{
{words("job", Job, "LAUNCH", "CANCELLED")}
  store atomic i64 1, ptr %cancelled_at monotonic, align 8
  %launch = load ptr, ptr %launch_at
  %none = icmp eq ptr %launch, null
  br i1 %none, label %out, label %tell
tell:
  %cancel_at = getelementptr i64, ptr %launch, i64 {LaunchWord.CANCEL.value}
  store atomic i64 1, ptr %cancel_at monotonic, align 8
  br label %out
out:
  ret void
}}

; The same for an entry: of a list, the node that may be running too.
define void @tw_give_up(ptr %entry) {{
start:
{words("entry", Job, "NODES", "COUNT", "AT")}
  call void @give_up(ptr %entry)
  %nodes = load ptr, ptr %nodes_at
  %list = icmp ne ptr %nodes, null
  %at = load i64, ptr %at_at
  %count = load i64, ptr %count_at
  %left = icmp slt i64 %at, %count
  %go = and i1 %list, %left
  br i1 %go, label %inner, label %out
inner:
  %node_at = getelementptr ptr, ptr %nodes, i64 %at
  %node = load ptr, ptr %node_at
  %launch_at = getelementptr i64, ptr %node, i64 {Job.LAUNCH.value}
  %launch = load ptr, ptr %launch_at
  %cancel_at = getelementptr i64, ptr %launch, i64 {LaunchWord.CANCEL.value}
  store atomic i64 1, ptr %cancel_at monotonic, align 8
  br label %out
out:
  ret void
}}

define void @tw_cancel(ptr %queue) {{
entry:
{OF_QUEUE}
{words("queue", Queue, "HEAD")}
  call void @lock(ptr %state)
  %head = load ptr, ptr %head_at
  br label %look
look:
  %job = phi ptr [ %head, %entry ], [ %next, %some ]
  %none = icmp eq ptr %job, null
  br i1 %none, label %out, label %some
some:
  call void @tw_give_up(ptr %job)
  %next_at = getelementptr i64, ptr %job, i64 {Job.NEXT.value}
  %next = load ptr, ptr %next_at
  br label %look
out:
  call void @unlock(ptr %state)
  ret void
}}

define void @tw_stop(ptr %state) {{
{words("state", State, "GENERATION", "READY", "READY_END", "READY_COUNT", "BLOCKED")}
{words("state", State, "STOP", "WORK")}
  call void @lock(ptr %state)
  store i64 1, ptr %stop_at
  call void @release(ptr %state, ptr %ready_at)
  store ptr null, ptr %ready_end_at
  store i64 0, ptr %ready_count_at
  call void @release(ptr %state, ptr %blocked_at)
  atomicrmw add ptr %generation_at, i64 1 release
  call i32 @pthread_cond_broadcast(ptr %work_at)
  call void @unlock(ptr %state)
  ret void
}}
"""
