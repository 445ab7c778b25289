"""What the compiler decides for a GPU changes no result beyond the bounds of the language."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
from benchmarks import kernels
from tilewright import f16, f32

LENGTHS = [1, 31, 255, 256, 257, 1000, 2048]


@tw.entry
def exponential(out: tl.TensorMut, x: tl.Tensor) -> None:
    out.store(tl.exp(tl.load_tile_like(x, out).astype(f32)).astype(out.dtype))


def run(kernel, shape, tile, *args, dtype=f32, **constants):
    """What a kernel writes on the GPU, into poisoned memory."""
    out = tw.full(shape, float("nan"), dtype).sync()
    given = [tw.from_numpy(a).sync() if isinstance(a, np.ndarray) else a for a in args]
    kernel(out.partition_mut(tile), *given, **constants).sync()
    return out.to_numpy()


def errors(found, x, ulp):
    expected = np.exp(x.astype(np.float64))
    return np.abs(found.astype(np.float64) - expected) / ulp(expected)


def test_exp_of_f32_is_within_its_bound(rng):
    x = rng.uniform(-87, 88, 1 << 20).astype(np.float32)
    found = run(exponential, x.shape, (1024,), x)
    assert errors(found, x, lambda e: np.spacing(e.astype(np.float32))).max() <= 2.0


def test_exp_that_ends_in_f16_is_rounded_a_little_late(rng):
    x = rng.uniform(-9, 10, 1 << 20).astype(np.float16)
    found = run(exponential, x.shape, (1024,), x, dtype=f16)
    assert errors(found, x, lambda e: np.spacing(e.astype(np.float16))).max() <= 0.5 + 2.0**-5
    special = np.array([-np.inf, np.inf, np.nan, 0.0, -0.0, 20.0, -20.0, 1.0], np.float16)
    with np.errstate(over="ignore"):
        expected = np.exp(special.astype(np.float64)).astype(np.float16)
    found = run(exponential, special.shape, (8,), special, dtype=f16)
    assert np.array_equal(np.isnan(found), np.isnan(expected))
    np.testing.assert_allclose(found[~np.isnan(found)], expected[~np.isnan(expected)], rtol=1e-3)


@pytest.mark.parametrize("columns", LENGTHS)
@pytest.mark.parametrize("rows", [1, 7, 64])
def test_rows_that_fill_their_tiles_and_rows_that_do_not(rng, rows, columns):
    x = rng.standard_normal((rows, columns), dtype=np.float32)
    wide = 1 << (columns - 1).bit_length()
    p = np.exp(x.astype(np.float64) - x.max(1, keepdims=True))
    found = run(kernels.softmax, x.shape, (4, wide), x)
    np.testing.assert_allclose(found, p / p.sum(1, keepdims=True), rtol=1e-5)
    weight = rng.standard_normal(columns, dtype=np.float32)
    root = np.sqrt((x.astype(np.float64) ** 2).mean(1, keepdims=True) + 1e-5)
    found = run(kernels.rms_norm, x.shape, (4, wide), x, weight, 1e-5)
    np.testing.assert_allclose(found, x / root * weight, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("columns", [8192, 8191, 16384, 20000, 32768, 32767])
def test_long_rows(rng, columns):
    x = rng.standard_normal((5, columns), dtype=np.float32)
    weight, bias = rng.standard_normal((2, columns), dtype=np.float32)
    wide = x.astype(np.float64)
    tile = (1, 1 << (columns - 1).bit_length())
    p = np.exp(wide - wide.max(1, keepdims=True))
    found = run(kernels.softmax, x.shape, tile, x)
    np.testing.assert_allclose(found, p / p.sum(1, keepdims=True), rtol=1e-5)
    centred = wide - wide.mean(1, keepdims=True)
    scale = 1 / np.sqrt((centred**2).mean(1, keepdims=True) + 1e-5)
    found = run(kernels.layer_norm, x.shape, tile, x, weight, bias, 1e-5)
    np.testing.assert_allclose(found, centred * scale * weight + bias, rtol=1e-4, atol=1e-5)
    root = np.sqrt((wide**2).mean(1, keepdims=True) + 1e-5)
    found = run(kernels.rms_norm, x.shape, tile, x, weight, 1e-5)
    np.testing.assert_allclose(found, wide / root * weight, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("shape", [(1, 1), (129, 64), (128, 257), (300, 1000)])
def test_every_block_runs_once_in_any_order(rng, shape):
    x = rng.standard_normal(shape, dtype=np.float32)
    found = run(kernels.transpose, shape[::-1], (64, 64), x)
    assert np.array_equal(found, x.T)


@pytest.mark.parametrize("size", [(1, 1, 1), (65, 127, 33), (130, 257, 64), (257, 95, 31)])
def test_products_of_rows_that_are_not_aligned(rng, size):
    m, n, k = size
    x = rng.standard_normal((m, k)).astype(np.float16)
    y = rng.standard_normal((k, n)).astype(np.float16)
    found = run(kernels.gemm, (m, n), (64, 64), x, y)
    np.testing.assert_allclose(found, x.astype(np.float64) @ y, rtol=1e-2, atol=1e-2 * k**0.5)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("tokens", [1, 100, 128, 300, 1000])
def test_attention(rng, tokens, causal):
    q, k, v = rng.standard_normal((3, 4, tokens, 64)).astype(np.float16)
    found = run(kernels.attention, q.shape, (1, 64, 64), q, k, v, 0.125, dtype=f16, CAUSAL=causal)
    score = np.einsum("hmd,hnd->hmn", q.astype(np.float64), k) * 0.125
    if causal:
        score[:, ~np.tri(tokens, dtype=bool)] = -np.inf
    p = np.exp(score - score.max(-1, keepdims=True))
    expected = np.einsum("hmn,hnd->hmd", p / p.sum(-1, keepdims=True), v)
    np.testing.assert_allclose(found, expected, rtol=1e-2, atol=4e-3)
