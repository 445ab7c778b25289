"""What lanes do together: from what each of them passes to what each of them gets."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

import numpy as np

from ...ir.attrs import ShuffleMode, VoteMode
from ...ir.core import Op
from .exact import Array
from .machine import Frame, Results, Rule
from .shared import meets
from .storage import encode

Lanes: TypeAlias = Mapping[int, Frame]
"""The lanes of a warp that take part, by number."""
Together: TypeAlias = Callable[[Op, Lanes], dict[int, Results]]


def _flipped(lane: int, start: int, by: int, width: int) -> int:
    return start + ((lane - start) ^ (by & (width - 1)))


def _below(lane: int, start: int, by: int, width: int) -> int:
    return lane - by if by >= 0 and lane - by >= start else lane


def _above(lane: int, start: int, by: int, width: int) -> int:
    return lane + by if by >= 0 and lane + by < start + width else lane


SOURCES: dict[ShuffleMode, Callable[[int, int, int, int], int]] = {
    ShuffleMode.IDX: lambda lane, start, by, width: start + (by & (width - 1)),
    ShuffleMode.XOR: _flipped,
    ShuffleMode.UP: _below,
    ShuffleMode.DOWN: _above,
}
"""From a lane, the first of its neighbours, the given number and the width to the lane asked."""


def _shuffle(op: Op, lanes: Lanes) -> dict[int, Results]:
    width: int = op.attrs["width"]
    source = SOURCES[op.attrs["mode"]]
    results: dict[int, Results] = {}
    for lane, frame in lanes.items():
        start = lane - lane % width
        wanted = source(lane, start, frame.integer(op.one("lane")), width)
        if wanted not in lanes:
            watch = frame.launch.memory.watch
            watch.resume(frame.actor)
            watch.complain("inactive", op, f"a shuffle from lane {wanted}, which is inactive, by")
        results[lane] = (lanes.get(wanted, frame).array(op.one("value")),)
    return results


def _vote(op: Op, lanes: Lanes) -> dict[int, Results]:
    said = [bool(frame.array(op.one("cond"))) for frame in lanes.values()]
    answer = all(said) if op.attrs["mode"] is VoteMode.ALL else any(said)
    return dict.fromkeys(lanes, (np.asarray(answer),))


def _ballot(op: Op, lanes: Lanes) -> dict[int, Results]:
    votes = [k for k, frame in lanes.items() if bool(frame.array(op.one("cond")))]
    return dict.fromkeys(lanes, (_bits(votes),))


def _match(op: Op, lanes: Lanes) -> dict[int, Results]:
    value = op.one("value")
    given = {k: encode(f.array(value), value.tile.dtype).tobytes() for k, f in lanes.items()}
    return {k: (_bits([j for j in given if given[j] == given[k]]),) for k in given}


def _bits(lanes: list[int]) -> Array:
    return np.asarray(sum(1 << k for k in lanes), np.uint32)


def _sync(op: Op, lanes: Lanes) -> dict[int, Results]:
    for frame in lanes.values():
        blocks, warps = frame.actor.rounds
        frame.actor.rounds = blocks, warps + 1
    return dict.fromkeys(lanes, ())


TOGETHER: dict[str, Together] = {
    "sync_warp": _sync,
    "shuffle": _shuffle,
    "vote": _vote,
    "ballot": _ballot,
    "match": _match,
}
RULES: dict[str, Rule] = dict.fromkeys(TOGETHER, meets)
