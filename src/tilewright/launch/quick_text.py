"""LLVM text of what most launches do, from a call to the driver: `quick` says where it belongs.

    call(entry, arguments, keywords)    a kernel is called: `Entry.__call__`
    start_on, sync_on(op, stream)       its launch is started: `Endings.start_on`, `sync_on`
    drop(op)                            its launch is gone: `Lazy.__del__`

Each does what the method of Python that it is named after does, where nothing needs a closer look.
Where something does, it has done nothing, and calls that method. What stands in braces are classes
and objects of Python, offsets of slots, and numbers.
"""

from __future__ import annotations

from enum import IntEnum

from .quick_firing import FIRE


class QuickWord(IntEnum):
    """What building the launches of one kernel takes, as objects, but for the first."""

    CALL = 0
    """Where the words are that `CallWord` names."""
    KERNEL = 1
    BARE = 2
    """What calls without keywords ask; None: that is not known."""
    ASKED = 3
    """Gives what calls with keywords ask, if there was one before."""
    OP = 4
    """The class of its launches."""


QUICK_WORDS = 5

DECLARED = """
@_Py_TrueStruct = external global i8

declare ptr @PyList_New(i64)
declare i32 @PyList_SetSlice(ptr, i64, i64, ptr)
declare ptr @PyObject_CallOneArg(ptr, ptr)
declare i32 @PyObject_IsTrue(ptr)
declare i64 @PyDict_Size(ptr)
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
"""

CALL = """
; The op of a launch that was bound; owns what it is given, and gives null without memory.
define internal ptr @op_of(ptr %words, ptr %request, ptr %arguments, ptr %held) {{
entry:
  %uses = call ptr @PyList_New(i64 0)
  %full = icmp eq ptr %uses, null
  br i1 %full, label %failed, label %make
make:
  %class = call ptr @link(ptr %words, i64 {quick_op})
  %op = call ptr @PyType_GenericAlloc(ptr %class, i64 0)
  %none = icmp eq ptr %op, null
  br i1 %none, label %failed, label %fill
failed:
  call void @Py_DecRef(ptr %uses)
  call void @Py_DecRef(ptr %request)
  call void @Py_DecRef(ptr %held)
  ret ptr null
fill:
  call void @give(ptr %op, i64 {op_uses}, ptr %uses)
  %size = call i64 @PyTuple_Size(ptr %held)
  %use_at = sub i64 %size, 3
  %use = call ptr @PyTuple_GetItem(ptr %held, i64 %use_at)
  %spot = call ptr @PyTuple_GetItem(ptr %use, i64 1)
  %built = call ptr @own(ptr %spot)
  call void @give(ptr %op, i64 {op_built}, ptr %built)
  %its_kernel = call ptr @link(ptr %words, i64 {quick_kernel})
  %kernel = call ptr @own(ptr %its_kernel)
  call void @give(ptr %op, i64 {op_kernel}, ptr %kernel)
  %kept = call ptr @own(ptr %arguments)
  call void @give(ptr %op, i64 {op_args}, ptr %kept)
  %unexamined = call ptr @own(ptr @_Py_NoneStruct)
  call void @give(ptr %op, i64 {op_examined}, ptr %unexamined)
  call void @give(ptr %op, i64 {op_request}, ptr %request)
  call void @give(ptr %op, i64 {op_held}, ptr %held)
  ret ptr %op
}}

; What a call asks for; the caller owns it. None: that is not known. Null: an error is set.
define internal ptr @asked(ptr %words, ptr %keywords) alwaysinline {{
entry:
  %none = icmp eq ptr %keywords, null
  br i1 %none, label %bare, label %ask
bare:
  %known = call ptr @link(ptr %words, i64 {quick_bare})
  %owned = call ptr @own(ptr %known)
  ret ptr %owned
ask:
  %function = call ptr @link(ptr %words, i64 {quick_asked})
  %found = call ptr @PyObject_CallOneArg(ptr %function, ptr %keywords)
  ret ptr %found
}}

; Whether the tensors of a call were bound, and are of kinds that are known.
define internal i1 @are_bound(ptr %held) alwaysinline {{
entry:
  %closer = icmp eq ptr %held, @_Py_NoneStruct
  br i1 %closer, label %no, label %look
look:
  %size = call i64 @PyTuple_Size(ptr %held)
  %last = sub i64 %size, 1
  %known = call ptr @PyTuple_GetItem(ptr %held, i64 %last)
  %strange = icmp eq ptr %known, @_Py_NoneStruct
  br i1 %strange, label %no, label %yes
yes:
  ret i1 true
no:
  ret i1 false
}}

define ptr @call(ptr %self, ptr %arguments, ptr %keywords) {{
entry:
  %given = alloca [3 x ptr]
  %words = call ptr @address_in(ptr %self, i64 {entry_quick})
  %request = call ptr @asked(ptr %words, ptr %keywords)
  %failed = icmp eq ptr %request, null
  br i1 %failed, label %out, label %judge
out:
  ret ptr null
judge:
  %unknown = icmp eq ptr %request, @_Py_NoneStruct
  br i1 %unknown, label %closer, label %bind
bind:
  %call = call ptr @link(ptr %words, i64 {quick_call})
  %held = call ptr @tw_bind(ptr %call, ptr %arguments, {zero})
  %lost = icmp eq ptr %held, null
  br i1 %lost, label %drop, label %look
drop:
  call void @Py_DecRef(ptr %request)
  br label %out
look:
  %bound = call i1 @are_bound(ptr %held)
  br i1 %bound, label %build, label %let_go
build:
  %op = call ptr @op_of(ptr %words, ptr %request, ptr %arguments, ptr %held)
  ret ptr %op
let_go:
  call void @Py_DecRef(ptr %held)
  br label %closer
closer:
  call void @Py_DecRef(ptr %request)
  %some = icmp ne ptr %keywords, null
  %names = select i1 %some, ptr %keywords, ptr @_Py_NoneStruct
  store ptr %self, ptr %given
  %second = getelementptr ptr, ptr %given, i64 1
  store ptr %arguments, ptr %second
  %third = getelementptr ptr, ptr %given, i64 2
  store ptr %names, ptr %third
  %answer = call ptr @PyObject_Vectorcall({called}, ptr %given, i64 3, ptr null)
  ret ptr %answer
}}
"""

