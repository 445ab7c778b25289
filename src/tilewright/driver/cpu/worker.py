"""The native half of the thread pool, as LLVM text: handing out blocks, waiting, waking.

    i64  work(job, scratch, budget)           run blocks until none is left (0) or time is up (1)
    void serve(state)                         a helper thread's life, until `stop`
    i64  launch(state, job, scratch, budget)  open the job to helpers, work, wait for them;
                                              1 when all is done, 0 when time is up: call it again
    void start(state), void stop(state)       make the state ready; cancel, send the helpers home

None of them needs the interpreter, so the pool costs a launch no switch of threads in Python.
Blocks are handed out in increasing order by an atomic counter, in pieces that grow until one takes
about 50 us. A helper that finds nothing to do looks out for work for a moment, then sleeps.

Schedulers wake a helper on the launching thread's own processor at times, in virtual machines even
while another one idles. There it would wait, so the launching thread lets it run for a moment, and
the helper moves.
"""

from __future__ import annotations

import platform
import sys
import time
from enum import IntEnum
from functools import cache

from ...base.cpu_abi import LaunchWord
from .native import NativeFunction, initialize, link, llvm


class Job(IntEnum):
    """Positions of the 64-bit words that describe a launch."""

    KERNEL = 0
    ARGUMENTS = 1
    LAUNCH = 2
    BLOCKS = 3
    SCRATCH = 4
    """Of the helpers: the first one's; the others' follow."""
    STRIDE = 5
    THREADS = 6
    COUNTER = 16
    """The next block; away from the rest, since all threads write it."""


JOB_WORDS = 32


class State(IntEnum):
    """Positions of the 64-bit words of a pool; under the mutex, but for GENERATION and ACTIVE."""

    GENERATION = 0
    """Counts the jobs; helpers watch it."""
    JOB = 16
    OPEN = 17
    """Whether helpers may still join the job."""
    JOINED = 18
    SLEEPING = 19
    STOP = 20
    PROCESSOR = 21
    """Where the launching thread was when it opened the job."""
    ACTIVE = 32
    """How many helpers are in the job."""
    MUTEX = 48
    WORK = 64
    """The condition helpers sleep on."""
    DONE = 80
    """The condition the launching thread sleeps on."""


STATE_WORDS = 96

QUICK, SLOW = 32_000, 256_000
"""Nanoseconds for a piece of blocks below which the next one doubles and above which it halves."""
SPIN = 30_000
"""Nanoseconds to look out before sleeping; longer would starve other programs' threads."""
NAP = 50_000_000
"""Nanoseconds the launching thread sleeps at most before it lets the interpreter see signals."""
FOREVER = (1 << 63) - 1
REALTIME = 0
"""The clock of pthread_cond_timedwait, the same number on Linux and macOS."""

SYMBOLS = ("tw_work", "tw_serve", "tw_launch", "tw_start", "tw_stop")

PAUSE = {
    "x86_64": ("llvm.x86.sse2.pause()", "declare void @llvm.x86.sse2.pause()"),
    "aarch64": ("llvm.aarch64.hint(i32 1)", "declare void @llvm.aarch64.hint(i32)"),
    "arm64": ("llvm.aarch64.hint(i32 1)", "declare void @llvm.aarch64.hint(i32)"),
}
"""How a processor is told that a thread only waits."""


def _words(base: str, words: type[IntEnum], *names: str) -> str:
    """Addresses of words of a record: `%open_at` for OPEN."""
    return "\n".join(
        f"  %{name.lower()}_at = getelementptr i64, ptr %{base}, i64 {words[name].value}"
        for name in names
    )


DECLARATIONS = """
declare i32 @clock_gettime(i32, ptr)
declare i32 @sched_yield()
declare i32 @pthread_mutex_init(ptr, ptr)
declare i32 @pthread_mutex_lock(ptr)
declare i32 @pthread_mutex_unlock(ptr)
declare i32 @pthread_cond_init(ptr, ptr)
declare i32 @pthread_cond_wait(ptr, ptr)
declare i32 @pthread_cond_timedwait(ptr, ptr, ptr)
declare i32 @pthread_cond_signal(ptr)
declare i32 @pthread_cond_broadcast(ptr)
declare i64 @llvm.smin.i64(i64, i64)
declare i64 @llvm.smax.i64(i64, i64)
"""

