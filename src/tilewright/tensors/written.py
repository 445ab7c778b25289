"""Which bytes of a piece of memory have been written, where that is not all of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..base.shapes import Shape, size

Runs = np.ndarray[Any, np.dtype[np.int64]]
"""Sorted, disjoint runs of bytes: one row each, the first address and the one behind the last."""

NOTHING: Runs = np.empty((0, 2), np.int64)


def runs_of(start: int, item: int, shape: Shape, strides: Shape) -> Runs:
    """Return the bytes of elements that lie `strides` bytes apart, the first of them at `start`."""
    if size(shape) == 0:
        return NOTHING
    length, steps = item, list[tuple[int, int]]()
    for stride, extent in sorted((abs(s), n) for s, n in zip(strides, shape, strict=True)):
        if stride == length and not steps:
            length *= extent  # neighbours: one longer run
        elif extent > 1:
            steps.append((stride, extent))
    low = start + sum((n - 1) * s for n, s in zip(shape, strides, strict=True) if s < 0)
    starts = np.array([low], np.int64)
    for stride, extent in steps:
        starts = (starts[:, None] + stride * np.arange(extent)).ravel()
    return _merged(np.stack([starts, starts + length], axis=1))


def both(a: Runs, b: Runs) -> Runs:
    """Return the bytes of either."""
    return _merged(np.concatenate([a, b]))


def covers(runs: Runs, wanted: Runs) -> bool:
    """Return whether all wanted bytes are covered."""
    at = np.searchsorted(runs[:, 0], wanted[:, 0], side="right") - 1
    return bool(np.all(at >= 0)) and bool(np.all(runs[at, 1] >= wanted[:, 1]))


def _merged(runs: Runs) -> Runs:
    if len(runs) < 2:
        return runs
    runs = runs[np.argsort(runs[:, 0], kind="stable")]
    reach = np.maximum.accumulate(runs[:, 1])
    first = np.concatenate([[True], runs[1:, 0] > reach[:-1]])
    last = np.concatenate([first[1:], [True]])
    return np.stack([runs[first, 0], reach[last]], axis=1)
