"""Scans whose functions do not commute, on a GPU: linear recurrences, in both directions."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
from tilewright import f32


def affine(a, b, c, d):
    """The composition of two steps y -> a y + b and y -> c y + d."""
    return a * c, b * c + d


@tw.entry
def recurrence(
    out: tl.TensorMut[f32], a: tl.Tensor[f32], b: tl.Tensor[f32],
    *, AXIS: tl.Const[int], BACK: tl.Const[bool],
) -> None:  # fmt: skip
    decay, step = tl.load_tile_like(a, out, padding=1.0), tl.load_tile_like(b, out)
    out.store(tl.scan((decay, step), AXIS, (1.0, 0.0), affine, reverse=BACK)[1])


@tw.entry
def sums(out: tl.TensorMut[f32], x: tl.Tensor[f32], *, BACK: tl.Const[bool]) -> None:
    out.store(tl.cumsum(tl.load_tile_like(x, out), 1, reverse=BACK))


def expected(a, b, axis, back):
    a, b = (np.moveaxis(x.astype(np.float64), axis, 0) for x in (a, b))
    a, b = (a[::-1], b[::-1]) if back else (a, b)
    made = np.empty_like(b)
    state = np.zeros(b.shape[1:])
    for k in range(len(b)):
        state = made[k] = a[k] * state + b[k]
    return np.moveaxis(made[::-1] if back else made, 0, axis)


@pytest.mark.parametrize("back", [False, True])
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("tile", [(1, 32), (4, 32), (32, 4), (1, 1024), (16, 64)], ids=str)
def test_linear_recurrences(tile, axis, back):
    rng = np.random.default_rng(5)
    a, b = rng.uniform(0.5, 1, tile).astype(np.float32), rng.standard_normal(tile, np.float32)
    out = tw.empty(tile).sync().partition_mut(tile)
    got = recurrence(out, a, b, AXIS=axis, BACK=back).out().sync().to_numpy()
    np.testing.assert_allclose(got, expected(a, b, axis, back), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("back", [False, True])
@pytest.mark.parametrize("length", [32, 256, 4096])
def test_infinities_reach_only_what_comes_after(length, back):
    x = np.random.default_rng(6).standard_normal((2, length), np.float32)
    x[0, length // 2] = np.inf
    x[1, length // 3] = np.nan
    out = tw.empty((2, length)).sync()
    got = sums(out.partition_mut((1, length)), x, BACK=back).out().sync().to_numpy()
    right = x[:, ::-1].astype(np.float64).cumsum(1)[:, ::-1] if back else x.astype(float).cumsum(1)
    np.testing.assert_allclose(got, right, rtol=1e-4, atol=1e-4)
