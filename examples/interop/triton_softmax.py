"""Three kinds of kernels in one chain: tile add, Triton's softmax, SIMT threshold. Needs a GPU."""

from __future__ import annotations

from typing import Any

import numpy as np
import triton
import triton.language as ttl

import tilewright as tw
import tilewright.lang as tl
from tilewright import f32, simt
from tilewright.interop.triton import kernel

ROWS, COLUMNS = 37, 1000
LEAST = 0.001


@tw.entry
def add(z: tl.TensorMut[f32], x: tl.Tensor[f32], y: tl.Tensor[f32]) -> None:
    """One block adds one tile."""
    z.store(tl.load_tile_like(x, z) + tl.load_tile_like(y, z))


@triton.jit  # type: ignore[untyped-decorator]  # pyright: ignore[reportUntypedFunctionDecorator]
def softmax_kernel(out_ptr, x_ptr, stride, columns, BLOCK: ttl.constexpr):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """One program has one row."""
    row = ttl.program_id(0)
    offsets = ttl.arange(0, BLOCK)
    inside = offsets < columns
    x = ttl.load(x_ptr + row * stride + offsets, mask=inside, other=-float("inf"))
    p = ttl.exp(x - ttl.max(x, axis=0))
    ttl.store(out_ptr + row * stride + offsets, p / ttl.sum(p, axis=0), mask=inside)


@simt.kernel
def at_least(out: simt.DisjointSlice[f32], x: simt.Slice[f32], least: f32) -> None:
    """What is smaller becomes 0."""
    assert len(x) >= len(out)
    i = simt.index_1d()
    if i < len(out):
        out[i] = x[i] if x[i] >= least else 0.0


def chain(x: Any, y: Any, out: Any, softmax: Any) -> Any:
    """Three kernels of three kinds, on one stream, over shared tensors."""
    shape = (ROWS, COLUMNS)
    return (
        add(tw.zeros(shape).partition((4, 1024)), x, y)
        .then(lambda z, *_: softmax(tw.zeros(shape), z.unpartition(), COLUMNS, COLUMNS, BLOCK=1024))
        .then(lambda p, *_: at_least(out.borrow_mut(), p, LEAST))
    )


def main() -> None:
    """Run the chain, and once more as a graph."""
    if not tw.default_device().name.startswith("cuda"):
        raise SystemExit("Triton's kernels run on NVIDIA GPUs, and there is none")
    with tw.unsafe():
        # A program reads and writes its own row: `rows` of them are launched, of `columns`.
        softmax = kernel(softmax_kernel, reads=("x_ptr",), writes=("out_ptr",), grid=(ROWS,))
    x, y = tw.randn((ROWS, COLUMNS), seed=1).sync(), tw.randn((ROWS, COLUMNS), seed=2).sync()
    z = x.to_numpy().astype(np.float64) + y.to_numpy()
    p = np.exp(z - z.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    started, replayed = tw.zeros(z.shape).sync(), tw.zeros(z.shape).sync()
    chain(x, y, started, softmax).sync()
    chain(x, y, replayed, softmax).graph().launch().sync()
    near = np.abs(p - LEAST) > 1e-6
    for found in (started, replayed):
        wanted = np.where(p >= LEAST, p, 0)
        np.testing.assert_allclose(found.to_numpy()[near], wanted[near], rtol=1e-4, atol=1e-7)
    print(f"triton_softmax: {ROWS} rows of {COLUMNS} through kernels of three kinds")


if __name__ == "__main__":
    main()
