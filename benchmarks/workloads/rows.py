"""Workloads that reduce along rows and write rows back: softmax and the two norms."""

from __future__ import annotations

from functools import partial

import numpy as np

from .. import kernels, numba_peers, peers
from ..case import OURS, Array, Case, Trial, Workload, moved
from ..data import calling, into, poison, random, trial

ROWS = 4
"""Rows per tile."""


def _tile(columns: int) -> tuple[int, int]:
    return ROWS, 1 << (columns - 1).bit_length()


def _softmax(rows: int, columns: int) -> Case:
    shape = rows, columns
    x, z = random(shape), poison(shape)
    call = calling(kernels.softmax, z, _tile(columns), x)

    def numpy(out: Array) -> None:
        np.subtract(x, x.max(axis=1, keepdims=True), out=out)
        np.exp(out, out=out)
        np.divide(out, out.sum(axis=1, keepdims=True), out=out)

    def torch() -> Trial:
        lib, out = peers.torch(), poison(shape)
        return Trial(partial(lib.softmax, peers.tensor(x), 1, out=peers.tensor(out)), lambda _: out)

    def numba() -> Trial:
        run = peers.jit(numba_peers.softmax)
        return into(poison(shape), lambda out: run(out, x))

    def expected() -> Array:
        p = np.exp(x.astype(np.float64) - x.max(axis=1, keepdims=True))
        p /= p.sum(axis=1, keepdims=True)
        return np.asarray(p)

    contestants = {
        OURS: lambda: trial(call, z),
        "numpy": lambda: into(poison(shape), numpy),
        "torch": torch,
        "numba": numba,
    }
    return Case(call, contestants, expected, (1e-5, 1e-9), moved(x, x))


def _rms_norm(rows: int, columns: int, eps: float = 1e-6) -> Case:
    shape = rows, columns
    x, weight, z = random(shape), random((columns,)), poison(shape)
    call = calling(kernels.rms_norm, z, _tile(columns), x, weight, eps)

    def numpy(out: Array) -> None:
        np.multiply(x, x, out=out)
        scale = 1 / np.sqrt(out.mean(axis=1, keepdims=True) + np.float32(eps))
        np.multiply(x, scale, out=out)
        np.multiply(out, weight, out=out)

    def torch() -> Trial:
        norm = peers.torch().nn.functional.rms_norm
        a, w = peers.tensor(x), peers.tensor(weight)
        return Trial(lambda: norm(a, (columns,), w, eps), lambda result: result.numpy())

    def by_hand() -> Trial:
        lib, out = peers.torch(), poison(shape)
        a, w, mine = peers.tensor(x), peers.tensor(weight), peers.tensor(out)

        def run() -> None:
            norm = lib.linalg.vector_norm(a, dim=1, keepdim=True)
            lib.mul(a, norm.square_().div_(columns).add_(eps).rsqrt_(), out=mine).mul_(w)

        return Trial(run, lambda _: out)

    def numba() -> Trial:
        run, small = peers.jit(numba_peers.rms_norm), np.float32(eps)
        return into(poison(shape), lambda out: run(out, x, weight, small))

    def expected() -> Array:
        wide = x.astype(np.float64)
        root = np.sqrt((wide * wide).mean(axis=1, keepdims=True) + eps)
        return np.asarray(wide / root * weight)

    contestants = {
        OURS: lambda: trial(call, z),
        "numpy": lambda: into(poison(shape), numpy),
        "torch": torch,
        "torch by hand": by_hand,
        "numba": numba,
    }
    return Case(call, contestants, expected, (2e-5, 1e-6), moved(x, x))


def _layer_norm(rows: int, columns: int, eps: float = 1e-5) -> Case:
    shape = rows, columns
    x, weight, bias = random(shape), random((columns,)), random((columns,))
    z = poison(shape)
    call = calling(kernels.layer_norm, z, _tile(columns), x, weight, bias, eps)

    def numpy(out: Array) -> None:
        centred = x - x.mean(axis=1, keepdims=True)
        np.multiply(centred, centred, out=out)
        scale = 1 / np.sqrt(out.mean(axis=1, keepdims=True) + np.float32(eps))
        np.multiply(centred, scale, out=out)
        np.multiply(out, weight, out=out)
        np.add(out, bias, out=out)

    def torch() -> Trial:
        norm = peers.torch().nn.functional.layer_norm
        a, w, b = peers.tensor(x), peers.tensor(weight), peers.tensor(bias)
        return Trial(lambda: norm(a, (columns,), w, b, eps), lambda result: result.numpy())

    def numba() -> Trial:
        run, small = peers.jit(numba_peers.layer_norm), np.float32(eps)
        return into(poison(shape), lambda out: run(out, x, weight, bias, small))

    def expected() -> Array:
        wide = x.astype(np.float64)
        wide -= wide.mean(axis=1, keepdims=True)
        root = np.sqrt((wide * wide).mean(axis=1, keepdims=True) + eps)
        return np.asarray(wide / root * weight + bias)

    contestants = {
        OURS: lambda: trial(call, z),
        "numpy": lambda: into(poison(shape), numpy),
        "torch": torch,
        "numba": numba,
    }
    return Case(call, contestants, expected, (2e-5, 2e-6), moved(x, x))


WORKLOADS = (
    Workload(
        "softmax_4096", "softmax of rows, 4096 x 4096 f32", partial(_softmax, 4096, 4096),
        {"torch": 1.35},
    ),
    Workload(
        "softmax_1000", "softmax of rows, 4096 x 1000 f32", partial(_softmax, 4096, 1000),
        {"torch": 1.35},
    ),
    Workload(
        "rms_norm", "RMSNorm of rows, 4096 x 4096 f32", partial(_rms_norm, 4096, 4096),
        {"torch": 1.3},
    ),
    Workload(
        "layer_norm", "LayerNorm of rows, 4096 x 4096 f32", partial(_layer_norm, 4096, 4096),
        {"torch": 1.3},
    ),
)  # fmt: skip
