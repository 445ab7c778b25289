"""LLVM text that launches of kernels and of graphs share: their endings, on streams of CUDA.

    start_on, sync_on(op, stream)       `Endings.start_on` and `sync_on` of Python
    sync(op)                            `Endings.sync`
    drop(op)                            `Lazy.__del__`

Whoever uses it writes `end(op, stream, user, budget)`, which runs an op, waits if there is a budget
for that, and gives the result; NotImplemented, which it does not own: the op needs a closer look,
and nothing was done. What stands in braces is said by `quick`.
"""

from __future__ import annotations

DECLARED = """
@_Py_TrueStruct = external global i8
@_Py_NotImplementedStruct = external global i8

declare ptr @PyList_New(i64)
declare ptr @PyObject_CallOneArg(ptr, ptr)
declare i32 @PyList_SetSlice(ptr, i64, i64, ptr)
declare ptr @PyObject_VectorcallMethod(ptr, ptr, i64, ptr)
declare i32 @PyObject_IsTrue(ptr)
declare i32 @PyObject_SetAttr(ptr, ptr, ptr)
declare i64 @PyDict_Size(ptr)
declare i32 @PySet_Add(ptr, ptr)
declare void @PyErr_Fetch(ptr, ptr, ptr)
declare void @PyErr_Restore(ptr, ptr, ptr)
declare void @PyErr_WriteUnraisable(ptr)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
"""

SLOTS = """
define internal i64 @number_in(ptr %object, i64 %offset) alwaysinline {{
  %found = call ptr @slot(ptr %object, i64 %offset)
  %number = call i64 @PyLong_AsLongLong(ptr %found)
  ret i64 %number
}}

define internal ptr @address_in(ptr %object, i64 %offset) alwaysinline {{
  %number = call i64 @number_in(ptr %object, i64 %offset)
  %address = inttoptr i64 %number to ptr
  ret ptr %address
}}

; Calls a method without arguments; whether it raised nothing.
define internal i1 @tell(ptr %object, ptr %method) {{
entry:
  %bound = call ptr @PyObject_GetAttr(ptr %object, ptr %method)
  %none = icmp eq ptr %bound, null
  br i1 %none, label %no, label %ask
ask:
  %answer = call ptr @PyObject_CallNoArgs(ptr %bound)
  call void @Py_DecRef(ptr %bound)
  %failed = icmp eq ptr %answer, null
  br i1 %failed, label %no, label %yes
yes:
  call void @Py_DecRef(ptr %answer)
  ret i1 true
no:
  ret i1 false
}}

define internal void @put_at(ptr %array, i64 %i, ptr %object) alwaysinline {{
  %at = getelementptr ptr, ptr %array, i64 %i
  store ptr %object, ptr %at
  ret void
}}
"""

ERRORS = """
; Keeps the error that is set, in three words, while other code of Python runs.
define internal void @set_aside(ptr %error) alwaysinline {{
  %value = getelementptr ptr, ptr %error, i64 1
  %trace = getelementptr ptr, ptr %error, i64 2
  call void @PyErr_Fetch(ptr %error, ptr %value, ptr %trace)
  ret void
}}

; Sets it again.
define internal void @raise_again(ptr %error) alwaysinline {{
  %kind = call ptr @link(ptr %error, i64 0)
  %value = call ptr @link(ptr %error, i64 1)
  %trace = call ptr @link(ptr %error, i64 2)
  call void @PyErr_Restore(ptr %kind, ptr %value, ptr %trace)
  ret void
}}
"""

