"""How ranks agree on a collective before any data moves, and who is missing when they cannot.

The ranks meet in a store of keys that all of them reach. The first to arrive writes down its call,
the others compare theirs, and the last one writes the verdict, for which all wait: three short
requests for each rank, however many ranks there are. So a collective begins only when all ranks are
there with the same op, shape and element type; otherwise all of them raise, and none hangs.

Each rank also writes a pulse from a separate thread. The others read it only when they have waited
for some time: a rank whose pulse stands still is gone; one whose pulse beats is late.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from .call import Call
from .pulse import Pulse, Pulses, find_behind
from .store import Patience, Store
from .verdict import DIFFERENT, UNREACHABLE, Verdict, publish, published

OK = "ok"
SHORTEST, LONGEST, PART = 50e-6, 20e-3, 8
"""Seconds between two looks at the verdict: none, or more than, at most, and which part of those
waited."""


class Agreement:
    """The agreement of some ranks on one collective after the other. One thread uses it."""

    def __init__(
        self,
        store: Store,
        rank: int,
        members: Sequence[int],
        name: str,
        patience: Patience,
        holder: int | None = None,
    ) -> None:
        """Take the name of the group, its members, and the rank that holds the store, if known."""
        self._store, self._rank, self._members = store, rank, tuple(members)
        self._name, self._patience, self._holder = name, patience, holder
        self._others = [member for member in self._members if member != rank]
        self._number = 0

    def reach(self, call: Call, pulse: Pulse | None = None) -> None:
        """Wait until all members have reached the same call; raise RankError if they do not."""
        verdict = self.find(call, pulse)
        if verdict is not None:
            raise verdict.error(call)

    def find(self, call: Call, pulse: Pulse | None = None) -> Verdict | None:
        """Do as `reach`, and return what is wrong; None: the call begins."""
        self._number += 1
        number = self._number
        if pulse is not None:
            pulse.note(self._name, number, call)
        if len(self._members) == 1:
            return None
        try:
            return self._vote(number, call)
        except RuntimeError as error:
            return Verdict(UNREACHABLE, self._holder, f"{type(error).__name__}: {error}")

    def _vote(self, number: int, call: Call) -> Verdict | None:
        store, what, said = self._store, self._key(number, "call"), f"{self._rank} {call.text()}"
        first = store.compare_set(what, "", said).decode()
        verdict = self._key(number, "verdict")
        if first != said and (difference := _difference(first, self._rank, call)):
            return self._decide(verdict, difference)
        if store.add(self._key(number, "count"), 1) == len(self._members):
            return _read(store.compare_set(verdict, "", OK).decode())
        if first == said:
            self._forget(number - 2)
        return self._await(verdict, number)

    def _decide(self, key: str, found: Verdict) -> Verdict | None:
        """Write what is wrong as the verdict on a collective, unless that is there already."""
        decided = _read(self._store.compare_set(key, "", found.text()).decode())
        return None if decided is None else publish(self._store, decided)

    def _key(self, number: int, what: str) -> str:
        return f"{self._name}/{number}/{what}"

    def _forget(self, number: int) -> None:
        """Delete the keys of a collective that all have read: they have reached a later one.

        The first to arrive does so, since it waits for the others anyway.
        """
        if number > 0:
            for what in ("call", "count", "verdict"):
                self._store.delete_key(self._key(number, what))

    def _await(self, verdict: str, number: int) -> Verdict | None:
        """Wait for the verdict; write one where a rank is missing.

        torch's stores could wait, too, but report on stderr that somebody has waited for long.
        """
        start, pulses = time.monotonic(), Pulses(self._store)
        look = start + self._patience.beat
        while not self._store.check([verdict]):
            now = time.monotonic()
            if now >= look:
                look = now + self._patience.beat
                found = published(self._store) or find_behind(
                    pulses, self._others, self._name, number, now - start, self._patience
                )
                if found is not None:
                    return self._decide(verdict, found)
            pause = min((now - start) / PART, LONGEST)
            if pause > SHORTEST:  # a request takes as long
                time.sleep(pause)
        return _read(self._store.get(verdict).decode())


def _read(decided: str) -> Verdict | None:
    """Return the verdict on a collective; None: it begins."""
    return None if decided == OK else Verdict.read(decided)


def _difference(first: str, rank: int, call: Call) -> Verdict | None:
    """Return the verdict on a call that differs from that of the first rank, if it does."""
    other, _, text = first.partition(" ")
    said = Call.read(text)
    if said.agrees(call):
        return None
    return Verdict(DIFFERENT, rank, f"rank {rank} calls {call}", f"rank {other} calls {said}")
