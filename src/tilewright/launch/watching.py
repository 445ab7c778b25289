"""Reports launches whose code is missing, to tools that compile ahead of time."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from ..base.shapes import Shape
from .form import Form, Request

if TYPE_CHECKING:
    from .arguments import Bound
    from .kernel import Kernel


@dataclass(frozen=True, slots=True)
class Needed:
    """A launch, the first of its kind: what code must be compiled for."""

    kernel: Kernel
    form: Form
    request: Request
    grid: Shape
    addresses: Sequence[int]
    """Where each tensor of the form lies, as far as alignment goes."""


Watcher: TypeAlias = Callable[[Needed], None]

_WATCHERS: list[Watcher] = []


@contextmanager
def watching(watcher: Watcher) -> Generator[None, None, None]:
    """Call `watcher` for each launch, in any thread, whose code is about to be made."""
    _WATCHERS.append(watcher)
    try:
        yield
    finally:
        _WATCHERS.remove(watcher)


@dataclass(frozen=True, slots=True)
class Arrived:
    """The first launch of its kind with its arguments: its code has been made, it has not run."""

    needed: Needed
    bound: Bound
    grid: Shape
    """That of its device, the last axis fastest."""


_ARRIVALS: list[Callable[[Arrived], None]] = []


@contextmanager
def watching_arguments(watcher: Callable[[Arrived], None]) -> Generator[None, None, None]:
    """Call `watcher` for each launch, in any thread, whose code has just been made."""
    _ARRIVALS.append(watcher)
    try:
        yield
    finally:
        _ARRIVALS.remove(watcher)


def note_arguments(kernel: Kernel, bound: Bound, request: Request, grid: Shape) -> None:
    """Notify those who want to see arguments."""
    for watcher in tuple(_ARRIVALS):
        addresses = [region.address for region in bound.memory]
        needed = Needed(kernel, bound.form, request, grid, addresses)
        watcher(Arrived(needed, bound, grid))


def note(
    kernel: Kernel, form: Form, request: Request, grid: Shape, addresses: Sequence[int]
) -> None:
    """Notify the watchers."""
    for watcher in tuple(_WATCHERS):
        watcher(Needed(kernel, form, request, grid, addresses))
