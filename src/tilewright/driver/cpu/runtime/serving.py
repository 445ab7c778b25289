"""LLVM text of the workers: each runs the head of a ready stream, else helps, else sleeps.

    void tw_start(state)   make the state ready
    void tw_serve(state)   a worker's life, until `tw_stop`

A worker that helps looks up after a millisecond, so that a long job does not keep others from
starting. It keeps scratch memory between jobs, up to a limit.
"""

from __future__ import annotations

from .common import FOREVER, MONOTONIC, SPIN, words
from .words import Arena, Job, Queue, State

LOOK_UP = 1_000_000
"""Nanoseconds after which a helper sees whether a stream has become ready."""
PART, LONGEST = 8, 400_000
"""Workers look out longer than `SPIN` after work that lasted: a part of its time, and nanoseconds
at most. Who launches again meanwhile need not wake them, which takes 50 us."""
KEPT_SCRATCH = 8 << 20
"""Scratch beyond this size is given back after the job, by every thread."""
ALIGNMENT = 64

SCRATCH = f"""
; Have so many bytes of scratch; null: there is not enough memory.
define internal ptr @reserve(ptr %arena, i64 %wanted) {{
entry:
{words("arena", Arena, "ADDRESS", "BYTES")}
  %bytes = load i64, ptr %bytes_at
  %enough = icmp sge i64 %bytes, %wanted
  br i1 %enough, label %out, label %grow
grow:
  call void @trim(ptr %arena, i64 0)
  %status = call i32 @posix_memalign(ptr %address_at, i64 {ALIGNMENT}, i64 %wanted)
  %fine = icmp eq i32 %status, 0
  br i1 %fine, label %have, label %fail
have:
  store i64 %wanted, ptr %bytes_at
  br label %out
fail:
  store ptr null, ptr %address_at
  ret ptr null
out:
  %address = load ptr, ptr %address_at
  ret ptr %address
}}

; Keep at most so many bytes of scratch.
define internal void @trim(ptr %arena, i64 %limit) {{
entry:
{words("arena", Arena, "ADDRESS", "BYTES")}
  %bytes = load i64, ptr %bytes_at
  %fine = icmp sle i64 %bytes, %limit
  br i1 %fine, label %out, label %drop
drop:
  %address = load ptr, ptr %address_at
  call void @free(ptr %address)
  store ptr null, ptr %address_at
  store i64 0, ptr %bytes_at
  br label %out
out:
  ret void
}}
"""

