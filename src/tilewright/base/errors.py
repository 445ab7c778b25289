"""The exception tree and the one picture all diagnostics are drawn in.

    Error
      ShapeError         host shapes or dtypes do not fit          (also a ValueError)
      BorrowError        ownership rules were broken               (also a RuntimeError)
      DeviceError
        DriverError      the driver rejected (out of memory, bad handle, ...)
        ContextError     a device cannot be used; has a `device_id`
        KernelCacheError code for a kernel cannot be had, or kept
          CompileError   a kernel cannot be compiled; points at the source, has a `code`
        SchedulingError  an op cannot be run there: no stream, inside another op, ...
        LaunchError      a launch was rejected, or a check in a kernel failed
        InternalError    a bug in Tilewright

All of them survive pickling, so that they can cross processes.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from .source import HostLocation, Span


class Code(StrEnum):
    """The kinds of kernel errors; each has one golden message in the tests."""

    SYNTAX = "unsupported-syntax"
    SOURCE = "no-source"
    NAME = "unknown-name"
    ATTRIBUTE = "unknown-attribute"
    ANNOTATION = "bad-annotation"
    CALL = "bad-call"
    TYPE = "wrong-type"
    DTYPE = "wrong-dtype"
    PROMOTION = "no-promotion"
    LITERAL = "literal-out-of-range"
    BROADCAST = "shapes-do-not-broadcast"
    SHAPE = "wrong-shape"
    POWER_OF_TWO = "not-a-power-of-two"
    RANK = "wrong-rank"
    READ_ONLY = "read-only-tensor"
    NOT_STATIC = "not-a-constant"
    NOT_INFERRED = "cannot-infer"
    TRUTH = "truth-of-a-tile"
    UNBOUND = "maybe-unbound"
    LOOP_TYPE = "type-changes-in-loop"
    BRANCH_TYPE = "type-differs-between-branches"
    SELECT = "cannot-be-selected"
    RECURSION = "recursion"
    UNSAFE = "needs-unsafe"
    CAPTURE = "captured-value"
    INDEX = "index-out-of-range"
    MINTED = "not-an-index-of-this-block"
    WITNESS = "not-a-witness"
    DIVERGENT = "not-reached-by-all-threads"
    PADDING = "padding-not-neutral"
    UNWRITTEN = "output-never-written"
    ASSERTION = "assertion"
    RESOURCES = "too-large"
    TARGET = "not-on-this-target"
    TOOLCHAIN = "toolchain"
    INTERNAL = "internal"


class Error(Exception):
    """Base of everything Tilewright raises on purpose.

    `expected`, `got` and `hint` are part of the text and stay readable as attributes.
    """

    def __init__(
        self,
        message: str,
        *,
        expected: str | None = None,
        got: str | None = None,
        hint: str | None = None,
        places: tuple[tuple[str, HostLocation], ...] = (),
        span: Span | None = None,
        code: Code | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.expected = expected
        self.got = got
        self.hint = hint
        self.places = places
        self.span = span
        self.code = code

    def __str__(self) -> str:
        return render(self)

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), self.message, self._fields())

    def _fields(self) -> dict[str, Any]:
        names = ("expected", "got", "hint", "places", "span", "code")
        return {name: getattr(self, name) for name in names}


def _rebuild(cls: type[Error], message: str, fields: dict[str, Any]) -> Error:
    return cls(message, **fields)


class ShapeError(Error, ValueError):
    """Shapes, ranks or dtypes given on the host do not fit."""


class BorrowError(Error, RuntimeError):
    """A tensor was used against the ownership rules."""


class DeviceError(Error):
    """A device, or work on it, has failed."""


class DriverError(DeviceError):
    """The driver rejected a request, for instance for lack of memory."""


class ContextError(DeviceError):
    """A device cannot be found or used; `device_id` is the number of the GPU, where it is one."""

    def __init__(self, message: str, *, device_id: int | None = None, **facts: Any) -> None:
        super().__init__(message, **facts)
        self.device_id = device_id

    def _fields(self) -> dict[str, Any]:
        return {**super()._fields(), "device_id": self.device_id}


class KernelCacheError(DeviceError):
    """Code for a kernel is not available, or cannot be stored where it must be."""


class CompileError(KernelCacheError):
    """A kernel cannot be compiled; the text shows the source line and a caret."""


class SchedulingError(DeviceError):
    """An op cannot be run where it was asked to: there is no stream, or another op is starting."""


class LaunchError(DeviceError):
    """A launch was rejected, or a check inside a running kernel failed."""


class InternalError(DeviceError):
    """A bug in Tilewright itself."""


class PaddingWarning(UserWarning):
    """A reduction runs over elements that padding may have filled."""


class UnwrittenWarning(UserWarning):
    """A kernel writes nothing to one of its outputs."""


def render(error: Error) -> str:
    """Draw the picture: message, place, source line with caret, expected and got, calls, hint."""
    head = f"[{error.code}] {error.message}" if error.code else error.message
    lines = [head]
    if error.span is not None:
        lines += picture(error.span)
    lines += _facts(error)
    if error.span is not None:
        lines += _call_chain(error.span)
    if error.hint:
        lines.append(f"  hint: {error.hint}")
    return "\n".join(lines)


def _facts(error: Error) -> list[str]:
    lines: list[str] = []
    if error.expected is not None:
        lines.append(f"  expected: {error.expected}")
    if error.got is not None:
        lines.append(f"  got: {error.got}")
    lines += [f"  {label}: {place}" for label, place in error.places]
    return lines


def picture(span: Span) -> list[str]:
    """Draw the place, its source line and the caret under it."""
    lines = [f"  --> {span.place}"]
    text = span.file.line(span.line)
    if text is None:
        return lines
    gutter = str(span.line)
    pad = " " * len(gutter)
    end = span.end_column if span.end_line == span.line else len(text)
    # Columns count UTF-8 bytes, as ast does; the caret needs characters.
    before = len(text.encode()[: span.column].decode(errors="ignore"))
    until = len(text.encode()[:end].decode(errors="ignore"))
    caret = "^" * max(until - before, 1)
    blank = "".join("\t" if c == "\t" else " " for c in text[:before])
    return [*lines, f"{pad} |", f"{gutter} | {text}", f"{pad} | {blank}{caret}"]


def _call_chain(span: Span) -> list[str]:
    lines: list[str] = []
    inner, caller = span, span.caller
    while caller is not None:
        lines.append(f"  in `{inner.function}`, called at {caller.place}")
        inner, caller = caller, caller.caller
    return lines
