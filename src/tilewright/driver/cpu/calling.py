"""Native functions as builtin functions of Python: a call takes a fifth of the time of ctypes.

For each function there is a wrapper, LLVM text too, which takes Python's objects and gives one. It
uses no more of Python than its stable interface. What is handed over must be what was declared.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import Any, NamedTuple

from .native import NativeFunction

OFTEN = 64
"""How often something is used before native code is worth the time it takes to be made, once."""


class Kind(Enum):
    """What an argument is in Python; the value is how native code gets it."""

    BYTES = ("ptr", "PyBytes_AsString")
    """An address of what a bytes object holds."""
    ADDRESS = ("ptr", "PyLong_AsVoidPtr")
    """An int that is an address."""
    NUMBER = ("i64", "PyLong_AsLongLong")
    """An int of 64 bits."""
    OBJECT = ("ptr", None)
    """Any object, as it is."""


class Signature(NamedTuple):
    """What a native function takes, and what it gives: a number, an object, or (None) nothing."""

    arguments: tuple[Kind, ...]
    gives: Kind | None = Kind.NUMBER
    releases: bool = False
    """Whether the interpreter lock is given up meanwhile; else it is too short for that."""


DECLARATIONS = """
declare ptr @PyBytes_AsString(ptr)
declare ptr @PyLong_AsVoidPtr(ptr)
declare i64 @PyLong_AsLongLong(ptr)
declare ptr @PyLong_FromLongLong(i64)
declare ptr @PyEval_SaveThread()
declare void @PyEval_RestoreThread(ptr)
"""
"""What all wrappers use."""

METH_FASTCALL = 0x0080
"""By Python's word: the function is given its arguments as an array, and their number."""


def wrapped(name: str) -> str:
    """The symbol of a function's wrapper."""
    return f"py_{name}"


_REFUSING = """
@PyExc_TypeError = external global ptr
@miscounted = internal constant [50 x i8] c"native code was given a wrong number of arguments\\00"

declare void @PyErr_SetString(ptr, ptr)
declare ptr @PyErr_Occurred()
"""


def wrappers(signatures: Mapping[str, Signature]) -> str:
    """The text of the wrappers of functions, by symbol."""
    return (
        DECLARATIONS
        + _REFUSING
        + "".join(_wrapper(name, each) for name, each in signatures.items())
    )


def _wrapper(name: str, signature: Signature) -> str:
    lines: list[str] = []
    passed: list[str] = []
    for i, kind in enumerate(signature.arguments):
        native, convert = kind.value
        lines += (
            f"%at{i} = getelementptr ptr, ptr %given, i64 {i}",
            f"%object{i} = load ptr, ptr %at{i}",
        )
        if convert is not None:
            lines.append(f"%value{i} = call {native} @{convert}(ptr %object{i})")
        passed.append(f"{native} %{'object' if convert is None else 'value'}{i}")
    call = f"@{name}({', '.join(passed)})"
    if signature.gives is Kind.OBJECT:
        assert not signature.releases, "objects are made with the interpreter's lock"
        lines += (f"%result = call ptr {call}", "ret ptr %result")
        return _function(name, len(signature.arguments), lines)
    body = ["call void " + call if signature.gives is None else f"%found = call i64 {call}"]
    if signature.releases:
        body = [
            "%thread = call ptr @PyEval_SaveThread()",
            *body,
            "call void @PyEval_RestoreThread(ptr %thread)",
            # Of the handler of a signal, which a block that lasts has run.
            "%raised = call ptr @PyErr_Occurred()",
            "%fine = icmp eq ptr %raised, null",
            "br i1 %fine, label %well, label %out",
            "out:",
            "ret ptr null",
            "well:",
        ]
    number = "0" if signature.gives is None else "%found"
    lines += (*body, f"%result = call ptr @PyLong_FromLongLong(i64 {number})", "ret ptr %result")
    return _function(name, len(signature.arguments), lines)


def _function(name: str, arity: int, lines: Sequence[str]) -> str:
    return _FUNCTION.format(
        name=wrapped(name), arity=arity, body="".join(f"  {line}\n" for line in lines)
    )


_FUNCTION = """
define ptr @{name}(ptr %self, ptr %given, i64 %count) {{
entry:
  %fits = icmp eq i64 %count, {arity}
  br i1 %fits, label %go, label %refuse
refuse:
  %error = load ptr, ptr @PyExc_TypeError
  call void @PyErr_SetString(ptr %error, ptr @miscounted)
  ret ptr null
go:
{body}}}
"""


class MethodDef(ctypes.Structure):
    """How Python's C interface describes a builtin function."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("address", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


_KEPT: list[tuple[MethodDef, NativeFunction]] = []
"""For good: builtin functions refer to their descriptions, and nobody knows when they are gone."""


def builtin(wrapper: NativeFunction) -> Callable[..., Any]:
    """A loaded wrapper as a function; its code stays in memory for good."""
    make: Any = ctypes.pythonapi.PyCFunction_NewEx
    make.restype, make.argtypes = ctypes.py_object, (ctypes.c_void_p,) * 3
    described = MethodDef(wrapper.symbol.encode(), wrapper.address, METH_FASTCALL, None)
    _KEPT.append((described, wrapper))
    function: Callable[..., Any] = make(ctypes.addressof(described), None, None)
    return function
