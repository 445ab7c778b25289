"""LLVM text of the streams: jobs in order, waits between streams, work done on the caller.

    i64 tw_put(queue, job)                       its number in the stream
    i64 tw_put_wait(queue, completed, number)       put a wait for another stream there
    i64 tw_inline(queue, job, scratch, budget)   run it here and now, if the stream is idle
    i64 tw_resume(queue, job, scratch, budget)   go on with that, unless it is over
    i64 tw_mine(queue)                           what this thread runs there, and has left
    i64 tw_seize(queue)                          let no thread put anything there, if it is idle
    void tw_occupy(queue, job)                   put a job there after that, to be resumed
    void tw_let_go(queue)                        put nothing there after all

A stream that is not empty is in one of three places: in the list of those whose head is ready, in
the list of those whose head waits, or with a thread that runs its head. Every move of a stream may
end the waits of others, so these are looked at again then.
"""

from __future__ import annotations

from .common import OF_QUEUE, words
from .words import JOB_WORDS, Job, Queue, State

DONE, UNFINISHED, BUSY = 0, 1, 2
"""What `tw_inline` and `tw_resume` answer: over; time is up; not begun, for the stream is busy."""
FORKED = -1
"""What all answer in a child process."""

MOVING = f"""
; Take the head off a stream. The lock is held.
define internal void @pass(ptr %state, ptr %queue) {{
entry:
{words("state", State, "CHANGED")}
{words("queue", Queue, "COMPLETED", "HEAD", "TAIL")}
  %head = load ptr, ptr %head_at
  %next_at = getelementptr i64, ptr %head, i64 {Job.NEXT.value}
  %awaited_at = getelementptr i64, ptr %head, i64 {Job.AWAITED.value}
  %next = load ptr, ptr %next_at
  %awaited = load ptr, ptr %awaited_at
  store ptr %next, ptr %head_at
  %empty = icmp eq ptr %next, null
  %tail = load ptr, ptr %tail_at
  %last = select i1 %empty, ptr null, ptr %tail
  store ptr %last, ptr %tail_at
  %completed = load i64, ptr %completed_at
  %more = add i64 %completed, 1
  ; From here on a job's memory may be gone; waits are our own.
  store atomic i64 %more, ptr %completed_at release, align 8
  store i64 1, ptr %changed_at
  %work = icmp eq ptr %awaited, null
  br i1 %work, label %tell, label %drop
drop:
  call void @free(ptr %head)
  br label %tell
tell:
  call void @tell(ptr %state, ptr %queue)
  ret void
}}

; See what becomes of a stream that is in no list: pass waits that are over, then put it in one.
; When all is being stopped, everything is passed without being run. The lock is held.
define internal void @advance(ptr %state, ptr %queue) {{
entry:
{words("state", State, "GENERATION", "READY", "READY_END", "READY_COUNT", "BLOCKED", "STOP")}
{words("queue", Queue, "HEAD", "LINK")}
  %stop = load i64, ptr %stop_at
  %going = icmp eq i64 %stop, 0
  br label %look
look:
  %head = load ptr, ptr %head_at
  %none = icmp eq ptr %head, null
  br i1 %none, label %out, label %some
some:
  br i1 %going, label %sort, label %give_up
give_up:
  call void @give_up(ptr %head)
  br label %over
sort:
  %awaited_at = getelementptr i64, ptr %head, i64 {Job.AWAITED.value}
  %awaited = load ptr, ptr %awaited_at
  %free = icmp eq ptr %awaited, null
  br i1 %free, label %ready, label %wait
wait:
  %number_at = getelementptr i64, ptr %head, i64 {Job.NUMBER.value}
  %number = load i64, ptr %number_at
  %reached = load atomic i64, ptr %awaited acquire, align 8
  %met = icmp sge i64 %reached, %number
  br i1 %met, label %over, label %block
over:
  call void @pass(ptr %state, ptr %queue)
  br label %look
block:
  %others = load ptr, ptr %blocked_at
  store ptr %others, ptr %link_at
  store ptr %queue, ptr %blocked_at
  br label %out
ready:
  store ptr null, ptr %link_at
  %count = load i64, ptr %ready_count_at
  %more = add i64 %count, 1
  store i64 %more, ptr %ready_count_at
  %end = load ptr, ptr %ready_end_at
  %first = icmp eq ptr %end, null
  %end_link_at = getelementptr i64, ptr %end, i64 {Queue.LINK.value}
  %place = select i1 %first, ptr %ready_at, ptr %end_link_at
  store ptr %queue, ptr %place
  store ptr %queue, ptr %ready_end_at
  atomicrmw add ptr %generation_at, i64 1 release
  br label %out
out:
  ret void
}}

; Look again at the streams that wait, as long as any stream moves. The lock is held.
define internal void @settle(ptr %state) {{
entry:
{words("state", State, "CHANGED", "BLOCKED")}
  br label %look
look:
  %changed = load i64, ptr %changed_at
  %moved = icmp ne i64 %changed, 0
  store i64 0, ptr %changed_at
  %first = load ptr, ptr %blocked_at
  %some = icmp ne ptr %first, null
  %go = and i1 %moved, %some
  br i1 %go, label %take, label %out
take:
  call void @release(ptr %state, ptr %blocked_at)
  br label %look
out:
  ret void
}}

; Look at all streams of a list once more. The lock is held.
define internal void @release(ptr %state, ptr %place) {{
entry:
  %first = load ptr, ptr %place
  store ptr null, ptr %place
  br label %look
look:
  %queue = phi ptr [ %first, %entry ], [ %next, %each ]
  %none = icmp eq ptr %queue, null
  br i1 %none, label %out, label %each
each:
  %link_at = getelementptr i64, ptr %queue, i64 {Queue.LINK.value}
  %next = load ptr, ptr %link_at
  call void @advance(ptr %state, ptr %queue)
  br label %look
out:
  ret void
}}

; The head of a stream has been run. The lock is held.
define internal void @finish(ptr %state, ptr %queue) {{
  call void @pass(ptr %state, ptr %queue)
  call void @advance(ptr %state, ptr %queue)
  call void @settle(ptr %state)
  ret void
}}

; Wake a worker for each ready stream that no worker will find by itself. The lock is held.
define internal void @call_workers(ptr %state) {{
{words("state", State, "READY_COUNT", "LOOKING")}
  %ready = load i64, ptr %ready_count_at
  %looking = load i64, ptr %looking_at
  %needed = sub i64 %ready, %looking
  %woken = call i64 @wake(ptr %state, i64 %needed)
  ret void
}}

; Put a job at the end of a stream, as good as new but for its launch words. The lock is held.
define internal i64 @append(ptr %queue, ptr %job) {{
{words("queue", Queue, "SUBMITTED", "HEAD", "TAIL")}
{words("job", Job, "NEXT", "COUNTER", "SHARED", "AT", "BEGUN", "LASTED", "OWNER")}
  store i64 0, ptr %lasted_at
  store i64 0, ptr %owner_at
  store ptr null, ptr %next_at
  store i64 0, ptr %counter_at
  store i64 0, ptr %shared_at
  store i64 0, ptr %at_at
  store i64 0, ptr %begun_at
  %submitted = load i64, ptr %submitted_at
  %number = add i64 %submitted, 1
  store atomic i64 %number, ptr %submitted_at monotonic, align 8
  %tail = load ptr, ptr %tail_at
  %first = icmp eq ptr %tail, null
  %behind_at = getelementptr i64, ptr %tail, i64 {Job.NEXT.value}
  %place = select i1 %first, ptr %head_at, ptr %behind_at
  store ptr %job, ptr %place
  store ptr %job, ptr %tail_at
  ret i64 %number
}}

define internal i1 @is_forked(ptr %state) {{
{words("state", State, "FORKED")}
  %forked = load i64, ptr %forked_at
  %yes = icmp ne i64 %forked, 0
  ret i1 %yes
}}
"""

