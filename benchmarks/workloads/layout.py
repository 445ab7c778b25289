"""Moving elements to other places: the transposed copy of a matrix."""

from __future__ import annotations

from functools import partial

import numpy as np

from .. import kernels, numba_peers, peers
from ..case import OURS, Case, Trial, Workload, moved
from ..data import calling, into, poison, random, trial

TILE = (64, 64)


def _transpose(n: int) -> Case:
    x, z = random((n, n)), poison((n, n))
    call = calling(kernels.transpose, z, TILE, x)

    def torch() -> Trial:
        out, source = poison((n, n)), peers.tensor(x).t()
        return Trial(partial(peers.tensor(out).copy_, source), lambda _: out)

    def numba() -> Trial:
        run = peers.jit(numba_peers.transpose)
        return into(poison((n, n)), lambda out: run(out, x))

    contestants = {
        OURS: lambda: trial(call, z),
        "numpy": lambda: into(poison((n, n)), lambda out: np.copyto(out, x.T)),
        "torch": torch,
        "numba": numba,
    }
    return Case(call, contestants, lambda: x.T, (0.0, 1e-30), moved(x, x))


WORKLOADS = (Workload("transpose", "transposed copy, 4096 x 4096 f32", partial(_transpose, 4096)),)
