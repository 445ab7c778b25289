"""What the compiler decides for a GPU changes no result beyond the bounds of the language."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
from benchmarks import kernels
from tilewright import f16, f32
from tilewright.launch import grid

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


def check_row_kernels(x, weight, bias):
    """Softmax and both norms of rows, each of which is one tile."""
    wide, tile = x.astype(np.float64), (1, 1 << (x.shape[1] - 1).bit_length())
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


@pytest.mark.parametrize("columns", [8192, 8191, 16384, 20000, 32768, 32767])
def test_long_rows(rng, columns):
    x = rng.standard_normal((5, columns), dtype=np.float32)
    weight, bias = rng.standard_normal((2, columns), dtype=np.float32)
    check_row_kernels(x, weight, bias)


@pytest.mark.parametrize("columns", [16384, 16383, 32768, 32767, 20001])
def test_long_rows_in_halves_of_f32(rng, columns):
    """They are kept as they were loaded, and widened once more for each reduction."""
    x = rng.standard_normal((3, columns)).astype(np.float16)
    weight, bias = rng.standard_normal((2, columns)).astype(np.float16)
    check_row_kernels(x, weight, bias)


@tw.entry
def in_halves(out: tl.TensorMut) -> None:
    halves = out.partition_mut((1, 8192))
    left, right = halves.load([0, 0]), halves.load([0, 1])
    halves.store(left - tl.reduce_sum(left, 1, keepdims=True), [0, 0])
    halves.store(right - tl.reduce_sum(right, 1, keepdims=True), [0, 1])


@pytest.mark.parametrize("columns", [16384, 16385, 24576, 24575, 8191])
def test_regions_at_the_edge_are_read_to_it_and_no_further(rng, columns):
    x = rng.integers(1, 9, (3, columns)).astype(np.float32)
    out = tw.from_numpy(x).sync()
    in_halves(out.partition_mut((1, 16384))).sync()
    found = out.to_numpy()
    for first in range(0, columns, 8192):
        part = x[:, first : first + 8192]
        expected = part - part.sum(1, keepdims=True)
        assert np.array_equal(found[:, first : first + 8192], expected)


@tw.entry
def centred(out: tl.TensorMut, x: tl.Tensor) -> None:
    tile = tl.load_tile_like(x, out, padding=tl.neg_inf)
    out.store(tile - tl.reduce_max(tile, 1, keepdims=True))


@pytest.mark.parametrize("columns", [16384, 16383, 16000, 8192])
def test_nothing_is_written_behind_rows_that_are_shorter_than_what_is_read(rng, columns):
    x = rng.standard_normal((5, 16384), dtype=np.float32)
    memory = tw.full((6, columns), -77.0, f32).sync()
    rows, _ = memory.borrow_mut().split_at(5)
    centred(rows.partition((1, 16384)), tw.from_numpy(x).sync()).sync()
    found = memory.to_numpy()
    assert np.array_equal(found[:5], (x - x.max(1, keepdims=True))[:, :columns])
    assert (found[5] == -77).all()


@pytest.mark.parametrize("visits", [False, True])
@pytest.mark.parametrize("size", [(256, 256, 64), (8, 8, 8), (264, 520, 72), (1032, 248, 1000)])
def test_tiles_that_two_blocks_divide(rng, size, visits):
    m, n, k = size
    x = rng.standard_normal((m, k)).astype(np.float16)
    y = rng.standard_normal((k, n)).astype(np.float16)
    out = tw.full((m, n), float("nan"), f16).sync()
    tiles = out.partition_mut((256, 256))
    given = [tw.from_numpy(a).sync() for a in (x, y)]
    if visits:
        kernels.persistent_gemm(tiles.map((4, 1)), *given).sync()
    else:
        kernels.gemm(tiles, *given).sync()
    expected = x.astype(np.float64) @ y
    np.testing.assert_allclose(out.to_numpy(), expected, rtol=1e-2, atol=1e-2 * k**0.5)


@tw.entry
def shares(out: tl.TensorMut, x: tl.Tensor, y: tl.Tensor) -> None:
    out.store(tl.load_tile_like(x, out) / y.load_tile((8, 1), [tl.get_tile_block_id()[0], 0]))


def test_rows_divided_by_a_number_are_within_two_ulp(rng):
    """Whatever the numbers are: very large, subnormal, infinite or none at all."""
    bits = rng.integers(0, 1 << 32, (4096, 65), dtype=np.uint64).astype(np.uint32)
    numbers = bits.view(np.float32)
    numbers[:10, -1] = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-45, 3e-39, 3e38, 2.0**-64, 2.0**64]
    x, y = np.ascontiguousarray(numbers[:, :64]), np.ascontiguousarray(numbers[:, 64:])
    found = run(shares, x.shape, (8, 64), x, y)
    with np.errstate(all="ignore"):
        exact = x.astype(np.float64) / y
        nearest = exact.astype(np.float32)
        error = np.abs(found - exact) / np.spacing(np.abs(nearest)).astype(np.float64)
    assert np.array_equal(np.isnan(found), np.isnan(nearest))
    finite = np.isfinite(nearest) & np.isfinite(found)
    assert error[finite].max() <= 2.0


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


@pytest.mark.parametrize("step", [64, 128])
@pytest.mark.parametrize(
    "size", [(1, 1, 1), (257, 513, 509), (640, 257, 1021), (127, 1024, 333), (255, 333, 1024)]
)
def test_large_tiles_of_rows_that_are_not_aligned(rng, size, step):
    m, n, k = size
    x = rng.standard_normal((m, k)).astype(np.float16)
    y = rng.standard_normal((k, n)).astype(np.float16)
    found = run(kernels.gemm, (m, n), (128, 256), x, y, BK=step)
    np.testing.assert_allclose(found, x.astype(np.float64) @ y, rtol=1e-2, atol=1e-2 * k**0.5)


def attended(q, k, v, scale, causal):
    """Attention in f64."""
    score = np.einsum("hmd,hnd->hmn", q.astype(np.float64), k) * scale
    if causal:
        score[:, ~np.tri(q.shape[1], dtype=bool)] = -np.inf
    p = np.exp(score - score.max(-1, keepdims=True))
    return np.einsum("hmn,hnd->hmd", p / p.sum(-1, keepdims=True), v)


@pytest.mark.parametrize("causal", [False, True])
def test_more_heads_than_the_last_axis_of_a_grid_takes(rng, causal, monkeypatch):
    monkeypatch.setattr(grid, "MAX_GRID", ((1 << 24) - 1, 3, 3))
    q, k, v = rng.standard_normal((3, 5, 100, 32)).astype(np.float16)
    found = run(kernels.attention, q.shape, (1, 64, 32), q, k, v, 0.2, dtype=f16, CAUSAL=causal)
    np.testing.assert_allclose(found, attended(q, k, v, 0.2, causal), rtol=1e-2, atol=4e-3)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("tokens", [1, 100, 128, 300, 1000])
def test_attention(rng, tokens, causal):
    q, k, v = rng.standard_normal((3, 4, tokens, 64)).astype(np.float16)
    found = run(kernels.attention, q.shape, (1, 64, 64), q, k, v, 0.125, dtype=f16, CAUSAL=causal)
    np.testing.assert_allclose(found, attended(q, k, v, 0.125, causal), rtol=1e-2, atol=4e-3)
