"""Workloads bound by memory: one pass over long vectors."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from .. import kernels, numba_peers, peers
from ..case import OURS, Array, Case, Trial, Workload, moved
from ..data import calling, into, poison, random, trial

M = 1 << 20
TILE = (16384,)
EXACT = (0.0, 1e-30)


def _add(n: int) -> Case:
    x, y = random((n,)), random((n,))
    z = poison((n,))
    call = calling(kernels.add, z, TILE, x, y)

    def torch() -> Trial:
        lib, a, b = peers.torch(), peers.tensor(x), peers.tensor(y)
        out = poison((n,))
        return Trial(partial(lib.add, a, b, out=peers.tensor(out)), lambda _: out)

    def numba() -> Trial:
        run = peers.jit(numba_peers.add)
        return into(poison((n,)), lambda out: run(out, x, y))

    contestants = {
        OURS: lambda: trial(call, z),
        "numpy": lambda: into(poison((n,)), lambda out: np.add(x, y, out=out)),
        "torch": torch,
        "numba": numba,
    }
    return Case(call, contestants, lambda: x + y, EXACT, moved(x, y, x))


def _saxpy(n: int, a: float = 2.5) -> Case:
    x, start = random((n,)), random((n,))

    def copy() -> Array:
        mine = poison((n,))
        mine[...] = start
        return mine

    y = copy()
    call = calling(kernels.saxpy, y, TILE, x, a)

    def numpy() -> Trial:
        room = np.empty(n, np.float32)

        def run(out: Array) -> None:
            np.multiply(x, np.float32(a), out=room)
            np.add(out, room, out=out)

        return into(copy(), run)

    def torch() -> Trial:
        out, other = copy(), peers.tensor(x)
        mine = peers.tensor(out)
        return Trial(lambda: mine.add_(other, alpha=a), lambda _: out)

    def numba() -> Trial:
        run, factor = peers.jit(numba_peers.saxpy), np.float32(a)
        return into(copy(), lambda out: run(out, x, factor))

    contestants = {OURS: lambda: trial(call, y), "numpy": numpy, "torch": torch, "numba": numba}
    return Case(call, contestants, lambda: np.float32(a) * x + start, (1e-6, 1e-6), moved(x, x, x))


def _threshold(n: int, threshold: float = 0.1, scale: float = 4.0) -> Case:
    x = random((n,))
    z = poison((n,))
    call = calling(kernels.threshold_scale, z, TILE, x, threshold, scale)
    low, factor = np.float32(threshold), np.float32(scale)

    def numpy() -> Trial:
        def run(out: Array) -> None:
            np.multiply(x, factor, out=out)
            np.multiply(out, x >= low, out=out)

        return into(poison((n,)), run)

    def torch() -> Trial:
        lib, a, out = peers.torch(), peers.tensor(x), poison((n,))
        mine, zero = peers.tensor(out), lib.zeros(())
        return Trial(lambda: lib.where(a >= threshold, a * scale, zero, out=mine), lambda _: out)

    def numba() -> Trial:
        run = peers.jit(numba_peers.threshold_scale)
        return into(poison((n,)), lambda out: run(out, x, low, factor))

    contestants = {OURS: lambda: trial(call, z), "numpy": numpy, "torch": torch, "numba": numba}
    expected = lambda: np.where(x >= low, x * factor, np.float32(0))  # noqa: E731
    return Case(call, contestants, expected, EXACT, moved(x, x))


def _chain(n: int) -> Case:
    x, y = random((n,)), random((n,))
    z = poison((n,))
    call = calling(kernels.chain, z, TILE, x, y)
    half = np.float32(0.5)

    def numpy(out: Array) -> None:
        np.multiply(x, y, out=out)
        np.add(out, half, out=out)
        np.abs(out, out=out)
        np.negative(out, out=out)
        np.exp(out, out=out)
        np.add(out, x, out=out)

    def torch() -> Trial:
        a, b, out = peers.tensor(x), peers.tensor(y), poison((n,))
        mine, lib = peers.tensor(out), peers.torch()
        return Trial(
            lambda: lib.mul(a, b, out=mine).add_(0.5).abs_().neg_().exp_().add_(a), lambda _: out
        )

    def compiled() -> Trial:
        a, b, out = peers.tensor(x), peers.tensor(y), poison((n,))
        lib, mine = peers.torch(), peers.tensor(out)

        def function(out: Any, a: Any, b: Any) -> None:
            out.copy_(a + lib.exp(-lib.abs(a * b + 0.5)))

        return Trial(partial(peers.compiled(function), mine, a, b), lambda _: out)

    def numba() -> Trial:
        run = peers.jit(numba_peers.chain)
        return into(poison((n,)), lambda out: run(out, x, y))

    contestants = {
        OURS: lambda: trial(call, z),
        "numpy": lambda: into(poison((n,)), numpy),
        "torch": torch,
        "torch.compile": compiled,
        "numba": numba,
    }
    expected = lambda: x + np.exp(-np.abs(x * y + half))  # noqa: E731
    return Case(call, contestants, expected, (1e-5, 1e-6), moved(x, y, x))


WORKLOADS = (
    Workload("add_64m", "z = x + y, 64M f32", partial(_add, 64 * M), {"torch": 1.3}),
    Workload("add_1m", "z = x + y, 1M f32", partial(_add, M)),
    Workload("saxpy_64m", "y = a x + y, 64M f32", partial(_saxpy, 64 * M)),
    Workload("threshold_64m", "x * s where x >= t, 64M f32", partial(_threshold, 64 * M)),
    Workload(
        "chain_16m", "x + exp(-|x y + 0.5|), 16M f32", partial(_chain, 16 * M),
        {"torch.compile": 1.0, "numba": 1.0},
    ),
)  # fmt: skip
