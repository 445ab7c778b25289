"""What is decided about a copy and a product, of tiles that a test names."""

from __future__ import annotations

from typing import Any

import tilewright as tw
import tilewright.lang as tl
from support.cuda import cuda_ir, lowered
from tilewright.backend.tileir.heuristics import Decisions
from tilewright.base.shapes import Shape


@tw.entry
def copy(z: tl.TensorMut, x: tl.Tensor) -> None:
    z.store(tl.load_tile_like(x, z))


@tw.entry
def gemm(z: tl.TensorMut, x: tl.Tensor, y: tl.Tensor) -> None:
    i, j, _ = tl.get_tile_block_id()
    bm, bn = z.shape
    xs, ys = x.partition((bm, 16)), y.partition((16, bn))
    acc = tl.zeros((bm, bn), tw.f32)
    for k in range(tl.num_tiles(xs, 1)):
        acc = tl.mma(xs.load([i, k]), ys.load([k, j]), acc)
    z.store(acc)


def copied(tile: Shape, arch: str = "sm_90", **codegen_hints: Any) -> Decisions:
    z = tw.meta((4096, 4096))
    return lowered(cuda_ir(copy, z.partition_mut(tile), z), arch=arch, **codegen_hints).decisions


def product(tile: Shape, arch: str = "sm_90", **codegen_hints: Any) -> Decisions:
    z = tw.meta((4096, 4096), tw.bf16)
    func = cuda_ir(gemm, tw.meta((4096, 4096)).partition_mut(tile), z, z)
    return lowered(func, arch=arch, **codegen_hints).decisions
