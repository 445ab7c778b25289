"""LLVM text that notes where the user's program stands, and who does something there.

`base.spot.here` does the same in Python, and is asked where the program is not a known number of
calls away.
"""

from __future__ import annotations

import sys

from ...base.spot import OURS, frame_at, here
from .words import BorrowWord

_NAMES = {
    name: sys.intern(name)
    for name in ("tensor", "plain", "stamp", "state", "last_write", "co_filename")
}
"""Attributes that are asked for; Python has them as objects, whose addresses stand in the text."""


def at(thing: object) -> str:
    """An object of Python, which is there for good, as an operand."""
    return f"ptr inttoptr (i64 {id(thing)} to ptr)"


def name(name: str) -> str:
    """The name of an attribute as an operand."""
    return at(_NAMES[name])


PYTHON = """
@_Py_NoneStruct = external global i8
@_Py_FalseStruct = external global i8

declare ptr @PyObject_GetAttr(ptr, ptr)
declare i32 @PyObject_SetAttr(ptr, ptr, ptr)
declare ptr @PyObject_GetItem(ptr, ptr)
declare ptr @PyObject_Type(ptr)
declare ptr @PyObject_CallNoArgs(ptr)
declare ptr @PyObject_Vectorcall(ptr, ptr, i64, ptr)
declare ptr @PyTuple_New(i64)
declare i64 @PyTuple_Size(ptr)
declare ptr @PyTuple_GetItem(ptr, i64)
declare i32 @PyTuple_SetItem(ptr, i64, ptr)
declare i64 @PyList_Size(ptr)
declare ptr @PyList_GetItem(ptr, i64)
declare i32 @PyList_Append(ptr, ptr)
declare ptr @PyBytes_FromStringAndSize(ptr, i64)
declare ptr @PyType_GenericAlloc(ptr, i64)
declare ptr @PyFrame_GetCode(ptr)
declare i32 @PyFrame_GetLasti(ptr)
declare i64 @PyThread_get_thread_ident()
declare void @Py_IncRef(ptr)
declare void @Py_DecRef(ptr)
declare void @PyErr_Clear()

; An object once more, for who will own it.
define internal ptr @own(ptr %object) alwaysinline {
  call void @Py_IncRef(ptr %object)
  ret ptr %object
}
"""
"""What native code uses of Python's public interface, besides what its wrappers do."""

SPOTS = f"""
; Where the program stands, so many calls up the stack; the caller owns it. Null: an error is set.
define internal ptr @spot(ptr %known) {{
entry:
  %given = alloca ptr
  store ptr %known, ptr %given
  %frame = call ptr @PyObject_Vectorcall({at(frame_at)}, ptr %given, i64 1, ptr null)
  %outside = icmp eq ptr %frame, null
  br i1 %outside, label %nowhere, label %look
nowhere:
  call void @PyErr_Clear()
  %unknown = call ptr @own(ptr @_Py_NoneStruct)
  ret ptr %unknown
look:
  %code = call ptr @PyFrame_GetCode(ptr %frame)
  %file = call ptr @PyObject_GetAttr(ptr %code, {name("co_filename")})
  %ours = call ptr @PyObject_GetItem({at(OURS)}, ptr %file)
  call void @Py_DecRef(ptr %file)
  %step = call i32 @PyFrame_GetLasti(ptr %frame)
  call void @Py_DecRef(ptr %frame)
  %failed = icmp eq ptr %ours, null
  br i1 %failed, label %drop, label %judge
judge:
  call void @Py_DecRef(ptr %ours)
  %users = icmp eq ptr %ours, @_Py_FalseStruct
  br i1 %users, label %note, label %walk
note:
  %spot = call ptr @PyTuple_New(i64 2)
  %wide = sext i32 %step to i64
  %number = call ptr @PyLong_FromLongLong(i64 %wide)
  %first = call i32 @PyTuple_SetItem(ptr %spot, i64 0, ptr %code)
  %second = call i32 @PyTuple_SetItem(ptr %spot, i64 1, ptr %number)
  ret ptr %spot
walk:
  call void @Py_DecRef(ptr %code)
  %found = call ptr @PyObject_Vectorcall({at(here)}, ptr %given, i64 1, ptr null)
  ret ptr %found
drop:
  call void @Py_DecRef(ptr %code)
  ret ptr null
}}

; Who uses an op, and where, if nobody has used it yet. None: somebody has. Null: an error is set.
define internal ptr @first_use(ptr %uses, ptr %user, ptr %known) {{
entry:
  %before = call i64 @PyList_Size(ptr %uses)
  %unused = icmp eq i64 %before, 0
  br i1 %unused, label %ask, label %used
used:
  %none = call ptr @own(ptr @_Py_NoneStruct)
  ret ptr %none
ask:
  %spot = call ptr @spot(ptr %known)
  %lost = icmp eq ptr %spot, null
  br i1 %lost, label %failed, label %note
note:
  %use = call ptr @PyTuple_New(i64 2)
  %who = call ptr @own(ptr %user)
  %first = call i32 @PyTuple_SetItem(ptr %use, i64 0, ptr %who)
  %second = call i32 @PyTuple_SetItem(ptr %use, i64 1, ptr %spot)
  ret ptr %use
failed:
  ret ptr null
}}
"""

