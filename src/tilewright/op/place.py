"""Remembers lines of the user's program: a code object and an instruction, never a frame."""

from __future__ import annotations

import linecache
import sys
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType
from typing import TypeAlias

from ..base.source import Place

Spot: TypeAlias = "tuple[CodeType, int] | None"
"""Where the user's program stood: code object and instruction. None: no user code on the stack."""

_PACKAGE = str(Path(__file__).resolve().parent.parent) + "/"


class _Files(dict[str, bool]):
    """Whether files are Tilewright's own; asked several times a launch, so remembered."""

    def __missing__(self, filename: str) -> bool:
        ours = self[filename] = filename.startswith(_PACKAGE)
        return ours


_OURS = _Files()


_frame_at: Callable[[int], FrameType] = sys._getframe  # pyright: ignore[reportPrivateUsage]
"""The frame so many calls up the stack; those below it are not even made."""


def user_frame(known: int = 0) -> FrameType | None:
    """The innermost frame on the stack that is not Tilewright's own. Not to be kept.

    So many callers are known to be, and need no look.
    """
    try:
        frame: FrameType | None = _frame_at(known + 1)
    except ValueError:  # there is no other code: called from outside Python
        return None
    while frame is not None and _OURS[frame.f_code.co_filename]:
        frame = frame.f_back
    return frame


def here(known: int = 0) -> Spot:
    """The innermost line on the stack that is not Tilewright's own; `known` as in `user_frame`."""
    # As `user_frame` does, without the call: each op asks for the line that builds it, and for the
    # one that uses it.
    try:
        frame: FrameType | None = _frame_at(known + 1)
    except ValueError:
        return None
    while frame is not None:
        code = frame.f_code
        if not _OURS[code.co_filename]:
            return code, frame.f_lasti
        frame = frame.f_back
    return None


def place_of(spot: Spot) -> Place:
    """The spot as file, line and source text; done only when a message needs it."""
    if spot is None:
        return Place("<unknown>", 0)
    code, instruction = spot
    line = _line(code, instruction)
    return Place(code.co_filename, line, linecache.getline(code.co_filename, line).strip())


def _line(code: CodeType, instruction: int) -> int:
    for start, end, line in code.co_lines():
        if start <= instruction < end and line is not None:
            return line
    return code.co_firstlineno
