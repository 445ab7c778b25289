"""LLVM text that begins plain launches of one kernel, for all devices, and the words of these.

    i64 opened(shot, uses, user, known, row, lane, there)
                    begin one, if its code is what it was made for, and nobody has used its op

Whoever uses it writes `begin(shot, row, lane, there)`, which gives its number in its lane, or below
0 that it could not be begun; no Python runs meanwhile. `there` is what that needs to know besides.
"""

from __future__ import annotations

from enum import IntEnum

from .shapes import agreed, counted


class ShotWord(IntEnum):
    """What all plain launches of one kernel over one grid have in common."""

    RECORD = 0
    """The address of a record, with the parameters that are always the same; 0: each launch has
    one of its own."""
    SLOTS = 1
    """How many parameters there are."""
    TENSORS = 2
    """How many of them are addresses of tensors, and which."""
    TENSOR_PLACES = 3
    NUMBERS = 4
    """How many are other numbers that differ, and which."""
    NUMBER_PLACES = 5
    WRITTEN = 6
    """How many of the tensors are written: the first of them."""
    BORROWS = 7
    """The words that `BorrowWord` names."""
    WATCHED = 8
    """How many values the code was made for that may have changed, and where these are said, by
    three words: a dictionary, the key and the value as it was, or 0 if there was none; a function
    that gives the value now, 0 and the value; or the address of a slot of an object, `IN_SLOT` and
    the value."""
    WATCHES = 9
    FIRE = 10
    """The address of the native code that fires; 0: there is none."""


SHOT_WORDS = len(ShotWord)
IN_SLOT = 1
"""In place of a key: the value is in a slot of an object. No object lies at this address."""

FAILED = -(1 << 63)
"""What native code gives where an error of Python's is set."""
USED = 2
"""What `lock_unused` gives for an op that somebody has used."""

WATCHING = f"""
declare ptr @PyDict_GetItemWithError(ptr, ptr)

; Whether a value is the object it was: one of a dictionary, by its key, or what a function gives,
; or what is in a slot of an object.
define internal i1 @is_still(ptr %watch) {{
entry:
  %where = call ptr @link(ptr %watch, i64 0)
  %key = call ptr @link(ptr %watch, i64 1)
  %was = call ptr @link(ptr %watch, i64 2)
  %number = ptrtoint ptr %key to i64
  switch i64 %number, label %look [ i64 0, label %ask
                                    i64 {IN_SLOT}, label %read ]
read:
  %kept = load ptr, ptr %where
  %unmoved = icmp eq ptr %kept, %was
  ret i1 %unmoved
look:
  %found = call ptr @PyDict_GetItemWithError(ptr %where, ptr %key)
  %same = icmp eq ptr %found, %was
  ret i1 %same
ask:
  %is = call ptr @PyObject_CallNoArgs(ptr %where)
  call void @Py_DecRef(ptr %is)
  %holds = icmp eq ptr %is, %was
  ret i1 %holds
}}

; Whether the code of a launch is still what it was made for.
define internal i1 @fresh(ptr %shot) {{
  %count = call i64 @word(ptr %shot, i64 {ShotWord.WATCHED.value})
  %watches = call ptr @link(ptr %shot, i64 {ShotWord.WATCHES.value})
  %same = call i1 @unchanged(ptr %watches, i64 %count)
  ret i1 %same
}}
"""

WORDS = "".join((
    # Whether values are the objects they were.
    agreed("unchanged", "ptr %watches", """
        %thrice = mul i64 %i, 3
        %watch = getelementptr ptr, ptr %watches, i64 %thrice
        %holds = call i1 @is_still(ptr %watch)
    """),
    # Writes words to their places.
    counted("scatter", "ptr %target, ptr %places, ptr %words", """
        %place = call i64 @word(ptr %places, i64 %i)
        %word = call i64 @word(ptr %words, i64 %i)
        call void @set(ptr %target, i64 %place, i64 %word)
    """),
))  # fmt: skip
"""What goes over words."""

