"""Outcome: what became of one started piece of work, and that its error is seen by somebody."""

from __future__ import annotations

import sys
from typing import TypeAlias

from ..devices.protocol import Event
from .place import Location, place_of

Trail: TypeAlias = "tuple[tuple[str, Location], ...]"
"""Names of ops, and where they were built: an op, then those it was run for."""


class Outcome:
    """A started piece of work: its end, and its error if it has failed.

    The code that starts the work sets `event`, and calls `settle` once the device has passed it, by
    `stream.after`. An unobserved error is reported when the outcome is dropped.
    """

    __slots__ = ("__weakref__", "_trail", "error", "event", "observed", "settled")

    def __init__(self, trail: Trail = (), event: Event | None = None) -> None:
        self._trail = trail
        self.event = event
        self.error: Exception | None = None
        self.observed = False
        self.settled = False

    @property
    def name(self) -> str:
        """The op whose work it is."""
        return self._trail[0][0] if self._trail else "op"

    @property
    def is_known_well(self) -> bool:
        """Whether the outcome is settled: the work succeeded, or its error was observed."""
        return self.settled and (self.error is None or self.observed)

    def settle(self, error: Exception | None = None) -> None:
        """Note how the work ended."""
        if error is not None:
            for op in self._trail:
                note_once(error, whereabouts(*op))
            self.error = error
        self.settled = True

    def failed(self) -> bool:
        """Return whether finished work has failed; call it after its event has passed."""
        if not self.settled and self.event is not None:
            self.event.stream.sweep()
        return self.error is not None

    def check(self) -> None:
        """Raise the error of work that is done; to be called once its event has passed."""
        if self.failed():
            self.observed = True
            assert self.error is not None
            raise self.error

    def __del__(self) -> None:
        error = getattr(self, "error", None)  # an interrupt may have come before it had any
        if error is not None and not self.observed:
            report_unobserved(error, f"the exception of the op `{self.name}` was never retrieved")


def note_once(error: BaseException, note: str) -> None:
    """Add a note that the error does not have: where work is read, its chain is passed again."""
    if note not in getattr(error, "__notes__", ()):
        error.add_note(note)


def whereabouts(name: str, location: Location) -> str:
    """Format the note that an error gets for each op it passes."""
    return f"while running `{name}`, built at {place_of(location)}"


class Unobserved:
    """An error that no caller will receive:

    Python passes what finalizers raise to `sys.unraisablehook`.
    """

    __slots__ = ("error",)

    def __init__(self, error: BaseException) -> None:
        self.error = error

    def __del__(self) -> None:
        raise self.error


def report_unobserved(error: BaseException, message: str) -> None:
    """Pass an error that no caller receives to `sys.unraisablehook`; not during shutdown."""
    if not sys.is_finalizing():
        error.add_note(message)
        Unobserved(error)
