"""A block, or a thread, between its stand-ins and the interpreter."""

from __future__ import annotations

import sys
from bdb import Bdb
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from types import FrameType
from typing import Any, Generic, TypeVar

from ..backend.reference.machine import Frame, Meet, Results, Steps
from ..base.location import frame_at
from ..ir.attrs import DebugEvent, DebuggedFunction, Scene
from ..ir.core import Op
from ..ir.ops.control import BREAKPOINT
from .stand_in import ENDED, RESULT, code_of, globals_of
from .untraced import call_traced, is_traced, untraced
from .values import shown

T = TypeVar("T")
PACKAGE = __name__.partition(".")[0] + "."


class Stepper:
    """Follows the blocks of a launch, one at a time.

    Of a kernel whose threads synchronize, one is followed: until it ends, others do not stop.
    """

    def __init__(
        self, block: tuple[int, ...] | None = None, thread: tuple[int, ...] | None = None,
        *, stops_first: bool = False,
    ) -> None:  # fmt: skip
        self.block, self.thread = block, thread
        self.stops_first = stops_first
        """Whether the debugger stops at the first line, whatever the kernel says."""
        self.is_busy = False

    def begin(self, frame: Frame) -> Actor:
        """Return a block, or a thread, that is about to run."""
        return Actor(self, frame)

    def chose(self, frame: Frame) -> bool:
        """Return whether a block, or a thread, is what the user wants to follow."""
        return _is_at(frame.block, self.block) and _is_at(frame.thread, self.thread)


def _is_at(place: tuple[int, ...] | None, wanted: tuple[int, ...] | None) -> bool:
    """Return whether a place is the one; axes that are not given are 0."""
    if wanted is None or place is None:
        return True
    return place == wanted[: len(place)] + (0,) * (len(place) - len(wanted))


@dataclass(eq=False, slots=True)
class Activation:
    """A call of a function of the kernel."""

    function: DebuggedFunction
    names: dict[str, Any]
    globals: dict[str, Any] = field(default_factory=dict[str, Any])
    line: int = 0
    is_new: bool = True
    """Whether none of its statements has begun."""


