"""The native side of functions that XLA calls: it has an answer, whatever happens in Python.

A function of Python may be left by an interrupt at any point, before its first line and after its
last one, too. ctypes has no answer then, and XLA would take for one whatever stands in its place:
that all went well, or an address. Here the interrupt waits until XLA was told of a failure.
"""

from __future__ import annotations

from ..driver.cpu.native import NativeFunction
from ..driver.cpu.runtime.calls import compiled

UNANSWERED = -1
"""What stands where the answer goes before there is one: no address."""
INTERRUPTED = "KeyboardInterrupt: a kernel was left before its end"

_TEXT = """
declare void @PyErr_SetInterrupt()

@told = private constant [{length} x i8] c"{message}\\00"

define ptr @tw_answer(ptr %frame) {{
entry:
  %answer_at = alloca i64
  store i64 {unanswered}, ptr %answer_at
  call void inttoptr (i64 {python} to ptr)(ptr %frame, ptr %answer_at)
  %answer = load i64, ptr %answer_at
  %given = icmp ne i64 %answer, {unanswered}
  br i1 %given, label %give, label %interrupted
give:
  %status = inttoptr i64 %answer to ptr
  ret ptr %status
interrupted:
  %error = alloca [{words} x i64]
  store [{words} x i64] zeroinitializer, ptr %error
  store i64 {size}, ptr %error
  %message_at = getelementptr i8, ptr %error, i64 {message_at}
  store ptr @told, ptr %message_at
  %code_at = getelementptr i8, ptr %error, i64 {code_at}
  store i32 {code}, ptr %code_at
  %api_at = getelementptr i8, ptr %frame, i64 {api_at}
  %api = load ptr, ptr %api_at
  %create_at = getelementptr i8, ptr %api, i64 {create_at}
  %create = load ptr, ptr %create_at
  %made = call ptr %create(ptr %error)
  call void @PyErr_SetInterrupt()
  ret ptr %made
}}
"""


def answering(python: int, **places: int) -> NativeFunction:
    """A handler that calls a function with the frame and with where its answer goes.

    `python` is that function's address; `places` says where things stand in XLA's structures.
    """
    text = _TEXT.format(
        python=python, unanswered=UNANSWERED, message=INTERRUPTED, length=len(INTERRUPTED) + 1,
        **places,
    )  # fmt: skip
    return compiled(text, ("tw_answer",), optimize=False)["tw_answer"]
