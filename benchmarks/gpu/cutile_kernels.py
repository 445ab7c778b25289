"""The same work in cuTile Python: kernels, and the settings that are tried."""
# cuTile reads the annotations of its kernels, and type checkers cannot read its language.
# mypy: ignore-errors
# pyright: basic, reportInvalidTypeForm=false
# ruff: noqa: ANN001, ANN002, ANN003, ANN201, ANN202, D103

from __future__ import annotations

import importlib
import math
from typing import Any

from .. import peers
from .case import Entry

ct: Any = importlib.import_module("cuda.tile")

Int, Bool = ct.Constant[int], ct.Constant[bool]


def _entry(kernel, grid, args, out, setting, **hints):
    ready = kernel.replace_hints(**hints) if hints else kernel
    lib = peers.torch()
    return Entry(lambda: ct.launch(lib.cuda.current_stream(), grid, ready, args), out, setting)


@ct.kernel
def _add(z, x, y, T: Int):
    i = ct.bid(0)
    ct.store(z, index=(i,), tile=ct.load(x, (i,), (T,)) + ct.load(y, (i,), (T,)))


def add(z, x, y):
    n = x.numel()
    return [
        _entry(_add, (math.ceil(n / t),), (z, x, y, t), z, f"{t}", num_worker_warps=w)
        for t, w in ((1024, 4), (2048, 4), (2048, 8), (8192, 8))
    ]


@ct.kernel
def _softmax(out, x, R: Int, T: Int):
    i = ct.bid(0)
    tile = ct.load(x, (i, 0), (R, T), padding_mode=ct.PaddingMode.NEG_INF, allow_tma=False).astype(
        ct.float32
    )
    p = ct.exp2((tile - ct.max(tile, 1, keepdims=True)) * 1.4426950408889634, flush_to_zero=True)
    total = ct.sum(p, 1, keepdims=True)
    result = ct.truediv(p, total, flush_to_zero=True, rounding_mode=ct.RoundingMode.APPROX)
    ct.store(out, (i, 0), result.astype(out.dtype), allow_tma=False)


@ct.kernel
def _softmax_gathered(out, x, T: Int):
    i, at = ct.bid(0), ct.arange(T, dtype=ct.int32)
    tile = ct.gather(x, (i, at), padding_value=-math.inf).astype(ct.float32)
    p = ct.exp2((tile - ct.max(tile, 0, keepdims=True)) * 1.4426950408889634, flush_to_zero=True)
    total = ct.sum(p, 0, keepdims=True)
    result = ct.truediv(p, total, flush_to_zero=True, rounding_mode=ct.RoundingMode.APPROX)
    ct.scatter(out, (i, at), result.astype(out.dtype))


