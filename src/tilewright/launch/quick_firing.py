"""LLVM text that puts a plain launch on a stream of CUDA, as `CudaShot.fire` does.

A part of `quick_text`, which says what stands in braces.
"""

from __future__ import annotations

FIRE = """
; How a plain launch gets on its way on a stream of CUDA; null: it needs a closer look.
define internal ptr @shot_of(ptr %op, ptr %stream, ptr %known) alwaysinline {{
entry:
  %latest = call ptr @slot(ptr %known, i64 {known_latest})
  %its = call ptr @PyTuple_GetItem(ptr %latest, i64 0)
  %request = call ptr @slot(ptr %op, i64 {op_request})
  %same = icmp eq ptr %its, %request
  br i1 %same, label %look, label %no
look:
  %shot = call ptr @PyTuple_GetItem(ptr %latest, i64 2)
  %fits = call i1 @is_of(ptr %shot, {CudaShot})
  br i1 %fits, label %judge, label %no
judge:
  %device = call ptr @slot(ptr %stream, i64 {stream_device})
  %home = call ptr @slot(ptr %known, i64 {known_home})
  %there = icmp eq ptr %device, %home
  %context = call ptr @slot(ptr %shot, i64 {shot_context})
  %state = call ptr @slot(ptr %context, i64 {context_is_fine})
  %fine = icmp eq ptr %state, @_Py_TrueStruct
  %both = and i1 %there, %fine
  br i1 %both, label %yes, label %no
yes:
  ret ptr %shot
no:
  ret ptr null
}}

; Whether no thread is starting an op in Python, where this one may not, and nobody traces that.
define internal i1 @is_usual() alwaysinline {{
entry:
  %trace = call ptr @slot({Tracing}, i64 {tracing_active})
  %untraced = icmp eq ptr %trace, @_Py_NoneStruct
  br i1 %untraced, label %look, label %no
look:
  %names = call ptr @slot({THREAD}, i64 {threads_names})
  %count = call i64 @PyDict_Size(ptr %names)
  %none = icmp eq i64 %count, 0
  ret i1 %none
no:
  ret i1 false
}}

; Keeps what a launch uses with its stream, which owns that from now on; whether that went well.
define internal i1 @keep(ptr %stream, ptr %shot, ptr %held) {{
entry:
  %both = call ptr @PyTuple_New(i64 2)
  %first = call i32 @PyTuple_SetItem(ptr %both, i64 0, ptr %shot)
  %second = call i32 @PyTuple_SetItem(ptr %both, i64 1, ptr %held)
  %kept = call ptr @slot(ptr %stream, i64 {stream_kept})
  %added = call i32 @PyList_Append(ptr %kept, ptr %both)
  call void @Py_DecRef(ptr %both)
  %count = call i64 @PyList_Size(ptr %kept)
  switch i64 %count, label %done [ i64 {few}, label %tend
                                   i64 {many}, label %tend ]
tend:
  %well = call i1 @tell(ptr %stream, {tend})
  ret i1 %well
done:
  ret i1 true
}}

; As `CudaStream.waited`, where all that was on the stream is over.
define internal i1 @settle(ptr %stream, i64 %others, ptr %kept, i64 %count, i64 %answer) {{
entry:
  %put = ashr i64 %answer, {status_bits}
  %number = add i64 %others, %put
  %before = call i64 @number_in(ptr %stream, i64 {stream_completed})
  %further = icmp sgt i64 %number, %before
  br i1 %further, label %move, label %drop
move:
  %now = call ptr @PyLong_FromLongLong(i64 %number)
  call void @give(ptr %stream, i64 {stream_completed}, ptr %now)
  br label %drop
drop:
  %some = icmp sgt i64 %count, 0
  br i1 %some, label %cut, label %look
cut:
  %dropped = call i32 @PyList_SetSlice(ptr %kept, i64 0, i64 %count, ptr null)
  br label %look
look:
  %marks = call ptr @slot(ptr %stream, i64 {stream_marks})
  %marked = call i32 @PyObject_IsTrue(ptr %marks)
  %dues = call ptr @slot(ptr %stream, i64 {stream_dues})
  %items = call ptr @slot(ptr %dues, i64 {dues_items})
  %due = call i32 @PyObject_IsTrue(ptr %items)
  %any = or i32 %marked, %due
  %none = icmp eq i32 %any, 0
  br i1 %none, label %done, label %sweep
sweep:
  %well = call i1 @tell(ptr %stream, {sweep})
  ret i1 %well
done:
  ret i1 true
}}

; What Python does about a launch that was refused, or that is not over yet; whether it raised
; nothing. It is given the stream, how far that was, and the answer.
define internal i1 @leave(
    ptr %shot, ptr %held, ptr %stream, i64 %others, ptr %kept, i64 %count, i64 %answer) {{
entry:
  %given = alloca [7 x ptr]
  %one = call ptr @PyLong_FromLongLong(i64 %others)
  %two = call ptr @PyLong_FromLongLong(i64 %count)
  %three = call ptr @PyLong_FromLongLong(i64 %answer)
  call void @put_at(ptr %given, i64 0, ptr %shot)
  call void @put_at(ptr %given, i64 1, ptr %held)
  call void @put_at(ptr %given, i64 2, ptr %stream)
  call void @put_at(ptr %given, i64 3, ptr %one)
  call void @put_at(ptr %given, i64 4, ptr %kept)
  call void @put_at(ptr %given, i64 5, ptr %two)
  call void @put_at(ptr %given, i64 6, ptr %three)
  %told = call ptr @PyObject_Vectorcall({left}, ptr %given, i64 7, ptr null)
  call void @Py_DecRef(ptr %one)
  call void @Py_DecRef(ptr %two)
  call void @Py_DecRef(ptr %three)
  %failed = icmp eq ptr %told, null
  br i1 %failed, label %no, label %yes
yes:
  call void @Py_DecRef(ptr %told)
  ret i1 true
no:
  ret i1 false
}}

define internal void @put_at(ptr %array, i64 %i, ptr %object) alwaysinline {{
  %at = getelementptr ptr, ptr %array, i64 %i
  store ptr %object, ptr %at
  ret void
}}

; Who waits for work to be put on a stream hears of it; whether that went well.
define internal i1 @announce() alwaysinline {{
entry:
  %waiting = call ptr @slot({PUTS}, i64 {puts_waiting})
  %nobody = icmp eq ptr %waiting, {zero_object}
  br i1 %nobody, label %yes, label %wake
wake:
  %told = call ptr @PyObject_CallNoArgs({tell_put})
  call void @Py_DecRef(ptr %told)
  %well = icmp ne ptr %told, null
  ret i1 %well
yes:
  ret i1 true
}}

; Puts a launch on its stream. 1: it is there, 0: it needs a closer look, below 0: an error is set.
define internal i32 @fire(
    ptr %op, ptr %held, ptr %shot, ptr %stream, ptr %user, i64 %budget) {{
entry:
  %words = call ptr @address_in(ptr %shot, i64 {shot_given})
  %fire = call ptr @link(ptr %words, i64 {shot_fire})
  %none = icmp eq ptr %fire, null
  br i1 %none, label %closer, label %go
go:
  %size = call i64 @PyTuple_Size(ptr %held)
  %row_at = sub i64 %size, 2
  %row_object = call ptr @PyTuple_GetItem(ptr %held, i64 %row_at)
  %row = call ptr @PyBytes_AsString(ptr %row_object)
  %uses = call ptr @slot(ptr %op, i64 {op_uses})
  %lane_object = call ptr @slot(ptr %stream, i64 {stream_lane})
  %lane = call ptr @address_in(ptr %lane_object, i64 {lane_address})
  %handle = call ptr @address_in(ptr %stream, i64 {stream_handle})
  %others = call i64 @number_in(ptr %stream, i64 {stream_others})
  %its_kept = call ptr @slot(ptr %stream, i64 {stream_kept})
  %kept = call ptr @own(ptr %its_kept)
  %count = call i64 @PyList_Size(ptr %kept)
  ; Others may change the op, and what is known of its kernel, while the driver works.
  %held_too = call ptr @own(ptr %held)
  %shot_too = call ptr @own(ptr %shot)
  %answer = call i64 %fire(ptr %words, ptr %uses, ptr %user, {zero}, ptr %row, ptr null,
    ptr %lane, ptr %handle, i64 %budget)
  switch i64 %answer, label %judge [ i64 0, label %unused
                                     i64 {failed}, label %refused ]
judge:
  %told = call i1 @announce()
  br i1 %told, label %look, label %refused
look:
  %waits = icmp sgt i64 %budget, 0
  %bad = icmp slt i64 %answer, 0
  %status = and i64 %answer, {status_mask}
  %well = icmp eq i64 %status, 0
  %over = and i1 %waits, %well
  %unusual = or i1 %bad, %waits
  br i1 %unusual, label %end, label %keep
keep:
  call void @Py_DecRef(ptr %kept)
  %went = call i1 @keep(ptr %stream, ptr %shot_too, ptr %held_too)
  br label %out
end:
  %good = xor i1 %bad, true
  %settled = and i1 %good, %over
  br i1 %settled, label %settle, label %leave
settle:
  %all_well = call i1 @settle(ptr %stream, i64 %others, ptr %kept, i64 %count, i64 %answer)
  br label %drop
leave:
  %left = call i1 @leave(ptr %shot, ptr %held, ptr %stream, i64 %others, ptr %kept, i64 %count,
    i64 %answer)
  br label %drop
unused:
  br label %drop
refused:
  br label %drop
drop:
  %answered = phi i32 [ 1, %settle ], [ 1, %leave ], [ 0, %unused ], [ -1, %refused ]
  %fine = phi i1 [ %all_well, %settle ], [ %left, %leave ], [ true, %unused ], [ true, %refused ]
  call void @Py_DecRef(ptr %kept)
  call void @Py_DecRef(ptr %held_too)
  call void @Py_DecRef(ptr %shot_too)
  br label %out
out:
  %answer_now = phi i32 [ 1, %keep ], [ %answered, %drop ]
  %raised_nothing = phi i1 [ %went, %keep ], [ %fine, %drop ]
  %result = select i1 %raised_nothing, i32 %answer_now, i32 -1
  ret i32 %result
closer:
  ret i32 0
}}
"""
