"""LLVM text that runs a plain launch on the calling thread, as `CpuShot.fire` does.

A part of `quick_text`, which says what stands in braces. Whatever is unusual is found out before
anything was done, but for what a launch reports, which Python hears.
"""

from __future__ import annotations

DECLARED = """
declare i32 @PyContextVar_Get(ptr, ptr, ptr)
declare i32 @PyErr_CheckSignals()
"""

READY = """
; How a plain launch runs here; null: it needs a closer look.
define internal ptr @shot_here(ptr %op, ptr %stream, ptr %known) alwaysinline {{
entry:
  %device = call ptr @slot(ptr %stream, i64 {here_device})
  %shot = call ptr @latest_shot(ptr %op, ptr %known, ptr %device, {CpuShot})
  %none = icmp eq ptr %shot, null
  br i1 %none, label %no, label %look
look:
  %nodes = call ptr @slot(ptr %stream, i64 {here_nodes})
  %runs = icmp eq ptr %nodes, @_Py_NoneStruct
  %native = call ptr @slot(ptr %shot, i64 {shot_here_fire})
  %compiled = icmp ne ptr %native, @_Py_NoneStruct
  %both = and i1 %runs, %compiled
  br i1 %both, label %yes, label %no
yes:
  ret ptr %shot
no:
  ret ptr null
}}

; A record that is as good as new, with scratch of its own; the caller owns it. Null: there is none.
define internal ptr @take_record(ptr %idle) alwaysinline {{
entry:
  %count = call i64 @PyList_Size(ptr %idle)
  %some = icmp sgt i64 %count, 0
  br i1 %some, label %look, label %no
look:
  %last = sub i64 %count, 1
  %record = call ptr @PyList_GetItem(ptr %idle, i64 %last)
  %scratch = call ptr @slot(ptr %record, i64 {record_scratch})
  %without = icmp eq ptr %scratch, @_Py_NoneStruct
  br i1 %without, label %no, label %take
take:
  call void @Py_IncRef(ptr %record)
  %taken = call i32 @PyList_SetSlice(ptr %idle, i64 %last, i64 %count, ptr null)
  ret ptr %record
no:
  ret ptr null
}}

; Whether the settings in force are those of the process.
define internal i1 @has_usual_settings() alwaysinline {{
entry:
  %place = alloca ptr
  store ptr null, ptr %place
  %status = call i32 @PyContextVar_Get({OVERRIDDEN}, ptr null, ptr %place)
  %failed = icmp slt i32 %status, 0
  br i1 %failed, label %no, label %look
no:
  call void @PyErr_Clear()
  ret i1 false
look:
  %settings = load ptr, ptr %place
  call void @Py_DecRef(ptr %settings)
  %usual = icmp eq ptr %settings, @_Py_NoneStruct
  ret i1 %usual
}}

; Tells a job how many threads may work on it; for how long it may run until these are looked for,
; as an object. Null: that needs a closer look.
define internal ptr @spread(ptr %queue, ptr %job) alwaysinline {{
entry:
  %state = call ptr @link(ptr %queue, i64 {queue_state})
  %stopped = call i64 @word(ptr %state, i64 {state_stop})
  %serves = icmp eq i64 %stopped, 0
  br i1 %serves, label %count, label %no
count:
  %blocks = call i64 @word(ptr %job, i64 {job_blocks})
  %several = icmp sgt i64 %blocks, 1
  br i1 %several, label %ask, label %yes
ask:
  %usual = call i1 @has_usual_settings()
  br i1 %usual, label %look, label %no
look:
  %most = call i64 @word(ptr %state, i64 {state_usual})
  %workers = call i64 @word(ptr %state, i64 {state_workers})
  %fewer = icmp slt i64 %blocks, %most
  %threads = select i1 %fewer, i64 %blocks, i64 %most
  call void @set(ptr %job, i64 {job_threads}, i64 %threads)
  %all = add i64 %workers, 1
  %enough = icmp sge i64 %all, %most
  br i1 %enough, label %yes, label %alone
alone:
  ret {ALONE}
yes:
  ret {SLICE}
no:
  ret ptr null
}}
"""

