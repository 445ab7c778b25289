"""Where in the grid this block stands. Axes are logical: hardware order is the launch's affair."""

from __future__ import annotations

from collections.abc import Sequence

from ..opdef import declare
from ..types import I32, Type
from .rules import Attrs


def _index(types: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
    return (I32,)


OPS = (
    declare("block_id", "tile", "", _index, "This block's logical index along `axis`.",
            attrs={"axis": 0}),
    declare("num_blocks", "tile", "", _index, "The logical grid's size along `axis`.",
            attrs={"axis": 0}),
)  # fmt: skip
