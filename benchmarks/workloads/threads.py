"""Kernels for single threads: their blocks share memory, meet at barriers and exchange values."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import tilewright as tw
from tilewright import Entry

from .. import numba_peers, peers, simt_kernels
from ..case import OURS, Array, Case, KernelCall, Trial, Work, Workload, flops, moved
from ..data import RNG, into, poison, random, room, shared, trial

M = 1 << 20
EXACT = (0.0, 1e-30)


def _against_numba(
    call: KernelCall, out: Array, loops: Callable[..., None], inputs: tuple[Any, ...],
    numpy: Callable[[Array], object], expected: Callable[[], Array],
    tolerance: tuple[float, float], work: Work,
) -> Case:  # fmt: skip
    """A contest with NumPy and with the same work as loops of numba."""

    def fresh() -> Array:
        return poison(out.shape, out.dtype) if out.dtype.kind == "f" else np.zeros_like(out)

    def numba() -> Trial:
        run = peers.jit(loops)
        return into(fresh(), lambda result: run(result, *inputs))

    contestants = {
        OURS: lambda: trial(call, out), "numpy": lambda: into(fresh(), numpy), "numba": numba
    }  # fmt: skip
    return Case(call, contestants, expected, tolerance, work)


def _through_pointer(
    kernel: Entry, out: Array, grid: tuple[int, ...], *inputs: Any, clears: bool = False
) -> KernelCall:
    """A call of a kernel that writes `out` by its address, which is zero before where it adds."""
    result, given = tw.asarray(out), shared(inputs)

    def arguments() -> tuple[Any, ...]:
        if clears:
            out.fill(0)
        return (result.device_pointer(), *given)

    return KernelCall(kernel, arguments, grid=grid)


def _threshold(n: int) -> Case:
    x, z = random((n,)), poison((n,))
    low, factor = np.float32(0.1), np.float32(4.0)
    result, source = tw.asarray(z), tw.asarray(x)
    call = KernelCall(simt_kernels.threshold_scale, lambda: (result.borrow_mut(), source, 0.1, 4.0))

    def numpy(out: Array) -> None:
        np.multiply(x, factor, out=out)
        np.multiply(out, x >= low, out=out)

    return _against_numba(
        call, z, numba_peers.threshold_scale, (x, low, factor), numpy,
        lambda: np.where(x >= low, x * factor, np.float32(0)), EXACT, moved(x, x),
    )  # fmt: skip


def _block_sums(n: int) -> Case:
    chunk = simt_kernels.CHUNK
    x, z = random((n,)), poison((n // chunk,))
    result, source = tw.asarray(z), tw.asarray(x)
    call = KernelCall(
        simt_kernels.block_sums, lambda: (result.borrow_mut(), source), grid=(z.size,)
    )
    rows = x.reshape(-1, chunk)
    return _against_numba(
        call, z, numba_peers.sum_rows, (rows,), lambda out: np.sum(rows, 1, out=out),
        lambda: rows.sum(1, dtype=np.float64), (1e-5, 1e-2), moved(x),
    )  # fmt: skip


def _histogram(n: int) -> Case:
    bins, chunk = simt_kernels.BINS, simt_kernels.CHUNK
    x, counts = room((n,), np.int32), np.zeros(bins, np.int32)
    x[...] = RNG.integers(0, bins, n, np.int32)
    call = _through_pointer(simt_kernels.histogram, counts, (n // chunk,), x, clears=True)

    def numpy(out: Array) -> None:
        out[...] = np.bincount(x, minlength=bins)

    return _against_numba(
        call, counts, numba_peers.histogram, (x,), numpy,
        lambda: np.bincount(x, minlength=bins), EXACT, moved(x),
    )  # fmt: skip


def _gemm(n: int) -> Case:
    a, b, c = random((n, n)), random((n, n)), poison((n, n))
    tiles = n // simt_kernels.SIDE
    call = _through_pointer(simt_kernels.gemm, c, (tiles, tiles), a, b, n)
    return _against_numba(
        call, c, numba_peers.gemm, (a, b), lambda out: np.matmul(a, b, out=out),
        lambda: a.astype(np.float64) @ b, (1e-5, 1e-3), flops(2.0 * n**3),
    )  # fmt: skip


WORKLOADS = (
    Workload(
        "simt_threshold_64m", "SIMT: x * s where x >= t, 64M f32", partial(_threshold, 64 * M),
        {"numba": 1.0},
    ),
    Workload(
        "simt_block_sums_64m", "SIMT: sums of blocks, 64M f32", partial(_block_sums, 64 * M),
        {"numba": 1.0},
    ),
    Workload(
        "simt_histogram_32m", "SIMT: histogram of 256 bins, 32M i32", partial(_histogram, 32 * M),
        {"numba": 1.0},
    ),
    Workload(
        "simt_gemm_1024", "SIMT: 1024^3 f32 through shared memory", partial(_gemm, 1024),
        {"numba": 1.0},
    ),
)  # fmt: skip
