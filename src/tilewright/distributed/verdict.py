"""What the ranks of a group say alike of what went wrong: who is missing, or who is different.

The first rank to find something writes it down for all of them. So each rank names the one that
caused the trouble, and not a neighbour that only had to end because of it.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any, cast

from .call import Call
from .errors import RankError
from .store import Store

FAILED = "failed"
"""The key of the verdict on a group."""
GONE, LATE, LEFT, DIFFERENT = "gone", "late", "left", "different"
BROKEN, UNREACHABLE, CLOSED = "broken", "unreachable", "closed"

_MESSAGES = {
    GONE: "{who} is gone",
    LATE: "{who} is late",
    LEFT: "{who} has left the group",
    DIFFERENT: "the ranks disagree about what they do together",
    BROKEN: "the connection between ranks broke off",
    UNREACHABLE: "the store in which ranks meet does not answer",
    CLOSED: "the group was closed",
}
_HINTS = {
    DIFFERENT: "all ranks start the same collectives, of equal shapes and types, in one order",
    UNREACHABLE: "the process that holds it, mostly that of rank 0, is gone; close the group",
}
_HINT = "look at the log of that rank; the process can go on: close the group, and make another"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is wrong, and with which rank."""

    kind: str
    rank: int | None
    why: str
    other: str = ""
    """What another rank says, if they disagree."""

    def text(self) -> str:
        """Return the verdict as ranks exchange it."""
        return json.dumps(asdict(self), sort_keys=True)

    @classmethod
    def read(cls, text: str) -> Verdict:
        """Return the verdict that another rank has written; a ValueError if it is none."""
        found = json.loads(text)
        if not isinstance(found, dict):
            raise ValueError(text)
        known = cast("dict[str, Any]", found)
        rank = known.get("rank")
        why, other = str(known.get("why", "")), str(known.get("other", ""))
        return cls(str(known.get("kind")), None if rank is None else int(rank), why, other)

    def message(self) -> str:
        """Return what is wrong, in some words."""
        who = "a rank" if self.rank is None else f"rank {self.rank}"
        held = self.kind == UNREACHABLE and self.rank is not None
        said = _MESSAGES.get(self.kind, self.kind).format(who=who)
        return f"{who} is gone: {said}" if held else said

    def error(self, call: Call, *, begun: bool = False) -> RankError:
        """Return the error of a collective that cannot run because of it, or broke off."""
        expected, cannot = f"all ranks to start {call}", "begin"
        if self.kind == DIFFERENT:
            expected = self.other
        elif begun:
            expected, cannot = f"all ranks to run {call}; what it writes is undefined", "complete"
        return RankError(
            f"{self.message()}: `{call.op}` cannot {cannot}", rank=self.rank, op=call.op,
            expected=expected, got=self.why, hint=_HINTS.get(self.kind, _HINT),
        )  # fmt: skip


def publish(store: Store, verdict: Verdict) -> Verdict:
    """Write a verdict on the group, and return the one that counts: that of the first."""
    return Verdict.read(store.compare_set(FAILED, "", verdict.text()).decode())


def published(store: Store) -> Verdict | None:
    """Return the verdict on the group, if there is one."""
    return Verdict.read(store.get(FAILED).decode()) if store.check([FAILED]) else None
