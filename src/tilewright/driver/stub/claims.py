"""LLVM text that begins work over memory that it uses again and again, for all devices.

    i64 claimed(memory, uses, user, known, built, lane, there)
                    borrow the memory once more and begin work, if nobody has used its op

Whoever uses it writes `begin_again(row, written, count, lane, there)`: as `begin` of `shots`, whose
text stands before this, by `tw_claim`.
"""

from __future__ import annotations

from .shots import FAILED, USED
from .words import MemoryWord

TEXT = f"""
; Notes who uses an op, in a list of its uses that must be empty, and who writes memory, at `built`.
; Gives the number of the work in its lane, or 0 if it could not be begun. The least number: an
; error is set.
define internal i64 @claimed(
    ptr %memory, ptr %uses, ptr %user, ptr %known, ptr %built, ptr %lane, ptr %there) {{
entry:
  %borrows = call ptr @link(ptr %memory, i64 {MemoryWord.BORROWS.value})
  %what = call ptr @link(ptr %memory, i64 {MemoryWord.WHAT.value})
  %row = call ptr @link(ptr %memory, i64 {MemoryWord.ROW.value})
  %written = call i64 @word(ptr %memory, i64 {MemoryWord.WRITTEN.value})
  %count = call i64 @word(ptr %memory, i64 {MemoryWord.COUNT.value})
  %first = call ptr @first_use(ptr %uses, ptr %user, ptr %known)
  %lost = icmp eq ptr %first, null
  br i1 %lost, label %failed, label %judge
failed:
  ret i64 {FAILED}
judge:
  %used = icmp eq ptr %first, @_Py_NoneStruct
  br i1 %used, label %refuse, label %name
refuse:
  call void @Py_DecRef(ptr %first)
  ret i64 0
name:
  %use = call ptr @use_at(ptr %borrows, ptr %what, ptr %built, ptr null)
  %nameless = icmp eq ptr %use, null
  br i1 %nameless, label %drop, label %lock
drop:
  call void @Py_DecRef(ptr %first)
  br label %failed
lock:
  %locked = call i32 @lock_unused(ptr %borrows, ptr %uses)
  switch i32 %locked, label %begin [ i32 -1, label %interrupted
                                     i32 {USED}, label %out ]
interrupted:
  br label %out
begin:
  %begun = call i64 @begin_again(ptr %row, i64 %written, i64 %count, ptr %lane, ptr %there)
  %unready = icmp slt i64 %begun, 0
  br i1 %unready, label %unlock, label %note
note:
  call void @note_uses(ptr %row, ptr %borrows, ptr %use, i64 %written)
  call void @note_first(ptr %uses, ptr %first)
  br label %unlock
unlock:
  %number = phi i64 [ 0, %begin ], [ %begun, %note ]
  call void @unlock_borrows(ptr %borrows, i32 %locked)
  br label %out
out:
  %answer = phi i64 [ {FAILED}, %interrupted ], [ 0, %lock ], [ %number, %unlock ]
  call void @Py_DecRef(ptr %first)
  call void @Py_DecRef(ptr %use)
  ret i64 %answer
}}
"""
