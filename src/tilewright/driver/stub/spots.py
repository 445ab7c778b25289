"""LLVM text that notes where the user's program stands, and who does something there.

`base.spot.here` does the same in Python, and is asked where the program is not a known number of
calls away.
"""

from __future__ import annotations

import sys

from ...base.spot import OURS, frame_at, here
from .words import BorrowWord, TensorWord

SEEN = 64
"""Places of programs that are remembered: launches in a loop come from the same ones."""

_FILENAME = sys.intern("co_filename")


def at(thing: object) -> str:
    """An object of Python, which is there for good, as an operand."""
    return f"ptr inttoptr (i64 {id(thing)} to ptr)"


PYTHON = """
@_Py_NoneStruct = external global i8
@_Py_FalseStruct = external global i8

declare ptr @PyObject_GetAttr(ptr, ptr)
declare ptr @PyObject_GetItem(ptr, ptr)
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
declare ptr @PyEval_GetFrame()
declare ptr @PyFrame_GetCode(ptr)
declare i32 @PyFrame_GetLasti(ptr)
declare i64 @PyThread_get_thread_ident()
declare ptr @PyThreadState_Get()
declare ptr @PyThreadState_GetInterpreter(ptr)
declare ptr @PyInterpreterState_ThreadHead(ptr)
declare ptr @PyThreadState_Next(ptr)
declare void @Py_IncRef(ptr)
declare void @Py_DecRef(ptr)
declare void @PyErr_Clear()

; Whether no other thread can wait for the lock of the interpreter: there is none that Python knows.
define internal i1 @is_alone() {
entry:
  %me = call ptr @PyThreadState_Get()
  %interpreter = call ptr @PyThreadState_GetInterpreter(ptr %me)
  %first = call ptr @PyInterpreterState_ThreadHead(ptr %interpreter)
  %next = call ptr @PyThreadState_Next(ptr %me)
  %head = icmp eq ptr %first, %me
  %last = icmp eq ptr %next, null
  %only = and i1 %head, %last
  ret i1 %only
}

; An object once more, for who will own it.
define internal ptr @own(ptr %object) alwaysinline {
  call void @Py_IncRef(ptr %object)
  ret ptr %object
}
"""
"""What native code uses of Python's public interface, besides what its wrappers do."""