def _rows_settings(n):
    """Rows per tile, warps and occupancy."""
    wide = 1 << (n - 1).bit_length()
    one = [(1, 4, 4), (1, 8, 2), (1, 8, 1), (1, 4, 8)]
    some = [(max(1, 4096 // wide), 4, 4), (max(1, 8192 // wide), 4, 4)]
    return wide, list(dict.fromkeys(one + some))


def softmax(out, x):
    rows, n = x.shape
    wide, settings = _rows_settings(n)
    found = [
        _entry(_softmax, (math.ceil(rows / r),), (out, x, r, wide), out,
               f"{r}x{wide}, {w} warps, occupancy {o}", num_worker_warps=w, occupancy=o)
        for r, w, o in settings
    ]  # fmt: skip
    return found + [
        _entry(_softmax_gathered, (rows,), (out, x, wide), out,
               f"gathered, {w} warps, occupancy {o}", num_worker_warps=w, occupancy=o)
        for w, o in ((4, 4), (8, 2), (4, 8), (8, 4))
    ]  # fmt: skip


@ct.kernel
def _rms_norm(out, x, weight, n: int, eps: float, R: Int, T: Int):
    i = ct.bid(0)
    zero = ct.PaddingMode.ZERO
    tile = ct.load(x, (i, 0), (R, T), padding_mode=zero, allow_tma=False).astype(ct.float32)
    scale = ct.load(weight, (0,), (T,), padding_mode=zero, allow_tma=False).astype(ct.float32)
    mean = ct.sum(tile * tile, 1, keepdims=True) / n
    result = tile * ct.rsqrt(mean + eps) * ct.reshape(scale, (1, T))
    ct.store(out, (i, 0), result.astype(out.dtype), allow_tma=False)


@ct.kernel
def _layer_norm(out, x, weight, bias, n: int, eps: float, R: Int, T: Int):
    i = ct.bid(0)
    zero = ct.PaddingMode.ZERO
    tile = ct.load(x, (i, 0), (R, T), padding_mode=zero, allow_tma=False).astype(ct.float32)
    inside = ct.reshape(ct.arange(T, dtype=ct.int32), (1, T)) < n
    mean = ct.sum(tile, 1, keepdims=True) / n
    centred = ct.where(inside, tile - mean, 0.0)
    variance = ct.sum(centred * centred, 1, keepdims=True) / n
    scale = ct.load(weight, (0,), (T,), padding_mode=zero, allow_tma=False).astype(ct.float32)
    shift = ct.load(bias, (0,), (T,), padding_mode=zero, allow_tma=False).astype(ct.float32)
    result = centred * ct.rsqrt(variance + eps) * ct.reshape(scale, (1, T))
    ct.store(out, (i, 0), (result + ct.reshape(shift, (1, T))).astype(out.dtype), allow_tma=False)


def _norm(kernel, out, x, *more):
    rows, n = x.shape
    wide, settings = _rows_settings(n)
    *tensors, eps = more
    return [
        _entry(kernel, (math.ceil(rows / r),), (out, x, *tensors, n, eps, r, wide), out,
               f"{r}x{wide}, {w} warps, occupancy {o}", num_worker_warps=w, occupancy=o)
        for r, w, o in settings
    ]  # fmt: skip


def rms_norm(out, x, weight, eps):
    return _norm(_rms_norm, out, x, weight, eps)


def layer_norm(out, x, weight, bias, eps):
    return _norm(_layer_norm, out, x, weight, bias, eps)


@ct.kernel
def _transpose(out, x, BM: Int, BN: Int):
    i, j = ct.bid(0), ct.bid(1)
    ct.store(out, (j, i), ct.transpose(ct.load(x, (i, j), (BM, BN))))


def transpose(out, x):
    rows, columns = x.shape
    return [
        _entry(_transpose, (math.ceil(rows / m), math.ceil(columns / n)), (out, x, m, n), out,
               f"{m}x{n}, {w} warps", num_worker_warps=w)
        for m, n, w in ((64, 64, 4), (128, 128, 8), (128, 64, 4))
    ]  # fmt: skip


@ct.function
def _swizzled(number, rows, columns, G):
    in_group = G * columns
    first = number // in_group * G
    height = min(rows - first, G)
    rest = number % in_group
    return first + rest % height, rest // height


@ct.kernel
def _gemm(z, x, y, BM: Int, BN: Int, BK: Int, G: Int):
    i, j = _swizzled(ct.bid(0), ct.cdiv(x.shape[0], BM), ct.cdiv(y.shape[1], BN), G)
    acc = ct.full((BM, BN), 0.0, dtype=ct.float32)
    for k in range(ct.cdiv(x.shape[1], BK)):
        a = ct.load(x, (i, k), (BM, BK), padding_mode=ct.PaddingMode.ZERO)
        b = ct.load(y, (k, j), (BK, BN), padding_mode=ct.PaddingMode.ZERO)
        acc = ct.mma(a, b, acc)
    ct.store(z, (i, j), acc.astype(z.dtype))


@ct.kernel
def _persistent(z, x, y, BM: Int, BN: Int, BK: Int, G: Int):
    rows, columns = ct.cdiv(x.shape[0], BM), ct.cdiv(y.shape[1], BN)
    for number in range(ct.bid(0), rows * columns, ct.num_blocks(0)):
        i, j = _swizzled(number, rows, columns, G)
        acc = ct.full((BM, BN), 0.0, dtype=ct.float32)
        for k in range(ct.cdiv(x.shape[1], BK)):
            a = ct.load(x, (i, k), (BM, BK), padding_mode=ct.PaddingMode.ZERO)
            b = ct.load(y, (k, j), (BK, BN), padding_mode=ct.PaddingMode.ZERO)
            acc = ct.mma(a, b, acc)
        ct.store(z, (i, j), acc.astype(z.dtype))


@ct.kernel
def _batched(z, x, y, BM: Int, BN: Int, BK: Int):
    b, j, i = ct.bid(2), ct.bid(1), ct.bid(0)
    acc = ct.full((BM, BN), 0.0, dtype=ct.float32)
    for k in range(ct.cdiv(x.shape[2], BK)):
        left = ct.load(x, (b, i, k), (1, BM, BK), padding_mode=ct.PaddingMode.ZERO)
        right = ct.load(y, (b, k, j), (1, BK, BN), padding_mode=ct.PaddingMode.ZERO)
        acc = ct.mma(left.reshape((BM, BK)), right.reshape((BK, BN)), acc)
    ct.store(z, (b, i, j), acc.astype(z.dtype).reshape((1, BM, BN)))


def gemm(z, x, y):
    """z = x @ y, also of batches."""
    M, N = z.shape[-2:]
    blocks = peers.torch().cuda.get_device_properties(0).multi_processor_count
    if x.dim() == 3:
        return [
            _entry(_batched, (math.ceil(M / m), math.ceil(N / n), z.shape[0]), (z, x, y, m, n, 64),
                   z, f"{m}x{n}x64, {w} warps", num_worker_warps=w, occupancy=o)
            for m, n, w, o in ((128, 128, 4, 2), (128, 256, 8, 1))
        ]  # fmt: skip
    if M <= 64:
        m = 16 if M <= 16 else 64
        return [
            _entry(_gemm, (math.ceil(N / n),), (z, x, y, m, n, k, 8), z, f"{m}x{n}x{k}",
                   num_worker_warps=4, occupancy=o)
            for n, k, o in ((64, 64, 2), (64, 128, 2), (64, 128, 1), (128, 128, 1))
        ]  # fmt: skip

    def one(kernel, m, n, k, w, o):
        tiles = math.ceil(M / m) * math.ceil(N / n)
        grid = (min(blocks, tiles) if kernel is _persistent else tiles,)
        name = "persistent " if kernel is _persistent else ""
        return _entry(kernel, grid, (z, x, y, m, n, k, 8), z, f"{name}{m}x{n}x{k}, {w} warps",
                      num_worker_warps=w, occupancy=o)  # fmt: skip

    return [
        one(_persistent, 128, 128, 64, 4, 1), one(_persistent, 128, 256, 64, 8, 1),
        one(_persistent, 128, 256, 32, 8, 1), one(_gemm, 128, 128, 64, 4, 2),
        one(_gemm, 128, 256, 128, 8, 1), one(_gemm, 128, 128, 64, 8, 1),
    ]  # fmt: skip


@ct.kernel
def _attention(out, q, k, v, scale: float, BM: Int, BN: Int, D: Int, G: Int, CAUSAL: Bool):
    block, head = ct.bid(0), ct.bid(1)
    factor = scale * 1.4426950408889634
    rows = (block * BM + ct.arange(BM, dtype=ct.int32))[:, None]
    columns = ct.arange(BN, dtype=ct.int32)[None, :]
    peak = ct.full((BM, 1), -math.inf, dtype=ct.float32)
    total = ct.full((BM, 1), 0.0, dtype=ct.float32)
    acc = ct.full((BM, D), 0.0, dtype=ct.float32)
    zero = ct.PaddingMode.ZERO
    query = ct.load(q, (head, block, 0), (1, BM, D), padding_mode=zero).reshape((BM, D))
    keys = k.shape[1]
    stop, whole = ct.cdiv(keys, BN), keys // BN
    if CAUSAL:
        stop = ct.cdiv(min((block + 1) * BM, keys), BN)
        whole = min(block * BM // BN, whole)
    for j in range(stop):
        key = ct.load(
            k, (head // G, 0, j), (1, D, BN), order=(0, 2, 1), latency=2, padding_mode=zero
        ).reshape((D, BN))
        score = ct.mma(query, key, ct.full((BM, BN), 0.0, dtype=ct.float32))
        if j >= whole:
            at = j * BN + columns
            seen = at < keys
            if CAUSAL:
                seen = seen & (rows >= at)
            score = ct.where(seen, score, -math.inf)
        higher = max(peak, ct.max(score, axis=-1, keepdims=True) * factor)
        p = ct.exp2(score * factor - higher, flush_to_zero=True)
        fade = ct.exp2(peak - higher, flush_to_zero=True)
        total = total * fade + ct.sum(p, axis=-1, keepdims=True)
        acc = acc * fade
        value = ct.load(v, (head // G, j, 0), (1, BN, D), latency=4, padding_mode=zero).reshape(
            (BN, D)
        )
        acc = ct.mma(p.astype(q.dtype), value, acc)
        peak = higher
    result = ct.truediv(acc, total, flush_to_zero=True, rounding_mode=ct.RoundingMode.APPROX)
    ct.store(out, (head, block, 0), result.reshape((1, BM, D)).astype(out.dtype))


def attention(out, q, k, v, scale, causal):
    heads, tokens, depth = q.shape
    group = heads // k.shape[0]
    large = ((128, 128, 8, 1), (128, 64, 8, 2), (64, 128, 4, 2), (64, 64, 4, 2), (128, 64, 4, 2))
    small = ((16, 64, 4, 2), (16, 128, 4, 2), (16, 64, 4, 4))
    return [
        _entry(_attention, (math.ceil(tokens / m), heads),
               (out, q, k, v, scale, m, n, depth, group, causal), out,
               f"{m}x{n}, {w} warps, occupancy {o}", num_worker_warps=w, occupancy=o)
        for m, n, w, o in (large if tokens > 16 else small)
    ]  # fmt: skip
