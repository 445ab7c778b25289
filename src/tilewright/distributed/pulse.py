"""The pulses of ranks: the sign by which others know that a rank is alive, and how far it is."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from typing import NamedTuple

from .store import Patience, Store
from .verdict import GONE, LEFT, Verdict, published

NOTHING = "nothing yet"
HAS_LEFT = "left"
"""The pulse of a rank that has closed its group."""


class Pulse:
    """Writes, every few moments and from a separate thread, that this rank is alive."""

    def __init__(
        self,
        store: Store,
        rank: int,
        beat: float,
        *,
        each: Callable[[], None] | None = None,
        lost: Callable[[Exception], None] | None = None,
    ) -> None:
        """Begin. `each` is called after every beat, and `lost` when the store does not answer."""
        self.store, self.rank = store, rank
        self.at = NOTHING
        """The last collective that this rank has reached."""
        self._beat, self._count = beat, 0
        self._each, self._lost = each, lost
        self._ended = threading.Event()
        self._thread = threading.Thread(
            target=self._run, name=f"tilewright-pulse-{rank}", daemon=True
        )
        self._write()
        self._thread.start()

    def _run(self) -> None:
        while not self._ended.wait(self._beat):
            try:
                self._write()
                if self._each is not None:
                    self._each()
            except (RuntimeError, ValueError) as error:  # ValueError: what is there is damaged
                if self._lost is not None:
                    self._lost(error)
                return

    def _write(self) -> None:
        self._count += 1
        self.store.set(_key(self.rank), f"{self._count} {self.at}")

    def stop(self) -> None:
        """Stop, and tell others that this rank has left."""
        self._ended.set()
        if threading.current_thread() is not self._thread:
            self._thread.join()
        try:
            self.store.set(_key(self.rank), f"{HAS_LEFT} {self.at}")
        except RuntimeError:
            return  # no rank is left that could read it


class Seen(NamedTuple):
    """The pulse of a rank, as another rank sees it."""

    has_left: bool
    has_beaten: bool
    """Whether it has changed since the first look."""
    silent: float
    """Seconds for which it has stood still, as far as is known."""
    at: str
    """The last collective that the rank has reached."""

    def verdict(self, rank: int, patience: Patience) -> Verdict | None:
        """Return what is wrong with the rank; None: it is alive."""
        if self.has_left:
            return Verdict(LEFT, rank, f"it has closed its group; its last was {self.at}")
        if self.silent >= patience.gone:
            why = f"no pulse for {self.silent:.0f} s; its last was {self.at}"
            return Verdict(GONE, rank, why)
        return None


class Pulses:
    """The pulses of other ranks, looked at again and again."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._first: dict[int, str] = {}
        self._last: dict[int, tuple[str, float]] = {}

    def look(self, rank: int) -> Seen:
        """Look at the pulse of a rank."""
        now, key = time.monotonic(), _key(rank)
        text = self._store.get(key).decode() if self._store.check([key]) else ""
        pulse, _, at = text.partition(" ")
        first = self._first.setdefault(rank, pulse)
        last, since = self._last.get(rank, ("", 0.0))
        if pulse != last or rank not in self._last:
            since = now
            self._last[rank] = pulse, now
        return Seen(pulse == HAS_LEFT, pulse != first, now - since, at or NOTHING)


def find_missing(
    store: Store, pulses: Pulses, ranks: Iterable[int], patience: Patience
) -> Verdict | None:
    """Return what is known to be wrong, or found by a look at the pulses of some ranks."""
    found = published(store)
    for rank in () if found else ranks:
        found = found or pulses.look(rank).verdict(rank, patience)
    return found


def find_gone(store: Store, ranks: Iterable[int], patience: Patience) -> Verdict | None:
    """Do as `find_missing` until each pulse has beaten, or has stood still for long enough."""
    pulses, others = Pulses(store), {*ranks}
    while others:
        if (found := find_missing(store, pulses, sorted(others), patience)) is not None:
            return found
        others -= {rank for rank in others if pulses.look(rank).has_beaten}
        time.sleep(patience.beat / 4)
    return None


def _key(rank: int) -> str:
    return f"pulse/{rank}"
