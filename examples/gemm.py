"""z = x @ y: each block owns one tile of the result and walks along the inner axis."""

from __future__ import annotations

import numpy as np

import tilewright as tw
import tilewright.lang as tl
from tilewright import f32


@tw.entry
def gemm(
    z: tl.TensorMut[f32],
    x: tl.Tensor[f32, tl.Dyn, tl.Dyn],
    y: tl.Tensor[f32, tl.Dyn, tl.Dyn],
    *,
    BK: tl.Const[int] = 32,
) -> None:
    """The tile's shape comes from z's partition; BK is how much of the inner axis a step takes."""
    assert x.shape[1] == y.shape[0]  # checked at launch, before anything runs
    BM, BN = z.shape
    i, j, _ = tl.get_tile_block_id()
    xs, ys = x.partition((BM, BK)), y.partition((BK, BN))
    acc = tl.zeros((BM, BN), f32)
    for k in range(tl.num_tiles(xs, 1)):
        acc = tl.mma(xs.load([i, k]), ys.load([k, j]), acc)
    z.store(acc)


def main() -> None:
    """Multiply matrices of odd sizes; the edges need no code of their own."""
    rng = np.random.default_rng()
    x = rng.standard_normal((130, 75), dtype=np.float32)
    y = rng.standard_normal((75, 97), dtype=np.float32)
    z = tw.empty((130, 97)).sync()
    gemm(z.partition_mut((64, 64)), x, y, BK=32).sync()
    np.testing.assert_allclose(z.to_numpy(), x @ y, rtol=1e-4, atol=1e-4)
    print("gemm: (130, 75) @ (75, 97) agrees with NumPy")


if __name__ == "__main__":
    main()
