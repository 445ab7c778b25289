"""LLVM text that puts a plain launch on a stream of CUDA, as `CudaShot.fire` does; or runs it here.

A part of `quick_text`, which says what stands in braces.
"""

from __future__ import annotations

FIRE = """
; How launches of these kinds went the last time, if that one asked for the same, on this device,
; and went by a shot of this class; null: it needs a closer look.
define internal ptr @latest_shot(ptr %op, ptr %known, ptr %device, ptr %class) alwaysinline {{
entry:
  %latest = call ptr @slot(ptr %known, i64 {known_latest})
  %its = call ptr @PyTuple_GetItem(ptr %latest, i64 0)
  %request = call ptr @slot(ptr %op, i64 {op_request})
  %same = icmp eq ptr %its, %request
  br i1 %same, label %look, label %no
look:
  %shot = call ptr @PyTuple_GetItem(ptr %latest, i64 2)
  %fits = call i1 @is_of(ptr %shot, ptr %class)
  %home = call ptr @slot(ptr %known, i64 {known_home})
  %there = icmp eq ptr %device, %home
  %both = and i1 %fits, %there
  br i1 %both, label %yes, label %no
yes:
  ret ptr %shot
no:
  ret ptr null
}}

; How a plain launch gets on its way on a stream of CUDA; null: it needs a closer look.
define internal ptr @shot_of(ptr %op, ptr %stream, ptr %known) alwaysinline {{
entry:
  %device = call ptr @slot(ptr %stream, i64 {stream_device})
  %shot = call ptr @latest_shot(ptr %op, ptr %known, ptr %device, {CudaShot})
  %none = icmp eq ptr %shot, null
  br i1 %none, label %no, label %look
look:
  %context = call ptr @slot(ptr %shot, i64 {shot_context})
  %state = call ptr @slot(ptr %context, i64 {context_is_fine})
  %fine = icmp eq ptr %state, @_Py_TrueStruct
  br i1 %fine, label %yes, label %no
yes:
  ret ptr %shot
no:
  ret ptr null
}}

; Puts a launch on its stream. 1: it is there, 0: it needs a closer look, below 0: an error is set.
define internal i32 @fire(
    ptr %held, ptr %shot, ptr %stream, ptr %uses, ptr %user, i64 %budget) {{
entry:
  %words = call ptr @address_in(ptr %shot, i64 {shot_given})
  %driver = call ptr @link(ptr %words, i64 {shot_driver})
  %none = icmp eq ptr %driver, null
  br i1 %none, label %closer, label %go
closer:
  ret i32 0
go:
  %size = call i64 @PyTuple_Size(ptr %held)
  %row_at = sub i64 %size, 2
  %row_object = call ptr @PyTuple_GetItem(ptr %held, i64 %row_at)
  %row = call ptr @PyBytes_AsString(ptr %row_object)
  %result = call i32 {launch_there}(ptr %driver, ptr %words, ptr %uses, ptr %user, {zero},
    ptr %row, ptr %shot, ptr %held, ptr %stream, {left}, i64 %budget)
  ret i32 %result
}}

; Puts a launch on a stream of CUDA, as `fire` says, if nothing about it is unusual.
define internal i32 @end_there(
    ptr %op, ptr %held, ptr %known, ptr %stream, ptr %uses, ptr %user, i64 %budget) {{
entry:
  %shot = call ptr @shot_of(ptr %op, ptr %stream, ptr %known)
  %none = icmp eq ptr %shot, null
  br i1 %none, label %closer, label %go
closer:
  ret i32 0
go:
  %fired = call i32 @fire(
    ptr %held, ptr %shot, ptr %stream, ptr %uses, ptr %user, i64 %budget)
  ret i32 %fired
}}

; The same on a stream of the CPU, where it is over then.
define internal i32 @end_here(
    ptr %op, ptr %held, ptr %known, ptr %stream, ptr %uses, ptr %user) {{
entry:
  %error = alloca [3 x ptr]
  %shot = call ptr @shot_here(ptr %op, ptr %stream, ptr %known)
  %none = icmp eq ptr %shot, null
  br i1 %none, label %closer, label %go
closer:
  ret i32 0
go:
  %fired = call i32 @fire_here(
    ptr %op, ptr %held, ptr %shot, ptr %stream, ptr %uses, ptr %user)
  %failed = icmp slt i32 %fired, 0
  br i1 %failed, label %drop, label %out
drop:
  call void @set_aside(ptr %error)
  %arguments = call ptr @spent(ptr %op)
  call void @Py_DecRef(ptr %arguments)
  call void @raise_again(ptr %error)
  br label %out
out:
  ret i32 %fired
}}

; Lets an op go of what it holds once it has run; gives its arguments.
define internal ptr @spent(ptr %op) {{
  %its_arguments = call ptr @slot(ptr %op, i64 {op_args})
  %arguments = call ptr @own(ptr %its_arguments)
  %nothing = call ptr @own({empty})
  call void @give(ptr %op, i64 {op_args}, ptr %nothing)
  %unheld = call ptr @own(ptr @_Py_NoneStruct)
  call void @give(ptr %op, i64 {op_held}, ptr %unheld)
  %unexamined = call ptr @own(ptr @_Py_NoneStruct)
  call void @give(ptr %op, i64 {op_examined}, ptr %unexamined)
  ret ptr %arguments
}}

; Runs an op on a stream, and waits if there is a budget for that; gives its arguments.
define internal ptr @end(ptr %op, ptr %stream, ptr %user, i64 %budget) {{
entry:
  %its_usual = call i32 {is_usual}()
  %usual = icmp ne i32 %its_usual, 0
  %whole = call i1 @is_whole_op(ptr %op)
  %may = and i1 %usual, %whole
  br i1 %may, label %go, label %closer
go:
  %uses = call ptr @slot(ptr %op, i64 {op_uses})
  %waits = icmp sgt i64 %budget, 0
  %result = call ptr @end_of(
    ptr %op, ptr %stream, ptr %uses, ptr %user, i1 %waits, i64 %budget)
  ret ptr %result
closer:
  ret ptr @_Py_NotImplementedStruct
}}

; The same as a part of other work, which waits at its end, if at all; its use was noted before.
define ptr @execute(ptr %op, ptr %given, i64 %count, ptr %names) {{
entry:
  %one = icmp eq i64 %count, 1
  %unnamed = icmp eq ptr %names, null
  %alone = and i1 %one, %unnamed
  br i1 %alone, label %judge, label %closer
judge:
  %context = load ptr, ptr %given
  %known = call i1 @is_of(ptr %context, {ExecutionContext})
  %its_untraced = call i32 {is_untraced}()
  %untraced = icmp ne i32 %its_untraced, 0
  %both = and i1 %known, %untraced
  br i1 %both, label %inspect, label %closer
inspect:
  %op_is_whole = call i1 @is_whole_op(ptr %op)
  %context_is_whole = call i1 @is_whole_ctx(ptr %context)
  %whole = and i1 %op_is_whole, %context_is_whole
  br i1 %whole, label %look, label %closer
look:
  %recording = call ptr @slot(ptr %context, i64 {ctx_recording})
  %lent = call ptr @slot(ptr %context, i64 {ctx_lent})
  %runs = icmp eq ptr %recording, @_Py_NoneStruct
  %keeps = icmp eq ptr %lent, @_Py_NoneStruct
  %plain = and i1 %runs, %keeps
  br i1 %plain, label %go, label %closer
go:
  %stream = call ptr @slot(ptr %context, i64 {ctx_stream})
  %its_waits = call ptr @slot(ptr %context, i64 {ctx_waits})
  %waits = icmp eq ptr %its_waits, @_Py_TrueStruct
  %result = call ptr @end_of(
    ptr %op, ptr %stream, ptr @_Py_NoneStruct, {execute}, i1 %waits, i64 0)
  %more = icmp eq ptr %result, @_Py_NotImplementedStruct
  br i1 %more, label %closer, label %out
out:
  ret ptr %result
closer:
  %answer = call ptr @closely({executed}, ptr %op, ptr %given, i64 %count, ptr %names)
  ret ptr %answer
}}

; Runs an op on a stream, as `end` does, where somebody waits for it, now or later, or nobody does.
define internal ptr @end_of(
    ptr %op, ptr %stream, ptr %uses, ptr %user, i1 %waits, i64 %budget) {{
entry:
  %place = call i32 @place_of(ptr %stream, i1 %waits)
  %ours = icmp ne i32 %place, {NOWHERE}
  %held = call ptr @slot(ptr %op, i64 {op_held})
  %bound = icmp ne ptr %held, @_Py_NoneStruct
  %may = and i1 %ours, %bound
  br i1 %may, label %find, label %closer
find:
  %size = call i64 @PyTuple_Size(ptr %held)
  %last = sub i64 %size, 1
  %known = call ptr @PyTuple_GetItem(ptr %held, i64 %last)
  %here = icmp eq i32 %place, {HERE}
  br i1 %here, label %end_here, label %end_there
end_here:
  %ran = call i32 @end_here(
    ptr %op, ptr %held, ptr %known, ptr %stream, ptr %uses, ptr %user)
  br label %judge
end_there:
  %put = call i32 @end_there(
    ptr %op, ptr %held, ptr %known, ptr %stream, ptr %uses, ptr %user, i64 %budget)
  br label %judge
judge:
  %fired = phi i32 [ %ran, %end_here ], [ %put, %end_there ]
  switch i32 %fired, label %failed [ i32 0, label %closer
                                     i32 1, label %done ]
failed:
  ret ptr null
closer:
  ret ptr @_Py_NotImplementedStruct
done:
  %arguments = call ptr @spent(ptr %op)
  ret ptr %arguments
}}
"""
