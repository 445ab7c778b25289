"""Interrupts (Ctrl-C) at any point of a call.

Python raises one where a function of Python is entered, or one of C is left, so one is raised at
each of these in turn.
"""

from __future__ import annotations

import faulthandler
import os
import signal
import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from linecache import getline
from types import FrameType

MOST_POINTS = 2000
TELL_NOBODY = ("_xla_gc_callback", "called_by_native_code")
"""Functions of Python that tell nobody of an error: one of JAX's, which comes with garbage
collection; and those that stand for functions of a driver."""


class Interrupt(BaseException):
    """As KeyboardInterrupt, which pytest takes for itself."""


class AlarmError(Exception):
    """What the handler of a timer may raise."""


@contextmanager
def ends_within(seconds: float) -> Generator[None, None, None]:
    """Run a block that fails, with its whole process and a traceback, if it lasts longer.

    For tests of what would never end: native code that hears no signal cannot be left otherwise.
    """
    faulthandler.dump_traceback_later(seconds, exit=True, file=sys.__stderr__ or sys.stderr)
    try:
        yield
    finally:
        faulthandler.cancel_dump_traceback_later()


def raise_at(point: int, run: Callable[[], None]) -> bool:
    """Run something that is interrupted where the so-many-th function of Python is entered.

    False: there are fewer of them.
    """
    left = point

    def count(frame: FrameType, event: str, argument: object) -> None:
        nonlocal left
        if frame.f_code.co_name in TELL_NOBODY:
            return
        left -= 1
        if not left:
            sys.settrace(None)
            raise Interrupt

    before = sys.gettrace()
    sys.settrace(count)
    try:
        run()
    except Interrupt:
        return True
    finally:
        sys.settrace(before)
    return left <= 0  # it came in a finalizer, which tells nobody


def raise_behind(point: int, run: Callable[[], None]) -> bool:
    """As `raise_at`, where the so-many-th function of C is left: its work is done by then."""
    left = point

    def count(frame: FrameType, event: str, argument: object) -> None:
        nonlocal left
        if event == "c_return" and frame.f_code.co_name not in TELL_NOBODY:
            left -= 1
            if not left:
                sys.setprofile(None)
                raise Interrupt

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        run()
    except Interrupt:
        return True
    finally:
        sys.setprofile(before)
    return left <= 0


@contextmanager
def interrupting(number: int) -> Generator[None, None, None]:
    """A block in which the handler of a signal raises `Interrupt`, whatever it was before."""

    def handle(*_: object) -> None:
        raise Interrupt

    before = signal.signal(number, handle)
    try:
        yield
    finally:
        signal.signal(number, before)


def in_quick_succession(
    point: int,
    run: Callable[[], None],
    kind: type[BaseException] = Interrupt,
    times: int = 3,
) -> bool:
    """Run something that signals interrupt where the so-many-th function of Python is entered.

    The handler of each sends the next one: they come while the first of them is handled. False:
    there are fewer functions.
    """
    left, sent, is_heard = point, 0, True

    def handle(*_: object) -> None:
        nonlocal sent
        if is_heard and sent < times:
            sent += 1
            signal.setitimer(signal.ITIMER_REAL, 1e-6 * 3**sent)
            raise kind

    def count(frame: FrameType, event: str, argument: object) -> None:
        nonlocal left
        left -= 1
        if not left:
            sys.settrace(None)
            os.kill(os.getpid(), signal.SIGALRM)

    def traced() -> None:
        sys.settrace(count)
        run()

    handler, before = signal.signal(signal.SIGALRM, handle), sys.gettrace()
    hook = sys.unraisablehook
    # Of pytest's own, which signals would interrupt; this one is no function of Python.
    sys.unraisablehook = id
    _absorbing(times, traced, kind)
    is_heard = False
    sys.unraisablehook = hook
    signal.setitimer(signal.ITIMER_REAL, 0)
    sys.settrace(before)
    signal.signal(signal.SIGALRM, handler)
    return left <= 0


def _absorbing(times: int, run: Callable[[], None], kind: type[BaseException]) -> None:
    """Run something that may raise so many interrupts, while the one before is handled too."""
    try:
        if times < 0:
            run()
        else:
            _absorbing(times - 1, run, kind)
    except kind:
        pass


def send_at(point: int, run: Callable[[], None], *, behind: bool = False) -> bool:
    """As `raise_at`, or `raise_behind`, by a signal: where none is handled, it is raised later."""
    left = point
    event, watch = ("c_return", sys.setprofile) if behind else ("call", sys.settrace)

    def count(frame: FrameType, seen: str, argument: object) -> None:
        nonlocal left
        left -= seen == event
        if not left:
            watch(None)
            os.kill(os.getpid(), signal.SIGALRM)

    with interrupting(signal.SIGALRM):
        try:
            try:
                watch(count)
                run()
            finally:
                watch(None)
                time.sleep(0)  # behind which it is raised at the latest
        except Interrupt:
            pass
    return left <= 0


def raise_on_line(point: int, run: Callable[[], None], folder: str) -> bool:
    """As `raise_at`, before the so-many-th line of code in a folder: where any call may end.

    Not where a `with` block is entered or left, which no signal tears apart.
    """
    left = point

    def count(frame: FrameType, event: str, argument: object) -> object:
        nonlocal left
        file = frame.f_code.co_filename
        if folder not in file:
            return None
        if event != "line" or getline(file, frame.f_lineno).lstrip().startswith("with "):
            return count
        left -= 1
        if not left:
            sys.settrace(None)
            raise Interrupt
        return count

    before = sys.gettrace()
    sys.settrace(count)
    try:
        run()
    except Interrupt:
        return True
    finally:
        sys.settrace(before)
    return left <= 0


def raise_often(run: Callable[[], None], times: int, every: float = 0.001) -> None:
    """Do something again and again until a signal has interrupted it so many times, at a rate.

    Not for some time: a busy machine may leave none for it.
    """

    def interrupt(*given: object) -> None:
        raise Interrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    hook, sys.unraisablehook = sys.unraisablehook, id  # of pytest's own, which signals interrupt
    left = times
    while left > 0:
        try:
            try:
                signal.setitimer(signal.ITIMER_REAL, every / 10, every)
                while True:
                    run()
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
        except Interrupt:
            left -= 1
    sys.unraisablehook = hook
    signal.signal(signal.SIGALRM, before)
