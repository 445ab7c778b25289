"""LLVM text of what most launches do, from a call to the driver: `quick` says where it belongs.

    call(entry, arguments, keywords)    a kernel is called: `Entry.__call__`
    call_at(entry, spot, arguments)     the same, for a program that stands there
    end(op, stream, user, budget)       its launch is started: `Launch.fire`
    execute(op, context)                or it is a part of other work: `Launch.execute`

Each does what the method of Python does, where nothing needs a closer look. Where something does,
it has done nothing, and that method is called. What stands in braces are classes and objects of
Python, offsets of slots, and numbers.
"""

from __future__ import annotations

from enum import IntEnum

from . import quick_here
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
  %op = call ptr @called(ptr %self, ptr %arguments, ptr %keywords, {zero})
  ret ptr %op
}}

define ptr @call_at(ptr %self, ptr %given, i64 %count, ptr %names) {{
entry:
  %two = icmp eq i64 %count, 2
  %unnamed = icmp eq ptr %names, null
  %usual = and i1 %two, %unnamed
  br i1 %usual, label %look, label %closer
look:
  %spot = load ptr, ptr %given
  %arguments_at = getelementptr ptr, ptr %given, i64 1
  %arguments = load ptr, ptr %arguments_at
  %known = call i1 @is_of(ptr %spot, {tuple})
  %tupled = call i1 @is_of(ptr %arguments, {tuple})
  %both = and i1 %known, %tupled
  br i1 %both, label %go, label %closer
go:
  %op = call ptr @called(ptr %self, ptr %arguments, ptr null, ptr %spot)
  ret ptr %op
closer:
  %answer = call ptr @closely({called_at}, ptr %self, ptr %given, i64 %count, ptr %names)
  ret ptr %answer
}}

; Where the program stands is known as `spot` takes it.
define internal ptr @called(ptr %self, ptr %arguments, ptr %keywords, ptr %known) {{
entry:
  %given = alloca [3 x ptr]
  %whole = call i1 @is_whole_entry(ptr %self)
  br i1 %whole, label %ask, label %leave
ask:
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
  %held = call ptr @tw_bind(ptr %call, ptr %arguments, ptr %known)
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
  br label %leave
leave:
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

TEXT = CALL + quick_here.TEXT + FIRE