LOCKING = f"""
; Takes the lock of all borrow state; false: an error is set.
define internal i1 @lock_borrows(ptr %borrows) alwaysinline {{
entry:
  %acquire = call ptr @link(ptr %borrows, i64 {BorrowWord.ACQUIRE.value})
  %taken = call ptr @PyObject_CallNoArgs(ptr %acquire)
  %failed = icmp eq ptr %taken, null
  br i1 %failed, label %no, label %yes
yes:
  call void @Py_DecRef(ptr %taken)
  ret i1 true
no:
  ret i1 false
}}

define internal void @unlock_borrows(ptr %borrows) alwaysinline {{
  %release = call ptr @link(ptr %borrows, i64 {BorrowWord.RELEASE.value})
  %nothing = call ptr @PyObject_CallNoArgs(ptr %release)
  call void @Py_DecRef(ptr %nothing)
  ret void
}}
"""

USES = f"""
; The name of this thread, as Python has it. Null: an error is set.
define internal ptr @thread(ptr %borrows) alwaysinline {{
entry:
  %mine = call i64 @PyThread_get_thread_ident()
  %main = call i64 @word(ptr %borrows, i64 {BorrowWord.MAIN.value})
  %same = icmp eq i64 %mine, %main
  br i1 %same, label %known, label %ask
known:
  %name = call ptr @link(ptr %borrows, i64 {BorrowWord.MAIN_NAME.value})
  %owned = call ptr @own(ptr %name)
  ret ptr %owned
ask:
  %function = call ptr @link(ptr %borrows, i64 {BorrowWord.THREAD.value})
  %told = call ptr @PyObject_CallNoArgs(ptr %function)
  ret ptr %told
}}

; What is done to memory there, in these words, as `array.borrow.Use` has it. Null: an error is set.
define internal ptr @use_at(ptr %borrows, ptr %what, ptr %spot) alwaysinline {{
entry:
  %thread = call ptr @thread(ptr %borrows)
  %nameless = icmp eq ptr %thread, null
  br i1 %nameless, label %failed, label %make
make:
  %class = call ptr @link(ptr %borrows, i64 {BorrowWord.USE.value})
  %use = call ptr @PyType_GenericAlloc(ptr %class, i64 3)
  %words = call ptr @own(ptr %what)
  %place = call ptr @own(ptr %spot)
  %first = call i32 @PyTuple_SetItem(ptr %use, i64 0, ptr %words)
  %second = call i32 @PyTuple_SetItem(ptr %use, i64 1, ptr %place)
  %third = call i32 @PyTuple_SetItem(ptr %use, i64 2, ptr %thread)
  ret ptr %use
failed:
  ret ptr null
}}

; Note who wrote memory last, where Python looks for that.
define internal void @note_use(ptr %records, i64 %i, ptr %use) alwaysinline {{
  %record = call ptr @PyTuple_GetItem(ptr %records, i64 %i)
  %state = call ptr @PyObject_GetAttr(ptr %record, {name("state")})
  %ignored = call i32 @PyObject_SetAttr(ptr %state, {name("last_write")}, ptr %use)
  call void @Py_DecRef(ptr %state)
  ret void
}}
"""
