"""Runs an op to its end: drives its steps, waits for events, and keeps starts from nesting."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator
from typing import TypeVar

from ..base.errors import Error
from ..driver.protocol import Event, Stream
from .context import ExecutionContext

T = TypeVar("T")

Steps = Generator[Event, None, T]
"""An op under way: yields what must be waited for before it can go on, returns the result."""


class _Thread(threading.local):
    starting: str | None = None


_THREAD = _Thread()


def refuse_nested(name: str) -> None:
    """Raise if this thread is inside another op's start, where ops may be built but not run."""
    outer = _THREAD.starting
    if outer is not None:
        raise Error(
            f"`{name}` cannot be run here: `{outer}` is being started on this thread,"
            " and its function may only build ops",
            hint="return the op instead of running it",
        )


def run_at_once(name: str, work: Callable[[ExecutionContext], T], ctx: ExecutionContext) -> T:
    """Do work that waits for nothing on its way, and wait for the stream."""
    _THREAD.starting = name
    try:
        result = work(ctx)
    finally:
        _THREAD.starting = None
    ctx.stream.synchronize()
    return result


def run_to_end(name: str, steps: Steps[T], stream: Stream) -> T:
    """Drive steps to their result and wait for the stream.

    The mark that refuses nested runs is lifted while an event is waited for, and on every error.
    """
    while True:
        _THREAD.starting = name
        try:
            event = next(steps)
        except StopIteration as stop:
            result: T = stop.value
            break
        finally:
            _THREAD.starting = None
        event.wait()
    stream.synchronize()
    return result


def drain(steps: Steps[T]) -> T:
    """Drive steps to their result, waiting for each event in turn."""
    while True:
        try:
            event = next(steps)
        except StopIteration as stop:
            result: T = stop.value
            return result
        event.wait()
