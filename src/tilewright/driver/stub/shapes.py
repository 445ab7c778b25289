"""Shapes that many native functions have, as LLVM text: what differs goes in."""

from __future__ import annotations


def counted(name: str, parameters: str, body: str, after: str = "") -> str:
    """A function that does something with each of `%count` things; `%i` says with which."""
    return f"""
define internal void @{name}({parameters}, i64 %count) alwaysinline {{
entry:
  br label %head
head:
  %i = phi i64 [ 0, %entry ], [ %next, %each ]
  %more = icmp slt i64 %i, %count
  br i1 %more, label %each, label %out
each:{_indented(body)}
  %next = add i64 %i, 1
  br label %head
out:{_indented(after)}
  ret void
}}
"""


def agreed(name: str, parameters: str, body: str) -> str:
    """A function that says whether `%holds`, by `body`, for each of `%count` things."""
    return f"""
define internal i1 @{name}({parameters}, i64 %count) alwaysinline {{
entry:
  br label %head
head:
  %i = phi i64 [ 0, %entry ], [ %next, %each ]
  %more = icmp slt i64 %i, %count
  br i1 %more, label %each, label %out
each:{_indented(body)}
  %next = add i64 %i, 1
  br i1 %holds, label %head, label %out
out:
  %all = phi i1 [ true, %head ], [ false, %each ]
  ret i1 %all
}}
"""


def _indented(text: str) -> str:
    return "".join(f"\n  {line.strip()}" for line in text.strip().splitlines())