OWN = f"""
; Run the head of a stream from beginning to end.
define internal void @own(ptr %state, ptr %queue, ptr %arena) {{
entry:
{words("queue", Queue, "HEAD")}
  %job = load ptr, ptr %head_at
{words("job", Job, "SCRATCH", "STARVED")}
  %wanted = load i64, ptr %scratch_at
  %scratch = call ptr @reserve(ptr %arena, i64 %wanted)
  %missing = icmp eq ptr %scratch, null
  %needed = icmp ne i64 %wanted, 0
  %starved = and i1 %missing, %needed
  br i1 %starved, label %fail, label %run
fail:
  store i64 1, ptr %starved_at
  br label %over
run:
  %more = call i64 @run_entry(ptr %state, ptr %job, ptr %scratch, i64 {FOREVER})
  %unfinished = icmp ne i64 %more, 0
  br i1 %unfinished, label %run, label %over
over:
  call void @trim(ptr %arena, i64 {KEPT_SCRATCH})
  call void @lock(ptr %state)
  call void @finish(ptr %state, ptr %queue)
  call void @unlock(ptr %state)
  ret void
}}

; Work on a job of another thread for a while, as one of its helpers.
define internal void @help(ptr %state, ptr %job, ptr %arena) {{
entry:
{words("state", State, "HELPED")}
{words("job", Job, "SCRATCH", "ACTIVE", "ROOM", "PROCESSOR")}
  %there = load i64, ptr %processor_at
  %here = call i64 @processor()
  %crowded = icmp eq i64 %here, %there
  br i1 %crowded, label %move, label %settled
move:
  call void @leave(i64 %here)
  br label %settled
settled:
  %wanted = load i64, ptr %scratch_at
  %scratch = call ptr @reserve(ptr %arena, i64 %wanted)
  %missing = icmp eq ptr %scratch, null
  %needed = icmp ne i64 %wanted, 0
  %starved = and i1 %missing, %needed
  br i1 %starved, label %leave, label %run
run:
  %left = call i64 @work(ptr %job, ptr %scratch, i64 {LOOK_UP})
  call void @trim(ptr %arena, i64 {KEPT_SCRATCH})
  br label %leave
leave:
  ; Who finds no memory leaves the job to the others too: they go on without help.
  %more = phi i64 [ 0, %settled ], [ %left, %run ]
  call void @lock(ptr %state)
  %room = load i64, ptr %room_at
  %again = add i64 %room, 1
  store i64 %again, ptr %room_at
  %over = icmp eq i64 %more, 0
  br i1 %over, label %close, label %go
close:
  call void @unlist(ptr %state, ptr %job)
  br label %go
go:
  %were = atomicrmw sub ptr %active_at, i64 1 release
  %last = icmp eq i64 %were, 1
  br i1 %last, label %tell, label %out
tell:
  call i32 @pthread_cond_broadcast(ptr %helped_at)
  br label %out
out:
  call void @unlock(ptr %state)
  ret void
}}
"""

CHOICE = f"""
; The first ready stream, taken off the list, or null. The lock is held.
define internal ptr @take_ready(ptr %state) {{
entry:
{words("state", State, "READY", "READY_END", "READY_COUNT")}
  %queue = load ptr, ptr %ready_at
  %none = icmp eq ptr %queue, null
  br i1 %none, label %out, label %take
take:
  %link_at = getelementptr i64, ptr %queue, i64 {Queue.LINK.value}
  %next = load ptr, ptr %link_at
  store ptr %next, ptr %ready_at
  %empty = icmp eq ptr %next, null
  %end = load ptr, ptr %ready_end_at
  %last = select i1 %empty, ptr null, ptr %end
  store ptr %last, ptr %ready_end_at
  %count = load i64, ptr %ready_count_at
  %fewer = sub i64 %count, 1
  store i64 %fewer, ptr %ready_count_at
  ; More may have become ready than anybody was woken for.
  call void @call_workers(ptr %state)
  br label %out
out:
  ret ptr %queue
}}

; A job that may be helped, joined, or null. The lock is held.
define internal ptr @join(ptr %state) {{
entry:
{words("state", State, "SHARED")}
  %first = load ptr, ptr %shared_at
  br label %look
look:
  %job = phi ptr [ %first, %entry ], [ %next, %on ]
  %none = icmp eq ptr %job, null
  br i1 %none, label %out, label %some
some:
{words("job", Job, "ROOM", "ACTIVE", "NEXT_SHARED")}
  %room = load i64, ptr %room_at
  %full = icmp sle i64 %room, 0
  br i1 %full, label %on, label %enter
on:
  %next = load ptr, ptr %next_shared_at
  br label %look
enter:
  %less = sub i64 %room, 1
  store i64 %less, ptr %room_at
  atomicrmw add ptr %active_at, i64 1 monotonic
  br label %out
out:
  ret ptr %job
}}
"""

