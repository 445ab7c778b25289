"""Where in the grid this block stands. Axes are logical: hardware order is the launch's affair."""

from __future__ import annotations

from collections.abc import Sequence

from ...base.dtypes import i32
from ..opdef import declare
from ..types import I32, Type
from .rules import Attrs, need, scalar


def _index(types: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
    return (I32,)


def _tile_index(types: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
    for t in types:
        scalar(t, i32)
    groups = attrs["groups"]
    rank = len(groups)
    need(rank > 0 and min(groups) >= 1, f"groups {groups} have no tiles")
    need(len(types) - 1 in (rank, 2 * rank), f"groups {groups} for {len(types) - 1} numbers")
    return (I32,) * rank


OPS = (
    declare("block_id", "tile", "", _index, "This block's logical index along `axis`.",
            attrs={"axis": 0}),
    declare("num_blocks", "tile", "", _index, "The logical grid's size along `axis`.",
            attrs={"axis": 0}),
    declare("tile_index", "tile", "number counts* starts*", _tile_index,
            "The index of tile `number` among `counts` tiles along each axis, from `starts` (or 0)"
            " on, visited in groups of shape `groups` (see base.tile_order). Different numbers from"
            " 0 up to the product of the counts have different indices, and result k lies from"
            " starts[k] >= 0 up to starts[k] + counts[k], which fits in i32; other numbers give"
            " anything.", attrs={"groups": ()}),
)  # fmt: skip
