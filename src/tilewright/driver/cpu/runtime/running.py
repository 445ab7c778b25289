"""LLVM text that runs jobs: hands out blocks, calls helpers to those that last, runs lists.

    i64 work(job, scratch, budget)               blocks until none is left (0) or time is up (1)
    i64 run_job(state, job, scratch, budget)     the same, with helpers if it lasts
    i64 run_entry(state, entry, scratch, budget) a job, or all jobs of a list one after the other

Blocks are handed out in increasing order by an atomic counter, in pieces that grow until one takes
about 100 us, or hold as many as share work. Who owns a job runs it alone for a moment, since waking
a helper takes as long; then the job is listed, and idle workers join. Where that was so before,
they are called first. The owner leaves when they have.
"""

from __future__ import annotations

from ....base.cpu_abi import LaunchWord
from .common import MONOTONIC, NAP, SPIN, words
from .words import Job, State

QUICK, SLOW = 64_000, 256_000
"""Nanoseconds for a piece of blocks below which the next one doubles and above which it halves."""

CANCEL, TAKEN = LaunchWord.CANCEL.value, LaunchWord.ERROR_TAKEN.value
FAILURE_BYTES = 8 * (LaunchWord.ERROR_EXTENT.value - TAKEN + 1)

WORK = f"""
define internal i64 @work(ptr %job, ptr %scratch, i64 %budget) {{
entry:
{words("job", Job, "KERNEL", "ARGUMENTS", "LAUNCH", "BLOCKS", "THREADS", "COUNTER")}
{words("job", Job, "SHARED", "TOGETHER")}
  %kernel = load ptr, ptr %kernel_at
  %arguments = load ptr, ptr %arguments_at
  %launch = load ptr, ptr %launch_at
  %blocks = load i64, ptr %blocks_at
  %threads = load i64, ptr %threads_at
  %single = icmp eq i64 %threads, 1
  %pieces = shl i64 %threads, 2
  %shares = select i1 %single, i64 1, i64 %pieces
  %shared = load i64, ptr %shared_at
  %joined = icmp ne i64 %shared, 0
  ; Who is alone until helpers are called goes by single blocks, not to be late.
  %settled = or i1 %joined, %single
  %together = load i64, ptr %together_at
  %least = select i1 %settled, i64 %together, i64 1
  %part = udiv i64 %blocks, %shares
  %most = call i64 @llvm.smin.i64(i64 %least, i64 %part)
  %first = call i64 @llvm.smax.i64(i64 %most, i64 1)
  %cancel_at = getelementptr i64, ptr %launch, i64 {CANCEL}
  %begun_at = getelementptr i64, ptr %launch, i64 {LaunchWord.BEGUN.value}
  %look_at = getelementptr i64, ptr %launch, i64 {LaunchWord.LOOK.value}
  store atomic ptr @tw_look, ptr %look_at monotonic, align 8
  %start = call i64 @now(i32 {MONOTONIC})
  br label %take
take:
  %grain = phi i64 [ %first, %entry ], [ %next, %timed ]
  %before = phi i64 [ %start, %entry ], [ %after, %timed ]
  %begin = atomicrmw add ptr %counter_at, i64 %grain monotonic
  %left = sub i64 %blocks, %begin
  %some = icmp sgt i64 %left, 0
  br i1 %some, label %run, label %done
run:
  %piece = call i64 @llvm.smin.i64(i64 %grain, i64 %left)
  %end = add i64 %begin, %piece
  store atomic i64 %before, ptr %begun_at monotonic, align 8
  call void %kernel(ptr %arguments, ptr %launch, i64 %begin, i64 %end, ptr %scratch)
  %cancel = load atomic i64, ptr %cancel_at monotonic, align 8
  %stopped = icmp ne i64 %cancel, 0
  %last = icmp sge i64 %end, %blocks
  %over = or i1 %stopped, %last
  br i1 %over, label %done, label %timed
timed:
  %after = call i64 @now(i32 {MONOTONIC})
  %spent = sub i64 %after, %before
  %quick = icmp slt i64 %spent, {QUICK}
  %slow = icmp sgt i64 %spent, {SLOW}
  %double = shl i64 %grain, 1
  %half = lshr i64 %grain, 1
  %faster = select i1 %quick, i64 %double, i64 %grain
  %timely = select i1 %slow, i64 %half, i64 %faster
  %wanted = call i64 @llvm.smax.i64(i64 %timely, i64 %least)
  %share = udiv i64 %left, %shares
  %fair = call i64 @llvm.smin.i64(i64 %wanted, i64 %share)
  %next = call i64 @llvm.smax.i64(i64 %fair, i64 1)
  %total = sub i64 %after, %start
  %late = icmp sgt i64 %total, %budget
  br i1 %late, label %out, label %take
out:
  call void @spend(ptr %job, i64 %start)
  ret i64 1
done:
  call void @spend(ptr %job, i64 %start)
  ret i64 0
}}

; Note the time spent in a job. Threads that do so at once may lose some of it; who asks, asks of
; jobs that take too little for more than one.
define internal void @spend(ptr %job, i64 %start) {{
{words("job", Job, "LASTED")}
  %time = call i64 @now(i32 {MONOTONIC})
  %spent = sub i64 %time, %start
  %before = load atomic i64, ptr %lasted_at monotonic, align 8
  %lasted = add i64 %before, %spent
  store atomic i64 %lasted, ptr %lasted_at monotonic, align 8
  ret void
}}
"""

