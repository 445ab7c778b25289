"""How ranks agree on a collective before any data moves, and who is missing when they cannot.

The ranks meet in a store of keys that all of them reach. The first to arrive writes down its call,
the others compare theirs, and the last one writes the verdict, for which all wait: three short
requests for each rank, however many ranks there are. So a collective begins only when all ranks are
there with the same op, shape and element type; otherwise all of them raise, and none hangs.

Each rank also writes a pulse from a separate thread. The others read it only when they have waited
for some time: a rank whose pulse stands still is gone; one whose pulse beats is late.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from .call import Call
from .errors import RankError

BEAT = 1.0
"""Seconds between two beats of a rank's pulse, and between two looks at the other pulses."""
GONE = 10.0
"""Seconds after which a rank whose pulse stands still counts as gone."""
LEFT = "left"
"""The pulse of a rank that has closed its group."""
OK = "ok"
SHORTEST, LONGEST, PART = 20e-6, 20e-3, 8
"""Seconds between two looks at the verdict: at least, at most, and which part of those waited."""


class Store(Protocol):
    """Keys and values that all ranks reach: the part of torch's stores that is used here."""

    def set(self, key: str, value: str, /) -> None:
        """Write a value."""
        ...

    def get(self, key: str, /) -> bytes:
        """Return the value of a key that is there."""
        ...

    def check(self, keys: list[str], /) -> bool:
        """Return whether all these keys are there."""
        ...

    def add(self, key: str, amount: int, /) -> int:
        """Add to a number, which begins with 0, and return it."""
        ...

    def compare_set(self, key: str, expected: str, desired: str, /) -> bytes:
        """Write a value if the key has the expected one, or none; return the value it has now."""
        ...

    def delete_key(self, key: str, /) -> bool:
        """Delete a key."""
        ...


@dataclass(slots=True)
class Patience:
    """How long a rank waits for others, in seconds."""

    late: float
    """Until one that is not there counts as late."""
    gone: float = GONE
    beat: float = BEAT


class Pulse:
    """The sign by which other ranks know that this one is alive, and how far it is."""

    def __init__(self, store: Store, rank: int, beat: float) -> None:
        self.store, self.rank = store, rank
        self.at = "nothing yet"
        """The last collective that this rank has reached."""
        self._beat, self._count = beat, 0
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
            except RuntimeError:  # the store is gone, which the next collective reports
                return

    def _write(self) -> None:
        self._count += 1
        self.store.set(f"pulse/{self.rank}", f"{self._count} {self.at}")

    def stop(self) -> None:
        """Stop, and tell others that this rank has left."""
        self._ended.set()
        self._thread.join()
        try:
            self.store.set(f"pulse/{self.rank}", LEFT)
        except RuntimeError:
            return  # no rank is left that could read it


