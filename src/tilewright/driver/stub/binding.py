"""LLVM text that borrows the tensors a kernel was given, by their records.

`tw_bind` is given the words of a `CallWord`, a tuple of arguments, and how many calls up the stack
the program may stand. It gives a tuple: the records of the tensors, which keep their memory, the
use that is noted with what is written, the row, and what is known of launches of their kinds. That
is None where they are not those of the last launch, and then nothing is borrowed. If an argument
needs a closer look, it gives None.
"""

from __future__ import annotations

from .records import UNCLEAR, UNSHARED
from .shapes import agreed, counted
from .words import CallWord, Look, StampWord, StorageWord, TensorWord

OBJECTS = f"""
; What something has in the slot whose offset a word of the call says; null: nothing.
define internal ptr @its(ptr %call, i64 %which, ptr %object) alwaysinline {{
  %offset = call i64 @word(ptr %call, i64 %which)
  %found = call ptr @slot(ptr %object, i64 %offset)
  %none = icmp eq ptr %found, @_Py_NoneStruct
  %answer = select i1 %none, ptr null, ptr %found
  ret ptr %answer
}}

; The record of a tensor, or null; it stays the tensor's.
define internal ptr @record(ptr %call, ptr %tensor) alwaysinline {{
entry:
  %found = call ptr @its(ptr %call, i64 {CallWord.PLAIN_AT.value}, ptr %tensor)
  %none = icmp eq ptr %found, null
  br i1 %none, label %no, label %look
look:
  %class = call ptr @link(ptr %call, i64 {CallWord.RECORD.value})
  %fits = call i1 @is_of(ptr %found, ptr %class)
  br i1 %fits, label %yes, label %no
yes:
  ret ptr %found
no:
  ret ptr null
}}

; What is read: a tensor, or a shared one.
define internal ptr @read(ptr %call, ptr %given) alwaysinline {{
entry:
  %class = call ptr @link(ptr %call, i64 {CallWord.TENSOR.value})
  %owned = call i1 @is_of(ptr %given, ptr %class)
  br i1 %owned, label %yes, label %other
other:
  %shared = call ptr @link(ptr %call, i64 {CallWord.SHARED.value})
  %fits = call i1 @is_of(ptr %given, ptr %shared)
  br i1 %fits, label %inside, label %no
inside:
  %core = call ptr @its(ptr %call, i64 {CallWord.CORE_AT.value}, ptr %given)
  %empty = icmp eq ptr %core, null
  br i1 %empty, label %no, label %open
open:
  %inner = call ptr @its(ptr %call, i64 {CallWord.INNER_AT.value}, ptr %core)
  %gone = icmp eq ptr %inner, null
  br i1 %gone, label %no, label %yes
yes:
  %tensor = phi ptr [ %given, %entry ], [ %inner, %open ]
  %record = call ptr @record(ptr %call, ptr %tensor)
  ret ptr %record
no:
  ret ptr null
}}

; What is written: a partition. Its tiling and its borrow are written to their places.
define internal ptr @written(ptr %call, ptr %given, ptr %tiling, ptr %owner) alwaysinline {{
entry:
  %class = call ptr @link(ptr %call, i64 {CallWord.PARTITION.value})
  %fits = call i1 @is_of(ptr %given, ptr %class)
  br i1 %fits, label %ask, label %other
other:
  %mapped = call ptr @link(ptr %call, i64 {CallWord.MAPPED.value})
  %walked = call i1 @is_of(ptr %given, ptr %mapped)
  br i1 %walked, label %ask, label %no
ask:
  %stamp = call ptr @its(ptr %call, i64 {CallWord.STAMP_AT.value}, ptr %given)
  %none = icmp eq ptr %stamp, null
  br i1 %none, label %no, label %stamped
stamped:
  %at = call ptr @PyBytes_AsString(ptr %stamp)
  %its_tiling = call i64 @word(ptr %at, i64 {StampWord.TILING.value})
  %its_owner = call i64 @word(ptr %at, i64 {StampWord.OWNER.value})
  store i64 %its_tiling, ptr %tiling
  store i64 %its_owner, ptr %owner
  %tensor = call ptr @its(ptr %call, i64 {CallWord.TENSOR_AT.value}, ptr %given)
  %gone = icmp eq ptr %tensor, null
  br i1 %gone, label %no, label %whole
whole:
  %record = call ptr @record(ptr %call, ptr %tensor)
  ret ptr %record
no:
  ret ptr null
}}
"""

