"""The same work in Triton: kernels, and the settings that are tried."""
# Triton reads the annotations of its kernels, and type checkers cannot read its language.
# mypy: ignore-errors
# pyright: basic, reportInvalidTypeForm=false
# ruff: noqa: ANN001, ANN002, ANN201, ANN202, D103

from __future__ import annotations

import importlib
from typing import Any

from .case import Entry

triton: Any = importlib.import_module("triton")
tl: Any = importlib.import_module("triton.language")


@triton.jit
def _add(z, x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    tl.store(z + at, tl.load(x + at, inside) + tl.load(y + at, inside), inside)


def add(z, x, y):
    n = x.numel()

    def one(block, warps):
        grid = (triton.cdiv(n, block),)
        return Entry(
            lambda: _add[grid](z, x, y, n, block, num_warps=warps), z, f"{block}, {warps} warps"
        )

    return [one(1024, 4), one(2048, 8), one(4096, 8)]


@triton.jit
def _softmax(out, x, stride, n, BLOCK: tl.constexpr):
    row, at = tl.program_id(0).to(tl.int64), tl.arange(0, BLOCK)
    inside = at < n
    tile = tl.load(x + row * stride + at, inside, other=-float("inf")).to(tl.float32)
    p = tl.exp(tile - tl.max(tile, 0))
    tl.store(out + row * stride + at, (p / tl.sum(p, 0)).to(out.dtype.element_ty), inside)


@triton.jit
def _rms_norm(out, x, weight, stride, n, eps, BLOCK: tl.constexpr):
    row, at = tl.program_id(0).to(tl.int64), tl.arange(0, BLOCK)
    inside = at < n
    tile = tl.load(x + row * stride + at, inside, other=0.0).to(tl.float32)
    scale = tl.load(weight + at, inside, other=0.0).to(tl.float32)
    result = tile * tl.rsqrt(tl.sum(tile * tile, 0) / n + eps) * scale
    tl.store(out + row * stride + at, result.to(out.dtype.element_ty), inside)


@triton.jit
def _layer_norm(out, x, weight, bias, stride, n, eps, BLOCK: tl.constexpr):
    row, at = tl.program_id(0).to(tl.int64), tl.arange(0, BLOCK)
    inside = at < n
    tile = tl.load(x + row * stride + at, inside, other=0.0).to(tl.float32)
    centred = tl.where(inside, tile - tl.sum(tile, 0) / n, 0.0)
    scale = tl.load(weight + at, inside, other=0.0).to(tl.float32)
    shift = tl.load(bias + at, inside, other=0.0).to(tl.float32)
    result = centred * tl.rsqrt(tl.sum(centred * centred, 0) / n + eps) * scale + shift
    tl.store(out + row * stride + at, result.to(out.dtype.element_ty), inside)


def _rows(kernel, out, x, *more):
    rows, n = x.shape
    block = triton.next_power_of_2(n)

    def one(warps):
        return Entry(
            lambda: kernel[(rows,)](out, x, *more[:-1], x.stride(0), n, *more[-1:], BLOCK=block,
                                    num_warps=warps),
            out, f"{warps} warps",
        )  # fmt: skip

    return [one(warps) for warps in (1, 2, 4, 8, 16) if block // (32 * warps) in range(2, 129)]


def softmax(out, x):
    return _rows(_softmax, out, x)


def rms_norm(out, x, weight, eps):
    return _rows(_rms_norm, out, x, weight, eps)


def layer_norm(out, x, weight, bias, eps):
    return _rows(_layer_norm, out, x, weight, bias, eps)


@triton.jit
def _transpose(out, x, rows, columns, BM: tl.constexpr, BN: tl.constexpr):
    i, j = tl.program_id(0) * BM, tl.program_id(1) * BN
    at_i, at_j = i + tl.arange(0, BM), j + tl.arange(0, BN)
    tile = tl.load(
        x + at_i[:, None].to(tl.int64) * columns + at_j[None, :],
        (at_i[:, None] < rows) & (at_j[None, :] < columns),
    )
    tl.store(
        out + at_j[:, None].to(tl.int64) * rows + at_i[None, :], tl.trans(tile),
        (at_j[:, None] < columns) & (at_i[None, :] < rows),
    )  # fmt: skip


def transpose(out, x):
    rows, columns = x.shape

    def one(bm, bn, warps):
        grid = (triton.cdiv(rows, bm), triton.cdiv(columns, bn))
        return Entry(
            lambda: _transpose[grid](out, x, rows, columns, bm, bn, num_warps=warps),
            out, f"{bm}x{bn}, {warps} warps",
        )  # fmt: skip

    return [one(64, 64, 4), one(128, 64, 8), one(64, 128, 8), one(128, 128, 8), one(32, 64, 4)]


@triton.jit
def _gemm(
    z, x, y, M, N, K, sx, sy, sz, bx, by, bz,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr,
):  # fmt: skip
    number, batch = tl.program_id(0), tl.program_id(1).to(tl.int64)
    rows, columns = tl.cdiv(M, BM), tl.cdiv(N, BN)
    in_group = GROUP * columns
    first = number // in_group * GROUP
    height = min(rows - first, GROUP)
    i = first + (number % in_group) % height
    j = (number % in_group) // height
    at_m, at_n = i * BM + tl.arange(0, BM), j * BN + tl.arange(0, BN)
    at_k = tl.arange(0, BK)
    left = x + batch * bx + (at_m % M)[:, None].to(tl.int64) * sx + at_k[None, :]
    right = y + batch * by + at_k[:, None].to(tl.int64) * sy + (at_n % N)[None, :]
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(tl.cdiv(K, BK)):
        a = tl.load(left, at_k[None, :] < K - k * BK, other=0.0)
        b = tl.load(right, at_k[:, None] < K - k * BK, other=0.0)
        acc = tl.dot(a, b, acc)
        left += BK
        right += BK * sy
    where = z + batch * bz + at_m[:, None].to(tl.int64) * sz + at_n[None, :]
    tl.store(where, acc.to(z.dtype.element_ty), (at_m[:, None] < M) & (at_n[None, :] < N))


LARGE = ((128, 256, 64, 8, 3), (128, 256, 64, 8, 4), (128, 128, 64, 4, 4), (128, 128, 64, 8, 4),
         (256, 128, 64, 8, 3))  # fmt: skip
SMALL = ((16, 64, 128, 4, 4), (16, 64, 256, 4, 3), (16, 32, 256, 4, 4), (64, 64, 128, 4, 4),
         (64, 128, 64, 4, 4), (16, 128, 128, 4, 4))  # fmt: skip


def gemm(z, x, y):
    """z = x @ y, also of batches."""
    batched = x.dim() == 3
    M, K = x.shape[-2:]
    N = y.shape[-1]
    steps = [t.stride(0) if batched else 0 for t in (x, y, z)]

    def one(bm, bn, bk, warps, stages):
        grid = (triton.cdiv(M, bm) * triton.cdiv(N, bn), x.shape[0] if batched else 1)
        return Entry(
            lambda: _gemm[grid](
                z, x, y, M, N, K, x.stride(-2), y.stride(-2), z.stride(-2), *steps,
                bm, bn, bk, 8, num_warps=warps, num_stages=stages,
            ),
            z, f"{bm}x{bn}x{bk}, {warps} warps, {stages} stages",
        )  # fmt: skip

    return [one(*setting) for setting in (LARGE if M > 64 else SMALL)]


@triton.jit
def _attention(
    out, q, k, v, scale, tokens, keys, group,
    BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr, CAUSAL: tl.constexpr,
):  # fmt: skip
    block, head = tl.program_id(0), tl.program_id(1).to(tl.int64)
    rows, depth, columns = block * BM + tl.arange(0, BM), tl.arange(0, D), tl.arange(0, BN)
    mine = head * tokens * D + rows[:, None] * D + depth[None, :]
    query = tl.load(q + mine, rows[:, None] < tokens, other=0.0)
    k += head // group * keys * D
    v += head // group * keys * D
    peak = tl.full((BM,), -float("inf"), tl.float32)
    total = tl.zeros((BM,), tl.float32)
    acc = tl.zeros((BM, D), tl.float32)
    stop = min(keys, (block + 1) * BM) if CAUSAL else keys
    factor = scale * 1.4426950408889634
    for j in range(0, stop, BN):
        at = j + columns
        key = tl.load(k + at[None, :] * D + depth[:, None], at[None, :] < keys, other=0.0)
        score = tl.dot(query, key) * factor
        seen = at[None, :] < keys
        if CAUSAL:
            seen = seen & (at[None, :] <= rows[:, None])
        score = tl.where(seen, score, -float("inf"))
        higher = tl.maximum(peak, tl.max(score, 1))
        p = tl.exp2(score - higher[:, None])
        fade = tl.exp2(peak - higher)
        total = total * fade + tl.sum(p, 1)
        value = tl.load(v + at[:, None] * D + depth[None, :], at[:, None] < keys, other=0.0)
        acc = tl.dot(p.to(v.dtype.element_ty), value, acc * fade[:, None])
        peak = higher
    tl.store(out + mine, (acc / total[:, None]).to(out.dtype.element_ty), rows[:, None] < tokens)


def attention(out, q, k, v, scale, causal):
    heads, tokens, depth = q.shape
    keys, group = k.shape[1], q.shape[0] // k.shape[0]

    def one(bm, bn, warps, stages):
        grid = (triton.cdiv(tokens, bm), heads)
        return Entry(
            lambda: _attention[grid](
                out, q, k, v, scale, tokens, keys, group, bm, bn, depth, causal,
                num_warps=warps, num_stages=stages,
            ),
            out, f"{bm}x{bn}, {warps} warps, {stages} stages",
        )  # fmt: skip

    small = ((16, 64, 4, 3), (16, 128, 4, 2))
    large = ((128, 128, 8, 2), (128, 64, 8, 3), (64, 64, 4, 3), (128, 64, 4, 3))
    return [one(*setting) for setting in (large if tokens > 16 else small)]