SPOTS = f"""
; Places lately seen, and what was noted there: the code, the instruction, the spot, what was done,
; in words, and the note of that. The words live as long as the note, which has them.
@places = internal global [{SEEN} x [5 x ptr]] zeroinitializer

; Where a place is to be found, if it is among them.
define internal ptr @seat(ptr %code, i64 %step) alwaysinline {{
  %address = ptrtoint ptr %code to i64
  %high = lshr i64 %address, 4
  %low = lshr i64 %step, 1
  %mixed = add i64 %high, %low
  %which = and i64 %mixed, {SEEN - 1}
  %seat = getelementptr [5 x ptr], ptr @places, i64 %which
  ret ptr %seat
}}

define internal void @replace(ptr %record, i64 %i, ptr %object) alwaysinline {{
  %at = getelementptr ptr, ptr %record, i64 %i
  %before = load ptr, ptr %at
  store ptr %object, ptr %at
  call void @Py_DecRef(ptr %before)
  ret void
}}

; The frame so many calls up the stack; the caller owns it. Null: there is none.
define internal ptr @frame(ptr %known) alwaysinline {{
entry:
  %given = alloca ptr
  %here = icmp eq ptr %known, {at(0).removeprefix("ptr ")}
  br i1 %here, label %top, label %ask
top:
  %mine = call ptr @PyEval_GetFrame()
  call void @Py_IncRef(ptr %mine)
  ret ptr %mine
ask:
  store ptr %known, ptr %given
  %found = call ptr @PyObject_Vectorcall({at(frame_at)}, ptr %given, i64 1, ptr null)
  ret ptr %found
}}

; Whether code is a user's: 0 or 1; below 0 an error is set.
define internal i32 @is_users(ptr %code) {{
entry:
  %file = call ptr @PyObject_GetAttr(ptr %code, {at(_FILENAME)})
  %ours = call ptr @PyObject_GetItem({at(OURS)}, ptr %file)
  call void @Py_DecRef(ptr %file)
  %failed = icmp eq ptr %ours, null
  br i1 %failed, label %no, label %judge
no:
  ret i32 -1
judge:
  call void @Py_DecRef(ptr %ours)
  %users = icmp eq ptr %ours, @_Py_FalseStruct
  %answer = zext i1 %users to i32
  ret i32 %answer
}}

; Where the program stands, so many calls up the stack; the caller owns it. Null: an error is set.
; Where it is one of the places seen lately, these are told, too. A spot stands for itself.
define internal ptr @spot(ptr %known, ptr %seat_place) {{
entry:
  %given = alloca ptr
  store ptr %known, ptr %given
  store ptr null, ptr %seat_place
  %is_spot = call i1 @is_of(ptr %known, {at(tuple)})
  br i1 %is_spot, label %itself, label %find
itself:
  %same_spot = call ptr @own(ptr %known)
  ret ptr %same_spot
find:
  %frame = call ptr @frame(ptr %known)
  %outside = icmp eq ptr %frame, null
  br i1 %outside, label %nowhere, label %look
nowhere:
  call void @PyErr_Clear()
  %unknown = call ptr @own(ptr @_Py_NoneStruct)
  ret ptr %unknown
look:
  %code = call ptr @PyFrame_GetCode(ptr %frame)
  %last = call i32 @PyFrame_GetLasti(ptr %frame)
  call void @Py_DecRef(ptr %frame)
  %step = sext i32 %last to i64
  %seat = call ptr @seat(ptr %code, i64 %step)
  %its_code = call ptr @link(ptr %seat, i64 0)
  %its_step = call i64 @word(ptr %seat, i64 1)
  %same_code = icmp eq ptr %its_code, %code
  %same_step = icmp eq i64 %its_step, %step
  %same = and i1 %same_code, %same_step
  br i1 %same, label %again, label %judge
again:
  call void @Py_DecRef(ptr %code)
  store ptr %seat, ptr %seat_place
  %seen_spot = call ptr @link(ptr %seat, i64 2)
  %seen_again = call ptr @own(ptr %seen_spot)
  ret ptr %seen_again
judge:
  %users = call i32 @is_users(ptr %code)
  switch i32 %users, label %drop [ i32 0, label %walk
                                   i32 1, label %note ]
note:
  %spot = call ptr @PyTuple_New(i64 2)
  %number = call ptr @PyLong_FromLongLong(i64 %step)
  %first = call i32 @PyTuple_SetItem(ptr %spot, i64 0, ptr %code)
  %second = call i32 @PyTuple_SetItem(ptr %spot, i64 1, ptr %number)
  %kept = call ptr @own(ptr %spot)
  %code_word = ptrtoint ptr %code to i64
  call void @set(ptr %seat, i64 0, i64 %code_word)
  call void @set(ptr %seat, i64 1, i64 %step)
  call void @set(ptr %seat, i64 3, i64 0)
  store ptr %seat, ptr %seat_place
  call void @replace(ptr %seat, i64 2, ptr %kept)
  call void @replace(ptr %seat, i64 4, ptr null)
  ret ptr %spot
walk:
  call void @Py_DecRef(ptr %code)
  %found = call ptr @PyObject_Vectorcall({at(here)}, ptr %given, i64 1, ptr null)
  ret ptr %found
drop:
  call void @Py_DecRef(ptr %code)
  ret ptr null
}}

; What was noted at a place in these words; the caller owns it. Null: nothing.
define internal ptr @noted(ptr %seat, ptr %what) alwaysinline {{
entry:
  %unseen = icmp eq ptr %seat, null
  br i1 %unseen, label %no, label %look
look:
  %its = call ptr @link(ptr %seat, i64 3)
  %same = icmp eq ptr %its, %what
  br i1 %same, label %yes, label %no
yes:
  %note = call ptr @link(ptr %seat, i64 4)
  %owned = call ptr @own(ptr %note)
  ret ptr %owned
no:
  ret ptr null
}}

define internal void @keep_note(ptr %seat, ptr %what, ptr %note) alwaysinline {{
entry:
  %unseen = icmp eq ptr %seat, null
  br i1 %unseen, label %out, label %do
do:
  %word = ptrtoint ptr %what to i64
  call void @set(ptr %seat, i64 3, i64 %word)
  call void @Py_IncRef(ptr %note)
  call void @replace(ptr %seat, i64 4, ptr %note)
  br label %out
out:
  ret void
}}

; Who uses an op, and where, if nobody has used it yet. None: somebody has. Null: an error is set.
; Where there is no list of uses, that was noted before, and anything is given.
define internal ptr @first_use(ptr %uses, ptr %user, ptr %known) {{
entry:
  %seat_place = alloca ptr
  %noted_before = icmp eq ptr %uses, @_Py_NoneStruct
  br i1 %noted_before, label %anything, label %count
anything:
  %any = call ptr @own(ptr %user)
  ret ptr %any
count:
  %before = call i64 @PyList_Size(ptr %uses)
  %unused = icmp eq i64 %before, 0
  br i1 %unused, label %ask, label %used
used:
  %none = call ptr @own(ptr @_Py_NoneStruct)
  ret ptr %none
ask:
  %spot = call ptr @spot(ptr %known, ptr %seat_place)
  %lost = icmp eq ptr %spot, null
  br i1 %lost, label %failed, label %look
look:
  %seat = load ptr, ptr %seat_place
  %again = call ptr @noted(ptr %seat, ptr %user)
  %new = icmp eq ptr %again, null
  br i1 %new, label %note, label %found
found:
  call void @Py_DecRef(ptr %spot)
  ret ptr %again
note:
  %use = call ptr @PyTuple_New(i64 2)
  %who = call ptr @own(ptr %user)
  %first = call i32 @PyTuple_SetItem(ptr %use, i64 0, ptr %who)
  %second = call i32 @PyTuple_SetItem(ptr %use, i64 1, ptr %spot)
  call void @keep_note(ptr %seat, ptr %user, ptr %use)
  ret ptr %use
failed:
  ret ptr null
}}
"""

