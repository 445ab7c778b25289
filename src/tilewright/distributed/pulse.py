"""The pulses of ranks: the sign by which others know that a rank is alive, and how far it is."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from .call import Call
from .store import Patience, Store
from .verdict import GONE, LATE, LEFT, Verdict, published

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
        self._last: tuple[str, int, Call] | None = None
        self._reached: dict[str, int] = {}
        self._beat, self._count = beat, 0
        self._each, self._lost = each, lost
        self._ended = threading.Event()
        self._thread = threading.Thread(
            target=self._run, name=f"tilewright-pulse-{rank}", daemon=True
        )
        self._write()
        self._thread.start()

    def note(self, lane: str, number: int, call: Call) -> None:
        """Note that this rank has reached a collective, the n-th of its lane."""
        self._reached[lane] = number
        self._last = lane, number, call

    @property
    def at(self) -> str:
        """The last collective that this rank has reached."""
        if self._last is None:
            return NOTHING
        lane, number, call = self._last
        return f"{lane}/{number} {call}"

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
        self._tell(str(self._count))

    def _tell(self, beat: str) -> None:
        self.store.set(_key(self.rank), json.dumps([beat, self.at, {**self._reached}]))

    def stop(self) -> None:
        """Stop, and tell others that this rank has left."""
        self._ended.set()
        if threading.current_thread() is not self._thread:
            self._thread.join()
        try:
            self._tell(HAS_LEFT)
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
    reached: Mapping[str, int]
    """The number of the last collective that it has reached, by lane."""

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
        said: Any = ("", NOTHING, {})
        if self._store.check([key]):
            said = json.loads(self._store.get(key))
        pulse, at, reached = said
        first = self._first.setdefault(rank, pulse)
        last, since = self._last.get(rank, ("", 0.0))
        if pulse != last or rank not in self._last:
            since = now
            self._last[rank] = pulse, now
        return Seen(pulse == HAS_LEFT, pulse != first, now - since, at, reached)


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


def find_behind(
    pulses: Pulses, ranks: Iterable[int], lane: str, number: int, waited: float, patience: Patience
) -> Verdict | None:
    """Return which rank, of those this one waits for in a lane, is missing; None: all may come."""
    behind = list[tuple[int, Seen]]()
    for rank in ranks:
        seen = pulses.look(rank)
        if seen.reached.get(lane, 0) >= number:
            continue
        if (found := seen.verdict(rank, patience)) is not None:
            return found
        behind.append((rank, seen))
    if waited >= patience.late and behind:
        rank, seen = behind[0]
        others = f"; so are the ranks {[r for r, _ in behind[1:]]}" if behind[1:] else ""
        return Verdict(LATE, rank, f"after {waited:.0f} s its last was {seen.at}{others}")
    return None


def _key(rank: int) -> str:
    return f"pulse/{rank}"
