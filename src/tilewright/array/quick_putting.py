"""LLVM text that puts work on a stream of CUDA: it is counted, kept alive, and waited for.

`put_there` is what others call, with the state of the stream before. What stands in braces is said
by `quick`.
"""

from __future__ import annotations

PUTTING = """
; A stream before anything is put there: its lane, its handle, how much others had put there, the
; list of what it keeps, which is owned, and up to which number that is for work before.
%State = type {{ ptr, ptr, i64, ptr, i64 }}

define internal %State @state_of(ptr %stream) alwaysinline {{
  %lane_object = call ptr @slot(ptr %stream, i64 {stream_lane})
  %lane = call ptr @address_in(ptr %lane_object, i64 {lane_address})
  %handle = call ptr @address_in(ptr %stream, i64 {stream_handle})
  %others = call i64 @number_in(ptr %stream, i64 {stream_others})
  %its_kept = call ptr @slot(ptr %stream, i64 {stream_kept})
  %kept = call ptr @own(ptr %its_kept)
  %count = call i64 @PyList_Size(ptr %kept)
  %dropped = call i64 @number_in(ptr %stream, i64 {stream_dropped})
  %upto = add i64 %dropped, %count
  %one = insertvalue %State poison, ptr %lane, 0
  %two = insertvalue %State %one, ptr %handle, 1
  %three = insertvalue %State %two, i64 %others, 2
  %four = insertvalue %State %three, ptr %kept, 3
  %five = insertvalue %State %four, i64 %upto, 4
  ret %State %five
}}

; Whether nobody traces what is run.
define internal i1 @is_untraced() alwaysinline {{
  %trace = call ptr @slot({Tracing}, i64 {tracing_active})
  %untraced = icmp eq ptr %trace, @_Py_NoneStruct
  ret i1 %untraced
}}

; Whether no thread is starting an op in Python, where this one may not, and nobody traces that.
define internal i1 @is_usual() alwaysinline {{
entry:
  %untraced = call i1 @is_untraced()
  br i1 %untraced, label %look, label %no
look:
  %names = call ptr @slot({THREAD}, i64 {threads_names})
  %count = call i64 @PyDict_Size(ptr %names)
  %none = icmp eq i64 %count, 0
  ret i1 %none
no:
  ret i1 false
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

; Keeps something alive for work that was put on a stream, which owns that, and what it is called,
; from now on; gives how much it keeps. Runs no Python, where an interrupt could be raised.
define internal i64 @hold(ptr %stream, ptr %label, ptr %kept_alive) {{
entry:
  %both = call ptr @PyTuple_New(i64 2)
  %first = call i32 @PyTuple_SetItem(ptr %both, i64 0, ptr %label)
  %second = call i32 @PyTuple_SetItem(ptr %both, i64 1, ptr %kept_alive)
  %kept = call ptr @slot(ptr %stream, i64 {stream_kept})
  %added = call i32 @PyList_Append(ptr %kept, ptr %both)
  call void @Py_DecRef(ptr %both)
  %count = call i64 @PyList_Size(ptr %kept)
  %first_of_all = icmp eq i64 %count, {few}
  br i1 %first_of_all, label %stay, label %out
stay:
  %waiting = call ptr @slot(ptr %stream, i64 {stream_waiting})
  %stays = call i32 @PySet_Add(ptr %waiting, ptr %stream)
  br label %out
out:
  ret i64 %count
}}

; The same, and lets go of what has passed if there is much; whether that went well.
define internal i1 @keep(ptr %stream, ptr %label, ptr %kept_alive) {{
entry:
  %count = call i64 @hold(ptr %stream, ptr %label, ptr %kept_alive)
  %much = icmp eq i64 %count, {many}
  br i1 %much, label %tend, label %done
tend:
  %well = call i1 @tell(ptr %stream, {tend})
  ret i1 %well
done:
  ret i1 true
}}

; Lets a stream drop what it keeps up to a number; whether that went well. Python does it: another
; thread may be about to do the same.
define internal i1 @drop_upto(ptr %stream, ptr %kept, i64 %upto) {{
entry:
  %given = alloca [3 x ptr]
  %number = call ptr @PyLong_FromLongLong(i64 %upto)
  call void @put_at(ptr %given, i64 0, ptr %stream)
  call void @put_at(ptr %given, i64 1, ptr %kept)
  call void @put_at(ptr %given, i64 2, ptr %number)
  %told = call ptr @PyObject_VectorcallMethod({drop}, ptr %given, i64 3, ptr null)
  call void @Py_DecRef(ptr %number)
  call void @Py_DecRef(ptr %told)
  %well = icmp ne ptr %told, null
  ret i1 %well
}}

; As `CudaStream.waited`, where all that was on the stream is over.
define internal i1 @settle(ptr %stream, i64 %others, ptr %kept, i64 %upto, i64 %answer) {{
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
  %held = call i64 @PyList_Size(ptr %kept)
  %some = icmp sgt i64 %held, 0
  br i1 %some, label %cut, label %look
cut:
  %dropped = call i1 @drop_upto(ptr %stream, ptr %kept, i64 %upto)
  br i1 %dropped, label %look, label %torn
torn:
  ret i1 false
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

; What Python does about work that was refused, or is not over yet; whether it raised nothing. It
; is told how far the stream was, and the answer.
define internal i1 @leave(
    ptr %label, ptr %kept_alive, ptr %stream, i64 %others, ptr %kept, i64 %upto, i64 %answer) {{
entry:
  %given = alloca [7 x ptr]
  %one = call ptr @PyLong_FromLongLong(i64 %others)
  %two = call ptr @PyLong_FromLongLong(i64 %upto)
  %three = call ptr @PyLong_FromLongLong(i64 %answer)
  call void @put_at(ptr %given, i64 0, ptr %label)
  call void @put_at(ptr %given, i64 1, ptr %kept_alive)
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

; How work was put on a stream, by the answer of who did. 1: it is there, 0: it needs a closer look,
; below 0: an error is set. Owns the label, what is kept alive, and what the state before owns.
define internal i32 @put_there(
    ptr %label, ptr %kept_alive, ptr %stream, %State %before, i64 %answer, i64 %budget) {{
entry:
  %others = extractvalue %State %before, 2
  %kept = extractvalue %State %before, 3
  %upto = extractvalue %State %before, 4
  switch i64 %answer, label %judge [ i64 0, label %drop
                                     i64 {failed}, label %refused ]
judge:
  %bad = icmp slt i64 %answer, 0
  %waits = icmp sgt i64 %budget, 0
  %status = and i64 %answer, {status_mask}
  %over = icmp eq i64 %status, 0
  br i1 %bad, label %left, label %there
there:
  br i1 %waits, label %waited, label %keep
waited:
  br i1 %over, label %settle, label %leave
keep:
  call void @Py_DecRef(ptr %kept)
  %went = call i1 @keep(ptr %stream, ptr %label, ptr %kept_alive)
  br i1 %went, label %tell, label %torn
torn:
  ret i32 -1
tell:
  %told = call i1 @announce()  ; which runs Python, so it comes last
  %told_now = select i1 %told, i32 1, i32 -1
  ret i32 %told_now
settle:
  %settled = call i1 @settle(ptr %stream, i64 %others, ptr %kept, i64 %upto, i64 %answer)
  br i1 %settled, label %heard, label %refused
leave:
  %label_too = call ptr @own(ptr %label)
  %alive_too = call ptr @own(ptr %kept_alive)
  %held = call i64 @hold(ptr %stream, ptr %label_too, ptr %alive_too)
  br label %left
left:
  %went_on = call i1 @leave(ptr %label, ptr %kept_alive, ptr %stream, i64 %others, ptr %kept,
    i64 %upto, i64 %answer)
  br i1 %went_on, label %heard, label %refused
heard:
  %all_heard = call i1 @announce()
  %heard_now = select i1 %all_heard, i32 1, i32 -1
  br label %drop
refused:
  br label %drop
drop:
  %result = phi i32 [ 0, %entry ], [ %heard_now, %heard ], [ -1, %refused ]
  call void @Py_DecRef(ptr %label)
  call void @Py_DecRef(ptr %kept_alive)
  call void @Py_DecRef(ptr %kept)
  ret i32 %result
}}
"""
