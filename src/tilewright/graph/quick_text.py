"""LLVM text of what most launches of graphs do.

    launch(graph)                       `CudaGraph.launch`
    end(op, stream, user, budget)       `GraphLaunch.fire`, and what that calls

What stands in braces are classes and objects of Python, offsets of slots, and numbers.
"""

from __future__ import annotations

from . import quick_here

LAUNCH = """
; The op of a launch that was built there; owns that place, and gives null without memory.
define internal ptr @op_of(ptr %graph, ptr %built) {{
entry:
  %uses = call ptr @PyList_New(i64 0)
  %full = icmp eq ptr %uses, null
  br i1 %full, label %failed, label %make
make:
  %class = call ptr @slot(ptr %graph, i64 {graph_quick})
  %op = call ptr @PyType_GenericAlloc(ptr %class, i64 0)
  %none = icmp eq ptr %op, null
  br i1 %none, label %failed, label %fill
failed:
  call void @Py_DecRef(ptr %uses)
  call void @Py_DecRef(ptr %built)
  ret ptr null
fill:
  call void @give(ptr %op, i64 {op_uses}, ptr %uses)
  call void @give(ptr %op, i64 {op_built}, ptr %built)
  %its_graph = call ptr @own(ptr %graph)
  call void @give(ptr %op, i64 {op_graph}, ptr %its_graph)
  %name = call ptr @slot(ptr %graph, i64 {graph_name})
  %its_name = call ptr @own(ptr %name)
  call void @give(ptr %op, i64 {op_of}, ptr %its_name)
  %home = call ptr @slot(ptr %graph, i64 {graph_device})
  %its_home = call ptr @own(ptr %home)
  call void @give(ptr %op, i64 {op_home}, ptr %its_home)
  ret ptr %op
}}

define ptr @launch(ptr %graph, ptr %given, i64 %count, ptr %names) {{
entry:
  %seat_place = alloca ptr
  %none = icmp eq i64 %count, 0
  %nameless = icmp eq ptr %names, null
  %usual = and i1 %none, %nameless
  %whole = call i1 @is_whole_graph(ptr %graph)
  %may = and i1 %usual, %whole
  br i1 %may, label %build, label %closer
closer:
  %answer = call ptr @closely({launch}, ptr %graph, ptr %given, i64 %count, ptr %names)
  ret ptr %answer
build:
  %spot = call ptr @spot({zero}, ptr %seat_place)
  %lost = icmp eq ptr %spot, null
  br i1 %lost, label %failed, label %make
failed:
  ret ptr null
make:
  %op = call ptr @op_of(ptr %graph, ptr %spot)
  ret ptr %op
}}
"""

