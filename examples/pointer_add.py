"""z = x + y through raw pointers: the compiler checks nothing, so both sides say `unsafe`."""

from __future__ import annotations

import numpy as np

import tilewright as tw
import tilewright.lang as tl
from tilewright import f32, i32


@tw.entry(unsafe=True)
def pointer_add(
    z: tl.Ptr[f32],
    x: tl.Ptr[f32],
    y: tl.Ptr[f32],
    n: i32,
    *,
    BLOCK: tl.Const[int] = 128,
) -> None:
    """Gather and scatter with a mask; without it the last block would leave the arrays."""
    i, _, _ = tl.get_tile_block_id()
    index = tl.arange(BLOCK) + i * BLOCK
    mask = index < n
    tl.scatter(z, index, tl.gather(x, index, mask) + tl.gather(y, index, mask), mask)


def main() -> None:
    """The grid cannot follow from a partition here, so it is given."""
    rng = np.random.default_rng()
    a, b = rng.random((2, 1000), dtype=np.float32)
    x, y = tw.from_numpy(a).sync(), tw.from_numpy(b).sync()
    z = tw.zeros((1000,)).sync()
    with tw.unsafe():
        op = pointer_add(z.device_pointer(), x.device_pointer(), y.device_pointer(), 1000)
    op.grid((8, 1, 1)).sync()
    np.testing.assert_array_equal(z.to_numpy(), a + b)
    print("pointer_add: 1000 sums through raw pointers, equal to NumPy's")


if __name__ == "__main__":
    main()
