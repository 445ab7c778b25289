"""Functions of 16-bit floats, approximate and exact: `python -m benchmarks.gpu.narrow`.

Prints for each kernel the time as it is, with `needed_precision=False`, and of a copy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import tilewright as tw
import tilewright.lang as tl
from tilewright import CompileOptions, bf16, f16, f32
from tilewright.testing.timing import bench

ROWS, COLUMNS = 16384, 4096
TILES = ((1, 4096), (4, 1024), (16, 256))
EXACT = CompileOptions(needed_precision=False)


@tw.entry
def copy(out: tl.TensorMut, x: tl.Tensor, y: tl.Tensor) -> None:
    """Add, to compare with."""
    out.store(tl.load_tile_like(x, out) + tl.load_tile_like(y, out))


@tw.entry
def gelu_tanh(out: tl.TensorMut, x: tl.Tensor) -> None:
    """Compute GELU as users write it."""
    t = tl.load_tile_like(x, out).astype(f32)
    u = 0.7978845608028654 * (t + 0.044715 * t * t * t)
    out.store((0.5 * t * (1.0 + tl.tanh(u))).astype(out.dtype))


@tw.entry
def gelu(out: tl.TensorMut, x: tl.Tensor) -> None:
    """Compute GELU by the standard library."""
    out.store(tl.gelu(tl.load_tile_like(x, out), "tanh"))


@tw.entry
def gelu_erf(out: tl.TensorMut, x: tl.Tensor) -> None:
    """Compute GELU by the error function."""
    out.store(tl.gelu(tl.load_tile_like(x, out)))


@tw.entry
def silu(out: tl.TensorMut, x: tl.Tensor) -> None:
    """Compute x * sigmoid(x)."""
    out.store(tl.silu(tl.load_tile_like(x, out)))


@tw.entry
def tanh(out: tl.TensorMut, x: tl.Tensor) -> None:
    """Compute the hyperbolic tangent."""
    out.store(tl.tanh(tl.load_tile_like(x, out)))


@tw.entry
def plain(out: tl.TensorMut, x: tl.Tensor) -> None:
    """Double, to compare with."""
    out.store(tl.load_tile_like(x, out) * 2.0)


@tw.entry
def swiglu(out: tl.TensorMut, x: tl.Tensor, y: tl.Tensor) -> None:
    """Compute silu(x) * y."""
    a = tl.load_tile_like(x, out).astype(f32)
    b = tl.load_tile_like(y, out).astype(f32)
    out.store((a / (1.0 + tl.exp(-a)) * b).astype(out.dtype))


ONE, TWO = (plain, tanh, silu, gelu, gelu_tanh, gelu_erf), (copy, swiglu)


def line(kernel: Any, tile: tuple[int, int], out: Any, inputs: Sequence[Any]) -> str:
    """Measure a kernel in both forms, in turn."""

    def launch(options: CompileOptions) -> Callable[[], Any]:
        return lambda: kernel(out.partition_mut(tile), *inputs).compile_options(options)

    times = bench({"fast": launch(CompileOptions()), "exact": launch(EXACT)}, rounds=30)
    fast, exact = (times[name].median for name in ("fast", "exact"))
    moved = (len(inputs) + 1) * ROWS * COLUMNS * out.dtype.itemsize
    speed = moved / fast / 1e12
    name = f"{out.dtype} {kernel.kernel.name:10} {tile!s:10}"
    return f"{name} {fast * 1e6:7.1f} us ({speed:.2f} TB/s), exact {exact * 1e6:7.1f} us"


def main() -> None:
    """Measure all kernels."""
    for dtype in (bf16, f16):
        numbers = np.random.default_rng(1).uniform(-4, 4, (2, ROWS, COLUMNS)).astype(np.float32)
        a, b = (tw.from_numpy(x.astype(dtype.np)).sync() for x in numbers)
        out = tw.empty((ROWS, COLUMNS), dtype).sync()
        for kernel in (*ONE, *TWO):
            for tile in TILES:
                print(line(kernel, tile, out, (a,) if kernel in ONE else (a, b)), flush=True)


if __name__ == "__main__":
    main()
