"""Root-mean-square normalisation of each row, with a weight per column."""

from __future__ import annotations

import numpy as np

import tilewright as tw
import tilewright.lang as tl
from tilewright import f32


@tw.entry
def rms_norm(
    out: tl.TensorMut[f32],
    x: tl.Tensor[f32, tl.Dyn, tl.Dyn],
    weight: tl.Tensor[f32, tl.Dyn],
    eps: f32,
) -> None:
    """The tile is wider than the row; zero padding is neutral for the sum of squares."""
    assert out.shape[1] >= x.shape[1]
    _, BN = out.shape
    tile = tl.load_tile_like(x, out)
    scale = weight.load_tile((BN,), [0])[None, :]
    mean_square = tl.reduce_sum(tile * tile, 1, keepdims=True) / float(x.shape[1])
    out.store(tile * tl.rsqrt(mean_square + eps) * scale)


def main() -> None:
    """Normalise rows of a width that is no power of two."""
    rng = np.random.default_rng()
    x = rng.standard_normal((50, 300), dtype=np.float32)
    weight = rng.standard_normal(300, dtype=np.float32)
    out = tw.empty(x.shape).sync()
    rms_norm(out.partition_mut((8, 512)), x, weight, 1e-6).sync()
    wide = x.astype(np.float64)
    expected = wide / np.sqrt((wide * wide).mean(axis=1, keepdims=True) + 1e-6) * weight
    np.testing.assert_allclose(out.to_numpy(), expected, rtol=2e-5, atol=1e-6)
    print("rms_norm: 50 rows of 300 agree with NumPy")


if __name__ == "__main__":
    main()