END = """
; Whether a run of a replay comes behind its last one on a stream, and nobody has a part in it.
define internal i1 @may_run(ptr %replay, ptr %stream) alwaysinline {{
entry:
  %fits = call i1 @is_of(ptr %replay, {CudaReplay})
  br i1 %fits, label %look, label %no
look:
  %last = call ptr @slot(ptr %replay, i64 {replay_ran_on})
  %behind = icmp eq ptr %last, %stream
  %attended = call ptr @slot(ptr %replay, i64 {replay_attended})
  %unattended = icmp eq ptr %attended, @_Py_FalseStruct
  %context = call ptr @slot(ptr %replay, i64 {replay_context})
  %state = call ptr @slot(ptr %context, i64 {context_is_fine})
  %fine = icmp eq ptr %state, @_Py_TrueStruct
  %both = and i1 %behind, %unattended
  %all = and i1 %both, %fine
  ret i1 %all
no:
  ret i1 false
}}

; What native code needs of memory, if a graph can be fired at all; null: it cannot.
define internal ptr @memory_of(ptr %graph) alwaysinline {{
entry:
  %memory = call ptr @slot(ptr %graph, i64 {graph_memory})
  %none = icmp eq ptr %memory, @_Py_NoneStruct
  br i1 %none, label %no, label %look
look:
  %prepared = call ptr @slot(ptr %graph, i64 {graph_prepared})
  %count = call i64 @PyList_Size(ptr %prepared)
  %ready = icmp eq i64 %count, 0
  br i1 %ready, label %yes, label %no
yes:
  ret ptr %memory
no:
  ret ptr null
}}

; Puts a run on its stream. 1: it is there, 0: it needs a closer look, below 0: an error is set.
define internal i32 @fire(
    ptr %op, ptr %graph, ptr %replay, ptr %memory, ptr %stream, ptr %user, i64 %budget) {{
entry:
  %driver = call ptr @address_in(ptr %replay, i64 {replay_driver})
  %none = icmp eq ptr %driver, null
  br i1 %none, label %closer, label %make
make:
  %keep = call ptr @PyTuple_New(i64 2)
  %full = icmp eq ptr %keep, null
  br i1 %full, label %failed, label %go
closer:
  ret i32 0
failed:
  ret i32 -1
go:
  %its_replay = call ptr @own(ptr %replay)
  %first = call i32 @PyTuple_SetItem(ptr %keep, i64 0, ptr %its_replay)
  %its_memory = call ptr @own(ptr %memory)
  %second = call i32 @PyTuple_SetItem(ptr %keep, i64 1, ptr %its_memory)
  %no_event = call ptr @own(ptr @_Py_NoneStruct)
  call void @give(ptr %replay, i64 {replay_last}, ptr %no_event)
  %context = call ptr @slot(ptr %replay, i64 {replay_context})
  %context_handle = call ptr @address_in(ptr %context, i64 {context_handle})
  %only = call ptr @address_in(ptr %replay, i64 {replay_only})
  %executable = call ptr @address_in(ptr %replay, i64 {replay_executable})
  %memory_words = call ptr @address_in(ptr %memory, i64 {memory_address})
  %uses = call ptr @slot(ptr %op, i64 {op_uses})
  %built = call ptr @slot(ptr %op, i64 {op_built})
  %result = call i32 {replay_there}(ptr %driver, ptr %context_handle, ptr %only, ptr %executable,
    ptr %memory_words, ptr %uses, ptr %user, {zero}, ptr %built, {GRAPH}, ptr %keep, ptr %stream,
    {left}, i64 %budget)
  call void @Py_DecRef(ptr %keep)
  ret i32 %result
}}

; Puts a run on a stream of CUDA, as `fire` says, if nothing about it is unusual. Where there
; are other threads, Python takes the turn of the replay.
define internal i32 @end_there(
    ptr %op, ptr %graph, ptr %replay, ptr %stream, ptr %user, i64 %budget) {{
entry:
  %alone = call i1 @is_alone()
  br i1 %alone, label %find, label %closer
find:
  %memory = call ptr @memory_of(ptr %graph)
  %none = icmp eq ptr %memory, null
  br i1 %none, label %closer, label %judge
judge:
  %fits = call i1 @may_run(ptr %replay, ptr %stream)
  br i1 %fits, label %go, label %closer
closer:
  ret i32 0
go:
  %fired = call i32 @fire(ptr %op, ptr %graph, ptr %replay, ptr %memory, ptr %stream, ptr %user,
    i64 %budget)
  ret i32 %fired
}}

; Lets an op go of its graph once it has run.
define internal void @spend(ptr %op) {{
  %spent = call i32 @PyObject_SetAttr(ptr %op, {spent}, ptr @_Py_TrueStruct)
  %let_go = call ptr @own(ptr @_Py_NoneStruct)
  call void @give(ptr %op, i64 {op_graph}, ptr %let_go)
  ret void
}}

; Runs an op on a stream, and waits if there is a budget for that.
define internal ptr @end(ptr %op, ptr %stream, ptr %user, i64 %budget) {{
entry:
  %waits = icmp sgt i64 %budget, 0
  %place = call i32 @place_of(ptr %stream, i1 %waits)
  %ours = icmp ne i32 %place, {NOWHERE}
  %op_is_whole = call i1 @is_whole_op(ptr %op)
  %both = and i1 %ours, %op_is_whole
  br i1 %both, label %judge_graph, label %closer
judge_graph:
  %graph = call ptr @slot(ptr %op, i64 {op_graph})
  %spent = icmp eq ptr %graph, @_Py_NoneStruct
  br i1 %spent, label %closer, label %whole
whole:
  %graph_is_whole = call i1 @is_whole_graph(ptr %graph)
  br i1 %graph_is_whole, label %look, label %closer
look:
  %its_usual = call i32 {is_usual}()
  %usual = icmp ne i32 %its_usual, 0
  br i1 %usual, label %find, label %closer
find:
  %replay = call ptr @slot(ptr %graph, i64 {graph_replay})
  %here = icmp eq i32 %place, {HERE}
  br i1 %here, label %end_here, label %end_there
end_here:
  %ran = call i32 @end_here(ptr %op, ptr %graph, ptr %replay, ptr %stream, ptr %user)
  br label %judge
end_there:
  %put = call i32 @end_there(
    ptr %op, ptr %graph, ptr %replay, ptr %stream, ptr %user, i64 %budget)
  br label %judge
judge:
  %fired = phi i32 [ %ran, %end_here ], [ %put, %end_there ]
  switch i32 %fired, label %failed [ i32 0, label %closer
                                     i32 1, label %done ]
failed:
  ret ptr null
closer:
  ret ptr @_Py_NotImplementedStruct
done:
  call void @spend(ptr %op)
  %result = call ptr @own(ptr @_Py_NoneStruct)
  ret ptr %result
}}
"""

TEXT = LAUNCH + END + quick_here.TEXT
