"""Where in the grid this block stands."""

from __future__ import annotations

import numpy as np

from ...ir import Op
from .machine import Frame, Results, Rule


def _block_id(frame: Frame, op: Op) -> Results:
    return (np.asarray(frame.block[op.attrs["axis"]], np.int32),)


def _num_blocks(frame: Frame, op: Op) -> Results:
    return (np.asarray(frame.launch.grid[op.attrs["axis"]], np.int32),)


RULES: dict[str, Rule] = {"block_id": _block_id, "num_blocks": _num_blocks}
