"""Ranges of NVTX, which NVIDIA's profilers show: by its library for C, or by its wheel."""

from __future__ import annotations

import ctypes
import importlib
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from ..base.errors import ContextError

WHEEL = "nvtx"
LIBRARY = "libnvToolsExt.so.1"
DOMAIN = "tilewright"


class Ranges(NamedTuple):
    """The two functions of NVTX that begin and end a range of the calling thread."""

    push: Callable[[str], object]
    pop: Callable[[], object]

    @contextmanager
    def around(self, name: str) -> Generator[None, None, None]:
        """Show a block as a range."""
        self.push(name)
        try:
            yield
        finally:
            self.pop()


def find_ranges() -> Ranges:
    """Return NVTX as it is found here: the wheel, or the library; raise if there is neither."""
    found = _of_wheel() or _of_library()
    if found is None:
        raise ContextError(
            "NVTX was not found",
            expected=f"the Python package `{WHEEL}`, or the library {LIBRARY}",
            got="neither",
            hint=f"pip install {WHEEL}",
        )
    return found


def _of_wheel() -> Ranges | None:
    try:
        wheel: Any = importlib.import_module(WHEEL)
    except ImportError:
        return None
    domain = wheel.get_domain(DOMAIN)

    def push(name: str) -> object:
        return domain.push_range(domain.get_event_attributes(message=name))

    return Ranges(push, domain.pop_range)


def _of_library() -> Ranges | None:
    """Find the library where the system looks, or where NVIDIA's wheels put it."""
    places = [Path(entry, "nvidia", "nvtx", "lib", LIBRARY) for entry in sys.path]
    for place in (LIBRARY, *[str(path) for path in places if path.is_file()]):
        try:
            library = ctypes.CDLL(place)
        except OSError:
            continue
        return _ranges_of(library)
    return None


def _ranges_of(library: ctypes.CDLL) -> Ranges:
    def push(name: str) -> object:
        return library.nvtxRangePushA(name.encode())

    return Ranges(push, library.nvtxRangePop)