SERVE = f"""
; Look out until something new has been put up, or for a moment, by how long a worker was busy.
define internal void @look_out(ptr %state, i64 %seen, i64 %busy_since) {{
entry:
{words("state", State, "GENERATION")}
  %start = call i64 @now(i32 {MONOTONIC})
  %busy = sub i64 %start, %busy_since
  %part = sdiv i64 %busy, {PART}
  %bounded = call i64 @llvm.smin.i64(i64 %part, i64 {LONGEST})
  %patience = call i64 @llvm.smax.i64(i64 %bounded, i64 {SPIN})
  br label %spin
spin:
  %generation = load atomic i64, ptr %generation_at acquire, align 8
  %changed = icmp ne i64 %generation, %seen
  br i1 %changed, label %out, label %pause
pause:
  call void @pause()
  %time = call i64 @now(i32 {MONOTONIC})
  %waited = sub i64 %time, %start
  %tired = icmp sgt i64 %waited, %patience
  br i1 %tired, label %out, label %spin
out:
  ret void
}}

; Sleep until something new has been put up. The lock is held.
define internal void @sleep(ptr %state, i64 %seen) {{
entry:
{words("state", State, "GENERATION", "SLEEPING", "MUTEX", "WORK")}
  br label %look
look:
  %generation = load atomic i64, ptr %generation_at monotonic, align 8
  %news = icmp ne i64 %generation, %seen
  br i1 %news, label %out, label %wait
wait:
  %sleeping = load i64, ptr %sleeping_at
  %more = add i64 %sleeping, 1
  store i64 %more, ptr %sleeping_at
  call i32 @pthread_cond_wait(ptr %work_at, ptr %mutex_at)
  %slept = load i64, ptr %sleeping_at
  %fewer = sub i64 %slept, 1
  store i64 %fewer, ptr %sleeping_at
  br label %look
out:
  ret void
}}

define void @tw_serve(ptr %state) {{
entry:
{words("state", State, "GENERATION", "LOOKING", "STOP")}
  %arena = alloca [2 x i64]
  call void @llvm.memset.p0.i64(ptr %arena, i8 0, i64 16, i1 false)
  call void @lock(ptr %state)
  br label %awake
awake:
  %busy_since = call i64 @now(i32 {MONOTONIC})
  br label %look
begin:
  call void @lock(ptr %state)
  br label %look
look:
  %stop = load i64, ptr %stop_at
  %stopped = icmp ne i64 %stop, 0
  br i1 %stopped, label %home, label %choose
choose:
  %seen = load atomic i64, ptr %generation_at monotonic, align 8
  %queue = call ptr @take_ready(ptr %state)
  %ready = icmp ne ptr %queue, null
  br i1 %ready, label %own, label %other
own:
  call void @unlock(ptr %state)
  call void @own(ptr %state, ptr %queue, ptr %arena)
  br label %begin
other:
  %job = call ptr @join(ptr %state)
  %joined = icmp ne ptr %job, null
  br i1 %joined, label %help, label %idle
help:
  call void @unlock(ptr %state)
  call void @help(ptr %state, ptr %job, ptr %arena)
  br label %begin
idle:
  %looking = load i64, ptr %looking_at
  %more = add i64 %looking, 1
  store i64 %more, ptr %looking_at
  call void @unlock(ptr %state)
  call void @look_out(ptr %state, i64 %seen, i64 %busy_since)
  call void @lock(ptr %state)
  %looked = load i64, ptr %looking_at
  %fewer = sub i64 %looked, 1
  store i64 %fewer, ptr %looking_at
  call void @sleep(ptr %state, i64 %seen)
  br label %awake
home:
  call void @unlock(ptr %state)
  call void @trim(ptr %arena, i64 0)
  ret void
}}

define void @tw_start(ptr %state) {{
{words("state", State, "MUTEX", "WORK", "HELPED", "PASSED", "ALERTED")}
  call i32 @pthread_mutex_init(ptr %mutex_at, ptr null)
  call i32 @pthread_cond_init(ptr %work_at, ptr null)
  call i32 @pthread_cond_init(ptr %helped_at, ptr null)
  call i32 @pthread_cond_init(ptr %passed_at, ptr null)
  call i32 @pthread_cond_init(ptr %alerted_at, ptr null)
  ret void
}}
"""

TEXT = SCRATCH + OWN + CHOICE + SERVE
