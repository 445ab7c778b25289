"""z = x + y: the smallest kernel that computes something."""

from __future__ import annotations

import numpy as np

import tilewright as tw
import tilewright.lang as tl


@tw.entry
def add(z: tl.TensorMut, x: tl.Tensor, y: tl.Tensor) -> None:
    """Each block adds the tile that is its own; any element type, any rank."""
    z.store(tl.load_tile_like(x, z) + tl.load_tile_like(y, z))


def main() -> None:
    """Add two vectors whose length is no multiple of the tile: the edge is padded and clipped."""
    rng = np.random.default_rng()
    x, y = rng.random((2, 1000), dtype=np.float32)
    z = tw.empty((1000,)).sync()
    add(z.partition_mut((256,)), x, y).sync()
    np.testing.assert_array_equal(z.to_numpy(), x + y)
    print("vector_add: 1000 sums, equal to NumPy's")


if __name__ == "__main__":
    main()