JUDGE = f"""
; Whether a tensor may be borrowed without a closer look, as one of those before it or not.
define internal i1 @may(ptr %row, i64 %i, i1 %writes, i64 %owner) alwaysinline {{
entry:
  %storage = call ptr @storage(ptr %row, i64 %i)
  %look = call i64 @word(ptr %storage, i64 {StorageWord.LOOK.value})
  br i1 %writes, label %write, label %read
read:
  %unshared = and i64 %look, {int(UNSHARED)}
  %plain = icmp eq i64 %unshared, 0
  ret i1 %plain
write:
  %unclear = and i64 %look, {int(UNCLEAR | Look.READERS)}
  %clear = icmp eq i64 %unclear, 0
  %its = call i64 @word(ptr %storage, i64 {StorageWord.OWNER.value})
  %mine = icmp eq i64 %its, %owner
  %good = and i1 %clear, %mine
  br i1 %good, label %head, label %no
head:
  %k = phi i64 [ 0, %write ], [ %next, %each ]
  %more = icmp slt i64 %k, %i
  br i1 %more, label %each, label %yes
each:
  %other = call ptr @storage(ptr %row, i64 %k)
  %twice = icmp eq ptr %other, %storage
  %next = add i64 %k, 1
  br i1 %twice, label %no, label %head
yes:
  ret i1 true
no:
  ret i1 false
}}

; What is known of launches of the kinds that were found; the caller owns it.
define internal ptr @known(ptr %call, i64 %count) alwaysinline {{
entry:
  %known = call ptr @link(ptr %call, i64 {CallWord.KNOWN.value})
  %none = icmp eq ptr %known, null
  br i1 %none, label %out, label %compare
compare:
  %found = call ptr @link(ptr %call, i64 {CallWord.FOUND.value})
  %kinds = call ptr @link(ptr %call, i64 {CallWord.KINDS.value})
  %same = call i1 @alike(ptr %found, ptr %kinds, i64 %count)
  br i1 %same, label %out, label %other
other:
  br label %out
out:
  %answer = phi ptr [ @_Py_NoneStruct, %entry ], [ %known, %compare ], [ @_Py_NoneStruct, %other ]
  call void @Py_IncRef(ptr %answer)
  ret ptr %answer
}}
"""

ALIKE = agreed(
    "alike",
    "ptr %one, ptr %other",
    """
    %a = call i64 @word(ptr %one, i64 %i)
    %b = call i64 @word(ptr %other, i64 %i)
    %holds = icmp eq i64 %a, %b
    """,
)

MOVE_ON = counted(
    "move_on",
    "ptr %row, i64 %behind",
    f"""
    %memory = call ptr @storage(ptr %row, i64 %i)
    %before = call i64 @word(ptr %memory, i64 {StorageWord.EPOCH.value})
    %now = add i64 %before, 1
    call void @set(ptr %memory, i64 {StorageWord.EPOCH.value}, i64 %now)
    %at = add i64 %behind, %i
    call void @set(ptr %row, i64 %at, i64 %now)
    """,
)
"""Begins new epochs of what is written."""

