"""Declares warp operations, in unsafe code: 32 adjacent threads of a block.

All lanes of the warp get to such a call together, but for those that have returned. Where only some
do, `mask` says which: a bit for each lane, as `simt.ballot` gives it. What comes from a lane that
takes no part is unspecified; `device="reference"` reports it.
"""

from __future__ import annotations

from typing import TypeAlias

from ..base.dtypes import bool_, u32
from ..ir.attrs import WARP_SIZE
from .marker import declared_for_threads
from .tile import To

__all__ = [
    "WARP_SIZE", "ballot", "lane_id", "match_any", "shuffle", "shuffle_down", "shuffle_up",
    "shuffle_xor", "sync_warp", "vote_all", "vote_any", "warp_id", "whole_warps",
]  # fmt: skip

Lanes: TypeAlias = "u32 | int | None"
Condition: TypeAlias = "bool_ | bool"


@declared_for_threads
def lane_id() -> int:
    """Return this thread's lane in its warp, 0 to 31."""
    ...


@declared_for_threads
def warp_id() -> int:
    """Return the number of this thread's warp in its block; a warp is 32 adjacent threads."""
    ...


@declared_for_threads
def whole_warps(width: int = WARP_SIZE) -> None:
    """Reject blocks that do not consist of complete warps, or of complete groups of lanes.

    The compiler checks a kernel that declares its block, otherwise the host checks each launch.
    """
    ...


@declared_for_threads
def sync_warp(*, mask: Lanes = None) -> None:
    """Wait for the lanes; afterwards they see their earlier writes."""
    ...


@declared_for_threads
def shuffle(value: To, lane: int, *, width: int = 32, mask: Lanes = None) -> To:
    """Return the value of lane number `lane`, among `width` adjacent lanes."""
    ...


@declared_for_threads
def shuffle_up(value: To, delta: int, *, width: int = 32, mask: Lanes = None) -> To:
    """Return the value of the lane `delta` below; the own value if there is none."""
    ...


@declared_for_threads
def shuffle_down(value: To, delta: int, *, width: int = 32, mask: Lanes = None) -> To:
    """Return the value of the lane `delta` above; the own value if there is none."""
    ...


@declared_for_threads
def shuffle_xor(value: To, bits: int, *, width: int = 32, mask: Lanes = None) -> To:
    """Return the value of the lane whose number differs in these bits."""
    ...


@declared_for_threads
def vote_all(condition: Condition, *, mask: Lanes = None) -> bool:
    """Return whether the condition holds for all lanes."""
    ...


@declared_for_threads
def vote_any(condition: Condition, *, mask: Lanes = None) -> bool:
    """Return whether the condition holds for any lane."""
    ...


@declared_for_threads
def ballot(condition: Condition, *, mask: Lanes = None) -> u32:
    """Return a bit for each lane for which the condition holds."""
    ...


@declared_for_threads
def match_any(value: object, *, mask: Lanes = None) -> u32:
    """Return a bit for each lane that has the same value, bit for bit."""
    ...
