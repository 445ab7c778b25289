"""Products of quantized matrices."""
# Triton reads the annotations of its kernels, and type checkers cannot read its language.
# mypy: ignore-errors
# pyright: basic, reportArgumentType=false, reportIndexIssue=false
# ruff: noqa: ANN001, ANN003, ANN201, ANN202, D103

import triton
import triton.language as tl

from .products import _place


@triton.jit
def _int_weight(
    z, x, w, scale, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
    FOUR: tl.constexpr,
):  # fmt: skip
    i, j = _place(M, N, BM, BN)
    rows, columns, ks = i * BM + tl.arange(0, BM), j * BN + tl.arange(0, BN), tl.arange(0, BK)
    left = x + (rows % M)[:, None].to(tl.int64) * K + ks[None, :]
    HALF: tl.constexpr = BK // 2 if FOUR else BK
    at = tl.arange(0, HALF)
    limit = K // 2 if FOUR else K
    right = w + at[:, None].to(tl.int64) * N + (columns % N)[None, :]
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(tl.cdiv(K, BK)):
        a = tl.load(left, (ks < K - k * BK)[None, :], other=0.0)
        b = tl.load(right, (at < limit - k * HALF)[:, None], other=0)
        if FOUR:
            low, high = (b & 15).to(tl.int8) - 8, (b >> 4).to(tl.int8) - 8
            both = tl.join(low, high).permute(0, 2, 1).reshape(BK, BN)
            acc = tl.dot(a, both.to(a.dtype), acc)
        else:
            acc = tl.dot(a, b.to(a.dtype), acc)
        left += BK
        right += HALF * N
    acc *= tl.load(scale + columns, columns < N, other=0.0)[None, :].to(tl.float32)
    inside = (rows < M)[:, None] & (columns < N)[None, :]
    where = rows[:, None].to(tl.int64) * N + columns[None, :]
    tl.store(z + where, acc.to(z.dtype.element_ty), inside)


def _launch(z, x, w, scale, four, BM, BN, BK, num_warps, num_stages):
    (M, N), K = z.shape, x.shape[1]
    _int_weight[(triton.cdiv(M, BM) * triton.cdiv(N, BN),)](
        z, x, w, scale, M, N, K, BM, BN, BK, four, num_warps=num_warps, num_stages=num_stages
    )


def int8_weight(z, x, w, scale, **how):
    _launch(z, x, w, scale, False, **how)


def int8_weight_few(z, x, w, scale, **how):
    _launch(z, x, w, scale, False, **how)


def int4_weight_few(z, x, w, scale, **how):
    _launch(z, x, w, scale, True, **how)


@triton.jit
def _scaled(
    z, x, w, row_scale, column_scale, M, N, K, BM: tl.constexpr, BN: tl.constexpr,
    BK: tl.constexpr, INTEGER: tl.constexpr,
):  # fmt: skip
    i, j = _place(M, N, BM, BN)
    rows, columns, ks = i * BM + tl.arange(0, BM), j * BN + tl.arange(0, BN), tl.arange(0, BK)
    left = x + (rows % M)[:, None].to(tl.int64) * K + ks[None, :]
    right = w + (columns % N)[None, :].to(tl.int64) * K + ks[:, None]
    if INTEGER:
        acc = tl.zeros((BM, BN), tl.int32)
    else:
        acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        if INTEGER:
            a = tl.load(left + k, (ks < K - k)[None, :], other=0)
            b = tl.load(right + k, (ks < K - k)[:, None], other=0)
            acc = tl.dot(a, b, acc, out_dtype=tl.int32)
        else:
            a = tl.load(left + k, (ks < K - k)[None, :], other=0.0)
            b = tl.load(right + k, (ks < K - k)[:, None], other=0.0)
            acc = tl.dot(a, b, acc)
    down = tl.load(row_scale + rows, rows < M, other=0.0)[:, None]
    across = tl.load(column_scale + columns, columns < N, other=0.0)[None, :]
    inside = (rows < M)[:, None] & (columns < N)[None, :]
    where = rows[:, None].to(tl.int64) * N + columns[None, :]
    tl.store(z + where, (acc.to(tl.float32) * down * across).to(z.dtype.element_ty), inside)


def _launch_scaled(z, x, w, row_scale, column_scale, integer, BM, BN, BK, num_warps, num_stages):
    (M, N), K = z.shape, x.shape[1]
    _scaled[(triton.cdiv(M, BM) * triton.cdiv(N, BN),)](
        z, x, w, row_scale, column_scale, M, N, K, BM, BN, BK, integer,
        num_warps=num_warps, num_stages=num_stages,
    )  # fmt: skip


def fp8_gemm(z, x, w, row_scale, column_scale, **how):
    _launch_scaled(z, x, w, row_scale, column_scale, False, **how)


def int8_gemm(z, x, w, row_scale, column_scale, **how):
    _launch_scaled(z, x, w, row_scale, column_scale, True, **how)
