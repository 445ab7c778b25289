"""y = a * x + y, in place: a scalar argument, and an output that is read before it is written."""

from __future__ import annotations

import numpy as np

import tilewright as tw
import tilewright.lang as tl
from tilewright import f32


@tw.entry
def saxpy(y: tl.TensorMut[f32], x: tl.Tensor[f32, tl.Dyn], a: f32) -> None:
    """`y.load()` gives the block's own part of y; no other block can see it."""
    y.store(a * tl.load_tile_like(x, y) + y.load())


def main() -> None:
    """Run it on fresh numbers and compare."""
    rng = np.random.default_rng()
    x, start = rng.standard_normal((2, 3001), dtype=np.float32)
    y = tw.from_numpy(start).sync()
    saxpy(y.partition_mut((1024,)), x, 2.5).sync()
    np.testing.assert_allclose(y.to_numpy(), np.float32(2.5) * x + start, rtol=1e-6, atol=1e-6)
    print("saxpy: 3001 elements updated in place")


if __name__ == "__main__":
    main()
