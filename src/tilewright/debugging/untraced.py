"""Calls that debuggers do not see: they would step into the interpreter.

CPython suspends tracing for a thread by two functions of its C API. What is called in between by a
function of Python would be seen itself, so here all of a call is made of iterators in C.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from functools import partial
from operator import itemgetter
from typing import Any, TypeVar

T = TypeVar("T")

_API = ctypes.pythonapi
_STATE = ctypes.c_void_p
_API.PyThreadState_Get.restype = _STATE
for _function in (_API.PyThreadState_EnterTracing, _API.PyThreadState_LeaveTracing):
    _function.argtypes, _function.restype = [_STATE], None


def untraced(function: Callable[[], T]) -> Callable[[], T]:
    """Return a callable of this thread that calls a function without tracing.

    The function must not raise.
    """
    return _between(_API.PyThreadState_EnterTracing, function, _API.PyThreadState_LeaveTracing)


def call_traced(function: Callable[[], T]) -> T:
    """Call a function with tracing, inside of `untraced`."""
    leave, enter = _API.PyThreadState_LeaveTracing, _API.PyThreadState_EnterTracing
    try:
        return _between(leave, function, enter)()
    except BaseException:
        enter(_STATE(_API.PyThreadState_Get()))  # which the iterators have not come to
        raise


class Never:
    """Equal to nothing that is ever returned."""


def _between(before: Any, function: Callable[[], T], after: Any) -> Callable[[], T]:
    state = _STATE(_API.PyThreadState_Get())
    first, last = (iter(partial(each, state), Never) for each in (before, after))
    return map(itemgetter(1), zip(first, iter(function, Never), last, strict=False)).__next__


def is_traced() -> bool:
    """Return whether a debugger, or another tool, follows the lines that this thread runs."""
    if sys.gettrace() is not None:
        return True
    monitoring = getattr(sys, "monitoring", None)  # since Python 3.12
    return monitoring is not None and monitoring.get_tool(monitoring.DEBUGGER_ID) is not None