NOTE_FIRST = """
; Notes the first use of an op, where that was not noted before.
define internal void @note_first(ptr %uses, ptr %use) alwaysinline {
entry:
  %noted_before = icmp eq ptr %uses, @_Py_NoneStruct
  br i1 %noted_before, label %out, label %note
note:
  %noted = call i32 @PyList_Append(ptr %uses, ptr %use)
  br label %out
out:
  ret void
}
"""

LOCKING = f"""
; Sees to it that no other thread looks at borrow state, or changes it, until `unlock_borrows`.
; 1: the lock is taken; below 0: an error is set. 0: nobody has the lock, so whoever holds that of
; the interpreter need not take it, as long as nothing of Python's runs meanwhile; nor may
; containers be allocated, as that collects garbage.
define internal i32 @lock_borrows(ptr %borrows) alwaysinline {{
entry:
  %counter = call ptr @link(ptr %borrows, i64 {BorrowWord.HOLDS.value})
  %unknown = icmp eq ptr %counter, null
  br i1 %unknown, label %take, label %look
look:
  %holds = load i64, ptr %counter
  %free = icmp eq i64 %holds, 0
  br i1 %free, label %alone, label %take
alone:
  ret i32 0
take:
  %acquire = call ptr @link(ptr %borrows, i64 {BorrowWord.ACQUIRE.value})
  %taken = call ptr @PyObject_CallNoArgs(ptr %acquire)
  %failed = icmp eq ptr %taken, null
  br i1 %failed, label %no, label %yes
yes:
  call void @Py_DecRef(ptr %taken)
  ret i32 1
no:
  ret i32 -1
}}

define internal void @unlock_borrows(ptr %borrows, i32 %taken) alwaysinline {{
entry:
  %has = icmp eq i32 %taken, 1
  br i1 %has, label %do, label %out
do:
  %release = call ptr @link(ptr %borrows, i64 {BorrowWord.RELEASE.value})
  %nothing = call ptr @PyObject_CallNoArgs(ptr %release)
  call void @Py_DecRef(ptr %nothing)
  br label %out
out:
  ret void
}}
"""

