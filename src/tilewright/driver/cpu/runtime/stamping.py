"""LLVM text of the kernel that notes the time.

void tw_stamp(args, launch, begin, end, scratch)      as base.cpu_abi says; args: the time
"""

from __future__ import annotations

from .common import MONOTONIC

TEXT = f"""
declare i32 @clock_gettime(i32, ptr)

define void @tw_stamp(ptr %args, ptr %launch, i64 %begin, i64 %end, ptr %scratch) {{
  %time = alloca [2 x i64]
  %ignored = call i32 @clock_gettime(i32 {MONOTONIC}, ptr %time)
  %seconds = load i64, ptr %time
  %rest_at = getelementptr i64, ptr %time, i64 1
  %rest = load i64, ptr %rest_at
  %whole = mul i64 %seconds, 1000000000
  %sum = add i64 %whole, %rest
  store i64 %sum, ptr %args
  ret void
}}
"""