END = """
; Runs an op on a stream, and waits if there is a budget for that; gives its arguments. None stands
; for a closer look: no launch gives it.
define internal ptr @end(ptr %op, ptr %stream, ptr %user, i64 %budget) {{
entry:
  %ours = call i1 @is_of(ptr %stream, {CudaStream})
  %held = call ptr @slot(ptr %op, i64 {op_held})
  %bound = icmp ne ptr %held, @_Py_NoneStruct
  %may = and i1 %ours, %bound
  br i1 %may, label %look, label %closer
look:
  %usual = call i1 @is_usual()
  br i1 %usual, label %find, label %closer
find:
  %size = call i64 @PyTuple_Size(ptr %held)
  %last = sub i64 %size, 1
  %known = call ptr @PyTuple_GetItem(ptr %held, i64 %last)
  %shot = call ptr @shot_of(ptr %op, ptr %stream, ptr %known)
  %none = icmp eq ptr %shot, null
  br i1 %none, label %closer, label %fire
fire:
  %fired = call i32 @fire(
    ptr %op, ptr %held, ptr %shot, ptr %stream, ptr %user, i64 %budget)
  switch i32 %fired, label %failed [ i32 0, label %closer
                                     i32 1, label %done ]
failed:
  ret ptr null
closer:
  ret ptr @_Py_NoneStruct
done:
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

; The same as a method, which may be given anything.
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
  %more = icmp eq ptr %result, @_Py_NoneStruct
  br i1 %more, label %closer, label %out
out:
  ret ptr %result
closer:
  %nameless = icmp eq ptr %names, null
  br i1 %nameless, label %pass, label %count_names
count_names:
  %named = call i64 @PyTuple_Size(ptr %names)
  br label %pass
pass:
  %further = phi i64 [ 0, %closer ], [ %named, %count_names ]
  %all = add i64 %count, %further
  %room = add i64 %all, 1
  %passed = alloca ptr, i64 %room
  store ptr %op, ptr %passed
  %behind = getelementptr ptr, ptr %passed, i64 1
  %bytes = shl i64 %all, 3
  call void @llvm.memcpy.p0.p0.i64(ptr %behind, ptr %given, i64 %bytes, i1 false)
  %with_op = add i64 %count, 1
  %answer = call ptr @PyObject_Vectorcall(ptr %method, ptr %passed, i64 %with_op, ptr %names)
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

define void @drop(ptr %op) {{
entry:
  %kind = alloca ptr
  %error = alloca ptr
  %trace = alloca ptr
  %uses = call ptr @slot(ptr %op, i64 {op_uses})
  %none = icmp eq ptr %uses, null
  br i1 %none, label %out, label %look
look:
  %count = call i64 @PyList_Size(ptr %uses)
  %used = icmp sgt i64 %count, 0
  br i1 %used, label %out, label %warn
warn:
  ; An error that is on its way goes on afterwards; nobody would hear one of a finalizer.
  call void @PyErr_Fetch(ptr %kind, ptr %error, ptr %trace)
  %told = call ptr @PyObject_CallOneArg({dropped}, ptr %op)
  %silent = icmp eq ptr %told, null
  br i1 %silent, label %say, label %go_on
say:
  call void @PyErr_WriteUnraisable(ptr %op)
  br label %go_on
go_on:
  call void @Py_DecRef(ptr %told)
  %its_kind = load ptr, ptr %kind
  %its_error = load ptr, ptr %error
  %its_trace = load ptr, ptr %trace
  call void @PyErr_Restore(ptr %its_kind, ptr %its_error, ptr %its_trace)
  br label %out
out:
  ret void
}}
"""

TEXT = "".join((SLOTS, CALL, FIRE, END))