ENDING = """
; What a method of Python gives, with all that a native one was given.
define internal ptr @closely(
    ptr %method, ptr %self, ptr %given, i64 %count, ptr %names) {{
entry:
  %nameless = icmp eq ptr %names, null
  br i1 %nameless, label %pass, label %count_names
count_names:
  %named = call i64 @PyTuple_Size(ptr %names)
  br label %pass
pass:
  %further = phi i64 [ 0, %entry ], [ %named, %count_names ]
  %all = add i64 %count, %further
  %room = add i64 %all, 1
  %passed = alloca ptr, i64 %room
  store ptr %self, ptr %passed
  %behind = getelementptr ptr, ptr %passed, i64 1
  %bytes = shl i64 %all, 3
  call void @llvm.memcpy.p0.p0.i64(ptr %behind, ptr %given, i64 %bytes, i1 false)
  %with_self = add i64 %count, 1
  %answer = call ptr @PyObject_Vectorcall(ptr %method, ptr %passed, i64 %with_self, ptr %names)
  ret ptr %answer
}}

; Runs an op as `end` does, as a method, which may be given anything.
define internal ptr @ending(
    ptr %op, ptr %given, i64 %count, ptr %names, ptr %method, ptr %user, i64 %budget) {{
entry:
  %one = icmp eq i64 %count, 1
  %unnamed = icmp eq ptr %names, null
  %usual = and i1 %one, %unnamed
  br i1 %usual, label %go, label %closer
go:
  %stream = load ptr, ptr %given
  %result = call ptr @end(ptr %op, ptr %stream, ptr %user, i64 %budget)
  %more = icmp eq ptr %result, @_Py_NotImplementedStruct
  br i1 %more, label %closer, label %out
out:
  ret ptr %result
closer:
  %answer = call ptr @closely(ptr %method, ptr %op, ptr %given, i64 %count, ptr %names)
  ret ptr %answer
}}

define ptr @start_on(ptr %op, ptr %given, i64 %count, ptr %names) {{
  %result = call ptr @ending(
    ptr %op, ptr %given, i64 %count, ptr %names, {start_on}, {start}, i64 0)
  ret ptr %result
}}

define ptr @sync_on(ptr %op, ptr %given, i64 %count, ptr %names) {{
  %result = call ptr @ending(
    ptr %op, ptr %given, i64 %count, ptr %names, {sync_on}, {sync}, i64 {eager})
  ret ptr %result
}}

define ptr @sync(ptr %op, ptr %given, i64 %count, ptr %names) {{
entry:
  %place = alloca ptr
  %nothing = icmp eq i64 %count, 0
  %unnamed = icmp eq ptr %names, null
  %usual = and i1 %nothing, %unnamed
  br i1 %usual, label %choose, label %closer
closer:
  %answer = call ptr @closely({sync_method}, ptr %op, ptr %given, i64 %count, ptr %names)
  ret ptr %answer
choose:
  %stream = call ptr @PyObject_CallOneArg({chosen}, ptr %op)
  %none = icmp eq ptr %stream, null
  br i1 %none, label %failed, label %end
failed:
  ret ptr null
end:
  store ptr %stream, ptr %place
  %result = call ptr @sync_on(ptr %op, ptr %place, i64 1, ptr null)
  call void @Py_DecRef(ptr %stream)
  ret ptr %result
}}

define void @drop(ptr %op) {{
entry:
  %error = alloca [3 x ptr]
  %uses = call ptr @slot(ptr %op, i64 {op_uses})
  %none = icmp eq ptr %uses, null
  br i1 %none, label %out, label %look
look:
  %count = call i64 @PyList_Size(ptr %uses)
  %used = icmp sgt i64 %count, 0
  br i1 %used, label %out, label %warn
warn:
  ; An error that is on its way goes on afterwards; nobody would hear one of a finalizer.
  call void @set_aside(ptr %error)
  %told = call ptr @PyObject_CallOneArg({dropped}, ptr %op)
  %silent = icmp eq ptr %told, null
  br i1 %silent, label %say, label %go_on
say:
  call void @PyErr_WriteUnraisable(ptr %op)
  br label %go_on
go_on:
  call void @Py_DecRef(ptr %told)
  call void @raise_again(ptr %error)
  br label %out
out:
  ret void
}}
"""

TEXT = "".join((SLOTS, ERRORS, ENDING))
