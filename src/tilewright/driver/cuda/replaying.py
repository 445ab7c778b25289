"""LLVM text that puts what was recorded on streams: graphs, or the one kernel of a graph.

As `launching`, whose text and numbers stand before it.
"""

from __future__ import annotations

from .entering import within

REPLAYS = """
define internal i64 @begin_again(
    ptr %row, i64 %written, i64 %count, ptr %lane, ptr %there) {{
  %number = call i64 @tw_claim(ptr %row, i64 %written, i64 %count, ptr %lane)
  ret i64 %number
}}

; Puts a graph on a stream, or the one kernel that it consists of, as work of a lane.
define internal i64 @put_graph(
    ptr %context, ptr %record, ptr %executable, ptr %lane, ptr %stream) {{
entry:
  %thread = call ptr @let_others()
  %many = icmp eq ptr %record, null
  br i1 %many, label %all, label %one
one:
  %parameters = call ptr @link(ptr %record, i64 {parameters})
  %launched = call i32 @kernel(ptr %context, ptr %record, ptr %parameters, ptr %stream)
  br label %tell
all:
  %replayed = call i32 @graph(ptr %context, ptr %executable, ptr %stream)
  br label %tell
tell:
  %status = phi i32 [ %launched, %one ], [ %replayed, %all ]
  call void @go_on(ptr %thread)
  %count = call i64 @count(ptr %lane, i32 %status)
  ret i64 %count
}}

; As `tw_fire_now`, for what was recorded.
define i64 @tw_replay_now(
    ptr %context, ptr %record, ptr %executable, ptr %memory, ptr %uses, ptr %user, ptr %known,
    ptr %built, ptr %lane, ptr %stream, i64 %budget) {{
entry:
  %begun = call i64 @claimed(
    ptr %memory, ptr %uses, ptr %user, ptr %known, ptr %built, ptr %lane, ptr null)
  %unready = icmp sle i64 %begun, 0
  br i1 %unready, label %out, label %put
out:
  ret i64 %begun
put:
  %count = call i64 @put_graph(
    ptr %context, ptr %record, ptr %executable, ptr %lane, ptr %stream)
  %answer = call i64 @seen(ptr %context, i64 %count, ptr %lane, ptr %stream, i64 %budget)
  ret i64 %answer
}}

define ptr @tw_replay(
    ptr %context, ptr %record, ptr %executable, ptr %memory, ptr %uses, ptr %user, ptr %known,
    ptr %built, ptr %lane, ptr %stream, i64 %budget) {{
  %answer = call i64 @tw_replay_now(
    ptr %context, ptr %record, ptr %executable, ptr %memory, ptr %uses, ptr %user, ptr %known,
    ptr %built, ptr %lane, ptr %stream, i64 %budget)
  %object = call ptr @told(i64 %answer)
  ret ptr %object
}}

; `unput` counts this launch as long as its lane does.
define i64 @tw_shoot(ptr %record, ptr %lane, ptr %stream, ptr %unput) {{
  %context = load ptr, ptr %record
  %count = call i64 @put_graph(ptr %context, ptr %record, ptr null, ptr %lane, ptr %stream)
  store i64 0, ptr %unput
  ret i64 %count
}}
"""

TEXT = within("graph", "{cuGraphLaunch}", {"executable": "ptr", "stream": "ptr"}) + REPLAYS
