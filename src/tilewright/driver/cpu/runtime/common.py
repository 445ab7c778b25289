"""LLVM text that the rest of the native half builds on: the clock, naps."""

from __future__ import annotations

import platform
import time

MONOTONIC = time.CLOCK_MONOTONIC
REALTIME = 0
"""The clock of pthread_cond_timedwait, the same number on Linux and macOS."""

PAUSE = {
    "x86_64": ("llvm.x86.sse2.pause()", "declare void @llvm.x86.sse2.pause()"),
    "aarch64": ("llvm.aarch64.hint(i32 1)", "declare void @llvm.aarch64.hint(i32)"),
    "arm64": ("llvm.aarch64.hint(i32 1)", "declare void @llvm.aarch64.hint(i32)"),
}
"""How a processor is told that a thread only waits."""


DECLARATIONS = """
declare i32 @clock_gettime(i32, ptr)
declare i32 @sched_yield()
declare i64 @pthread_self()
declare i32 @pthread_mutex_init(ptr, ptr)
declare i32 @pthread_mutex_lock(ptr)
declare i32 @pthread_mutex_unlock(ptr)
declare i32 @pthread_cond_init(ptr, ptr)
declare i32 @pthread_cond_wait(ptr, ptr)
declare i32 @pthread_cond_timedwait(ptr, ptr, ptr)
declare i32 @pthread_cond_signal(ptr)
declare i32 @pthread_cond_broadcast(ptr)
declare i32 @posix_memalign(ptr, i64, i64)
declare ptr @calloc(i64, i64)
declare void @free(ptr)
declare i64 @llvm.smin.i64(i64, i64)
declare i64 @llvm.smax.i64(i64, i64)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
"""

CLOCK = f"""
define internal i64 @now(i32 %clock) {{
  %time = alloca [2 x i64]
  %ignored = call i32 @clock_gettime(i32 %clock, ptr %time)
  %seconds = load i64, ptr %time
  %rest_at = getelementptr i64, ptr %time, i64 1
  %rest = load i64, ptr %rest_at
  %whole = mul i64 %seconds, 1000000000
  %sum = add i64 %whole, %rest
  ret i64 %sum
}}

; The time so many nanoseconds from now, as pthread_cond_timedwait takes it.
define internal void @deadline(ptr %result, i64 %budget) {{
  %real = call i64 @now(i32 {REALTIME})
  %until = add i64 %real, %budget
  %seconds = sdiv i64 %until, 1000000000
  %rest = srem i64 %until, 1000000000
  store i64 %seconds, ptr %result
  %rest_at = getelementptr i64, ptr %result, i64 1
  store i64 %rest, ptr %rest_at
  ret void
}}
"""


def text() -> str:
    """All of it, for this machine."""
    call, declaration = PAUSE.get(platform.machine(), ("", ""))
    body = f"  call void @{call}\n" * 8 if call else ""
    # Where another thread wants this processor, perhaps the very one waited for, let it.
    body += "  call i32 @sched_yield()\n"
    pause = f"{declaration}\ndefine internal void @pause() {{\n{body}  ret void\n}}\n"
    return "".join((DECLARATIONS, pause, CLOCK))