@dataclass(eq=False, slots=True)
class Actor:
    """What runs: it knows the calls that it is in, and drives their stand-ins if it is followed."""

    stepper: Stepper
    frame: Frame
    calls: list[Activation] = field(default_factory=list[Activation])
    steps: Steps | None = None
    meet: Meet | None = None
    answer: Results | None = None
    stop: bool = False
    """Whether the debugger is to stop before anything else."""

    # Not followed yet: only the calls are noted.

    def hear(self, op: Op) -> bool:
        """Take note of an event; return whether to take over from here."""
        event = self.note(op)
        if self.stepper.is_busy or not self.stepper.chose(self.frame):
            return False
        if event is DebugEvent.STOP:
            self.stop = True
            return True
        first = event is DebugEvent.CALL and len(self.calls) == 1
        self.stop = first and self.stepper.stops_first
        return self.stop or (first and is_traced())

    def note(self, op: Op) -> DebugEvent:
        """Take note of where the kernel is, and of its variables."""
        event: DebugEvent = op.attrs["event"]
        if event is DebugEvent.STOP:
            return event
        scene: Scene = op.attrs["scene"]
        names = shown(self.frame, op)
        if event is DebugEvent.CALL:
            self.calls.append(Activation(scene.function, names, line=scene.function.first_line))
        elif event is DebugEvent.RETURN:
            ended = self.calls.pop()
            ended.globals[RESULT], ended.globals[ENDED] = names.get("result"), True
        else:
            assert op.span is not None, "the front end knows where it is"
            latest = self.calls[-1]
            latest.line, latest.is_new = op.span.line, False
            latest.names.clear()
            latest.names.update(names)
        return event

    # Followed: stand-ins run, and let the interpreter go on line by line.

    def drive(self, steps: Steps, meet: Meet) -> None:
        """Run to the end, in stand-ins of the calls that it is in, and of those to come."""
        self.steps, self.meet = steps, meet
        self.stepper.is_busy = True
        try:
            call_traced(self.entered(0))
        except BaseException:
            steps.close()
            raise
        finally:
            self.stepper.is_busy = False

    def entered(self, depth: int) -> Callable[[], object]:
        """Return what begins the stand-in of a call, and those of the calls inside of it."""
        activation = self.calls[depth]
        inner = depth + 1 < len(self.calls)
        waiting = [self.entered(depth + 1)] if inner else []
        frame = self.frame
        place = {"block": frame.block, "thread": frame.thread}
        # A call that has just begun finds out by itself where its first statement is.
        first = [activation.line] if inner or self.stop or not activation.is_new else []
        activation.globals = globals_of(
            activation.function,
            untraced(partial(self.go, activation, waiting)),
            untraced(partial(self.line_of, activation, first)),
            place,
        )
        return partial(exec, code_of(activation.function), activation.globals, activation.names)

    def line_of(self, activation: Activation, first: list[int]) -> int:
        """Return the line that a stand-in goes to."""
        if first:
            return first.pop()
        if activation.is_new:
            self.advance(activation)
        return activation.line

    def go(self, activation: Activation, waiting: list[Callable[[], object]]) -> object:
        """Run a statement: return each call that is made in it, and None when it is over."""
        if waiting:
            return (waiting.pop(),)
        if self.stop and self.calls[-1] is activation:
            self.stop = False
            return (breakpoint,)
        if activation.is_new:
            _stop_at_a_line()
        try:
            return self.advance(activation)
        except BaseException as error:
            # Raised by the stand-in: nothing may be raised while tracing is suspended.
            return _throw, error

    def advance(self, activation: Activation) -> object:
        """Let the interpreter go on to the next event, and return the call that it asks for."""
        op = self.next_event()
        if op is None:
            activation.globals[ENDED] = True
            return None
        event = self.note(op)
        if event is DebugEvent.STOP:
            return (breakpoint,)
        if event is DebugEvent.CALL:
            return (self.entered(len(self.calls) - 1),)
        return None

    def next_event(self) -> Op | None:
        """Return the next event; None at the end, or if the launch is over."""
        assert self.steps is not None, "it is driven"
        assert self.meet is not None, "so it is"
        while True:
            try:
                op = next(self.steps) if self.answer is None else self.steps.send(self.answer)
            except StopIteration:
                return None
            self.answer = None
            if op.is_a(BREAKPOINT):
                return op
            self.answer = self.meet(op)
            if self.answer is None:
                self.steps.close()
                return None


def _throw(error: BaseException) -> None:
    raise error


def follow(run: Callable[[], T]) -> T:
    """Run a launch whose blocks a debugger may follow: what it sees are the stand-ins alone."""
    outcome = untraced(partial(_outcome, run, _user_frame()))()
    if outcome.error is not None:
        raise outcome.error
    return outcome.results[0]


@dataclass(frozen=True, slots=True)
class _Outcome(Generic[T]):
    results: tuple[T, ...]
    error: BaseException | None = None


def _outcome(run: Callable[[], T], user: FrameType | None) -> _Outcome[T]:
    try:
        return _Outcome((run(),))
    except BaseException as error:
        return _Outcome((), error)
    finally:
        _step_out(user)


def _user_frame() -> FrameType | None:
    """Return the frame of the program that has asked for the launch."""
    frame: FrameType | None = frame_at(1)
    while frame is not None and str(frame.f_globals.get("__name__")).startswith(PACKAGE):
        frame = frame.f_back
    return frame


def _step_out(user: FrameType | None) -> None:
    """Let a debugger that goes step by step stop next in the program, not in between."""
    debugger = _debugger()
    if debugger is not None and user is not None and getattr(debugger, "stoplineno", -1) != -1:
        debugger.set_next(user)


def _stop_at_a_line() -> None:
    """Let a debugger that has begun stop at the first statement.

    Since Python 3.13 it stops at the next instruction: that is still one of the `def` line.
    """
    debugger = _debugger()
    if debugger is not None and getattr(debugger, "trace_opcodes", False):
        debugger.set_step()


def _debugger() -> Bdb | None:
    """Return the debugger of this thread if it is made of the standard library's."""
    debugger: object = getattr(sys.gettrace(), "__self__", None)
    return debugger if isinstance(debugger, Bdb) else None