USES = f"""
; What is done to memory there, in these words, as `array.borrow.Use` has it. Null: an error is set.
define internal ptr @use_at(ptr %borrows, ptr %what, ptr %spot, ptr %seat) {{
entry:
  %mine = call i64 @PyThread_get_thread_ident()
  %main = call i64 @word(ptr %borrows, i64 {BorrowWord.MAIN.value})
  %is_main = icmp eq i64 %mine, %main
  br i1 %is_main, label %look, label %ask
ask:
  %function = call ptr @link(ptr %borrows, i64 {BorrowWord.THREAD.value})
  %told = call ptr @PyObject_CallNoArgs(ptr %function)
  %nameless = icmp eq ptr %told, null
  br i1 %nameless, label %failed, label %make
look:
  %again = call ptr @noted(ptr %seat, ptr %what)
  %new = icmp eq ptr %again, null
  br i1 %new, label %name, label %found
found:
  ret ptr %again
name:
  %main_name = call ptr @link(ptr %borrows, i64 {BorrowWord.MAIN_NAME.value})
  %its_name = call ptr @own(ptr %main_name)
  br label %make
make:
  %thread = phi ptr [ %told, %ask ], [ %its_name, %name ]
  %class = call ptr @link(ptr %borrows, i64 {BorrowWord.USE.value})
  %use = call ptr @PyType_GenericAlloc(ptr %class, i64 3)
  %words = call ptr @own(ptr %what)
  %place = call ptr @own(ptr %spot)
  %first = call i32 @PyTuple_SetItem(ptr %use, i64 0, ptr %words)
  %second = call i32 @PyTuple_SetItem(ptr %use, i64 1, ptr %place)
  %third = call i32 @PyTuple_SetItem(ptr %use, i64 2, ptr %thread)
  %kept = select i1 %is_main, ptr %seat, ptr null
  call void @keep_note(ptr %kept, ptr %what, ptr %use)
  ret ptr %use
failed:
  ret ptr null
}}

; The same where the program stands, so many calls up the stack.
define internal ptr @use_here(ptr %borrows, ptr %what, ptr %known) {{
entry:
  %seat_place = alloca ptr
  %spot = call ptr @spot(ptr %known, ptr %seat_place)
  %lost = icmp eq ptr %spot, null
  br i1 %lost, label %failed, label %name
failed:
  ret ptr null
name:
  %seat = load ptr, ptr %seat_place
  %use = call ptr @use_at(ptr %borrows, ptr %what, ptr %spot, ptr %seat)
  call void @Py_DecRef(ptr %spot)
  ret ptr %use
}}

; Note who wrote the memory of a row last, where Python looks for that.
define internal void @note_use(ptr %row, i64 %i, ptr %borrows, ptr %use) alwaysinline {{
  %tensor = call ptr @link(ptr %row, i64 %i)
  %state = call ptr @link(ptr %tensor, i64 {TensorWord.STATE.value})
  %at = call i64 @word(ptr %borrows, i64 {BorrowWord.LAST_WRITE.value})
  %noted = call ptr @own(ptr %use)
  call void @give(ptr %state, i64 %at, ptr %noted)
  ret void
}}
"""
