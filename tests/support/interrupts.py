"""Interrupts (Ctrl-C) at any point of a call.

Python raises one where a function of Python is entered, so one is raised at each of these in turn.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType

MOST_POINTS = 2000


class Interrupt(BaseException):
    """As KeyboardInterrupt, which pytest takes for itself."""


def raise_at(point: int, run: Callable[[], None]) -> bool:
    """Run something that is interrupted at a point; False: it has fewer of them."""
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
