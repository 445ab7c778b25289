"""LLVM text that counts the work of a lane: issued, put on its stream, over.

Python lists some of its work by number, and of some knows no more than that it was put there.
"""

from __future__ import annotations

from .words import LaneWord

LANES = f"""
; A number was given out, to work that Python lists or does not.
define internal void @issue(ptr %lane, i64 %number, i1 %unlisted) alwaysinline {{
  call void @set(ptr %lane, i64 {LaneWord.ISSUED.value}, i64 %number)
  %unput = call i64 @word(ptr %lane, i64 {LaneWord.UNPUT.value})
  %one_more = add i64 %unput, 1
  call void @set(ptr %lane, i64 {LaneWord.UNPUT.value}, i64 %one_more)
  %which = select i1 %unlisted, i64 {LaneWord.UNLISTED.value}, i64 {LaneWord.LISTED.value}
  %first = call i64 @word(ptr %lane, i64 %which)
  %none = icmp eq i64 %first, 0
  %now = select i1 %none, i64 %number, i64 %first
  call void @set(ptr %lane, i64 %which, i64 %now)
  %latest = call i64 @word(ptr %lane, i64 {LaneWord.LATEST.value})
  %latest_now = select i1 %unlisted, i64 %latest, i64 %number
  call void @set(ptr %lane, i64 {LaneWord.LATEST.value}, i64 %latest_now)
  ret void
}}

; One more has been put on the stream, or will not be.
define i64 @tw_put(ptr %lane) {{
  %unput = call i64 @word(ptr %lane, i64 {LaneWord.UNPUT.value})
  %one_less = sub i64 %unput, 1
  call void @set(ptr %lane, i64 {LaneWord.UNPUT.value}, i64 %one_less)
  ret i64 0
}}

; All that was put there up to a number is over.
define i64 @tw_pass(ptr %lane, i64 %number) {{
entry:
  %first = call i64 @word(ptr %lane, i64 {LaneWord.UNLISTED.value})
  %later = icmp sgt i64 %first, %number
  br i1 %later, label %out, label %move
move:
  %issued = call i64 @word(ptr %lane, i64 {LaneWord.ISSUED.value})
  %all = icmp sge i64 %number, %issued
  %next = add i64 %number, 1
  %now = select i1 %all, i64 0, i64 %next
  call void @set(ptr %lane, i64 {LaneWord.UNLISTED.value}, i64 %now)
  %settled = call i64 @tw_settle(ptr %lane)
  br label %out
out:
  ret i64 0
}}

; Up to which number all are over.
define i64 @tw_settle(ptr %lane) {{
  %issued = call i64 @word(ptr %lane, i64 {LaneWord.ISSUED.value})
  %behind = add i64 %issued, 1
  %listed = call i64 @word(ptr %lane, i64 {LaneWord.LISTED.value})
  %no_list = icmp eq i64 %listed, 0
  %one = select i1 %no_list, i64 %behind, i64 %listed
  %unlisted = call i64 @word(ptr %lane, i64 {LaneWord.UNLISTED.value})
  %all_listed = icmp eq i64 %unlisted, 0
  %other = select i1 %all_listed, i64 %behind, i64 %unlisted
  %sooner = icmp slt i64 %one, %other
  %first = select i1 %sooner, i64 %one, i64 %other
  %over = sub i64 %first, 1
  call void @set(ptr %lane, i64 {LaneWord.OVER.value}, i64 %over)
  ret i64 %over
}}
"""
