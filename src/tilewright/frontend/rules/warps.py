"""Rules of the warps family: what the lanes of a warp do together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...base.dtypes import u32
from ...base.errors import Code
from ...base.shapes import is_power_of_two, size
from ...ir.attrs import WARP_SIZE, Place, ShuffleMode, VoteMode
from ...ir.core import Value
from ...ir.launch_expr import LaunchCheck
from .. import promote
from ..emit import Emitter

ALL_LANES = (1 << WARP_SIZE) - 1


def _require(em: Emitter, word: str) -> None:
    em.require_threads(f"simt.{word}()")
    em.require_unsafe(f"`simt.{word}`")


def whole_warps(em: Emitter, width: Any = WARP_SIZE) -> None:
    """Only blocks of so many threads, or of multiples of it."""
    em.require_threads("simt.whole_warps()")
    lanes, threads = _lanes(em, width), size(em.signature.block_dims)
    if threads % lanes == 0:
        return
    message = f"its blocks must consist of complete groups of {lanes} lanes"
    if em.signature.exact_block:
        got = f"{threads} threads"
        em.fail(Code.SHAPE, message, expected=f"a multiple of {lanes} threads", got=got)
    rest = ("mod", ("given", "threads of a block", threads), ("const", lanes))
    em.require_at_launch(LaunchCheck(("eq", rest, ("const", 0)), message, em.span))


def _lanes(em: Emitter, width: Any) -> int:
    """How many neighbours work together."""
    lanes = em.static_int(width, "width")
    if not (is_power_of_two(lanes) and lanes <= WARP_SIZE):
        em.fail(
            Code.POWER_OF_TWO,
            f"lanes cooperate in groups of 1, 2, 4, 8, 16 or {WARP_SIZE} adjacent lanes",
            expected=f"a power of two up to {WARP_SIZE}",
            got=str(lanes),
        )
    return lanes


def sync_warp(em: Emitter, *, mask: Any = None) -> None:
    """The barrier of a warp."""
    _require(em, "sync_warp")
    em.op("sync_warp", _mask(em, mask))


def _shuffle(word: str, mode: ShuffleMode, what: str) -> Callable[..., Value]:
    def take(em: Emitter, value: Any, by: Any, width: Any, mask: Any) -> Value:
        _require(em, word)
        lanes = _lanes(em, width)
        given, lane = _scalar(em, value, "value"), em.index(by, what)
        return em.emit("shuffle", given, lane, _mask(em, mask), mode=mode, width=lanes)

    return take


_FROM = _shuffle("shuffle", ShuffleMode.IDX, "lane")
_UP = _shuffle("shuffle_up", ShuffleMode.UP, "delta")
_DOWN = _shuffle("shuffle_down", ShuffleMode.DOWN, "delta")
_XOR = _shuffle("shuffle_xor", ShuffleMode.XOR, "bits")


def shuffle(
    em: Emitter, value: Any, lane: Any, *, width: Any = WARP_SIZE, mask: Any = None
) -> Value:
    """The value of a lane by its number."""
    return _FROM(em, value, lane, width, mask)


def shuffle_up(
    em: Emitter, value: Any, delta: Any, *, width: Any = WARP_SIZE, mask: Any = None
) -> Value:
    """The value of a lane below."""
    return _UP(em, value, delta, width, mask)


def shuffle_down(
    em: Emitter, value: Any, delta: Any, *, width: Any = WARP_SIZE, mask: Any = None
) -> Value:
    """The value of a lane above."""
    return _DOWN(em, value, delta, width, mask)


def shuffle_xor(
    em: Emitter, value: Any, bits: Any, *, width: Any = WARP_SIZE, mask: Any = None
) -> Value:
    """The value of the lane with flipped bits."""
    return _XOR(em, value, bits, width, mask)


def vote_all(em: Emitter, condition: Any, *, mask: Any = None) -> Value:
    """Whether all lanes say yes."""
    _require(em, "vote_all")
    return em.emit("vote", em.condition(condition), _mask(em, mask), mode=VoteMode.ALL)


def vote_any(em: Emitter, condition: Any, *, mask: Any = None) -> Value:
    """Whether any lane says yes."""
    _require(em, "vote_any")
    return em.emit("vote", em.condition(condition), _mask(em, mask), mode=VoteMode.ANY)


def ballot(em: Emitter, condition: Any, *, mask: Any = None) -> Value:
    """Which lanes say yes."""
    _require(em, "ballot")
    return em.emit("ballot", em.condition(condition), _mask(em, mask))


def match_any(em: Emitter, value: Any, *, mask: Any = None) -> Value:
    """Which lanes have the same."""
    _require(em, "match_any")
    return em.emit("match", _scalar(em, value, "value"), _mask(em, mask))


def _place(word: str, what: Place) -> Callable[..., Value]:
    def rule(em: Emitter) -> Value:
        em.require_threads(f"simt.{word}()")
        return em.emit("place", what=what)

    return rule


def _scalar(em: Emitter, x: Any, what: str) -> Value:
    value = em.numbers(x, what)
    if value.tile.rank:
        em.fail(Code.TYPE, f"{what} must be a scalar", expected="a number", got=str(value.type))
    return value


def _mask(em: Emitter, mask: Any) -> Value | None:
    """The lanes that take part; None means all."""
    if mask is None or mask == ALL_LANES:
        return None
    given = em.number(mask, u32) if promote.is_weak(mask) else mask
    return em.scalar(given, u32, "mask")


RULES: dict[str, Callable[..., Any]] = {
    "whole_warps": whole_warps,
    "sync_warp": sync_warp,
    "shuffle": shuffle,
    "shuffle_up": shuffle_up,
    "shuffle_down": shuffle_down,
    "shuffle_xor": shuffle_xor,
    "vote_all": vote_all,
    "vote_any": vote_any,
    "ballot": ballot,
    "match_any": match_any,
    "lane_id": _place("lane_id", Place.LANE),
    "warp_id": _place("warp_id", Place.WARP),
}
PROPERTIES: frozenset[str] = frozenset()
