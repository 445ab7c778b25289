"""Sums of a matrix along each of its axes."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

import tilewright as tw

from .. import kernels, numba_peers, peers
from ..case import OURS, Case, Trial, Workload, moved
from ..data import calling, into, poison, random, trial


class Axis(NamedTuple):
    """How a reduction along one axis is written."""

    kernel: tw.Entry
    tile: tuple[int]
    numba: Callable[..., None]


AXES = {
    0: Axis(kernels.sum_columns, (1024,), numba_peers.sum_columns),
    1: Axis(kernels.sum_rows, (16,), numba_peers.sum_rows),
}


def _sum(n: int, axis: int) -> Case:
    kernel, tile, loops = AXES[axis]
    x, z = random((n, n)), poison((n,))
    call = calling(kernel, z, tile, x)

    def torch() -> Trial:
        lib, out = peers.torch(), poison((n,))
        return Trial(partial(lib.sum, peers.tensor(x), axis, out=peers.tensor(out)), lambda _: out)

    def numba() -> Trial:
        run = peers.jit(loops)
        return into(poison((n,)), lambda out: run(out, x))

    contestants = {
        OURS: lambda: trial(call, z),
        "numpy": lambda: into(poison((n,)), lambda out: np.sum(x, axis, out=out)),
        "torch": torch,
        "numba": numba,
    }
    expected = lambda: x.sum(axis, dtype=np.float64)  # noqa: E731
    return Case(call, contestants, expected, (1e-5, 1e-2), moved(x))


WORKLOADS = (
    Workload("sum_axis_1", "sum along rows, 4096 x 4096 f32", partial(_sum, 4096, 1)),
    Workload("sum_axis_0", "sum along columns, 4096 x 4096 f32", partial(_sum, 4096, 0)),
)
