"""The rows of the SIMT benchmark: work that waits for memory, for atomics, and for arithmetic."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ... import peers
from ...case import NotAvailable
from ..case import OURS, Case, Entry, Row, Settings, Tensor
from . import raw
from .kernels import block_sums, gemm, histogram, threshold_scale

CUDA, NUMBA = "CUDA C++", "numba-cuda"
BLOCK = 256
MILLION = 1 << 20
TILE = 64
ENOUGH_BLOCKS = 132 * 8


def _numba(name: str, grid: Sequence[int], block: Sequence[int], *args: Any) -> raw.Run:
    # numba asks for a name that NumPy has dropped.
    setattr(np, "row_stack", np.vstack)  # noqa: B010 - checkers do not know it either
    try:
        kernels = importlib.import_module("benchmarks.gpu.simt.numba_kernels")
    except ImportError as error:
        raise NotAvailable(f"numba-cuda cannot be imported: {error}") from None
    cuda = importlib.import_module("numba.cuda")
    given = [cuda.as_cuda_array(a) if hasattr(a, "data_ptr") else a for a in args]
    launch = getattr(kernels, name)[tuple(grid), tuple(block)]
    return lambda: launch(*given)


def _settings(make: Callable[[Tensor], raw.Run], like: Tensor, fill: float) -> Settings:
    """One setting; each contestant has an output of its own."""

    def settings() -> list[Entry]:
        out = peers.torch().full_like(like, fill)
        return [Entry(make(out), out)]

    return settings


def _threshold(n: int) -> Case:
    lib = peers.torch()
    x = lib.rand(n, device="cuda")
    grid, numbers = (-(-n // BLOCK),), (np.float32(0.5), np.float32(4))
    nan = float("nan")
    return Case(
        {
            OURS: _settings(lambda z: raw.ours(threshold_scale, grid, z, x, *numbers), x, nan),
            CUDA: _settings(
                lambda z: raw.cuda(
                    "threshold_scale", grid, (BLOCK,), z, x, np.int32(n), *numbers
                ), x, nan,
            ),
            NUMBA: _settings(
                lambda z: _numba("threshold_scale", grid, (BLOCK,), z, x, *numbers), x, nan
            ),
        },
        lambda: lib.where(x >= 0.5, x * 4, 0),
        1e-6,
    )  # fmt: skip


def _reduction(n: int) -> Case:
    lib = peers.torch()
    x = lib.rand(n, device="cuda")
    grid = (ENOUGH_BLOCKS,)
    like, nan = lib.empty(ENOUGH_BLOCKS, device="cuda"), float("nan")

    def expected() -> Tensor:
        rows = lib.nn.functional.pad(x, (0, -n % (ENOUGH_BLOCKS * BLOCK)))
        return rows.reshape(-1, ENOUGH_BLOCKS, BLOCK).double().sum((0, 2))

    return Case(
        {
            OURS: _settings(lambda z: raw.ours(block_sums, grid, z, x), like, nan),
            CUDA: _settings(
                lambda z: raw.cuda("block_sums", grid, (BLOCK,), z, x, np.int32(n)), like, nan
            ),
            NUMBA: _settings(lambda z: _numba("block_sums", grid, (BLOCK,), z, x), like, nan),
        },
        expected,
        1e-5,
    )


def _histogram(n: int) -> Case:
    """Counts grow with every run; who is right the first time is right every time."""
    lib = peers.torch()
    x = lib.randint(0, 256, (n,), device="cuda", dtype=lib.int32)
    grid, like = (ENOUGH_BLOCKS,), lib.zeros(256, device="cuda", dtype=lib.int32)
    runs: dict[str, Callable[[Tensor], raw.Run]] = {
        OURS: lambda z: raw.ours(histogram, grid, z, x),
        CUDA: lambda z: raw.cuda("histogram", grid, (BLOCK,), z, x, np.int32(n)),
        NUMBA: lambda z: _numba("histogram", grid, (BLOCK,), z, x),
    }
    return Case(
        {name: _cleared(make, like) for name, make in runs.items()},
        lambda: lib.bincount(x, minlength=256).double(),
        1e-9,
    )


def _cleared(make: Callable[[Tensor], raw.Run], like: Tensor) -> Settings:
    """A kernel that adds to its output, which is cleared before each run."""

    def settings() -> list[Entry]:
        out = like.clone()
        launch = make(out)

        def run() -> None:
            out.zero_()
            launch()

        return [Entry(run, out)]

    return settings


def _gemm(n: int) -> Case:
    lib = peers.torch()
    a, b = (lib.randn(n, n, device="cuda") for _ in range(2))
    grid, block, nan = (-(-n // TILE), -(-n // TILE)), (16, 16), float("nan")
    sizes = (np.int32(n),) * 3
    flat = [t.reshape(-1) for t in (a, b)]
    return Case(
        {
            OURS: _settings(lambda z: raw.ours(gemm, grid, z, a, b, *sizes), a, nan),
            CUDA: _settings(lambda z: raw.cuda("gemm", grid, block, z, a, b, *sizes), a, nan),
            NUMBA: _settings(
                lambda z: _numba("gemm", grid, block, z.reshape(-1), *flat, *sizes), a, nan
            ),
        },
        lambda: a.double() @ b.double(),
        1e-3,
    )


N = 64 * MILLION
GOAL = {CUDA: 0.95}
ROWS = {
    row.name: row
    for row in (
        Row("simt", "threshold/scale, 64M f32", lambda: _threshold(N), 8.0 * N, "B", GOAL),
        Row("simt", "block reduction, 64M f32", lambda: _reduction(N), 4.0 * N, "B", GOAL),
        Row("simt", "histogram of 256 bins, 64M i32", lambda: _histogram(N), 4.0 * N, "B", GOAL),
        Row("simt", "SIMT GEMM, 2048 f32", lambda: _gemm(2048), 2.0 * 2048**3, "FLOP"),
    )
}
