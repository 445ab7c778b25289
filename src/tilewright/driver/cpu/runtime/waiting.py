"""LLVM text for those who wait: for a point of a stream, or for any point somebody asked about.

i64 tw_wait(queue, number, budget)   1: the stream has reached it; 0: time is up
i64 tw_alert(queue, number)          count it as an alert when the stream reaches it
i64 tw_poke(state)                          count an alert now
i64 tw_listen(state, seen, budget)          sleep until the count is another; the count
"""

from __future__ import annotations

from .common import FOREVER, MONOTONIC, OF_QUEUE, SPIN, words
from .queueing import FORKED
from .words import Queue, State, Waiter

TELL = f"""
; Tell those who wait for the point a stream has reached. The lock is held.
define internal void @tell(ptr %state, ptr %queue) {{
entry:
{words("state", State, "WAITERS", "PASSED")}
{words("queue", Queue, "COMPLETED", "ALARM")}
  %completed = load i64, ptr %completed_at
  %alarm = load i64, ptr %alarm_at
  %due = icmp sge i64 %completed, %alarm
  br i1 %due, label %alert, label %begin
alert:
  store i64 {FOREVER}, ptr %alarm_at
  call void @alert(ptr %state)
  br label %begin
begin:
  %first = load ptr, ptr %waiters_at
  br label %look
look:
  %waiter = phi ptr [ %first, %begin ], [ %next, %on ]
  %none = icmp eq ptr %waiter, null
  br i1 %none, label %out, label %some
some:
  %wanted_at = getelementptr i64, ptr %waiter, i64 {Waiter.QUEUE.value}
  %number_at = getelementptr i64, ptr %waiter, i64 {Waiter.NUMBER.value}
  %wanted = load ptr, ptr %wanted_at
  %number = load i64, ptr %number_at
  %same = icmp eq ptr %wanted, %queue
  %reached = icmp sge i64 %completed, %number
  %news = and i1 %same, %reached
  br i1 %news, label %wake, label %on
on:
  %next_at = getelementptr i64, ptr %waiter, i64 {Waiter.NEXT.value}
  %next = load ptr, ptr %next_at
  br label %look
wake:
  call i32 @pthread_cond_broadcast(ptr %passed_at)
  br label %out
out:
  ret void
}}

; The lock is held.
define internal void @alert(ptr %state) {{
entry:
{words("state", State, "ALERTS", "LISTENERS", "ALERTED")}
  %alerts = load i64, ptr %alerts_at
  %more = add i64 %alerts, 1
  store i64 %more, ptr %alerts_at
  %listeners = load i64, ptr %listeners_at
  %some = icmp ne i64 %listeners, 0
  br i1 %some, label %tell, label %out
tell:
  call i32 @pthread_cond_broadcast(ptr %alerted_at)
  br label %out
out:
  ret void
}}
"""

