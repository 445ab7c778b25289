"""How ranks agree on a collective by one message from each to each; little data travels with it.

The messages have one size whatever the calls are, so ranks that disagree exchange them all the
same: each reads what all of them say, and finds the same difference, before any data moves. What
fits into a message is moved by it, and needs no collective of the engine behind it.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from hashlib import sha256
from typing import Any, Protocol

from ..tensors.region import Region
from .call import Call
from .pulse import Pulse, Pulses, find_behind
from .store import Patience
from .verdict import DIFFERENT, Verdict

HEAD, DATA = 512, 4096
"""Bytes of a message: of the call, and of the data that travels with it."""
MESSAGE = HEAD + DATA
FEW = 16
"""Up to so many ranks send messages to each other; the cost grows with their square."""


class Channel(Protocol):
    """What carries messages of one size between ranks."""

    sends: Any
    """An array of bytes: the message to each rank, in rows."""
    came: Any
    """An array of bytes: the messages of all ranks in rows, that of this one included."""

    def swap(self) -> None:
        """Send, and wait for the messages of all others; a RuntimeError if that breaks off."""
        ...

    def combine(self, call: Call, target: Region) -> None:
        """Write the result of a collective, made of the data that came."""
        ...


class Exchange:
    """The agreement of some ranks on one collective after the other. One thread uses it."""

    def __init__(
        self, channel: Channel, rank: int, members: Sequence[int], name: str, patience: Patience
    ) -> None:
        """Take the name of the lane, and its members, whose messages come in their order."""
        self._channel, self._members = channel, tuple(members)
        self._others = [member for member in members if member != rank]
        self._name, self._patience = name, patience
        self._written: Call | None = None
        self._number, self._since = 0, 0.0

    def find(self, call: Call, pulse: Pulse, data: Any = None) -> Verdict | None:
        """Wait until all members have come to the same collective; return what is wrong.

        `data` are bytes that the messages take along, for `combine`.
        """
        channel = self._channel
        self._number += 1
        pulse.note(self._name, self._number, call)
        if self._written != call:
            channel.sends[:, :HEAD] = memoryview(_head(call))
            self._written = call
        if data is not None:
            channel.sends[:, HEAD : HEAD + data.size] = data
        self._since = time.monotonic()
        try:
            channel.swap()
        finally:
            self._since = 0.0
        return self._difference()

    def combine(self, call: Call, target: Region) -> None:
        """Write the result of a collective, made of the data that came along."""
        self._channel.combine(call, target)

    def missing(self, pulses: Pulses) -> Verdict | None:
        """Return which rank is missing in the exchange under way, if one is; from any thread."""
        number, since = self._number, self._since
        waited = time.monotonic() - since
        if not since or waited < self._patience.beat:
            return None
        return find_behind(pulses, self._others, self._name, number, waited, self._patience)

    def _difference(self) -> Verdict | None:
        """Return which member says something else than most of them."""
        found = _odd(tuple([row[:HEAD].tobytes() for row in self._channel.came]))
        if found is None:
            return None
        (odd, said), (usual, expected) = found
        rank, other = self._members[odd], self._members[usual]
        return Verdict(
            DIFFERENT, rank, f"rank {rank} calls {said}", f"rank {other} calls {expected}"
        )


@lru_cache(maxsize=256)
def _odd(heads: tuple[bytes, ...]) -> tuple[tuple[int, object], tuple[int, object]] | None:
    """Return who says something else than most, and one of these, each with its call."""
    calls = [_read(head) for head in heads]
    meant = [call.paired() if isinstance(call, Call) else call for call in calls]
    usual, times = Counter(meant).most_common(1)[0]
    if times == len(calls):
        return None
    odd, at = next(n for n, each in enumerate(meant) if each != usual), meant.index(usual)
    return (odd, calls[odd]), (at, calls[at])


@lru_cache(maxsize=256)
def _head(call: Call) -> bytes:
    """Return what a message says of a call; of one too long for it, its begin and a digest."""
    text = call.text().encode()
    if len(text) > HEAD:
        digest = sha256(text).hexdigest().encode()
        text = text[: HEAD - len(digest)] + digest
    return text.ljust(HEAD)


def _read(head: bytes) -> Call | str:
    """Return the call of a message, or its text if that is not all of the call."""
    try:
        return Call.read(head.decode())
    except ValueError:
        return head.decode(errors="replace")