SHARE = f"""
; Wake so many workers, or all that sleep; how many that are. The lock is held.
define internal i64 @wake(ptr %state, i64 %wanted) {{
entry:
{words("state", State, "SLEEPING", "WORK")}
  %sleeping = load i64, ptr %sleeping_at
  %needed = call i64 @llvm.smin.i64(i64 %sleeping, i64 %wanted)
  br label %head
head:
  %called = phi i64 [ 0, %entry ], [ %following, %call ]
  %enough = icmp sge i64 %called, %needed
  br i1 %enough, label %out, label %call
call:
  call i32 @pthread_cond_signal(ptr %work_at)
  %following = add i64 %called, 1
  br label %head
out:
  ret i64 %called
}}

; Let helpers find a job.
define internal void @share(ptr %state, ptr %job) {{
entry:
  %first_at = getelementptr i64, ptr %state, i64 {State.SHARED.value}
{words("state", State, "GENERATION")}
{words("job", Job, "THREADS", "ROOM", "SHARED", "LISTED", "NEXT_SHARED", "PROCESSOR", "SINCE")}
  %here = call i64 @processor()
  store i64 %here, ptr %processor_at
  %time = call i64 @now(i32 {MONOTONIC})
  store i64 %time, ptr %since_at
  call void @lock(ptr %state)
  %threads = load i64, ptr %threads_at
  %room = sub i64 %threads, 1
  store i64 %room, ptr %room_at
  store i64 1, ptr %shared_at
  store i64 1, ptr %listed_at
  %first = load ptr, ptr %first_at
  store ptr %first, ptr %next_shared_at
  store ptr %job, ptr %first_at
  atomicrmw add ptr %generation_at, i64 1 release
  %woken = call i64 @wake(ptr %state, i64 %room)
  call void @unlock(ptr %state)
  %some = icmp sgt i64 %woken, 0
  br i1 %some, label %yield, label %out
yield:
  ; One that was woken may wait for this very processor.
  call i32 @sched_yield()
  br label %out
out:
  ret void
}}

; Let helpers find a job no longer. The lock is held.
define internal void @unlist(ptr %state, ptr %job) {{
entry:
{words("state", State, "SHARED")}
{words("job", Job, "LISTED", "NEXT_SHARED")}
  %listed = load i64, ptr %listed_at
  %known = icmp ne i64 %listed, 0
  br i1 %known, label %look, label %out
look:
  %place = phi ptr [ %shared_at, %entry ], [ %following_at, %on ]
  %found = load ptr, ptr %place
  %here = icmp eq ptr %found, %job
  br i1 %here, label %remove, label %on
on:
  %following_at = getelementptr i64, ptr %found, i64 {Job.NEXT_SHARED.value}
  br label %look
remove:
  %following = load ptr, ptr %next_shared_at
  store ptr %following, ptr %place
  store i64 0, ptr %listed_at
  br label %out
out:
  ret void
}}

; Wait until no helper is in a job any more: 0. Or 1, after a nap.
define internal i64 @part(ptr %state, ptr %job) {{
entry:
{words("state", State, "MUTEX", "HELPED")}
{words("job", Job, "ACTIVE")}
  %until = alloca [2 x i64]
  %start = call i64 @now(i32 {MONOTONIC})
  br label %spin
spin:
  %busy = load atomic i64, ptr %active_at acquire, align 8
  %alone = icmp eq i64 %busy, 0
  br i1 %alone, label %close, label %pause
pause:
  call void @pause()
  %time = call i64 @now(i32 {MONOTONIC})
  %waited = sub i64 %time, %start
  %tired = icmp sgt i64 %waited, {SPIN}
  br i1 %tired, label %close, label %spin
close:
  call void @lock(ptr %state)
  call void @unlist(ptr %state, ptr %job)
  call void @deadline(ptr %until, i64 {NAP})
  br label %check
check:
  %active = load atomic i64, ptr %active_at acquire, align 8
  %empty = icmp eq i64 %active, 0
  br i1 %empty, label %out, label %wait
wait:
  %result = call i32 @pthread_cond_timedwait(ptr %helped_at, ptr %mutex_at, ptr %until)
  %signalled = icmp eq i32 %result, 0
  br i1 %signalled, label %check, label %out
out:
  %status = phi i64 [ 0, %check ], [ 1, %wait ]
  call void @unlock(ptr %state)
  ret i64 %status
}}
"""

