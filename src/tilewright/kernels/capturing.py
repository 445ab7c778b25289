"""Kernels that are captured at their first launch, so that importing this package stays quick."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..launch import Entry, Launch, entry


class Uncaptured:
    """A kernel of our own. Names in it are those of its module, wherever it is first launched."""

    def __init__(self, function: Callable[..., None]) -> None:
        self._function = function
        self._entry: Entry | None = None
        self.__doc__ = function.__doc__

    def __call__(self, *args: Any) -> Launch[Any]:
        """Build the op that runs the kernel on these arguments."""
        captured: Any = self._entry
        if captured is None:
            captured = self._entry = Entry(self._function, frame_locals={})
        launch: Launch[Any] = captured(*args)
        return launch


if TYPE_CHECKING:
    kernel = entry
else:
    kernel = Uncaptured
