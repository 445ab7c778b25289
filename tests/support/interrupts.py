"""Interrupts (Ctrl-C) at any point of a call.

Python raises one where a function of Python is entered, or one of C is left, so one is raised at
each of these in turn.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType

MOST_POINTS = 2000


class Interrupt(BaseException):
    """As KeyboardInterrupt, which pytest takes for itself."""


def raise_at(point: int, run: Callable[[], None]) -> bool:
    """Run something that is interrupted where the so-many-th function of Python is entered.

    False: there are fewer of them.
    """
    left = point

    def count(frame: FrameType, event: str, argument: object) -> None:
        nonlocal left
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
        if event == "c_return":
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
