"""Runs a program, and records what it launches: each specialization once, with its arguments."""

from __future__ import annotations

import ctypes
import sys
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any, cast

import numpy as np

from ...base.errors import Error
from ...base.shapes import Shape
from ...launch.arguments import Bound, OutputArg
from ...launch.inspection import Inspection
from ...launch.run import values_of
from ...launch.watching import Arrived, Needed, watching, watching_arguments
from ...op.ambient import synchronize
from ...tensors.region import Region
from ..run import run_program
from ..subcommand import UsageError
from .sources import PACKAGE

MOST_BYTES = 1 << 30
"""Bytes of arguments that are copied for one launch."""
QUICK_BYTES = 1 << 20
"""Bytes of arguments that the interpreter goes over in a moment."""


@dataclass(slots=True)
class Launched:
    """A launch of the program, the first of its kind."""

    needed: Needed
    grid: Shape = ()
    """That of the device it ran on, the last axis fastest."""
    values: list[Any] | None = None
    """Copies of its arguments as they were before, for the interpreter; None without."""
    unwritten: frozenset[str] = frozenset()
    """The outputs that had not been written before."""
    why: str = ""
    """Why there are no values."""
    size: int = -1
    """Bytes of its arguments; -1 where they are not known."""


def launches(path: Path, name: str | None) -> list[Launched]:
    """Run a program and return what it launches; with a name only that kernel."""
    found = _Found()
    # What the program prints is not the command's answer.
    with watching(found.needs), watching_arguments(found.arrived), redirect_stdout(sys.stderr):
        status = run_program(path, ())
    if status:
        raise UsageError(f"{path} ended with status {status}")
    kept = [each for each in found.all() if name in (None, each.needed.kernel.name)]
    if not kept:
        which = f" `{name}`" if name else ""
        raise UsageError(f"{path} launches no kernel{which}")
    # Those of the library itself fill tensors: users have not written them.
    users = [each for each in kept if not _is_ours(each)]
    return users or kept


def _is_ours(launched: Launched) -> bool:
    return launched.needed.kernel.source.source.file.name.startswith(PACKAGE)


class _Found:
    """The launches so far: of each specialization the one that shows most."""

    def __init__(self) -> None:
        self._lock = Lock()  # a program may launch from several threads
        self._kept: dict[object, Launched] = {}

    def all(self) -> list[Launched]:
        return list(self._kept.values())

    def needs(self, needed: Needed) -> None:
        launched = Launched(needed, why="the launch did not get as far as its arguments")
        with self._lock:
            self._kept.setdefault(_specialization(needed), launched)

    def arrived(self, arrival: Arrived) -> None:
        key = _specialization(arrival.needed)
        with self._lock:
            known = self._kept.get(key)
            if known is None or _fitness(known.size) < _fitness(size_of(arrival.bound)):
                self._kept[key] = _with_arguments(arrival)


def _specialization(needed: Needed) -> object:
    """Return what tells code from other code: everything but targets."""
    signature = Inspection.of_launch(needed, "reference").signature
    return id(needed.kernel.captured), signature, needed.request.options


def _fitness(size: int) -> tuple[bool, int]:
    """Return what ranks launches: more memory is better, as far as the interpreter is quick."""
    return (True, size) if size <= QUICK_BYTES else (False, -size)


def _regions(bound: Bound) -> list[Region]:
    return bound.used


def size_of(bound: Bound) -> int:
    """Return the bytes of all arguments of a launch."""
    return sum(region.end - region.start for region in _regions(bound))


def _with_arguments(arrival: Arrived) -> Launched:
    """Return a launch, which has not run yet, with copies of its arguments."""
    bound, size = arrival.bound, size_of(arrival.bound)
    outputs = [arg.parameter.name for arg in bound.form.args if isinstance(arg, OutputArg)]
    written = zip(outputs, bound.written, strict=True)
    unwritten = frozenset(name for name, region in written if not region.is_written)
    launched = Launched(arrival.needed, arrival.grid, unwritten=unwritten, size=size)
    if not all(region.storage.device.host_visible for region in _regions(bound)):
        launched.why = "its arguments are on a GPU: run the program on the CPU"
    elif size > MOST_BYTES:
        launched.why = f"its arguments take {size >> 20} MiB, of which no copy is made"
    else:
        try:
            synchronize(bound.device)  # work before it may still write them
            launched.values = [copied(value) for value in values_of(bound.form.args, bound)]
        except Error as error:
            launched.why = f"its arguments could not be read: {error.message}"
    return launched


def copied(value: Any) -> Any:
    """Return a copy of an array with the same strides; numbers are what they are."""
    if not isinstance(value, np.ndarray):
        return value
    array: Any = cast("Any", value)
    return _copied_array(array) if array.size else array


def _copied_array(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    low = high = 0
    for n, stride in zip(array.shape, array.strides, strict=True):
        low += min((n - 1) * stride, 0)
        high += max((n - 1) * stride, 0)
    span = high + array.itemsize - low
    raw = bytearray((ctypes.c_char * span).from_address(array.ctypes.data + low).raw)
    return np.ndarray(array.shape, array.dtype, raw, -low, array.strides)
