"""What a call costs: kernels of 16 elements, warm, through `kernel(args).sync()`."""

from __future__ import annotations

from functools import partial

import numpy as np

from .. import kernels, numba_peers, peers
from ..case import OURS, Case, KernelCall, Trial, Workload
from ..data import calling, into, poison, random, trial

N = 16


def _launch(ready: bool, arrays: bool = False) -> Case:
    """`ready`: whether the output was partitioned before; `arrays`: inputs are no tensors."""
    x, y = random((N,)), random((N,))
    z = poison((N,))
    call = calling(kernels.add, z, (N,), x, y)
    arguments = call.arguments()
    if arrays:
        call = KernelCall(kernels.add, lambda: (arguments[0], x, y))
    elif ready:
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
    Workload("launch_arrays", "the same, on NumPy arrays", partial(_launch, True, True)),
)
