"""LLVM text that takes the lock of borrow state where somebody else might."""

from __future__ import annotations

from .words import BorrowWord

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