RUN = f"""
define internal i64 @run_job(ptr %state, ptr %job, ptr %scratch, i64 %budget) {{
entry:
{words("state", State, "ALONE")}
{words("job", Job, "THREADS", "SHARED", "LONG", "SINCE")}
  %alone = load i64, ptr %alone_at
  %threads = load i64, ptr %threads_at
  %several = icmp sgt i64 %threads, 1
  %patient = icmp sgt i64 %budget, %alone
  %may_share = and i1 %several, %patient
  %shared = load i64, ptr %shared_at
  %joined = icmp ne i64 %shared, 0
  br i1 %joined, label %together, label %remember
remember:
  %was_long = load i64, ptr %long_at
  %long = icmp ne i64 %was_long, 0
  %at_once = and i1 %long, %may_share
  br i1 %at_once, label %call, label %begin
begin:
  store i64 0, ptr %long_at
  %little = call i64 @llvm.smin.i64(i64 %alone, i64 %budget)
  %single = xor i1 %several, 1
  %first = select i1 %single, i64 %budget, i64 %little
  %some = call i64 @work(ptr %job, ptr %scratch, i64 %first)
  %lasts = icmp ne i64 %some, 0
  %ask = and i1 %lasts, %may_share
  br i1 %ask, label %call, label %out
call:
  call void @share(ptr %state, ptr %job)
  br label %together
together:
  %more = call i64 @work(ptr %job, ptr %scratch, i64 %budget)
  %late = icmp ne i64 %more, 0
  br i1 %late, label %out, label %end
end:
  %stays = call i64 @part(ptr %state, ptr %job)
  %since = load i64, ptr %since_at
  %time = call i64 @now(i32 {MONOTONIC})
  %spent = sub i64 %time, %since
  %worth = icmp sgt i64 %spent, %alone
  %is_long = zext i1 %worth to i64
  store i64 %is_long, ptr %long_at
  br label %out
out:
  %status = phi i64 [ %some, %begin ], [ %more, %together ], [ %stays, %end ]
  ret i64 %status
}}

; Make a job as good as new.
define internal void @renew(ptr %job) {{
{words("job", Job, "COUNTER", "SHARED", "LAUNCH")}
  store i64 0, ptr %counter_at
  store i64 0, ptr %shared_at
  %launch = load ptr, ptr %launch_at
  %cancel_at = getelementptr i64, ptr %launch, i64 {CANCEL}
  %taken_at = getelementptr i64, ptr %launch, i64 {TAKEN}
  store i64 0, ptr %cancel_at
  store i64 0, ptr %taken_at
  ret void
}}

; Let the launch words of a list show the first failure of its nodes.
define internal void @keep_failure(ptr %entry, ptr %node, i64 %number) {{
{words("entry", Job, "FAILED", "LAUNCH")}
  %from_at = getelementptr i64, ptr %node, i64 {Job.LAUNCH.value}
  %from = load ptr, ptr %from_at
  %source = getelementptr i64, ptr %from, i64 {TAKEN}
  %launch = load ptr, ptr %launch_at
  %target = getelementptr i64, ptr %launch, i64 {TAKEN}
  %failed = load i64, ptr %source
  %known = load i64, ptr %target
  %is_new = icmp ugt i64 %failed, %known
  br i1 %is_new, label %keep, label %out
keep:
  call void @llvm.memcpy.p0.p0.i64(ptr %target, ptr %source, i64 {FAILURE_BYTES}, i1 false)
  store i64 %number, ptr %failed_at
  br label %out
out:
  ret void
}}

define internal i64 @run_entry(ptr %state, ptr %entry, ptr %scratch, i64 %budget) {{
start:
{words("entry", Job, "NODES", "COUNT", "AT", "BEGUN", "CANCELLED")}
  %nodes = load ptr, ptr %nodes_at
  %single = icmp eq ptr %nodes, null
  br i1 %single, label %job, label %list
job:
  %status = call i64 @run_job(ptr %state, ptr %entry, ptr %scratch, i64 %budget)
  ret i64 %status
list:
  %count = load i64, ptr %count_at
  br label %head
head:
  %at = load i64, ptr %at_at
  %left = icmp slt i64 %at, %count
  %cancelled = load atomic i64, ptr %cancelled_at monotonic, align 8
  %wanted = icmp eq i64 %cancelled, 0
  %another = and i1 %left, %wanted
  %begun = load i64, ptr %begun_at
  %under_way = icmp ne i64 %begun, 0
  ; A node that was begun is seen to its end, cancelled or not: helpers may be in it.
  %go = or i1 %another, %under_way
  br i1 %go, label %choose, label %over
choose:
  %node_at = getelementptr ptr, ptr %nodes, i64 %at
  %node = load ptr, ptr %node_at
  br i1 %under_way, label %run, label %fresh
fresh:
  call void @renew(ptr %node)
  store i64 1, ptr %begun_at
  br label %run
run:
  %more = call i64 @run_job(ptr %state, ptr %node, ptr %scratch, i64 %budget)
  %late = icmp ne i64 %more, 0
  br i1 %late, label %later, label %next
next:
  call void @keep_failure(ptr %entry, ptr %node, i64 %at)
  %following = add i64 %at, 1
  store i64 %following, ptr %at_at
  store i64 0, ptr %begun_at
  br label %head
later:
  ret i64 1
over:
  ret i64 0
}}
"""

TEXT = WORK + SHARE + RUN
