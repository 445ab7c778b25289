"""A kernel that calls device functions of another module."""

from __future__ import annotations

import numpy as np

import activations
import tilewright as tw
import tilewright.lang as tl
from activations import quick_gelu
from tilewright import f32


@tw.entry
def activate(out: tl.TensorMut[f32], x: tl.Tensor[f32, tl.Dyn]) -> None:
    """Both ways to name the other module's functions work; nothing is registered anywhere."""
    tile = tl.load_tile_like(x, out)
    out.store(quick_gelu(tile) + activations.sigmoid(tile))


def main() -> None:
    """Compare with the formulas written in NumPy."""
    rng = np.random.default_rng()
    x = rng.standard_normal(777, dtype=np.float32)
    out = tw.empty(x.shape).sync()
    activate(out.partition_mut((256,)), x).sync()
    wide = x.astype(np.float64)
    expected = wide / (1 + np.exp(-activations.SLOPE * wide)) + 1 / (1 + np.exp(-wide))
    np.testing.assert_allclose(out.to_numpy(), expected, rtol=1e-5, atol=1e-6)
    print("inter_module: 777 elements through two functions of another module")


if __name__ == "__main__":
    main()
