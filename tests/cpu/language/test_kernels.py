"""Whole kernels as users write them: softmax, norms, attention, products, dropout."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
from support.expressions import Output, output
from tilewright import bf16, f16, f32, u32

LENGTHS = (1, 1000, 1025)
TOLERANCE = {f16: 2e-3, bf16: 2e-2, f32: 1e-5, tw.f64: 1e-12}


def check(result, expected, dtype=f32):
    bound = TOLERANCE[dtype]
    np.testing.assert_allclose(
        result.astype(np.float64), expected.astype(np.float64), rtol=bound, atol=bound
    )


def covering(n):
    """The least power of two that holds n elements."""
    return 1 << (n - 1).bit_length()


# --- rows --------------------------------------------------------------------------------------


@tw.entry
def softmax(out: tl.TensorMut, x: tl.Tensor) -> None:
    """A whole row in one tile."""
    assert out.shape[1] >= x.shape[1]
    tile = tl.load_tile_like(x, out, padding=tl.neg_inf).astype(f32)
    p = tl.exp(tile - tl.reduce_max(tile, 1, keepdims=True))
    out.store((p / tl.reduce_sum(p, 1, keepdims=True)).astype(out.dtype))


@tw.entry
def online_softmax(out: tl.TensorMut[f32], x: tl.Tensor[f32], *, BN: tl.Const[int]) -> None:
    """Rows in pieces: one pass for the greatest and the sum, one for the results."""
    bm, _ = out.shape
    i, _, _ = tl.get_tile_block_id()
    tiles, parts = x.partition((bm, BN), padding=tl.neg_inf), out.partition_mut((bm, BN))
    peak, total = tl.full((bm, 1), tl.neg_inf, f32), tl.zeros((bm, 1), f32)
    for j in range(tiles.num_tiles(1)):
        tile = tiles.load([i, j])
        higher = tl.maximum(peak, tl.reduce_max(tile, 1, keepdims=True))
        total = total * tl.exp(peak - higher) + tl.exp(tile - higher).sum(1, keepdims=True)
        peak = higher
    for j in range(tiles.num_tiles(1)):
        parts.store(tl.exp(tiles.load([i, j]) - peak) / total, [0, j])


def numpy_softmax(x):
    wide = x.astype(np.float64)
    p = np.exp(wide - wide.max(1, keepdims=True))
    return p / p.sum(1, keepdims=True)


@pytest.mark.parametrize("dtype", [f32, f16, bf16], ids=str)
@pytest.mark.parametrize("n", LENGTHS)
def test_softmax(device, n, dtype, rng):
    x = (rng.standard_normal((7, n)) * 3).astype(dtype.np)
    with tw.device(device):
        z = Output(x.shape, dtype)
        softmax(z.cut(2, covering(n)), x).sync()
    check(z.result(), numpy_softmax(x), dtype)


@pytest.mark.parametrize("tile", [(1, 16), (4, 64)], ids=str)
@pytest.mark.parametrize("n", LENGTHS)
def test_softmax_in_pieces(device, n, tile, rng):
    x = (rng.standard_normal((5, n)) * 3).astype(np.float32)
    with tw.device(device):
        z = output(x)
        online_softmax(z.cut(tile[0], covering(n)), x, BN=tile[1]).sync()
    check(z.result(), numpy_softmax(x))


@tw.entry
def rms_norm(
    out: tl.TensorMut, x: tl.Tensor, weight: tl.Tensor, eps: f32, *, BN: tl.Const[int] = 64
) -> None:
    bm, _ = out.shape
    i, _, _ = tl.get_tile_block_id()
    tiles, parts, weights = x.partition((bm, BN)), out.partition_mut((bm, BN)), weight.partition(BN)
    squares = tl.zeros((bm,), f32)
    for j in range(tl.num_tiles(tiles, 1)):
        tile = tiles.load([i, j]).astype(f32)
        squares += tl.reduce_sum(tile * tile, 1)
    scale = tl.rsqrt(squares / float(x.shape[1]) + eps)[:, None]
    for j in range(tl.num_tiles(tiles, 1)):
        scaled = tiles.load([i, j]).astype(f32) * scale * weights.load(j).astype(f32)[None, :]
        parts.store(scaled.astype(out.dtype), [0, j])


@pytest.mark.parametrize("dtype", [f32, bf16], ids=str)
@pytest.mark.parametrize("n", LENGTHS)
def test_rms_norm(device, n, dtype, rng):
    x, weight = rng.standard_normal((5, n)).astype(dtype.np), rng.random(n).astype(dtype.np)
    with tw.device(device):
        z = Output(x.shape, dtype)
        rms_norm(z.cut(2, covering(n)), x, weight, 1e-6).sync()
    wide = x.astype(np.float64)
    root = np.sqrt((wide**2).mean(1, keepdims=True) + 1e-6)
    check(z.result(), wide / root * weight.astype(np.float64), dtype)


@tw.entry
def layer_norm(
    out: tl.TensorMut[f32],
    mean: tl.TensorMut[f32],
    x: tl.Tensor[f32],
    weight: tl.Tensor[f32],
    bias: tl.Tensor[f32],
    eps: f32,
) -> None:
    """A whole row in one tile; the padding must not count in the variance."""
    _, block = out.shape
    tile = tl.load_tile_like(x, out)
    n = float(x.shape[1])
    center = tl.reduce_sum(tile, 1, keepdims=True) / n
    away = tl.where(tile.mask(), tile - center, 0.0)
    scale = tl.rsqrt(tl.reduce_sum(away * away, 1, keepdims=True) / n + eps)
    w, b = weight.load_tile(block, 0), bias.load_tile(block, 0)
    out.store(away * scale * w + b)
    mean.store(center)


@pytest.mark.parametrize("n", LENGTHS)
def test_layer_norm(device, n, rng):
    x = rng.standard_normal((7, n)).astype(np.float32) + 3
    weight, bias = rng.standard_normal((2, n)).astype(np.float32)
    with tw.device(device):
        z, mean = output(x), Output((7, 1), f32)
        layer_norm(z.cut(2, covering(n)), mean.cut(2, 1), x, weight, bias, 1e-5).sync()
    wide = x.astype(np.float64)
    away = wide - wide.mean(1, keepdims=True)
    expected = away / np.sqrt((away**2).mean(1, keepdims=True) + 1e-5) * weight + bias
    np.testing.assert_allclose(z.result(), expected, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(mean.result(), wide.mean(1, keepdims=True), rtol=1e-5)


# --- attention ---------------------------------------------------------------------------------


@tw.entry
def attention(
    out: tl.TensorMut,
    q: tl.Tensor,
    k: tl.Tensor,
    v: tl.Tensor,
    scale: f32,
    *,
    BN: tl.Const[int],
    CAUSAL: tl.Const[bool],
) -> None:
    """One pass over the keys; a causal block stops at its own last row."""
    _, bm, depth = out.shape
    head, block, _ = tl.get_tile_block_id()
    query = tl.load_tile_like(q, out).reshape(bm, depth)
    keys, values = k.partition((1, BN, depth)), v.partition((1, BN, depth))
    rows = (tl.arange(bm) + block * bm)[:, None]
    peak, total = tl.full((bm, 1), tl.neg_inf, f32), tl.zeros((bm, 1), f32)
    acc = tl.zeros((bm, depth), f32)
    stop = keys.num_tiles(1)
    if CAUSAL:
        stop = tl.min(stop, tl.ceil_div((block + 1) * bm, BN))
    for j in range(stop):
        score = (query @ keys.load([head, j, 0]).reshape(BN, depth).T) * scale
        columns = (tl.arange(BN) + j * BN)[None, :]
        seen = columns < k.shape[1]
        if CAUSAL:
            seen = seen & (columns <= rows)
        score = tl.where(seen, score, tl.neg_inf)
        higher = tl.maximum(peak, score.max(1, keepdims=True))
        p = tl.exp(score - higher)
        fade = tl.exp(peak - higher)
        total = total * fade + p.sum(1, keepdims=True)
        value = values.load([head, j, 0]).reshape(BN, depth)
        acc = tl.mma(p.astype(value.dtype), value, acc * fade)
        peak = higher
    out.store((acc / total).astype(out.dtype).reshape(1, bm, depth))


def numpy_attention(q, k, v, causal):
    q, k, v = (a.astype(np.float64) for a in (q, k, v))
    score = np.einsum("hmd,hnd->hmn", q, k) / np.sqrt(q.shape[-1])
    if causal:
        score = np.where(np.tri(q.shape[1], k.shape[1], dtype=bool), score, -np.inf)
    p = np.exp(score - score.max(-1, keepdims=True))
    return np.einsum("hmn,hnd->hmd", p / p.sum(-1, keepdims=True), v)


@pytest.mark.thinned
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(
    ("n", "tiles", "dtype"),
    [(1, (16, 16), f32), (1000, (64, 128), f32), (1025, (128, 64), f32), (45, (16, 8), f16),
     (17, (8, 16), bf16)],
    ids=str,
)  # fmt: skip
def test_attention(device, n, tiles, dtype, causal, rng):
    q, k, v = rng.standard_normal((3, 2, n, 16)).astype(dtype.np)
    with tw.device(device):
        z = Output(q.shape, dtype)
        attention(z.cut(1, tiles[0], 16), q, k, v, 0.25, BN=tiles[1], CAUSAL=causal).sync()
    check(z.result(), numpy_attention(q, k, v, causal), dtype)


# --- products ----------------------------------------------------------------------------------


@tw.entry
def gemm(
    z: tl.TensorMut,
    x: tl.Tensor,
    y: tl.Tensor,
    *,
    BK: tl.Const[int] = 16,
    TX: tl.Const[bool] = False,
    TY: tl.Const[bool] = False,
) -> None:
    """x and y may be stored transposed: the partition permutes, the loop does not change."""
    bm, bn = z.shape
    i, j, _ = tl.get_tile_block_id()
    xs = x.partition((bm, BK), dim_map=(1, 0) if TX else (0, 1))
    ys = y.partition((BK, bn), dim_map=(1, 0) if TY else (0, 1))
    acc = tl.zeros((bm, bn), f32)
    for k in range(tl.num_tiles(xs, 1)):
        acc = tl.mma(xs.load([i, k]), ys.load([k, j]), acc)
    z.store(acc.astype(z.dtype))


@pytest.mark.thinned
@pytest.mark.parametrize("transposed", [(False, False), (True, False), (False, True), (True, True)])
@pytest.mark.parametrize("sizes", [(1, 1, 1), (33, 70, 17), (64, 16, 32), (31, 129, 65)], ids=str)
def test_gemm(device, sizes, transposed, rng):
    m, k, n = sizes
    x, y = rng.standard_normal((m, k)).astype(np.float32), rng.standard_normal((k, n)).astype("f4")
    stored = [a.T.copy() if t else a for a, t in zip((x, y), transposed, strict=True)]
    with tw.device(device):
        z = Output((m, n), f32)
        gemm(z.cut(32, 16), *stored, TX=transposed[0], TY=transposed[1]).sync()
    np.testing.assert_allclose(z.result(), x.astype(np.float64) @ y, rtol=1e-4, atol=1e-4)


def test_gemm_of_strided_views(device, rng):
    """Transposed and reversed NumPy views need no copy."""
    x, y = (
        rng.standard_normal((70, 33)).astype(np.float32),
        rng.standard_normal((34, 140)).astype("f4"),
    )
    left, right = x.T[::-1], y[::2, ::-2].T
    with tw.device(device):
        z = Output((33, 17), f32)
        gemm(z.cut(16, 16), left, right).sync()
    np.testing.assert_allclose(z.result(), left.astype(np.float64) @ right, rtol=1e-4, atol=1e-4)


@tw.entry
def conv1d(out: tl.TensorMut[f32], x: tl.Tensor[f32], w: tl.Tensor[f32], *, K: tl.Const[int]):
    """A sum of shifted rows: x holds the K shifts as rows, so that no index is unaligned."""
    (block,) = out.shape
    total = tl.zeros((block,), f32)
    for k in tl.static_range(K):
        row = x.load_tile((1, block), [k, tl.block_id(0)]).reshape(block)
        total += row * w.load_tile((1,), k).item()
    out.store(total)


def test_unrolled_loops(device, rng):
    data, w = rng.standard_normal(103).astype(np.float32), rng.standard_normal(3).astype(np.float32)
    shifts = np.lib.stride_tricks.sliding_window_view(data, 101)  # three overlapping views
    with tw.device(device):
        z = Output((101,), f32)
        conv1d(z.cut(32), shifts, w, K=3).sync()
    expected = np.convolve(data.astype(np.float64), w[::-1], "valid")
    np.testing.assert_allclose(z.result(), expected, rtol=1e-4, atol=1e-5)


# --- random bits -------------------------------------------------------------------------------


def mix(bits: tl.Tile[u32]) -> tl.Tile[u32]:
    bits = (bits ^ (bits >> 16)) * 0x7FEB352D
    bits = (bits ^ (bits >> 15)) * 0x846CA68B
    return bits ^ (bits >> 16)


@tw.entry
def dropout(out: tl.TensorMut[f32], x: tl.Tensor[f32], p: f32, seed: u32) -> None:
    (block,) = out.shape
    index = (tl.arange(block) + tl.block_id(0) * block).astype(u32)
    uniform = (mix(mix(index) ^ seed) >> 8).astype(f32) / (1 << 24)
    out.store(tl.where(uniform >= p, tl.load_tile_like(x, out) / (1.0 - p), 0.0))


@pytest.mark.parametrize("n", [1, 63, 64, 65, 10_007])
def test_dropout(device, n, rng):
    x = rng.standard_normal(n).astype(np.float32)
    seed = int(rng.integers(0, 2**32))
    with tw.device(device):
        z = output(x)
        dropout(z.cut(64), x, 0.25, seed).sync()

    def numpy_mix(bits):
        bits = (bits ^ (bits >> np.uint32(16))) * np.uint32(0x7FEB352D)
        bits = (bits ^ (bits >> np.uint32(15))) * np.uint32(0x846CA68B)
        return bits ^ (bits >> np.uint32(16))

    bits = numpy_mix(numpy_mix(np.arange(n, dtype=np.uint32)) ^ np.uint32(seed))
    uniform = (bits >> np.uint32(8)).astype(np.float32) / np.float32(1 << 24)
    expected = np.where(uniform >= 0.25, x / np.float32(0.75), np.float32(0))
    if device == "cuda":  # where a quotient may be 2 ulp off
        np.testing.assert_array_max_ulp(z.result(), expected, 2)
    else:
        assert (z.result() == expected).all()
    if n > 1000:
        assert 0.2 < (z.result() == 0).mean() < 0.3