CLOCK = """
define internal i64 @now(i32 %clock) {
  %time = alloca [2 x i64]
  %ignored = call i32 @clock_gettime(i32 %clock, ptr %time)
  %seconds = load i64, ptr %time
  %rest_at = getelementptr i64, ptr %time, i64 1
  %rest = load i64, ptr %rest_at
  %whole = mul i64 %seconds, 1000000000
  %sum = add i64 %whole, %rest
  ret i64 %sum
}
"""

MOVE = """
declare i32 @sched_getcpu()
declare i32 @sched_getaffinity(i32, i64, ptr)
declare i32 @sched_setaffinity(i32, i64, ptr)

define internal i64 @processor() {
  %number = call i32 @sched_getcpu()
  %wide = sext i32 %number to i64
  ret i64 %wide
}

define internal void @leave(i64 %processor) {
entry:
  %allowed = alloca [16 x i64]
  %others = alloca [16 x i64]
  %known = icmp ult i64 %processor, 1024
  br i1 %known, label %ask, label %done
ask:
  %failed = call i32 @sched_getaffinity(i32 0, i64 128, ptr %allowed)
  %fine = icmp eq i32 %failed, 0
  br i1 %fine, label %move, label %done
move:
  %all = load [16 x i64], ptr %allowed
  store [16 x i64] %all, ptr %others
  %number = lshr i64 %processor, 6
  %word_at = getelementptr i64, ptr %others, i64 %number
  %word = load i64, ptr %word_at
  %place = and i64 %processor, 63
  %bit = shl i64 1, %place
  %rest = xor i64 %bit, -1
  %without = and i64 %word, %rest
  store i64 %without, ptr %word_at
  ; Fails where no other processor is allowed, which changes nothing.
  call i32 @sched_setaffinity(i32 0, i64 128, ptr %others)
  call i32 @sched_setaffinity(i32 0, i64 128, ptr %allowed)
  br label %done
done:
  ret void
}
"""

STAY = """
define internal i64 @processor() {
  ret i64 -1
}

define internal void @leave(i64 %processor) {
  ret void
}
"""
"""Where a thread cannot ask where it is."""

WORK = f"""
define i64 @tw_work(ptr %job, ptr %scratch, i64 %budget) {{
entry:
{_words("job", Job, "KERNEL", "ARGUMENTS", "LAUNCH", "BLOCKS", "THREADS", "COUNTER")}
  %kernel = load ptr, ptr %kernel_at
  %arguments = load ptr, ptr %arguments_at
  %launch = load ptr, ptr %launch_at
  %blocks = load i64, ptr %blocks_at
  %threads = load i64, ptr %threads_at
  %shares = shl i64 %threads, 2
  %cancel_at = getelementptr i64, ptr %launch, i64 {LaunchWord.CANCEL.value}
  %start = call i64 @now(i32 {time.CLOCK_MONOTONIC})
  br label %take
take:
  %grain = phi i64 [ 1, %entry ], [ %next, %timed ]
  %before = phi i64 [ %start, %entry ], [ %after, %timed ]
  %begin = atomicrmw add ptr %counter_at, i64 %grain monotonic
  %left = sub i64 %blocks, %begin
  %some = icmp sgt i64 %left, 0
  br i1 %some, label %run, label %done
run:
  %piece = call i64 @llvm.smin.i64(i64 %grain, i64 %left)
  %end = add i64 %begin, %piece
  call void %kernel(ptr %arguments, ptr %launch, i64 %begin, i64 %end, ptr %scratch)
  %cancel = load atomic i64, ptr %cancel_at monotonic, align 8
  %go = icmp eq i64 %cancel, 0
  br i1 %go, label %timed, label %done
timed:
  %after = call i64 @now(i32 {time.CLOCK_MONOTONIC})
  %spent = sub i64 %after, %before
  %quick = icmp slt i64 %spent, {QUICK}
  %slow = icmp sgt i64 %spent, {SLOW}
  %double = shl i64 %grain, 1
  %half = lshr i64 %grain, 1
  %faster = select i1 %quick, i64 %double, i64 %grain
  %wanted = select i1 %slow, i64 %half, i64 %faster
  %share = udiv i64 %left, %shares
  %fair = call i64 @llvm.smin.i64(i64 %wanted, i64 %share)
  %next = call i64 @llvm.smax.i64(i64 %fair, i64 1)
  %total = sub i64 %after, %start
  %late = icmp sgt i64 %total, %budget
  br i1 %late, label %out, label %take
out:
  ret i64 1
done:
  ret i64 0
}}
"""