PUTTING = f"""
define i64 @tw_put(ptr %queue, ptr %job) {{
entry:
{OF_QUEUE}
{words("queue", Queue, "HEAD")}
  %forked = call i1 @is_forked(ptr %state)
  br i1 %forked, label %refuse, label %add
refuse:
  ret i64 {FORKED}
add:
  call void @lock(ptr %state)
  %before = load ptr, ptr %head_at
  %number = call i64 @append(ptr %queue, ptr %job)
  %first = icmp eq ptr %before, null
  br i1 %first, label %start, label %out
start:
  call void @advance(ptr %state, ptr %queue)
  call void @settle(ptr %state)
  call void @call_workers(ptr %state)
  br label %out
out:
  call void @unlock(ptr %state)
  ret i64 %number
}}

define i64 @tw_put_wait(ptr %queue, ptr %completed, i64 %number) {{
entry:
{OF_QUEUE}
  %job = call ptr @calloc(i64 {JOB_WORDS}, i64 8)
{words("job", Job, "AWAITED", "NUMBER")}
  %missing = icmp eq ptr %job, null
  br i1 %missing, label %fail, label %put
fail:
  ret i64 0
put:
  store ptr %completed, ptr %awaited_at
  store i64 %number, ptr %number_at
  %result = call i64 @tw_put(ptr %queue, ptr %job)
  ret i64 %result
}}

define i64 @tw_inline(ptr %queue, ptr %job, ptr %scratch, i64 %budget) {{
entry:
{OF_QUEUE}
{words("queue", Queue, "HEAD")}
  %forked = call i1 @is_forked(ptr %state)
  br i1 %forked, label %refuse, label %try
refuse:
  ret i64 {FORKED}
try:
  call void @lock(ptr %state)
  %head = load ptr, ptr %head_at
  %idle = icmp eq ptr %head, null
  br i1 %idle, label %claim, label %busy
busy:
  call void @unlock(ptr %state)
  ret i64 {BUSY}
claim:
  %number = call i64 @append(ptr %queue, ptr %job)
  call void @unlock(ptr %state)
  %status = call i64 @tw_resume(ptr %queue, ptr %job, ptr %scratch, i64 %budget)
  ret i64 %status
}}

define i64 @tw_seize(ptr %queue) {{
entry:
{OF_QUEUE}
{words("queue", Queue, "HEAD")}
  %forked = call i1 @is_forked(ptr %state)
  br i1 %forked, label %no, label %try
try:
  call void @lock(ptr %state)
  %head = load ptr, ptr %head_at
  %idle = icmp eq ptr %head, null
  br i1 %idle, label %yes, label %busy
yes:
  ret i64 1
busy:
  call void @unlock(ptr %state)
  br label %no
no:
  ret i64 0
}}

define void @tw_occupy(ptr %queue, ptr %job) {{
{OF_QUEUE}
  %number = call i64 @append(ptr %queue, ptr %job)
  call void @unlock(ptr %state)
  ret void
}}

define void @tw_let_go(ptr %queue) {{
{OF_QUEUE}
  call void @unlock(ptr %state)
  ret void
}}

; Python may run the handler of a signal where this was left, and that may have gone on with it.
define i64 @tw_resume(ptr %queue, ptr %job, ptr %scratch, i64 %budget) {{
entry:
{OF_QUEUE}
{words("queue", Queue, "HEAD")}
  %head = load atomic ptr, ptr %head_at monotonic, align 8
  %there = icmp eq ptr %head, %job
  br i1 %there, label %run, label %gone
gone:
  ret i64 {DONE}
run:
  %more = call i64 @run_entry(ptr %state, ptr %job, ptr %scratch, i64 %budget)
  %late = icmp ne i64 %more, 0
  call void @note_leaving(ptr %state, ptr %job, i1 %late)
  br i1 %late, label %out, label %over
over:
  call void @lock(ptr %state)
  call void @finish(ptr %state, ptr %queue)
  call void @call_workers(ptr %state)
  call void @unlock(ptr %state)
  br label %out
out:
  ret i64 %more
}}

; Note that this thread leaves a job, or that nobody does any more.
define internal void @note_leaving(ptr %state, ptr %job, i1 %leaves) alwaysinline {{
entry:
{words("state", State, "OWNED")}
{words("job", Job, "OWNER")}
  %owner = load i64, ptr %owner_at
  %owned = icmp ne i64 %owner, 0
  %same = icmp eq i1 %owned, %leaves
  br i1 %same, label %out, label %change
change:
  %me = call i64 @pthread_self()
  %mine = select i1 %leaves, i64 %me, i64 0
  store i64 %mine, ptr %owner_at
  %more = select i1 %leaves, i64 1, i64 -1
  atomicrmw add ptr %owned_at, i64 %more monotonic
  br label %out
out:
  ret void
}}

define i64 @tw_mine(ptr %queue) {{
entry:
{OF_QUEUE}
{words("queue", Queue, "HEAD")}
  call void @lock(ptr %state)
  %head = load ptr, ptr %head_at
  %none = icmp eq ptr %head, null
  br i1 %none, label %out, label %look
look:
  %owner_at = getelementptr i64, ptr %head, i64 {Job.OWNER.value}
  %owner = load i64, ptr %owner_at
  %me = call i64 @pthread_self()
  %mine = icmp eq i64 %owner, %me
  %its = select i1 %mine, ptr %head, ptr null
  br label %out
out:
  %job = phi ptr [ null, %entry ], [ %its, %look ]
  call void @unlock(ptr %state)
  %answer = ptrtoint ptr %job to i64
  ret i64 %answer
}}
"""

TEXT = MOVING + PUTTING
