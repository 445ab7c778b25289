"""What a call costs: kernels of 16 elements, warm, through `kernel(args).sync()`."""

from __future__ import annotations

from functools import partial

import numpy as np

from .. import kernels, numba_peers, peers
from ..case import OURS, Case, KernelCall, Trial, Workload
from ..data import calling, into, poison, random, trial

N = 16


def _launch(ready: bool) -> Case:
    """`ready`: whether the output was partitioned before."""
    x, y = random((N,)), random((N,))
    z = poison((N,))
    call = calling(kernels.add, z, (N,), x, y)
    if ready:
        arguments = call.arguments()
        call = KernelCall(kernels.add, lambda: arguments)

    def torch() -> Trial:
        lib, out = peers.torch(), poison((N,))
        a, b, mine = peers.tensor(x), peers.tensor(y), peers.tensor(out)
        return Trial(partial(lib.add, a, b, out=mine), lambda _: out)

    def numba() -> Trial:
        run = peers.jit(numba_peers.add)
        return into(poison((N,)), lambda out: run(out, x, y))

    contestants = {
        OURS: lambda: trial(call, z),
        "numpy": lambda: into(poison((N,)), lambda out: np.add(x, y, out=out)),
        "torch": torch,
        "numba": numba,
    }
    return Case(call, contestants, lambda: x + y, (0.0, 1e-30))


WORKLOADS = (
    Workload("launch", "a warm kernel of 16 elements", partial(_launch, True)),
    Workload("launch_partition", "the same, and a new partition", partial(_launch, False)),
)
