"""Functions over tiles that kernels of other modules inline, and constants they read."""

from __future__ import annotations

from typing import NamedTuple

import tilewright.lang as tl

FACTOR = 3


class Pair(NamedTuple):
    """Two tiles that go together."""

    low: tl.Tile
    high: tl.Tile


def halves(x: tl.Tile, limit: float) -> Pair:
    """What lies below and above a limit."""
    return Pair(tl.minimum(x, limit), tl.maximum(x, limit))


def weighted(pair: Pair, weight: float = 0.5) -> tl.Tile:
    """Reads a global of this module and calls another function of it."""
    return _mixed(pair.low, pair.high, weight) * FACTOR


def _mixed(a: tl.Tile, b: tl.Tile, weight: float) -> tl.Tile:
    return a * weight + b * (1.0 - weight)


def early(x: tl.Tile, flag: bool) -> tl.Tile:
    """Returns in the middle; the flag is a constant."""
    if flag:
        return -x
    x = x + 1.0
    return x * 2.0