class Agreement:
    """The agreement of some ranks on one collective after the other. One thread uses it."""

    def __init__(
        self, store: Store, rank: int, members: Sequence[int], name: str, patience: Patience
    ) -> None:
        """Take the name of the group, and its members: ranks as errors name them."""
        self._store, self._rank, self._members = store, rank, tuple(members)
        self._name, self._patience = name, patience
        self._number = 0

    def reach(self, call: Call, pulse: Pulse | None = None) -> None:
        """Wait until all members have reached the same call; raise RankError if they do not."""
        self._number += 1
        number = self._number
        if pulse is not None:
            pulse.at = f"{self._name}/{number} {call}"
        try:
            verdict = self._vote(number, call)
        except RankError:
            raise
        except RuntimeError as error:
            raise RankError(
                f"{call} cannot begin: the store in which ranks meet does not answer",
                op=call.op, got=f"{type(error).__name__}: {error}",
                hint="the process that holds it, mostly that of rank 0, may be gone",
            ) from error  # fmt: skip
        if verdict != OK:
            raise _read(verdict, call)

    def _vote(self, number: int, call: Call) -> str:
        store, what, said = self._store, self._key(number, "call"), f"{self._rank} {call.text()}"
        first = store.compare_set(what, "", said).decode()
        verdict = self._key(number, "verdict")
        if first != said and (difference := _difference(first, self._rank, call)):
            return store.compare_set(verdict, "", difference).decode()
        if store.add(self._key(number, "count"), 1) == len(self._members):
            decided = store.compare_set(verdict, "", OK).decode()
            self._forget(number - 1)
            return decided
        return self._await(verdict, number, call)

    def _key(self, number: int, what: str) -> str:
        return f"{self._name}/{number}/{what}"

    def _forget(self, number: int) -> None:
        """Delete the keys of a collective that all members have begun."""
        if number:
            for what in ("call", "count", "verdict"):
                self._store.delete_key(self._key(number, what))

    def _await(self, verdict: str, number: int, call: Call) -> str:
        """Wait for the verdict; write one where a rank is missing."""
        start = time.monotonic()
        pause, look, known = SHORTEST, start + self._patience.beat, dict[int, tuple[str, float]]()
        while not self._store.check([verdict]):
            now = time.monotonic()
            if now >= look:
                look = now + self._patience.beat
                missing = self._missing(number, call, now - start, known)
                if missing is not None:
                    return self._store.compare_set(verdict, "", missing).decode()
            time.sleep(pause)
            pause = max(SHORTEST, min((now - start) / PART, LONGEST))
        return self._store.get(verdict).decode()

    def _missing(
        self, number: int, call: Call, waited: float, known: dict[int, tuple[str, float]]
    ) -> str | None:
        """Return the verdict that a rank is missing; None: those that are may still come."""
        now, behind = time.monotonic(), list[tuple[int, str]]()
        for rank in self._members:
            pulse, at = self._pulse_of(rank)
            if rank == self._rank or self._is_there(at, number):
                continue
            if known.setdefault(rank, (pulse, now))[0] != pulse:
                known[rank] = pulse, now
            silent = now - known[rank][1]
            if pulse == LEFT:
                return _verdict("left", rank, f"it has closed its group; its last was {at}")
            if silent >= self._patience.gone:
                return _verdict("gone", rank, f"no pulse for {silent:.0f} s; its last was {at}")
            behind.append((rank, at))
        if waited >= self._patience.late and behind:
            rank, at = behind[0]
            others = f"; so are the ranks {[r for r, _ in behind[1:]]}" if behind[1:] else ""
            return _verdict("late", rank, f"after {waited:.0f} s its last was {at}{others}")
        return None

    def _pulse_of(self, rank: int) -> tuple[str, str]:
        key = f"pulse/{rank}"
        if not self._store.check([key]):
            return "", "nothing yet"
        pulse, _, at = self._store.get(key).decode().partition(" ")
        return pulse, at or "not known"

    def _is_there(self, at: str, number: int) -> bool:
        """Return whether a rank is known to have reached a collective of this group."""
        group, _, rest = at.partition(" ")[0].rpartition("/")
        return group == self._name and rest.isdecimal() and int(rest) >= number


def find_gone(store: Store, rank: int, size: int, patience: Patience) -> int | None:
    """Return a rank whose pulse stands still, or that has left; None: all others are alive."""
    first, start = dict[int, bytes](), time.monotonic()
    others = {other for other in range(size) if other != rank}
    while others and time.monotonic() - start < patience.gone:
        for other in tuple(others):
            key = f"pulse/{other}"
            pulse = store.get(key) if store.check([key]) else b""
            if pulse == LEFT.encode():
                return other
            if first.setdefault(other, pulse) != pulse:
                others.discard(other)
        time.sleep(patience.beat / 4)
    return min(others, default=None)


def _difference(first: str, rank: int, call: Call) -> str:
    """Return the verdict on a call that differs from that of the first rank; "" if it does not."""
    other, _, text = first.partition(" ")
    said = Call.read(text)
    if said.agrees(call):
        return ""
    return f"differ\n{rank}\nrank {other} calls {said}\nrank {rank} calls {call}"


def _verdict(kind: str, rank: int, why: str) -> str:
    return f"{kind}\n{rank}\n{why}"


_MESSAGES = {
    "gone": "rank {rank} is gone: {op} cannot begin",
    "late": "rank {rank} is late: {op} cannot begin",
    "left": "rank {rank} has left the group: {op} cannot begin",
    "differ": "the ranks disagree about what they do together: {op} cannot begin",
}


def _read(verdict: str, call: Call) -> RankError:
    """Return the error of a verdict, which another rank may have written."""
    kind, _, rest = verdict.partition("\n")
    number, _, why = rest.partition("\n")
    rank = int(number) if number.isdecimal() else None
    message = _MESSAGES.get(kind, "{op} cannot begin").format(rank=rank, op=f"`{call.op}`")
    if kind == "differ":
        said, _, other = why.partition("\n")
        return RankError(
            message, rank=rank, op=call.op, expected=said, got=other,
            hint="all ranks start the same collectives, of equal shapes and types, in one order",
        )  # fmt: skip
    return RankError(
        message, rank=rank, op=call.op, expected=f"all ranks to start {call}", got=why,
        hint="look at the log of that rank; the process can go on, and make another group",
    )  # fmt: skip
