"""LLVM text that makes calls of the driver with a context current, and leaves the thread as it was.

The driver's functions stand in braces.
"""

from __future__ import annotations

from collections.abc import Mapping

ENTER = """
; 0: the context is current; 1: it is now, and must be left; else minus the status.
define internal i32 @enter(ptr %context) {{
  %place = alloca ptr
  %asked = call i32 {cuCtxGetCurrent}(ptr %place)
  %bad = icmp ne i32 %asked, 0
  br i1 %bad, label %refused, label %look
look:
  %current = load ptr, ptr %place
  %same = icmp eq ptr %current, %context
  br i1 %same, label %in, label %push
in:
  ret i32 0
push:
  %status = call i32 {cuCtxPushCurrent}(ptr %context)
  %worked = icmp eq i32 %status, 0
  br i1 %worked, label %pushed, label %refused
pushed:
  ret i32 1
refused:
  %why = phi i32 [ %asked, %0 ], [ %status, %push ]
  %minus = sub i32 0, %why
  ret i32 %minus
}}

define internal void @leave(i32 %entered) {{
  %pushed = icmp eq i32 %entered, 1
  br i1 %pushed, label %pop, label %out
pop:
  %place = alloca ptr
  %ignored = call i32 {cuCtxPopCurrent}(ptr %place)
  br label %out
out:
  ret void
}}
"""


def within(name: str, call: str, parameters: Mapping[str, str]) -> str:
    """A function that makes a call in a context, which it is given first; gives the status.

    `parameters` are the types of what the call takes, by name.
    """
    given = ", ".join(f"{kind} %{each}" for each, kind in parameters.items())
    return f"""
define internal i32 @{name}(ptr %context, {given}) {{{{
entry:
  %entered = call i32 @enter(ptr %context)
  %bad = icmp slt i32 %entered, 0
  br i1 %bad, label %refused, label %go
refused:
  %why = sub i32 0, %entered
  ret i32 %why
go:
  %status = call i32 {call}({given})
  call void @leave(i32 %entered)
  ret i32 %status
}}}}
"""


def exported(name: str, parameters: Mapping[str, str]) -> str:
    """The same function, as `tw_` and its name, for Python."""
    given = ", ".join(f"{kind} %{each}" for each, kind in parameters.items())
    return f"""
define i64 @tw_{name}(ptr %context, {given}) {{{{
  %status = call i32 @{name}(ptr %context, {given})
  %answer = zext i32 %status to i64
  ret i64 %answer
}}}}
"""