SERVE = f"""
define void @tw_serve(ptr %state) {{
entry:
{_words("state", State, *State.__members__)}
  br label %watch
watch:
  %seen = phi i64 [ 0, %entry ], [ %current, %skip ], [ %current, %leave ]
  %start = call i64 @now(i32 {time.CLOCK_MONOTONIC})
  br label %spin
spin:
  %generation = load atomic i64, ptr %generation_at acquire, align 8
  %changed = icmp ne i64 %generation, %seen
  br i1 %changed, label %wake, label %pause
pause:
  call void @pause()
  %time = call i64 @now(i32 {time.CLOCK_MONOTONIC})
  %waited = sub i64 %time, %start
  %tired = icmp sgt i64 %waited, {SPIN}
  br i1 %tired, label %lie_down, label %spin
lie_down:
  call i32 @pthread_mutex_lock(ptr %mutex_at)
  br label %doze
doze:
  %latest = load atomic i64, ptr %generation_at monotonic, align 8
  %news = icmp ne i64 %latest, %seen
  br i1 %news, label %join, label %sleep
sleep:
  %sleeping = load i64, ptr %sleeping_at
  %more = add i64 %sleeping, 1
  store i64 %more, ptr %sleeping_at
  call i32 @pthread_cond_wait(ptr %work_at, ptr %mutex_at)
  %slept = load i64, ptr %sleeping_at
  %fewer = sub i64 %slept, 1
  store i64 %fewer, ptr %sleeping_at
  br label %doze
wake:
  call i32 @pthread_mutex_lock(ptr %mutex_at)
  br label %join
join:
  %current = load atomic i64, ptr %generation_at monotonic, align 8
  %stop = load i64, ptr %stop_at
  %stopped = icmp ne i64 %stop, 0
  br i1 %stopped, label %home, label %look
look:
  %open = load i64, ptr %open_at
  %joined = load i64, ptr %joined_at
  %room = icmp slt i64 %joined, %open
  br i1 %room, label %enter, label %skip
skip:
  call i32 @pthread_mutex_unlock(ptr %mutex_at)
  br label %watch
enter:
  %company = add i64 %joined, 1
  store i64 %company, ptr %joined_at
  atomicrmw add ptr %active_at, i64 1 monotonic
  %job = load ptr, ptr %job_at
  %there = load i64, ptr %processor_at
  call i32 @pthread_mutex_unlock(ptr %mutex_at)
  %here = call i64 @processor()
  %crowded = icmp eq i64 %here, %there
  br i1 %crowded, label %move, label %settled
move:
  call void @leave(i64 %here)
  br label %settled
settled:
{_words("job", Job, "SCRATCH", "STRIDE")}
  %first = load ptr, ptr %scratch_at
  %stride = load i64, ptr %stride_at
  %offset = mul i64 %joined, %stride
  %scratch = getelementptr i8, ptr %first, i64 %offset
  call i64 @tw_work(ptr %job, ptr %scratch, i64 {FOREVER})
  call i32 @pthread_mutex_lock(ptr %mutex_at)
  %were = atomicrmw sub ptr %active_at, i64 1 release
  %last = icmp eq i64 %were, 1
  br i1 %last, label %tell, label %leave
tell:
  call i32 @pthread_cond_signal(ptr %done_at)
  br label %leave
leave:
  call i32 @pthread_mutex_unlock(ptr %mutex_at)
  br label %watch
home:
  call i32 @pthread_mutex_unlock(ptr %mutex_at)
  ret void
}}
"""

