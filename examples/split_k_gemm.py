"""z = x @ y where the inner axis is long and z small: many blocks work on one tile of z.

The safe form gives each part of the inner axis an output of its own, and adds them up in a second
kernel. With atomics one kernel is enough; but then blocks write the same memory, which the compiler
cannot check, and the order of the sums is that of the moment.
"""

from __future__ import annotations

from typing import Any, TypeVar

import tilewright as tw
import tilewright.lang as tl
from persistent_gemm import TOLERANCE, check, matrix
from tilewright import DType, f32

E = TypeVar("E", bound=DType)

TILE = 32


@tw.entry
def parts_of_product(
    parts: tl.MappedPartitionMut[f32],
    x: tl.Tensor[E, tl.Dyn, tl.Dyn],
    y: tl.Tensor[E, tl.Dyn, tl.Dyn],
    *,
    BK: tl.Const[int] = 32,
) -> None:
    """parts[s] = x[:, part s] @ y[part s, :]; a part has as many steps as all, or one less."""
    assert x.shape[1] == y.shape[0]
    _, BM, BN = parts.shape
    xs, ys = x.partition((BM, BK)), y.partition((BK, BN))
    steps, splits = xs.num_tiles(1), parts.num_tiles(0)
    for index in parts.iter_indices():
        s, m, n = index
        acc = tl.zeros((BM, BN), f32)
        for k in range(s * steps // splits, (s + 1) * steps // splits):
            acc = tl.mma(xs.load((m, k)), ys.load((k, n)), acc)
        parts.store(acc.reshape(1, BM, BN), index)


@tw.entry
def sum_of_parts(z: tl.TensorMut[E], parts: tl.Tensor[f32, tl.Dyn, tl.Dyn, tl.Dyn]) -> None:
    """Always in the same order, so the result is always the same."""
    BM, BN = z.shape
    i, j, _ = tl.get_tile_block_id()
    tiles = parts.partition((1, BM, BN))
    acc = tl.zeros((BM, BN), f32)
    for s in range(tiles.num_tiles(0)):
        acc = acc + tiles.load((s, i, j)).reshape(BM, BN)
    z.store(acc.astype(z.dtype))


def split_k(x: tw.Tensor[E], y: tw.Tensor[E], splits: int) -> tw.Tensor[E]:
    """The product, its inner axis in so many parts."""
    rows, columns = x.shape[0], y.shape[1]
    room = tw.empty((splits, rows, columns)).partition((1, TILE, TILE)).sync()
    parts = parts_of_product(room.map((1, 8, 1)), x, y).out()
    z = tw.empty((rows, columns), x.dtype).partition((TILE, TILE))
    return sum_of_parts(z, parts).out().sync()


@tw.entry(unsafe=True)
def add_parts(
    z: tl.Ptr[f32],
    x: tl.Tensor[E, tl.Dyn, tl.Dyn],
    y: tl.Tensor[E, tl.Dyn, tl.Dyn],
    *,
    BM: tl.Const[int] = TILE,
    BK: tl.Const[int] = 32,
) -> None:
    """One block per tile and part; all parts of a tile are added to the same memory."""
    m, n, s = tl.get_tile_block_id()
    _, _, splits = tl.get_num_tile_blocks()
    xs, ys = x.partition((BM, BK)), y.partition((BK, BM))
    steps = xs.num_tiles(1)
    acc = tl.zeros((BM, BM), f32)
    for k in range(s * steps // splits, (s + 1) * steps // splits):
        acc = tl.mma(xs.load((m, k)), ys.load((k, n)), acc)
    whole = tl.make_tensor_view(z, (x.shape[0], y.shape[1]))
    tl.atomic_red_view(tl.make_partition_view_mut(whole, (BM, BM)), (m, n), acc, "add")


def split_k_atomic(x: tw.Tensor[Any], y: tw.Tensor[Any], splits: int) -> tw.Tensor[f32]:
    """The product in f32, by atomics."""
    rows, columns = x.shape[0], y.shape[1]
    z = tw.zeros((rows, columns)).sync()
    with tw.unsafe():
        op = add_parts(z.device_pointer(), x, y)
    op.grid((-(-rows // TILE), -(-columns // TILE), splits)).sync()
    return z


def main() -> None:
    """Small products of long rows; more parts than steps leave some of them empty."""
    for dtype, off in TOLERANCE.items():
        for rows, inner, columns in (1, 1, 1), (31, 33, 32), (33, 1000, 65):
            x, y = matrix(rows, inner, dtype), matrix(inner, columns, dtype)
            a, b = tw.from_numpy(x, dtype).sync(), tw.from_numpy(y, dtype).sync()
            for splits in (1, 3, 5):
                check(split_k(a, b, splits).to_numpy(), x, y, off)
                check(split_k_atomic(a, b, splits).to_numpy(), x, y, off)
    print("split_k_gemm: f32, f16 and bf16 in up to 5 parts agree with NumPy")


if __name__ == "__main__":
    main()
