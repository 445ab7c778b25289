"""Lines of the user's program, as messages name them."""

from __future__ import annotations

import linecache
from types import CodeType

from ..base.location import Location, here, user_frame
from ..base.source import HostLocation

__all__ = ["Location", "here", "place_of", "user_frame"]


def place_of(location: Location) -> HostLocation:
    """Return the location as file, line and source text; done only when a message needs it."""
    if location is None:
        return HostLocation("<unknown>", 0)
    code, instruction = location
    line = _line(code, instruction)
    return HostLocation(code.co_filename, line, linecache.getline(code.co_filename, line).strip())


def _line(code: CodeType, instruction: int) -> int:
    for start, end, line in code.co_lines():
        if start <= instruction < end and line is not None:
            return line
    return code.co_firstlineno
