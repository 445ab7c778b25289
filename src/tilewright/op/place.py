"""Remembers lines of the user's program: a code object and an instruction, never a frame."""

from __future__ import annotations

import inspect
import linecache
from pathlib import Path
from types import CodeType, FrameType
from typing import TypeAlias

from ..base.source import Place

Spot: TypeAlias = "tuple[CodeType, int] | None"
"""Where the user's program stood: code object and instruction. None: no user code on the stack."""

_OURS = str(Path(__file__).resolve().parent.parent) + "/"


def user_frame() -> FrameType | None:
    """The innermost frame on the stack that is not Tilewright's own. Not to be kept."""
    frame = inspect.currentframe()
    while frame is not None and frame.f_code.co_filename.startswith(_OURS):
        frame = frame.f_back
    return frame


def here() -> Spot:
    """The innermost line on the stack that is not Tilewright's own."""
    frame = user_frame()
    return None if frame is None else (frame.f_code, frame.f_lasti)


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