LAUNCH = f"""
define i64 @tw_launch(ptr %state, ptr %job, ptr %scratch, i64 %budget) {{
entry:
{_words("state", State, *State.__members__)}
{_words("job", Job, "THREADS")}
  %deadline = alloca [2 x i64]
  %rest_at = getelementptr i64, ptr %deadline, i64 1
  %current = load ptr, ptr %job_at
  %published = icmp eq ptr %current, %job
  br i1 %published, label %working, label %publish
publish:
  %threads = load i64, ptr %threads_at
  %helpers = sub i64 %threads, 1
  call i32 @pthread_mutex_lock(ptr %mutex_at)
  store ptr %job, ptr %job_at
  %here = call i64 @processor()
  store i64 %here, ptr %processor_at
  store i64 %helpers, ptr %open_at
  store i64 0, ptr %joined_at
  atomicrmw add ptr %generation_at, i64 1 release
  %sleeping = load i64, ptr %sleeping_at
  %needed = call i64 @llvm.smin.i64(i64 %sleeping, i64 %helpers)
  br label %calling
calling:
  %called = phi i64 [ 0, %publish ], [ %following, %call ]
  %enough = icmp sge i64 %called, %needed
  br i1 %enough, label %published_now, label %call
call:
  call i32 @pthread_cond_signal(ptr %work_at)
  %following = add i64 %called, 1
  br label %calling
published_now:
  call i32 @pthread_mutex_unlock(ptr %mutex_at)
  call i32 @sched_yield()
  br label %working
working:
  %more = call i64 @tw_work(ptr %job, ptr %scratch, i64 %budget)
  %late = icmp ne i64 %more, 0
  br i1 %late, label %again, label %linger
linger:
  %start = call i64 @now(i32 {time.CLOCK_MONOTONIC})
  br label %spin
spin:
  %busy = load atomic i64, ptr %active_at acquire, align 8
  %alone = icmp eq i64 %busy, 0
  br i1 %alone, label %close, label %pause
pause:
  call void @pause()
  %time = call i64 @now(i32 {time.CLOCK_MONOTONIC})
  %waited = sub i64 %time, %start
  %tired = icmp sgt i64 %waited, {SPIN}
  br i1 %tired, label %close, label %spin
close:
  call i32 @pthread_mutex_lock(ptr %mutex_at)
  store i64 0, ptr %open_at
  %real = call i64 @now(i32 {REALTIME})
  %until = add i64 %real, {NAP}
  %seconds = sdiv i64 %until, 1000000000
  %rest = srem i64 %until, 1000000000
  store i64 %seconds, ptr %deadline
  store i64 %rest, ptr %rest_at
  br label %check
check:
  %active = load atomic i64, ptr %active_at acquire, align 8
  %empty = icmp eq i64 %active, 0
  br i1 %empty, label %finish, label %wait
wait:
  %result = call i32 @pthread_cond_timedwait(ptr %done_at, ptr %mutex_at, ptr %deadline)
  %signalled = icmp eq i32 %result, 0
  br i1 %signalled, label %check, label %timeout
timeout:
  call i32 @pthread_mutex_unlock(ptr %mutex_at)
  br label %again
again:
  ret i64 0
finish:
  store ptr null, ptr %job_at
  call i32 @pthread_mutex_unlock(ptr %mutex_at)
  ret i64 1
}}
"""

LIFE = f"""
define void @tw_start(ptr %state) {{
{_words("state", State, "MUTEX", "WORK", "DONE")}
  call i32 @pthread_mutex_init(ptr %mutex_at, ptr null)
  call i32 @pthread_cond_init(ptr %work_at, ptr null)
  call i32 @pthread_cond_init(ptr %done_at, ptr null)
  ret void
}}

define void @tw_stop(ptr %state) {{
entry:
{_words("state", State, "GENERATION", "JOB", "STOP", "MUTEX", "WORK")}
  call i32 @pthread_mutex_lock(ptr %mutex_at)
  store i64 1, ptr %stop_at
  atomicrmw add ptr %generation_at, i64 1 release
  %job = load ptr, ptr %job_at
  %idle = icmp eq ptr %job, null
  br i1 %idle, label %wake, label %cancel
cancel:
{_words("job", Job, "LAUNCH")}
  %launch = load ptr, ptr %launch_at
  %cancel_at = getelementptr i64, ptr %launch, i64 {LaunchWord.CANCEL.value}
  store atomic i64 1, ptr %cancel_at monotonic, align 8
  br label %wake
wake:
  call i32 @pthread_cond_broadcast(ptr %work_at)
  call i32 @pthread_mutex_unlock(ptr %mutex_at)
  ret void
}}
"""


def text() -> str:
    """The whole module, for this machine."""
    call, declaration = PAUSE.get(platform.machine(), ("", ""))
    body = f"  call void @{call}\n" * 8 if call else ""
    # Where another thread wants this processor, perhaps the very one waited for, let it.
    body += "  call i32 @sched_yield()\n"
    pause = f"{declaration}\ndefine internal void @pause() {{\n{body}  ret void\n}}\n"
    move = MOVE if sys.platform == "linux" else STAY
    return "".join((DECLARATIONS, pause, CLOCK, move, WORK, SERVE, LAUNCH, LIFE))


@cache
def functions() -> dict[str, NativeFunction]:
    """The compiled functions; compiled at the first call."""
    initialize()
    machine = llvm.Target.from_default_triple().create_target_machine(opt=2)
    module = llvm.parse_assembly(text())
    module.triple = machine.triple
    module.verify()
    return link(machine.emit_object(module), SYMBOLS)
