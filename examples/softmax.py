"""Softmax of each row. The row of 1000 sits in a tile of 1024; padding keeps the rest out of it."""

from __future__ import annotations

import numpy as np

import tilewright as tw
import tilewright.lang as tl
from tilewright import f32


@tw.entry
def row_softmax(out: tl.TensorMut[f32], x: tl.Tensor[f32, tl.Dyn, tl.Dyn]) -> None:
    """One block holds whole rows; -inf is neutral for the maximum, and exp makes it 0."""
    assert out.shape[1] >= x.shape[1]  # checked at launch
    tile = tl.load_tile_like(x, out, padding=tl.neg_inf)
    p = tl.exp(tile - tl.reduce_max(tile, 1, keepdims=True))
    out.store(p / tl.reduce_sum(p, 1, keepdims=True))


def main() -> None:
    """Run it far from zero too, where a wrong padding would show."""
    rng = np.random.default_rng()
    for offset in (0.0, -20.0, 80.0):
        x = rng.standard_normal((37, 1000), dtype=np.float32) + np.float32(offset)
        out = tw.empty(x.shape).sync()
        row_softmax(out.partition_mut((4, 1024)), x).sync()
        shifted = np.exp(x.astype(np.float64) - x.max(axis=1, keepdims=True))
        expected = shifted / shifted.sum(axis=1, keepdims=True)
        np.testing.assert_allclose(out.to_numpy(), expected, rtol=1e-5, atol=1e-8)
    print("softmax: 37 rows of 1000 in tiles of 1024 agree with NumPy")


if __name__ == "__main__":
    main()
