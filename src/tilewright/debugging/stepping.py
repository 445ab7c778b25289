"""A block, or a thread, between its stand-ins and the interpreter, and what debuggers see of it."""

from __future__ import annotations

import ctypes
import dataclasses
import sys
from bdb import Bdb
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from operator import itemgetter
from types import FrameType
from typing import Any, Generic, TypeVar, cast

import numpy as np

from ..backend.reference.machine import Data, Frame, Meet, Results, Steps, TensorData
from ..base.location import frame_at
from ..ir.attrs import DebugEvent, DebuggedFunction, OperandRef, Scene
from ..ir.core import Op, Value
from ..ir.ops.control import BREAKPOINT
from ..ir.types import TensorType, TileType
from .stand_in import ENDED, RESULT, code_of, globals_of

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


# -------------------------------------------------------------------------------------------------
# Calls that debuggers do not see: they would step into the interpreter.
#
# CPython suspends tracing for a thread by two functions of its C API. What is called in between by
# a function of Python would be seen itself, so here all of a call is made of iterators in C.

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


# -------------------------------------------------------------------------------------------------
# Values as a debugger shows them: NumPy arrays that cannot be written.


def shown(frame: Frame, op: Op) -> dict[str, Any]:
    """Return the names of an event with their values."""
    scene: Scene = op.attrs["scene"]
    values = [(value, frame.values[value]) for value in op.operands]
    pairs = zip(scene.names, scene.trees, strict=True)
    return {name: _filled(frame, tree, values) for name, tree in pairs}


def _filled(frame: Frame, tree: Any, values: Sequence[tuple[Value, Data]]) -> Any:
    if isinstance(tree, OperandRef):
        return _value(frame, *values[tree.number], tree)
    if isinstance(tree, tuple | list):
        return _sequence(tree, [_filled(frame, part, values) for part in cast("list[Any]", tree)])
    if dataclasses.is_dataclass(tree) and not isinstance(tree, type) and _has_operand(tree):
        kind: type[Any] = type(tree)
        copy: Any = object.__new__(kind)
        for field in dataclasses.fields(tree):
            object.__setattr__(copy, field.name, _filled(frame, getattr(tree, field.name), values))
        return copy
    return tree


def _sequence(tree: Any, parts: list[Any]) -> Any:
    """Return parts as a NamedTuple, a list or a tuple, whichever the tree is."""
    if hasattr(tree, "_fields"):
        kind = cast("Any", type(tree))
        return kind(*parts)
    return parts if isinstance(tree, list) else tuple(parts)


def _has_operand(tree: Any) -> bool:
    return any(isinstance(getattr(tree, field.name, None), OperandRef | tuple | list)
               for field in dataclasses.fields(tree))  # fmt: skip


def _value(frame: Frame, value: Value, data: Data, operand: OperandRef) -> Any:
    if isinstance(value.type, TileType) and isinstance(data, np.ndarray):
        copy = np.array(data)
        copy.flags.writeable = False
        return copy[()]
    if isinstance(value.type, TensorType) and isinstance(data, TensorData):
        return _memory(frame, value.type, data, operand.tile)
    return None


def _memory(frame: Frame, kind: TensorType, data: TensorData, tile: tuple[int, ...] | None) -> Any:
    """Return the memory of a tensor; of an output, the part that the block owns."""
    if 0 in data.extents:
        return np.zeros(data.extents, kind.dtype.np)
    low = sum(min((n - 1) * s, 0) for n, s in zip(data.extents, data.strides, strict=True))
    high = sum(max((n - 1) * s, 0) for n, s in zip(data.extents, data.strides, strict=True))
    span = high - low + kind.dtype.itemsize
    raw: Any = (ctypes.c_char * span).from_address(data.address + low)
    whole = np.ndarray(data.extents, kind.dtype.np, raw, -low, data.strides)
    whole.flags.writeable = False
    if tile is None or frame.thread is not None:
        return whole
    place = zip(frame.block, tile, strict=False)
    return whole[tuple(slice(i * n, (i + 1) * n) for i, n in place)]
