"""LLVM text that borrows all of a tensor for writing, as `array.borrow.BorrowState.exclude` does.

`tw_exclude` is given the words of an `ExclusiveWord`, the record of a tensor that may be written,
what is done to it, in words, and how many calls up the stack the program may stand. It gives a new
ticket; or None, where parts of the memory are borrowed or it has neighbours, and nothing was done.
"""

from __future__ import annotations

from .records import UNCLEAR
from .words import BorrowWord, ExclusiveWord, Look, StorageWord, TensorWord

EXCLUDE = f"""
@_Py_TrueStruct = external global i8

; Gives an object something for the slot whose offset a word says, which it owns from now on.
define internal void @hand(ptr %words, i64 %which, ptr %object, ptr %given) alwaysinline {{
  %offset = call i64 @word(ptr %words, i64 %which)
  %owned = call ptr @own(ptr %given)
  call void @give(ptr %object, i64 %offset, ptr %owned)
  ret void
}}

; Ends an exclusive borrow, and those it came out of.
define internal void @end_all(ptr %words, ptr %latest, ptr %use) {{
entry:
  %parent_at = call i64 @word(ptr %words, i64 {ExclusiveWord.PARENT_AT.value})
  br label %head
head:
  %ticket = phi ptr [ %latest, %entry ], [ %parent, %end ]
  %none = icmp eq ptr %ticket, @_Py_NoneStruct
  br i1 %none, label %out, label %end
end:
  call void @hand(ptr %words, i64 {ExclusiveWord.ENDED_AT.value}, ptr %ticket, ptr %use)
  %parent = call ptr @slot(ptr %ticket, i64 %parent_at)
  br label %head
out:
  ret void
}}

; A ticket that stands, as the class of Python makes it. Null: there is no memory.
define internal ptr @new_ticket(ptr %words, ptr %state, ptr %use, i64 %epoch) {{
entry:
  %number = call ptr @PyLong_FromLongLong(i64 %epoch)
  %class = call ptr @link(ptr %words, i64 {ExclusiveWord.TICKET.value})
  %ticket = call ptr @PyType_GenericAlloc(ptr %class, i64 0)
  %no_number = icmp eq ptr %number, null
  %no_ticket = icmp eq ptr %ticket, null
  %full = or i1 %no_number, %no_ticket
  br i1 %full, label %failed, label %fill
failed:
  call void @Py_DecRef(ptr %number)
  call void @Py_DecRef(ptr %ticket)
  ret ptr null
fill:
  call void @hand(ptr %words, i64 {ExclusiveWord.EPOCH_AT.value}, ptr %ticket, ptr %number)
  call void @Py_DecRef(ptr %number)
  call void @hand(ptr %words, i64 {ExclusiveWord.STATE_AT.value}, ptr %ticket, ptr %state)
  call void @hand(ptr %words, i64 {ExclusiveWord.USE_AT.value}, ptr %ticket, ptr %use)
  call void @hand(ptr %words, i64 {ExclusiveWord.SOLE_AT.value}, ptr %ticket, ptr @_Py_TrueStruct)
  call void @hand(
    ptr %words, i64 {ExclusiveWord.BY_EPOCH_AT.value}, ptr %ticket, ptr @_Py_FalseStruct)
  call void @hand(ptr %words, i64 {ExclusiveWord.EXTENT_AT.value}, ptr %ticket, ptr @_Py_NoneStruct)
  call void @hand(ptr %words, i64 {ExclusiveWord.PARENT_AT.value}, ptr %ticket, ptr @_Py_NoneStruct)
  call void @hand(ptr %words, i64 {ExclusiveWord.ENDED_AT.value}, ptr %ticket, ptr @_Py_NoneStruct)
  ret ptr %ticket
}}

; Lets a ticket have a tensor for itself, if nobody must look closer, and the epoch is what it is
; known to be; for who has the lock, or needs none: nothing here runs Python.
define internal i1 @excluded(ptr %words, ptr %tensor, ptr %ticket, ptr %use, i64 %known) {{
entry:
  %storage = call ptr @link(ptr %tensor, i64 {TensorWord.STORAGE.value})
  %state = call ptr @link(ptr %tensor, i64 {TensorWord.STATE.value})
  %look = call i64 @word(ptr %storage, i64 {StorageWord.LOOK.value})
  %epoch = call i64 @word(ptr %storage, i64 {StorageWord.EPOCH.value})
  %seen = and i64 %look, {int(UNCLEAR | Look.READERS)}
  %clear = icmp eq i64 %seen, 0
  ; Another thread may have borrowed it while this one waited for the lock.
  %current = icmp eq i64 %epoch, %known
  %plain = and i1 %clear, %current
  br i1 %plain, label %do, label %no
no:
  ret i1 false
do:
  %latest_at = call i64 @word(ptr %words, i64 {ExclusiveWord.LATEST_AT.value})
  %latest = call ptr @slot(ptr %state, i64 %latest_at)
  call void @end_all(ptr %words, ptr %latest, ptr %use)
  %owner = ptrtoint ptr %ticket to i64
  %now = or i64 %look, {int(Look.EXCLUSIVE)}
  %next = add i64 %epoch, 1
  call void @set(ptr %storage, i64 {StorageWord.OWNER.value}, i64 %owner)
  call void @set(ptr %storage, i64 {StorageWord.LOOK.value}, i64 %now)
  call void @set(ptr %storage, i64 {StorageWord.EPOCH.value}, i64 %next)
  %borrows = call ptr @link(ptr %words, i64 {ExclusiveWord.BORROWS.value})
  call void @hand(ptr %borrows, i64 {BorrowWord.LAST_WRITE.value}, ptr %state, ptr %use)
  call void @hand(ptr %words, i64 {ExclusiveWord.LATEST_AT.value}, ptr %state, ptr %ticket)
  ret i1 true
}}

define ptr @tw_exclude(ptr %words, ptr %record, ptr %what, ptr %known) {{
entry:
  %tensor = call ptr @PyBytes_AsString(ptr %record)
  %storage = call ptr @link(ptr %tensor, i64 {TensorWord.STORAGE.value})
  %state = call ptr @link(ptr %tensor, i64 {TensorWord.STATE.value})
  %borrows = call ptr @link(ptr %words, i64 {ExclusiveWord.BORROWS.value})
  %use = call ptr @use_here(ptr %borrows, ptr %what, ptr %known)
  %nameless = icmp eq ptr %use, null
  br i1 %nameless, label %failed, label %make
failed:
  ret ptr null
make:
  %epoch = call i64 @word(ptr %storage, i64 {StorageWord.EPOCH.value})
  %ticket = call ptr @new_ticket(ptr %words, ptr %state, ptr %use, i64 %epoch)
  %full = icmp eq ptr %ticket, null
  br i1 %full, label %drop, label %lock
drop:
  call void @Py_DecRef(ptr %ticket)
  call void @Py_DecRef(ptr %use)
  br label %failed
lock:
  %locked = call i32 @lock_borrows(ptr %borrows)
  %interrupted = icmp slt i32 %locked, 0
  br i1 %interrupted, label %drop, label %exclude
exclude:
  %excluded = call i1 @excluded(
    ptr %words, ptr %tensor, ptr %ticket, ptr %use, i64 %epoch)
  call void @unlock_borrows(ptr %borrows, i32 %locked)
  call void @Py_DecRef(ptr %use)
  br i1 %excluded, label %done, label %closer
done:
  ret ptr %ticket
closer:
  call void @Py_DecRef(ptr %ticket)
  %nothing = call ptr @own(ptr @_Py_NoneStruct)
  ret ptr %nothing
}}
"""
