"""The one thread that watches events for all callers that do not block, and the few that continue.

Both are created when first needed, and again in a child process. The watching thread runs no user
functions, which would delay other callers. `continue_soon` runs those in a small pool.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple

from ..base.shield import shielded
from ..base.system import at_fork
from ..base.threads import Crew, called_apart
from ..devices.protocol import Event, Progress
from .signals import Awaited, Signal, call_safely

SHORTEST, LONGEST = 20e-6, 2e-3
"""Seconds between two looks at events of several devices: an eighth of the time since the last
one passed. Those of one device need no looking: it tells when it has moved."""

CONTINUING = 4
"""Threads that run what users chained after host data, at most."""

NO_COUNT = -1
"""Of which no device has seen so much progress: asking for more gives what there is."""


class Watched(NamedTuple):
    """An event, and what to call when it has passed."""

    event: Event
    callback: Callable[[], None]


class Reactor:
    """Calls back when events have passed. All its calls come from one thread."""

    def __init__(self) -> None:
        self._wake = threading.Condition(threading.Lock())
        self._new: list[Watched] = []
        self._thread: threading.Thread | None = None
        self._crew: Crew | None = None
        self._asleep: Progress | None = None
        """What the thread sleeps on, if it sleeps."""
        self._survives_fork = False

    def when(self, event: Awaited, callback: Callable[[], None]) -> None:
        """Call `callback`, which must be short, once the event has passed."""
        if isinstance(event, Signal):
            event.call(callback)
            return
        if not shielded(self._hand_over, Watched(event, callback)):
            event.wait()
            callback()

    def _hand_over(self, watched: Watched) -> bool:
        """Pass an event to the thread; False: no thread can be started."""
        with self._wake:
            if self._thread is None:
                self._prepare_for_fork()
                called_apart(self._start)
            if self._thread is None:
                return False
            self._new.append(watched)
            self._wake.notify()
            asleep = self._asleep  # it may wake up between two looks
            if asleep is not None:
                asleep.poke()
        return True

    def _start(self) -> None:
        """Start the thread, if there is one to be had."""
        thread = threading.Thread(target=self._watch, name="tilewright-reactor", daemon=True)
        with suppress(RuntimeError):
            thread.start()
            self._thread = thread

    def continue_soon(self, function: Callable[[], object]) -> None:
        """Run a function on one of the threads for work that follows host data."""
        if not shielded(self._submit, function):
            function()

    def _submit(self, function: Callable[[], object]) -> bool:
        """Pass a function to the crew; False: no thread can be started."""
        with self._wake:
            if self._crew is None:
                self._prepare_for_fork()
                self._crew = Crew(CONTINUING, "tilewright-continues")
            return self._crew.take(function)

    def _prepare_for_fork(self) -> None:
        if not self._survives_fork:
            at_fork(after_in_child=self._begin_anew)
            self._survives_fork = True

    def _begin_anew(self) -> None:
        """Reset in a child process, where the threads and their tasks do not exist."""
        self._wake = threading.Condition(threading.Lock())
        self._new, self._thread, self._crew, self._asleep = [], None, None, None

    def _watch(self) -> None:
        watched: list[Watched] = []
        since = time.monotonic()
        while True:
            with self._wake:
                while not (watched or self._new):
                    self._wake.wait()
                new, self._new = self._new, []
            passed, watched = _sorted_out([*watched, *new])
            if passed or new:
                since = time.monotonic()
            _call_all(passed)
            del new, passed  # else the last callback would be kept while nothing happens
            if watched:
                self._sleep(watched, (time.monotonic() - since) / 8)

    def _sleep(self, watched: list[Watched], seconds: float) -> None:
        """Sleep until one of the events may have passed, or there are new ones."""
        progress = _only_progress(watched)
        seen = None if progress is None else _begin_to_watch(progress, watched)
        if progress is None or seen is None:
            with self._wake:
                if not self._new:
                    self._wake.wait(min(max(seconds, SHORTEST), LONGEST))
            return
        with self._wake:
            if self._new:
                return
            self._asleep = progress
        try:
            progress.wait(seen)
        finally:
            self._asleep = None


def _sorted_out(watched: list[Watched]) -> tuple[list[Watched], list[Watched]]:
    """Return the watched events that have passed, and the others."""
    passed: list[Watched] = []
    others: list[Watched] = []
    for each in watched:
        (passed if _is_over(each.event) else others).append(each)
    return passed, others


def _call_all(passed: list[Watched]) -> None:
    """Call all callbacks; a loop variable in the caller would keep the last one alive."""
    for each in passed:
        call_safely(each.callback)


def _is_over(event: Event) -> bool:
    """Return whether an event has passed or failed; the watcher meets the same error again."""
    try:
        return event.done()
    except Exception:
        return True


def _begin_to_watch(progress: Progress, watched: list[Watched]) -> int | None:
    """Watch events; gives the count as it was before. None: they must be looked at instead."""
    try:
        seen = progress.wait(NO_COUNT, 0)
        return seen if all(progress.watch(each.event) for each in watched) else None
    except Exception:  # a device that was lost: its events say so to who looks at them
        return None


def _only_progress(watched: list[Watched]) -> Progress | None:
    devices = {each.event.stream.device for each in watched}
    return devices.pop().progress if len(devices) == 1 else None


REACTOR = Reactor()
