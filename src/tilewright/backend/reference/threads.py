"""Where a thread stands, and its own index in launches of one and of two axes."""

from __future__ import annotations

import numpy as np

from ...base.dtypes import i32, int_range
from ...ir.attrs import WARP_SIZE, Place
from ...ir.core import Op
from .exact import Array
from .machine import Frame, Results, Rule

NOWHERE = int_range(i32)[1]
"""An index beyond every slice."""


def _sizes(frame: Frame, what: Place) -> tuple[int, ...]:
    """A place or a size along x, y and z."""
    assert frame.thread is not None, "an op of SIMT kernels"
    known = {
        Place.THREAD: frame.thread,
        Place.BLOCK: frame.block,
        Place.BLOCK_SIZE: frame.launch.func.signature.block_dims,
        Place.GRID_SIZE: tuple(reversed(frame.launch.grid)),
    }
    return known[what]


def _along(frame: Frame, axis: int) -> int:
    """The thread's place in the whole launch along an axis."""
    parts = (Place.BLOCK, Place.BLOCK_SIZE, Place.THREAD)
    block, size, thread = (_sizes(frame, what)[axis] for what in parts)
    return block * size + thread


def _is_used(frame: Frame, axis: int) -> bool:
    """Whether the launch has more than one thread along an axis."""
    return _sizes(frame, Place.BLOCK_SIZE)[axis] * _sizes(frame, Place.GRID_SIZE)[axis] > 1


def _number(n: int) -> Array:
    return np.asarray(min(n, NOWHERE), np.int32)


def _index_1d(frame: Frame, op: Op) -> Results:
    invalid = _is_used(frame, 1) or _is_used(frame, 2)
    return (_number(NOWHERE if invalid else _along(frame, 0)),)


def _index_2d(frame: Frame, op: Op) -> Results:
    width, row, col = frame.integer(op.one("width")), _along(frame, 1), _along(frame, 0)
    invalid = col >= width or _is_used(frame, 2)
    return (_number(NOWHERE if invalid else row * width + col),)


def _number_in_block(frame: Frame) -> int:
    assert frame.thread is not None, "an op of SIMT kernels"
    (x, y, z), (width, height, _) = frame.thread, _sizes(frame, Place.BLOCK_SIZE)
    return x + width * (y + height * z)


def _place(frame: Frame, op: Op) -> Results:
    what = op.attrs["what"]
    if what is Place.LANE:
        return (_number(_number_in_block(frame) % WARP_SIZE),)
    if what is Place.WARP:
        return (_number(_number_in_block(frame) // WARP_SIZE),)
    return (np.asarray(_sizes(frame, what)[op.attrs["axis"]], np.int32),)


RULES: dict[str, Rule] = {"index_1d": _index_1d, "index_2d": _index_2d, "place": _place}
