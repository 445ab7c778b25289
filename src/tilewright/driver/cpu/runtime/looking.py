"""LLVM text that loops of kernels call now and then, so that a block that lasts can be stopped.

    i64 tw_look(launch)                          rounds until the next look; 0: leave at once
    void tw_hear(listener)                       who hears signals: the words of `Listener`

Between blocks Python looks for signals itself. So this does only where a block lasts, and runs
their handlers in the middle of it: those that raise, as that of Ctrl-C does, cancel the launch. The
error stays set, for whoever called native code.
"""

from __future__ import annotations

from ....base.cpu_abi import LaunchWord
from .common import MONOTONIC, NAP, words
from .words import Listener

LONG = 200_000_000
"""Nanoseconds in a block after which signals are heard there."""
SELDOM, OFTEN = 1_000_000, 4_000_000
"""Nanoseconds between two looks below which the next is later, and above which it is earlier."""
FIRST, MOST = 64, 1 << 24
"""Rounds until the second look of a launch, and at most until any."""

TEXT = f"""
declare ptr @PyGILState_GetThisThreadState()
declare i64 @PyThread_get_thread_ident()
declare i32 @PyErr_CheckSignals()

@listener = internal global ptr null

define void @tw_hear(ptr %listener) {{
  store atomic ptr %listener, ptr @listener release, align 8
  ret void
}}

; Run the handlers of signals that have come; below 0: an error is set. The thread hears signals.
define internal i32 @hear(ptr %listener) {{
{words("listener", Listener, "IDENT", "WORD", "INSIDE")}
  %thread = call ptr @PyGILState_GetThisThreadState()
  call void @PyEval_RestoreThread(ptr %thread)
  %ident = load i64, ptr %ident_at
  %word = load ptr, ptr %word_at
  %before = load i64, ptr %word
  %outside = load i64, ptr %inside_at
  store i64 %ident, ptr %word
  store i64 1, ptr %inside_at
  %status = call i32 @PyErr_CheckSignals()
  store i64 %outside, ptr %inside_at
  store i64 %before, ptr %word
  %again = call ptr @PyEval_SaveThread()
  ret i32 %status
}}

; Whether this thread hears signals.
define internal i1 @hears(ptr %listener) {{
entry:
  %none = icmp eq ptr %listener, null
  br i1 %none, label %no, label %ask
ask:
{words("listener", Listener, "IDENT")}
  %its = load i64, ptr %ident_at
  %me = call i64 @PyThread_get_thread_ident()
  %same = icmp eq i64 %its, %me
  ret i1 %same
no:
  ret i1 false
}}

define i64 @tw_look(ptr %launch) {{
entry:
{words("launch", LaunchWord, "CANCEL", "BEGUN", "LOOKED", "PATIENCE")}
  %cancelled = load atomic i64, ptr %cancel_at monotonic, align 8
  %stopped = icmp ne i64 %cancelled, 0
  br i1 %stopped, label %leave, label %time
leave:
  ret i64 0
time:
  %now = call i64 @now(i32 {MONOTONIC})
  %begun = load atomic i64, ptr %begun_at monotonic, align 8
  %looked = load atomic i64, ptr %looked_at monotonic, align 8
  store atomic i64 %now, ptr %looked_at monotonic, align 8
  %last = call i64 @llvm.smax.i64(i64 %begun, i64 %looked)
  %lasted = sub i64 %now, %begun
  %long = icmp sgt i64 %lasted, {LONG}
  %slice = udiv i64 %now, {NAP}
  %slice_before = udiv i64 %last, {NAP}
  %new = icmp ne i64 %slice, %slice_before
  %due = and i1 %long, %new
  br i1 %due, label %ask, label %pace
ask:
  %listener = load atomic ptr, ptr @listener acquire, align 8
  %mine = call i1 @hears(ptr %listener)
  br i1 %mine, label %hear, label %pace
hear:
  %status = call i32 @hear(ptr %listener)
  %raised = icmp slt i32 %status, 0
  br i1 %raised, label %cancel, label %pace
cancel:
  store atomic i64 1, ptr %cancel_at monotonic, align 8
  ret i64 0
pace:
  %known = load atomic i64, ptr %patience_at monotonic, align 8
  %unknown = icmp eq i64 %known, 0
  %rounds = select i1 %unknown, i64 {FIRST}, i64 %known
  %gap = sub i64 %now, %last
  %often = icmp slt i64 %gap, {SELDOM}
  %seldom = icmp sgt i64 %gap, {OFTEN}
  %double = shl i64 %rounds, 1
  %half = lshr i64 %rounds, 1
  %later = select i1 %often, i64 %double, i64 %rounds
  %wanted = select i1 %seldom, i64 %half, i64 %later
  %some = call i64 @llvm.smax.i64(i64 %wanted, i64 1)
  %next = call i64 @llvm.smin.i64(i64 %some, i64 {MOST})
  store atomic i64 %next, ptr %patience_at monotonic, align 8
  ret i64 %next
}}
"""
