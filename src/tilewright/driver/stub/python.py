"""LLVM text of what native code uses of Python's public interface, besides what wrappers do."""

from __future__ import annotations


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
