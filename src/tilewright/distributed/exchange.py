"""How ranks agree on a collective by one message from each to each; little data travels with it.

The messages have one size whatever the calls are, so ranks that disagree exchange them all the
same: each reads what all of them say, and finds the same difference, before any data moves. What
fits into a message is moved by it, and needs no collective of the engine behind it. A message also
has digests of the collectives that were started meanwhile: those that all ranks have in common are
agreed on with the first.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from hashlib import sha256
from itertools import islice
from typing import Any, Protocol, TypeAlias

from ..tensors.region import Region
from .call import Call
from .pulse import Pulse, Pulses, find_behind
from .store import Patience
from .verdict import DIFFERENT, Verdict

TEXT, DIGEST, AHEAD = 384, 16, 8
"""Bytes of a message for the call, and for the digests of so many that follow."""
HEAD, DATA = TEXT + DIGEST * AHEAD, 4096
"""Bytes of a message: of what is agreed on, and of the data that travels with it."""
MESSAGE = HEAD + DATA
NONE = bytes(DIGEST)
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
        self._written: tuple[Call, ...] = ()
        self._number, self._since, self._agreed = 0, 0.0, 0

    def find(
        self, call: Call, pulse: Pulse, following: Iterable[Call] = (), data: Any = None
    ) -> Verdict | None:
        """Wait until all members have come to the same collective; return what is wrong.

        `following` are those that this rank has started behind it, and whose data does not travel
        with a message; `data` are bytes that the messages take along, for `combine`.
        """
        channel = self._channel
        self._number += 1
        pulse.note(self._name, self._number, call)
        if self._agreed:
            self._agreed -= 1
            return None
        said = (call, *islice(following, AHEAD))
        if self._written != said:
            channel.sends[:, :HEAD] = memoryview(_head(said))
            self._written = said
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
        found, self._agreed = _compared(tuple([row[:HEAD].tobytes() for row in self._channel.came]))
        if found is None:
            return None
        (odd, said), (usual, expected) = found
        rank, other = self._members[odd], self._members[usual]
        return Verdict(
            DIFFERENT, rank, f"rank {rank} calls {said}", f"rank {other} calls {expected}"
        )


Said: TypeAlias = tuple[int, Call | str]
"""The place of a member, and what it says."""


@lru_cache(maxsize=256)
def _compared(heads: tuple[bytes, ...]) -> tuple[tuple[Said, Said] | None, int]:
    """Return who says something else than most, and one of these; and how many of the following
    calls all have in common.
    """
    calls = [_read(head) for head in heads]
    meant = [call.paired() if isinstance(call, Call) else call for call in calls]
    usual, times = Counter(meant).most_common(1)[0]
    if times < len(calls):
        odd, at = next(n for n, each in enumerate(meant) if each != usual), meant.index(usual)
        return ((odd, calls[odd]), (at, calls[at])), 0
    agreed, places = 0, range(TEXT, HEAD, DIGEST)
    for digests in [{head[place : place + DIGEST] for head in heads} for place in places]:
        if len(digests) > 1 or NONE in digests:
            break
        agreed += 1
    return None, agreed


@lru_cache(maxsize=256)
def _head(calls: tuple[Call, ...]) -> bytes:
    """Return what a message says of a call, and of those that follow."""
    call, *following = calls
    text = call.text().encode()
    if len(text) > TEXT:  # its begin, and a digest
        digest = sha256(text).hexdigest().encode()
        text = text[: TEXT - len(digest)] + digest
    return text.ljust(TEXT) + b"".join(map(_digest, following)).ljust(HEAD - TEXT, b"\0")


def _digest(call: Call) -> bytes:
    return sha256(call.paired().text().encode()).digest()[:DIGEST]


def _read(head: bytes) -> Call | str:
    """Return the call of a message, or its text if that is not all of the call."""
    text = head[:TEXT].decode(errors="replace")
    try:
        return Call.read(text)
    except ValueError:
        return text
