"""Whether an object is referenced by more than variables.

A variable that holds an emptied array sees nothing of its memory. Another holder may have kept the
address: a memoryview, a DLPack capsule, a tensor of another library. These cannot be queried; so
references are counted, and those of variables subtracted.
"""

from __future__ import annotations

import sys
from inspect import CO_OPTIMIZED
from types import FrameType

from ..base.location import frame_at

SNAPSHOTS = sys.version_info < (3, 13)
"""Whether the variables of a function are seen through a dict of the frame's, which holds them."""
_UNSHARED = sys.getrefcount({}) + 2
"""How often a dict is referred to that a frame holds, and one variable."""


def is_held_elsewhere(thing: object, error: BaseException | None = None, depth: int = 1) -> bool:
    """Return whether anything but variables refers to `thing`, besides the last `depth` callers.

    Variables are those of the running functions and modules of this thread, and of the frames of an
    error: this one, or one that a notebook keeps. Each counts as one reference. If in doubt, the
    answer is yes.
    """
    unknown, variables = object(), _Variables()
    # Both are variables of this function; the one is a variable of its caller's, too.
    frames = _frames(error, depth)
    looks = [(variables.look, frame) for frame in frames]
    looks += [(variables.look_at_module, frame) for frame in frames]
    for look, frame in looks:
        # Counted each time: to look at variables may make a dict that refers to them as well.
        if sys.getrefcount(thing) - sys.getrefcount(unknown) - depth * _PASSED <= variables.count():
            return False
        look(frame, thing)
    return sys.getrefcount(thing) - sys.getrefcount(unknown) - depth * _PASSED > variables.count()


def _frames(error: BaseException | None, depth: int) -> list[FrameType]:
    """Return the frames above the last callers of `is_held_elsewhere`, and those of errors."""
    found: list[FrameType] = []
    frame: FrameType | None = frame_at(2 + depth)  # its own would be kept by itself
    while frame is not None:
        found.append(frame)
        frame = frame.f_back
    errors, known = [error, sys.exc_info()[1], getattr(sys, "last_value", None)], set[int]()
    while errors:
        raised = errors.pop()
        if isinstance(raised, BaseException) and id(raised) not in known:
            known.add(id(raised))
            traceback = raised.__traceback__
            while traceback is not None:
                found.append(traceback.tb_frame)
                traceback = traceback.tb_next
            errors += [raised.__context__, raised.__cause__]
    return found


class _Variables:
    """Variables that refer to an object, each counted once."""

    def __init__(self) -> None:
        self._found = 0
        self._seen = set[int]()
        """Frames and namespaces that were looked at."""
        self._inner = set[str]()
        """Names of variables of functions that functions in these may see."""
        self._outer = set[str]()
        """Names of variables of functions around: all of one name may be one, or one of these."""

    def count(self) -> int:
        """Return a lower bound of their number."""
        return self._found + len(self._outer - self._inner)

    def look(self, frame: FrameType, thing: object) -> None:
        """Count those of a frame."""
        if id(frame) not in self._seen:
            self._seen.add(id(frame))
            if frame.f_code.co_flags & CO_OPTIMIZED:
                self._look_at_function(frame, thing)
            elif frame.f_locals is frame.f_locals:  # not a copy, made for comprehensions
                self._look_at_namespace(frame.f_locals, thing)

    def look_at_module(self, frame: FrameType, thing: object) -> None:
        """Count those of the module of a frame."""
        self._look_at_namespace(frame.f_globals, thing)

    def _look_at_namespace(self, space: dict[str, object], thing: object) -> None:
        if type(space) is dict and id(space) not in self._seen:
            self._seen.add(id(space))
            self._found += len(_names(space, thing))

    def _look_at_function(self, frame: FrameType, thing: object) -> None:
        space, code = frame.f_locals, frame.f_code
        names = _names(space, thing)
        self._outer |= names & {*code.co_freevars}
        self._inner |= names & {*code.co_cellvars}
        self._found += len(names - {*code.co_freevars})
        if SNAPSHOTS:
            if sys.getrefcount(space) == _UNSHARED:
                space.clear()  # or it would hold what variables hold now, after they let go
            else:
                self._found += len(names)  # a debugger looks at it, or the user


def _names(space: dict[str, object], thing: object) -> set[str]:
    return {name for name, value in list(space.items()) if value is thing}


def _passed() -> int:
    """Return how many references a call adds to an argument."""

    def inside(thing: object) -> int:
        unknown = object()
        return sys.getrefcount(thing) - sys.getrefcount(unknown)

    mine = object()
    return inside(mine)


_PASSED = _passed()
