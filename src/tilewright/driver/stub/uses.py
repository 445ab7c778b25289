"""LLVM text that notes who uses an op, and what is done to memory, where the program stands."""

from __future__ import annotations

from .words import BorrowWord, TensorWord

FIRST_USE = """
; Who uses an op, and where, if nobody has used it yet. None: somebody has. Null: an error is set.
; Where there is no list of uses, that was noted before, and anything is given.
define internal ptr @first_use(ptr %uses, ptr %user, ptr %known) {
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
}
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
