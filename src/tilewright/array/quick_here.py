"""LLVM text that runs work on the calling thread, to its end, for kernels and for graphs.

    place_of(stream, waits)     whether work is put on a stream, or runs here
    spread(queue, job)          how a job may be run now, with how many threads
    run_with(...)               begins it and runs it, by native code of `driver.cpu.firing`
    hear(op, work, record)      Python hears what it reported

What stands in braces is said by `quick`. Whatever is unusual is found out before anything was done.
"""

from __future__ import annotations

DECLARED = """
declare i32 @PyContextVar_Get(ptr, ptr, ptr)
declare i32 @PyErr_CheckSignals()
"""

NOWHERE, THERE, HERE = 0, 1, 2
"""Where native code ends an op: not at all, on a stream of CUDA, on the calling thread."""

SPREAD = """
; Where an op can end that is given a stream, and that somebody waits for, or not.
define internal i32 @place_of(ptr %stream, i1 %waits) alwaysinline {{
entry:
  %there = call i1 @is_of(ptr %stream, {CudaStream})
  br i1 %there, label %of_cuda, label %other
of_cuda:
  %complete = call i1 @is_whole_stream(ptr %stream)
  %put = select i1 %complete, i32 {THERE}, i32 {NOWHERE}
  ret i32 %put
other:
  %host = call i1 @is_of(ptr %stream, {CpuStream})
  %here = and i1 %host, %waits
  br i1 %here, label %of_host, label %nowhere
of_host:
  %whole = call i1 @is_whole_here(ptr %stream)
  %run = select i1 %whole, i32 {HERE}, i32 {NOWHERE}
  ret i32 %run
nowhere:
  ret i32 {NOWHERE}
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
; Goes on with work that was begun until it is over. Below 0: an error is set, by a signal or
; before; it was given up.
define internal i32 @see_through(ptr %stream, ptr %record, ptr %scratch, i1 %is_lost) {{
entry:
  %given = alloca [4 x ptr]
  %error = alloca [3 x ptr]
  %calls = call ptr @slot(ptr %stream, i64 {here_calls})
  %resume = call ptr @slot(ptr %calls, i64 {calls_resume})
  %stop = call ptr @slot(ptr %calls, i64 {calls_give_up})
  %queue = call ptr @slot(ptr %stream, i64 {here_address})
  %address = call ptr @slot(ptr %record, i64 {record_address})
  call void @put_at(ptr %given, i64 0, ptr %queue)
  call void @put_at(ptr %given, i64 1, ptr %address)
  call void @put_at(ptr %given, i64 2, ptr %scratch)
  call void @put_at(ptr %given, i64 3, {SLICE})
  br i1 %is_lost, label %give_up, label %go_on
go_on:
  %is_given_up = phi i1 [ false, %entry ], [ false, %listen ], [ true, %give_up ], [ true, %more ]
  %told = call ptr @PyObject_Vectorcall(ptr %resume, ptr %given, i64 4, ptr null)
  %raised = icmp eq ptr %told, null
  br i1 %raised, label %give_up, label %heard
heard:
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
  %given_up = call ptr @PyObject_CallOneArg(ptr %stop, ptr %address)
  call void @Py_DecRef(ptr %given_up)
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

; Lets Python hear of work of an op that is over, as it may have something to report. Below 0: an
; error is set.
define internal i32 @hear(ptr %op, ptr %work, ptr %record) {{
  %given = alloca [3 x ptr]
  call void @put_at(ptr %given, i64 0, ptr %op)
  call void @put_at(ptr %given, i64 1, ptr %work)
  call void @put_at(ptr %given, i64 2, ptr %record)
  %heard = call ptr @PyObject_Vectorcall({heard}, ptr %given, i64 3, ptr null)
  call void @Py_DecRef(ptr %heard)
  %raised = icmp eq ptr %heard, null
  %told = select i1 %raised, i32 -1, i32 1
  ret i32 %told
}}

; Runs work with a record, by native code that is given these words and who begins it; what `firing`
; tells of it, or the least number: an error is set.
define internal i64 @run_with(
    ptr %native, ptr %words, ptr %by, ptr %uses, ptr %stream, ptr %user, ptr %record, ptr %scratch,
    ptr %budget) {{
entry:
  %given = alloca [11 x ptr]
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
  call void @put_at(ptr %given, i64 9, ptr %by)
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
"""

TEXT = SPREAD + RUN