RUN = """
; Goes on with a launch that was begun until it is over. Below 0: an error is set, by a signal or
; before; it was given up.
define internal i32 @see_through(ptr %stream, ptr %record, ptr %scratch, i1 %is_lost) {{
entry:
  %given = alloca [4 x ptr]
  %error = alloca [3 x ptr]
  %calls = call ptr @slot(ptr %stream, i64 {here_calls})
  %resume = call ptr @slot(ptr %calls, i64 {calls_resume})
  %queue = call ptr @slot(ptr %stream, i64 {here_address})
  %address = call ptr @slot(ptr %record, i64 {record_address})
  %job = call ptr @address_in(ptr %record, i64 {record_address})
  call void @put_at(ptr %given, i64 0, ptr %queue)
  call void @put_at(ptr %given, i64 1, ptr %address)
  call void @put_at(ptr %given, i64 2, ptr %scratch)
  call void @put_at(ptr %given, i64 3, {SLICE})
  br i1 %is_lost, label %give_up, label %go_on
go_on:
  %is_given_up = phi i1 [ false, %entry ], [ false, %listen ], [ true, %give_up ], [ true, %more ]
  %told = call ptr @PyObject_Vectorcall(ptr %resume, ptr %given, i64 4, ptr null)
  %status = call i64 @PyLong_AsLongLong(ptr %told)
  call void @Py_DecRef(ptr %told)
  %over = icmp eq i64 %status, 0
  br i1 %over, label %out, label %more
more:
  br i1 %is_given_up, label %go_on, label %listen
listen:
  %signalled = call i32 @PyErr_CheckSignals()
  %interrupted = icmp slt i32 %signalled, 0
  br i1 %interrupted, label %give_up, label %go_on
give_up:
  ; Its memory must not go before helpers have left: the error waits.
  call void @set_aside(ptr %error)
  call void @set(ptr %job, i64 {job_cancelled}, i64 1)
  call void @set(ptr %job, i64 {job_cancel}, i64 1)
  br label %go_on
out:
  br i1 %is_given_up, label %raise, label %done
raise:
  call void @raise_again(ptr %error)
  ret i32 -1
done:
  ret i32 0
}}

; Sees to it that there are helpers. Null: an error is set.
define internal ptr @help(ptr %stream, ptr %record) {{
  %given = alloca [2 x ptr]
  call void @put_at(ptr %given, i64 0, ptr %stream)
  call void @put_at(ptr %given, i64 1, ptr %record)
  %told = call ptr @PyObject_Vectorcall({have_helpers}, ptr %given, i64 2, ptr null)
  ret ptr %told
}}

; Runs a launch with a record; what `firing` tells of it, or the least number: an error is set.
define internal i64 @run_with(
    ptr %op, ptr %held, ptr %shot, ptr %stream, ptr %user, ptr %record, ptr %scratch,
    ptr %budget) {{
entry:
  %given = alloca [11 x ptr]
  %native = call ptr @slot(ptr %shot, i64 {shot_here_fire})
  %words = call ptr @slot(ptr %shot, i64 {shot_here_given})
  %uses = call ptr @slot(ptr %op, i64 {op_uses})
  %size = call i64 @PyTuple_Size(ptr %held)
  %row_at = sub i64 %size, 2
  %row = call ptr @PyTuple_GetItem(ptr %held, i64 %row_at)
  %lane_object = call ptr @slot(ptr %stream, i64 {here_lane})
  %lane = call ptr @slot(ptr %lane_object, i64 {lane_address})
  %queue = call ptr @slot(ptr %stream, i64 {here_address})
  %job = call ptr @slot(ptr %record, i64 {record_address})
  call void @put_at(ptr %given, i64 0, ptr %uses)
  call void @put_at(ptr %given, i64 1, ptr %user)
  call void @put_at(ptr %given, i64 2, {zero})
  call void @put_at(ptr %given, i64 3, ptr %lane)
  call void @put_at(ptr %given, i64 4, ptr %queue)
  call void @put_at(ptr %given, i64 5, ptr %job)
  call void @put_at(ptr %given, i64 6, ptr %scratch)
  call void @put_at(ptr %given, i64 7, ptr %budget)
  call void @put_at(ptr %given, i64 8, ptr %words)
  call void @put_at(ptr %given, i64 9, ptr %row)
  call void @put_at(ptr %given, i64 10, {no_numbers})
  %told = call ptr @PyObject_Vectorcall(ptr %native, ptr %given, i64 11, ptr null)
  %none = icmp eq ptr %told, null
  br i1 %none, label %lost, label %read
lost:
  ; It was not begun, most likely; else there is not even memory for a number.
  %queue_words = call ptr @address_in(ptr %stream, i64 {here_address})
  %head = call ptr @link(ptr %queue_words, i64 {queue_head})
  %job_words = call ptr @address_in(ptr %record, i64 {record_address})
  %begun = icmp eq ptr %head, %job_words
  br i1 %begun, label %give_up, label %failed
give_up:
  %given_up = call i32 @see_through(ptr %stream, ptr %record, ptr %scratch, i1 true)
  br label %failed
failed:
  ret i64 {failed}
read:
  %answer = call i64 @PyLong_AsLongLong(ptr %told)
  call void @Py_DecRef(ptr %told)
  %late = and i64 %answer, {unfinished}
  %over = icmp eq i64 %late, 0
  br i1 %over, label %out, label %finish
finish:
  %helped = call ptr @help(ptr %stream, ptr %record)
  %helpless = icmp eq ptr %helped, null
  call void @Py_DecRef(ptr %helped)
  %seen = call i32 @see_through(ptr %stream, ptr %record, ptr %scratch, i1 %helpless)
  %number = ashr i64 %answer, {told_bits}
  %lane_words = call ptr @address_in(ptr %lane_object, i64 {lane_address})
  %passed = call i64 @tw_pass(ptr %lane_words, i64 %number)
  %interrupted = icmp slt i32 %seen, 0
  br i1 %interrupted, label %failed, label %out
out:
  ret i64 %answer
}}

; As `run_with`, with a record that is taken. 1: it is over; 0: it needs a closer look, and nothing
; was done; below 0: an error is set.
define internal i32 @fire_here(ptr %op, ptr %held, ptr %shot, ptr %stream, ptr %user) {{
entry:
  %given = alloca [3 x ptr]
  %idle = call ptr @slot(ptr %shot, i64 {shot_here_idle})
  %record = call ptr @take_record(ptr %idle)
  %none = icmp eq ptr %record, null
  br i1 %none, label %closer, label %prepare
closer:
  ret i32 0
prepare:
  %queue = call ptr @address_in(ptr %stream, i64 {here_address})
  %job = call ptr @address_in(ptr %record, i64 {record_address})
  %budget = call ptr @spread(ptr %queue, ptr %job)
  %may = icmp ne ptr %budget, null
  br i1 %may, label %go, label %put_back
go:
  %both = call ptr @slot(ptr %record, i64 {record_scratch})
  %scratch = call ptr @PyTuple_GetItem(ptr %both, i64 0)
  ; Others may change the op, and what is known of its kernel, while this runs.
  call void @Py_IncRef(ptr %held)
  call void @Py_IncRef(ptr %shot)
  %answer = call i64 @run_with(ptr %op, ptr %held, ptr %shot, ptr %stream, ptr %user,
    ptr %record, ptr %scratch, ptr %budget)
  %silent = and i64 %answer, {quiet}
  %quiet = icmp ne i64 %silent, 0
  %bad = icmp eq i64 %answer, {failed}
  %undone = icmp eq i64 %answer, 0
  br i1 %bad, label %drop, label %judge
judge:
  %unused = or i1 %quiet, %undone
  br i1 %unused, label %keep, label %hear
keep:
  %kept = call i32 @PyList_Append(ptr %idle, ptr %record)
  %went = select i1 %undone, i32 0, i32 1
  br label %drop
hear:
  call void @put_at(ptr %given, i64 0, ptr %op)
  call void @put_at(ptr %given, i64 1, ptr %shot)
  call void @put_at(ptr %given, i64 2, ptr %record)
  %heard = call ptr @PyObject_Vectorcall({heard}, ptr %given, i64 3, ptr null)
  call void @Py_DecRef(ptr %heard)
  %raised = icmp eq ptr %heard, null
  %told = select i1 %raised, i32 -1, i32 1
  br label %drop
drop:
  %result = phi i32 [ -1, %go ], [ %went, %keep ], [ %told, %hear ]
  call void @Py_DecRef(ptr %record)
  call void @Py_DecRef(ptr %shot)
  call void @Py_DecRef(ptr %held)
  ret i32 %result
put_back:
  %again = call i32 @PyList_Append(ptr %idle, ptr %record)
  call void @Py_DecRef(ptr %record)
  ret i32 0
}}
"""

TEXT = READY + RUN