WAIT = f"""
; Look out for a point of a stream for a moment.
define internal i1 @glimpse(ptr %completed_at, i64 %number, i64 %budget) {{
entry:
  %patience = call i64 @llvm.smin.i64(i64 %budget, i64 {SPIN})
  %start = call i64 @now(i32 {MONOTONIC})
  br label %spin
spin:
  %completed = load atomic i64, ptr %completed_at acquire, align 8
  %there = icmp sge i64 %completed, %number
  br i1 %there, label %out, label %pause
pause:
  call void @pause()
  %time = call i64 @now(i32 {MONOTONIC})
  %waited = sub i64 %time, %start
  %tired = icmp sgt i64 %waited, %patience
  br i1 %tired, label %out, label %spin
out:
  ret i1 %there
}}

define i64 @tw_wait(ptr %queue, i64 %number, i64 %budget) {{
entry:
{OF_QUEUE}
{words("state", State, "WAITERS", "MUTEX", "PASSED")}
{words("queue", Queue, "COMPLETED")}
  %until = alloca [2 x i64]
  %waiter = alloca [3 x i64]
  %forked = call i1 @is_forked(ptr %state)
  br i1 %forked, label %refuse, label %spin
refuse:
  ret i64 {FORKED}
spin:
  %soon = call i1 @glimpse(ptr %completed_at, i64 %number, i64 %budget)
  br i1 %soon, label %there, label %lie_down
there:
  ret i64 1
lie_down:
  %waited_for_at = getelementptr i64, ptr %waiter, i64 {Waiter.QUEUE.value}
  %number_at = getelementptr i64, ptr %waiter, i64 {Waiter.NUMBER.value}
  store ptr %queue, ptr %waited_for_at
  store i64 %number, ptr %number_at
  call void @deadline(ptr %until, i64 %budget)
  call void @lock(ptr %state)
  %others = load ptr, ptr %waiters_at
  store ptr %others, ptr %waiter
  store ptr %waiter, ptr %waiters_at
  br label %check
check:
  %completed = load atomic i64, ptr %completed_at acquire, align 8
  %reached = icmp sge i64 %completed, %number
  br i1 %reached, label %leave, label %sleep
sleep:
  %result = call i32 @pthread_cond_timedwait(ptr %passed_at, ptr %mutex_at, ptr %until)
  %signalled = icmp eq i32 %result, 0
  br i1 %signalled, label %check, label %leave
leave:
  %status = phi i64 [ 1, %check ], [ 0, %sleep ]
  br label %look
look:
  %place = phi ptr [ %waiters_at, %leave ], [ %found, %look ]
  %found = load ptr, ptr %place
  %me = icmp eq ptr %found, %waiter
  br i1 %me, label %remove, label %look
remove:
  %next = load ptr, ptr %waiter
  store ptr %next, ptr %place
  call void @unlock(ptr %state)
  ret i64 %status
}}
"""

LISTEN = f"""
define i64 @tw_alert(ptr %queue, i64 %number) {{
entry:
{OF_QUEUE}
{words("queue", Queue, "COMPLETED", "ALARM")}
  %forked = call i1 @is_forked(ptr %state)
  br i1 %forked, label %refuse, label %set
refuse:
  ret i64 {FORKED}
set:
  call void @lock(ptr %state)
  %alarm = load i64, ptr %alarm_at
  %sooner = call i64 @llvm.smin.i64(i64 %alarm, i64 %number)
  store i64 %sooner, ptr %alarm_at
  call void @tell(ptr %state, ptr %queue)
  call void @unlock(ptr %state)
  ret i64 0
}}

define i64 @tw_poke(ptr %state) {{
entry:
  %forked = call i1 @is_forked(ptr %state)
  br i1 %forked, label %refuse, label %count
refuse:
  ret i64 {FORKED}
count:
  call void @lock(ptr %state)
  call void @alert(ptr %state)
  call void @unlock(ptr %state)
  ret i64 0
}}

define i64 @tw_listen(ptr %state, i64 %seen, i64 %budget) {{
entry:
{words("state", State, "ALERTS", "LISTENERS", "MUTEX", "ALERTED")}
  %until = alloca [2 x i64]
  %forked = call i1 @is_forked(ptr %state)
  br i1 %forked, label %refuse, label %begin
refuse:
  ret i64 {FORKED}
begin:
  call void @deadline(ptr %until, i64 %budget)
  call void @lock(ptr %state)
  %listeners = load i64, ptr %listeners_at
  %more = add i64 %listeners, 1
  store i64 %more, ptr %listeners_at
  br label %check
check:
  %alerts = load i64, ptr %alerts_at
  %news = icmp ne i64 %alerts, %seen
  br i1 %news, label %leave, label %sleep
sleep:
  %result = call i32 @pthread_cond_timedwait(ptr %alerted_at, ptr %mutex_at, ptr %until)
  %signalled = icmp eq i32 %result, 0
  br i1 %signalled, label %check, label %leave
leave:
  %were = load i64, ptr %listeners_at
  %fewer = sub i64 %were, 1
  store i64 %fewer, ptr %listeners_at
  %count = load i64, ptr %alerts_at
  call void @unlock(ptr %state)
  ret i64 %count
}}
"""

TEXT = TELL + WAIT + LISTEN
