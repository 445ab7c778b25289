"""Numbers rounded to integers of every size: the nearest, even of two, saturated, 0 for NaN."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
from tilewright import f32, i8, i16, i32, u8, u16

EDGES = [
    np.nan, np.inf, -np.inf, 1e30, -1e30, 2.0**23, -0.0, 126.5, 127.5, -128.5, 254.5, 255.5,
    32767.5, -32768.5, 65534.5, 65535.5, 0.49999997,
]  # fmt: skip


@tw.entry
def rounded(out: tl.TensorMut, x: tl.Tensor[f32]) -> None:
    out.store(tl.round(tl.load_tile_like(x, out)).astype(out.dtype))


@pytest.mark.parametrize("dtype", [i8, u8, i16, u16, i32], ids=str)
def test_nearest_integers(dtype):
    rng = np.random.default_rng(1)
    drawn = rng.standard_normal(400, np.float32) * 200
    x = np.concatenate([drawn, np.arange(-300, 300, 0.5), EDGES]).astype(np.float32)
    out = tw.empty(x.shape, dtype).sync()
    got = rounded(out.partition_mut((64,)), x).out().sync().to_numpy()
    low, high = np.iinfo(dtype.np).min, np.iinfo(dtype.np).max
    wanted = np.clip(np.rint(x.astype(np.float64)), low, high)
    np.testing.assert_array_equal(got, np.where(np.isnan(x), 0, wanted).astype(dtype.np))
