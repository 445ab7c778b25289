"""z[b] = x[b] @ y[b]: a batch axis in the grid, and mma on tiles of rank 3."""

from __future__ import annotations

import numpy as np

import tilewright as tw
import tilewright.lang as tl
from tilewright import f16, f32


@tw.entry
def batch_matmul(
    z: tl.TensorMut[f32],
    x: tl.Tensor[f16, tl.Dyn, tl.Dyn, tl.Dyn],
    y: tl.Tensor[f16, tl.Dyn, tl.Dyn, tl.Dyn],
    *,
    BK: tl.Const[int] = 16,
) -> None:
    """Half-precision inputs, products added up in f32."""
    BB, BM, BN = z.shape
    b, i, j = tl.get_tile_block_id()
    xs, ys = x.partition((BB, BM, BK)), y.partition((BB, BK, BN))
    acc = tl.zeros((BB, BM, BN), f32)
    for k in range(tl.num_tiles(xs, 2)):
        acc = tl.mma(xs.load([b, i, k]), ys.load([b, k, j]), acc)
    z.store(acc)


def main() -> None:
    """Multiply a batch of small matrices, one or two matrices per block."""
    rng = np.random.default_rng()
    x = rng.standard_normal((5, 40, 50)).astype(np.float16)
    y = rng.standard_normal((5, 50, 33)).astype(np.float16)
    z = tw.empty((5, 40, 33)).sync()
    batch_matmul(z.partition_mut((2, 32, 32)), x, y).sync()
    expected = x.astype(np.float32) @ y.astype(np.float32)
    np.testing.assert_allclose(z.to_numpy(), expected, rtol=1e-4, atol=1e-4)
    print("batch_matmul: 5 products of (40, 50) @ (50, 33) agree with NumPy")


if __name__ == "__main__":
    main()
