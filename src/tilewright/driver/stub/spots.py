"""LLVM text that finds where the user's program stands, and remembers what was noted there.

`base.spot.here` does the same in Python, and is asked where the program is not a known number of
calls away.
"""

from __future__ import annotations

import sys

from ...base.spot import OURS, frame_at, here
from .python import at

SEEN = 64
"""Places of programs that are remembered: launches in a loop come from the same ones."""

_FILENAME = sys.intern("co_filename")

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
"""
