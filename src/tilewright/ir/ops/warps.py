"""What the 32 lanes of a warp do together: neighbouring threads of a block, x fastest.

Those take part that get here together; all lanes of the warp that have not returned must, or those
of `mask`, if it is given. What a lane that takes no part would have said is unspecified.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...base.dtypes import bool_, i32, u32
from ..attrs import WARP_SIZE, ShuffleMode, VoteMode
from ..opdef import Effect, declare
from ..types import I1, TileType, Type
from .atomics import BOTH
from .rules import Attrs, need, number, scalar

LANES = TileType(u32)


def _mask(types: Sequence[Type]) -> None:
    for t in types:
        scalar(t, u32)


def _value(t: Type) -> TileType:
    kind = number(t)
    need(kind.rank == 0, f"expected a scalar, got {t}")
    return kind


def _sync(types: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
    _mask(types)
    return ()


def _shuffle(types: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
    scalar(types[1], i32)
    _mask(types[2:])
    width = attrs["width"]
    need(width in (1, 2, 4, 8, 16, WARP_SIZE), f"no segments of {width} lanes")
    return (_value(types[0]),)


def _vote(types: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
    scalar(types[0], bool_)
    _mask(types[1:])
    return (I1,)


def _ballot(types: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
    _vote(types, attrs)
    return (LANES,)


def _match(types: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
    _value(types[0])
    _mask(types[1:])
    return (LANES,)


OPS = (
    declare("sync_warp", "simt", "mask?", _sync,
            "The lanes get here; what they did to memory before is seen after.",
            effects=BOTH | Effect.SYNC),
    declare("shuffle", "simt", "value lane mask?", _shuffle,
            "The value of another lane among `width` neighbours: lane number `lane` (idx), as many"
            " below or above (its own where none is), or the own number with bits flipped (xor).",
            attrs={"mode": ShuffleMode.IDX, "width": WARP_SIZE}, effects=Effect.SYNC),
    declare("vote", "simt", "cond mask?", _vote, "Whether it holds for all lanes, or for any.",
            attrs={"mode": VoteMode.ALL}, effects=Effect.SYNC),
    declare("ballot", "simt", "cond mask?", _ballot, "A bit for each lane for which it holds.",
            effects=Effect.SYNC),
    declare("match", "simt", "value mask?", _match,
            "A bit for each lane whose value has the same bits.", effects=Effect.SYNC),
)  # fmt: skip
