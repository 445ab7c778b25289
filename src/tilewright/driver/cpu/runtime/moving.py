"""LLVM text that lets a helper leave the processor of the thread it helps.

    i64 processor()     where this thread runs, -1 if that is not known
    void leave(i64)     run somewhere else, if that is allowed

Schedulers wake a helper on the owner's own processor at times, in virtual machines even while
another one idles. There it would wait, so the owner lets it run for a moment, and the helper moves.
"""

from __future__ import annotations

import sys

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

TEXT = MOVE if sys.platform == "linux" else STAY
