"""Where in the grid this block stands."""

from __future__ import annotations

import numpy as np

from ...base.shapes import size
from ...base.tile_order import INTEGERS, tile_index
from ...ir.core import Op
from .machine import Frame, Results, Rule


def _block_id(frame: Frame, op: Op) -> Results:
    return (np.asarray(frame.block[op.attrs["axis"]], np.int32),)


def _num_blocks(frame: Frame, op: Op) -> Results:
    return (np.asarray(frame.launch.grid[op.attrs["axis"]], np.int32),)


def _tile_index(frame: Frame, op: Op) -> Results:
    number, counts = frame.integer(op.one("number")), [frame.integer(v) for v in op.all("counts")]
    if not 0 <= number < size(counts):  # what a pass moved out of a loop that does not run
        return tuple(np.asarray(0, np.int32) for _ in counts)
    index = tile_index(number, counts, op.attrs["groups"], INTEGERS)
    starts = [frame.integer(v) for v in op.all("starts")] or [0] * len(index)
    return tuple(np.asarray(a + b, np.int32) for a, b in zip(index, starts, strict=True))


RULES: dict[str, Rule] = {
    "block_id": _block_id,
    "num_blocks": _num_blocks,
    "tile_index": _tile_index,
}
