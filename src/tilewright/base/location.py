"""Find the location of the user's program: a code object and an instruction, never a frame."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType
from typing import TypeAlias

from .._core import location, set_ours

Location: TypeAlias = "tuple[CodeType, int] | None"
"""Where the user's program stood: code object and instruction. None: no user code on the stack."""

PACKAGE = str(Path(__file__).resolve().parent.parent) + os.sep
"""What the names of our own files begin with."""

_BETWEEN = tuple(f"-packages/{library}/" for library in ("torch", "jax", "functorch"))
"""Libraries that call operators of ours for the user's program: it stands above them."""


class _Files(dict[str, bool]):
    """A cache of whether a file belongs to Tilewright or to a library between it and the user.

    Asked several times a launch, so remembered.
    """

    def __missing__(self, filename: str) -> bool:
        ours = filename.startswith(PACKAGE) or any(part in filename for part in _BETWEEN)
        self[filename] = ours
        return ours


OURS = _Files()
"""Native code asks this, too."""


frame_at: Callable[[int], FrameType] = sys._getframe  # pyright: ignore[reportPrivateUsage]
"""The frame so many calls up the stack; those below it are not even made."""


def user_frame(known: int = 0) -> FrameType | None:
    """Return the innermost stack frame outside of Tilewright. Do not hold it.

    So many callers are known to be, and need no look.
    """
    try:
        frame: FrameType | None = frame_at(known + 1)
    except ValueError:  # there is no other code: called from outside Python
        return None
    while frame is not None and OURS[frame.f_code.co_filename]:
        frame = frame.f_back
    return frame


set_ours(OURS)

here: Callable[..., Location] = location
"""`here(known=0)`: the innermost line that is not Tilewright's own; `known` as in `user_frame`."""