LOCK_UNUSED = f"""
; As `lock_borrows`; or {USED}, without the lock, if somebody has used an op: another thread, while
; this one waited.
define internal i32 @lock_unused(ptr %borrows, ptr %uses) alwaysinline {{
entry:
  %locked = call i32 @lock_borrows(ptr %borrows)
  %failed = icmp slt i32 %locked, 0
  %noted_before = icmp eq ptr %uses, @_Py_NoneStruct
  %either = or i1 %failed, %noted_before
  br i1 %either, label %out, label %look
look:
  %others = call i64 @PyList_Size(ptr %uses)
  %mine = icmp eq i64 %others, 0
  br i1 %mine, label %out, label %late
late:
  call void @unlock_borrows(ptr %borrows, i32 %locked)
  ret i32 {USED}
out:
  ret i32 %locked
}}
"""

OPENING = f"""
; Writes the addresses of tensors, and other numbers, to their places in the parameters of a launch.
define internal void @fill(ptr %shot, ptr %row, ptr %numbers, ptr %base) {{
  %tensors = call i64 @word(ptr %shot, i64 {ShotWord.TENSORS.value})
  %tensor_places = call ptr @link(ptr %shot, i64 {ShotWord.TENSOR_PLACES.value})
  call void @place(ptr %base, ptr %tensor_places, ptr %row, i64 %tensors)
  %given = call i64 @word(ptr %shot, i64 {ShotWord.NUMBERS.value})
  %number_places = call ptr @link(ptr %shot, i64 {ShotWord.NUMBER_PLACES.value})
  call void @scatter(ptr %base, ptr %number_places, ptr %numbers, i64 %given)
  ret void
}}

; The number of work that could be begun in its lane; below 0: it could not.
define internal i64 @numbered(ptr %shot, ptr %row, ptr %lane) {{
  %written = call i64 @word(ptr %shot, i64 {ShotWord.WRITTEN.value})
  %tensors = call i64 @word(ptr %shot, i64 {ShotWord.TENSORS.value})
  %number = call i64 @tw_reserve(ptr %row, i64 %written, i64 %tensors, ptr %lane, i64 0)
  ret i64 %number
}}

; Begins a plain launch, and notes that its op was used, in a list of its uses that must be empty;
; None: that was noted before.
; Gives its number in its lane, or 0 if it could not be begun. The least number: an error is set.
define internal i64 @opened(
    ptr %shot, ptr %uses, ptr %user, ptr %known, ptr %row, ptr %lane, ptr %there) {{
entry:
  %fresh = call i1 @fresh(ptr %shot)
  br i1 %fresh, label %ask, label %closer
closer:
  call void @PyErr_Clear()
  ret i64 0
ask:
  %use = call ptr @first_use(ptr %uses, ptr %user, ptr %known)
  %lost = icmp eq ptr %use, null
  br i1 %lost, label %failed, label %judge
failed:
  ret i64 {FAILED}
judge:
  %used = icmp eq ptr %use, @_Py_NoneStruct
  br i1 %used, label %drop, label %lock
drop:
  call void @Py_DecRef(ptr %use)
  br label %closer
lock:
  %borrows = call ptr @link(ptr %shot, i64 {ShotWord.BORROWS.value})
  %locked = call i32 @lock_unused(ptr %borrows, ptr %uses)
  switch i32 %locked, label %begin [ i32 -1, label %interrupted
                                     i32 {USED}, label %drop ]
interrupted:
  call void @Py_DecRef(ptr %use)
  br label %failed
late:
  call void @unlock_borrows(ptr %borrows, i32 %locked)
  br label %drop
begin:
  %begun = call i64 @begin(ptr %shot, ptr %row, ptr %lane, ptr %there)
  %unready = icmp slt i64 %begun, 0
  br i1 %unready, label %late, label %put
put:
  call void @note_first(ptr %uses, ptr %use)
  call void @unlock_borrows(ptr %borrows, i32 %locked)
  call void @Py_DecRef(ptr %use)
  ret i64 %begun
}}

; An answer as Python takes it.
define internal ptr @told(i64 %answer) {{
entry:
  %failed = icmp eq i64 %answer, {FAILED}
  br i1 %failed, label %no, label %yes
no:
  ret ptr null
yes:
  %object = call ptr @PyLong_FromLongLong(i64 %answer)
  ret ptr %object
}}
"""

TEXT = "".join((WATCHING, WORDS, LOCK_UNUSED, OPENING))
"""What stands behind `text.BEGIN`."""