BIND = (
    OBJECTS
    + ALIKE
    + MOVE_ON
    + JUDGE
    + f"""
define ptr @tw_bind(ptr %call, ptr %arguments, ptr %known) {{
entry:
  %given = call i64 @PyTuple_Size(ptr %arguments)
  %arity = call i64 @word(ptr %call, i64 {CallWord.ARITY.value})
  %all_given = icmp eq i64 %given, %arity
  br i1 %all_given, label %note, label %closer
closer:
  %nothing = call ptr @own(ptr @_Py_NoneStruct)
  ret ptr %nothing
note:
  %borrows = call ptr @link(ptr %call, i64 {CallWord.BORROWS.value})
  %what = call ptr @link(ptr %call, i64 {CallWord.WHAT.value})
  %use = call ptr @use_here(ptr %borrows, ptr %what, ptr %known)
  %nameless = icmp eq ptr %use, null
  br i1 %nameless, label %failed, label %make
make:
  %held = call ptr @new_held(ptr %call, ptr %use)
  %full = icmp eq ptr %held, null
  br i1 %full, label %failed, label %take
take:
  %locked = call i32 @lock_borrows(ptr %borrows)
  %interrupted = icmp slt i32 %locked, 0
  br i1 %interrupted, label %drop, label %bind
bind:
  %bound = call i1 @bound(ptr %call, ptr %arguments, ptr %held)
  call void @unlock_borrows(ptr %borrows, i32 %locked)
  br i1 %bound, label %done, label %refused
done:
  ret ptr %held
refused:
  call void @Py_DecRef(ptr %held)
  br label %closer
drop:
  call void @Py_DecRef(ptr %held)
  br label %failed
failed:
  ret ptr null
}}

; What is given for a launch, but for its records; owns the use. Null: an error is set.
define internal ptr @new_held(ptr %call, ptr %use) {{
entry:
  %count = call i64 @word(ptr %call, i64 {CallWord.COUNT.value})
  %written = call i64 @word(ptr %call, i64 {CallWord.WRITTEN.value})
  %more_items = add i64 %count, 3
  %held = call ptr @PyTuple_New(i64 %more_items)
  %twice = shl i64 %count, 1
  %words = add i64 %twice, %written
  %bytes = shl i64 %words, 3
  %row = call ptr @PyBytes_FromStringAndSize(ptr null, i64 %bytes)
  %no_tuple = icmp eq ptr %held, null
  %no_row = icmp eq ptr %row, null
  %none = or i1 %no_tuple, %no_row
  br i1 %none, label %failed, label %fill
failed:
  call void @Py_DecRef(ptr %use)
  call void @Py_DecRef(ptr %row)
  call void @Py_DecRef(ptr %held)
  ret ptr null
fill:
  %told = call i32 @PyTuple_SetItem(ptr %held, i64 %count, ptr %use)
  %behind = add i64 %count, 1
  %kept = call i32 @PyTuple_SetItem(ptr %held, i64 %behind, ptr %row)
  ret ptr %held
}}

; Whether they could be bound, for who has the lock, or needs none: nothing here runs Python.
define internal i1 @bound(ptr %call, ptr %arguments, ptr %held) {{
entry:
  %count = call i64 @word(ptr %call, i64 {CallWord.COUNT.value})
  %written = call i64 @word(ptr %call, i64 {CallWord.WRITTEN.value})
  %places = call ptr @link(ptr %call, i64 {CallWord.PLACES.value})
  %found = call ptr @link(ptr %call, i64 {CallWord.FOUND.value})
  %twice = shl i64 %count, 1
  %behind = add i64 %count, 1
  %row_object = call ptr @PyTuple_GetItem(ptr %held, i64 %behind)
  %row = call ptr @PyBytes_AsString(ptr %row_object)
  br label %head
head:
  %i = phi i64 [ 0, %entry ], [ %next, %note ]
  %more = icmp slt i64 %i, %count
  br i1 %more, label %each, label %recognize
each:
  %place = call i64 @word(ptr %places, i64 %i)
  %given = call ptr @PyTuple_GetItem(ptr %arguments, i64 %place)
  %writes = icmp slt i64 %i, %written
  %tiling_at = add i64 %count, %i
  %owner_at = add i64 %twice, %i
  br i1 %writes, label %write, label %read
write:
  %tiling = getelementptr i64, ptr %found, i64 %tiling_at
  %owner = getelementptr i64, ptr %row, i64 %owner_at
  %target = call ptr @written(ptr %call, ptr %given, ptr %tiling, ptr %owner)
  br label %have
read:
  %source = call ptr @read(ptr %call, ptr %given)
  br label %have
have:
  %record = phi ptr [ %target, %write ], [ %source, %read ]
  %none = icmp eq ptr %record, null
  br i1 %none, label %closer, label %judge
judge:
  %owned_record = call ptr @own(ptr %record)
  %held_too = call i32 @PyTuple_SetItem(ptr %held, i64 %i, ptr %owned_record)
  %at = call ptr @PyBytes_AsString(ptr %record)
  %address = ptrtoint ptr %at to i64
  call void @set(ptr %row, i64 %i, i64 %address)
  br i1 %writes, label %owned, label %free
owned:
  %mine = call i64 @word(ptr %row, i64 %owner_at)
  br label %free
free:
  %ticket = phi i64 [ 0, %judge ], [ %mine, %owned ]
  %fits = call i1 @may(ptr %row, i64 %i, i1 %writes, i64 %ticket)
  br i1 %fits, label %note, label %closer
note:
  %kind = call i64 @word(ptr %at, i64 {TensorWord.KIND.value})
  call void @set(ptr %found, i64 %i, i64 %kind)
  %storage = call ptr @storage(ptr %row, i64 %i)
  %epoch = call i64 @word(ptr %storage, i64 {StorageWord.EPOCH.value})
  call void @set(ptr %row, i64 %tiling_at, i64 %epoch)
  %next = add i64 %i, 1
  br label %head
recognize:
  %kinds = add i64 %count, %written
  %known = call ptr @known(ptr %call, i64 %kinds)
  %last = add i64 %count, 2
  %all = call i32 @PyTuple_SetItem(ptr %held, i64 %last, ptr %known)
  %strange = icmp eq ptr %known, @_Py_NoneStruct
  br i1 %strange, label %done, label %mark
mark:
  call void @move_on(ptr %row, i64 %count, i64 %written)
  %borrows = call ptr @link(ptr %call, i64 {CallWord.BORROWS.value})
  %use = call ptr @PyTuple_GetItem(ptr %held, i64 %count)
  call void @note_uses(ptr %row, ptr %borrows, ptr %use, i64 %written)
  br label %done
done:
  ret i1 true
closer:
  ret i1 false
}}
"""
)
