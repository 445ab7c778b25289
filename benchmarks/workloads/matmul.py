"""Workloads bound by arithmetic: matrix products, alone and in a batch."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import ml_dtypes
import numpy as np
import numpy.typing as npt

from .. import kernels, peers
from ..case import OURS, Array, Case, KernelCall, Trial, Workload, flops
from ..data import calling, into, poison, random, trial

TOLERANCE = {"float32": (1e-4, 2e-4), "float16": (2e-3, 2e-2), "bfloat16": (1e-2, 1e-1)}


def _torch(name: str, x: Array, y: Array) -> Callable[[], Trial]:
    """torch's own product, into memory of ours."""

    def make() -> Trial:
        out = poison((*x.shape[:-1], y.shape[-1]), x.dtype)
        product = getattr(peers.torch(), name)
        return Trial(
            partial(product, peers.tensor(x), peers.tensor(y), out=peers.tensor(out)),
            lambda _: out,
        )

    return make


def _numpy(x: Array, y: Array) -> Callable[[], Trial]:
    """NumPy's BLAS; it has none for 16-bit floats, which are widened first, as a user would."""
    shape = *x.shape[:-1], y.shape[-1]
    if x.dtype == np.float32:
        return lambda: into(poison(shape), lambda out: np.matmul(x, y, out=out))

    def run(out: Array) -> None:
        out[...] = x.astype(np.float32) @ y.astype(np.float32)

    return lambda: into(poison(shape, x.dtype), run)


def _case(call: KernelCall, z: Array, x: Array, y: Array, torch: str) -> Case:
    contestants = {
        OURS: lambda: trial(call, z),
        "numpy": _numpy(x, y),
        "torch": _torch(torch, x, y),
    }
    count = 2.0 * x.size * y.shape[-1]
    expected = lambda: np.matmul(x.astype(np.float64), y.astype(np.float64))  # noqa: E731
    return Case(call, contestants, expected, TOLERANCE[x.dtype.name], flops(count))


def _gemm(n: int, tile: tuple[int, int], step: int, dtype: npt.DTypeLike = np.float32) -> Case:
    x, y = random((n, n), dtype), random((n, n), dtype)
    z = poison((n, n), dtype)
    call = calling(kernels.gemm, z, tile, x, y, BK=step)
    return _case(call, z, x, y, "mm")


def _batch(batch: int, n: int) -> Case:
    x, y = random((batch, n, n)), random((batch, n, n))
    z = poison((batch, n, n))
    call = calling(kernels.batch_gemm, z, (1, n, n), x, y, BK=64)
    return _case(call, z, x, y, "bmm")


SMALL, LARGE, STEP = (128, 128), (256, 256), 128

WORKLOADS = (
    Workload("gemm_256", "256^3 f32", partial(_gemm, 256, SMALL, STEP)),
    Workload("gemm_512", "512^3 f32", partial(_gemm, 512, SMALL, STEP), {"numpy": 0.95}),
    Workload("gemm_1024", "1024^3 f32", partial(_gemm, 1024, LARGE, STEP)),
    Workload(
        "gemm_2048", "2048^3 f32", partial(_gemm, 2048, LARGE, STEP),
        {"numpy": 1.0, "torch": 1.3},
    ),
    Workload("gemm_1023", "1023^3 f32, no tile fits", partial(_gemm, 1023, LARGE, STEP)),
    Workload(
        "gemm_1024_bf16", "1024^3 bf16", partial(_gemm, 1024, LARGE, STEP, ml_dtypes.bfloat16)
    ),
    Workload("gemm_1024_f16", "1024^3 f16", partial(_gemm, 1024, LARGE, STEP, np.float16)),
    Workload(
        "batch_gemm_64", "64 products of 128^3 f32", partial(_batch, 64, 128), {"torch": 1.2}
    ),
)  # fmt: skip
