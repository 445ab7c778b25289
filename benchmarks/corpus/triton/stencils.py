"""Stencils, pooling and transposes."""
# Triton reads the annotations of its kernels, and type checkers cannot read its language.
# mypy: ignore-errors
# pyright: basic, reportArgumentType=false, reportIndexIssue=false
# ruff: noqa: ANN001, ANN201, ANN202, D103

import triton
import triton.language as tl


@triton.jit
def _near(x, rows, columns, M, N, other):
    inside = ((rows >= 0) & (rows < M))[:, None] & ((columns >= 0) & (columns < N))[None, :]
    return tl.load(x + rows[:, None].to(tl.int64) * N + columns[None, :], inside, other=other).to(
        tl.float32
    )


@triton.jit
def _heat(out, x, M, N, rate, BM: tl.constexpr, BN: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    middle = _near(x, rows, columns, M, N, 0.0)
    around = _near(x, rows - 1, columns, M, N, 0.0) + _near(x, rows + 1, columns, M, N, 0.0)
    around += _near(x, rows, columns - 1, M, N, 0.0) + _near(x, rows, columns + 1, M, N, 0.0)
    result = (middle + rate * (around - 4 * middle)).to(out.dtype.element_ty)
    inside = (rows < M)[:, None] & (columns < N)[None, :]
    tl.store(out + rows[:, None].to(tl.int64) * N + columns[None, :], result, inside)


def heat_step(out, x, rate, *, BM, BN, num_warps):
    M, N = x.shape
    grid = (triton.cdiv(M, BM), triton.cdiv(N, BN))
    _heat[grid](out, x, M, N, rate, BM, BN, num_warps=num_warps)


@triton.jit
def _max_pool(out, x, M, N, BM: tl.constexpr, BN: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    top = tl.full((BM, BN), -float("inf"), tl.float32)
    for dy in tl.static_range(-1, 2):
        for dx in tl.static_range(-1, 2):
            top = tl.maximum(top, _near(x, rows + dy, columns + dx, M, N, -float("inf")))
    inside = (rows < M)[:, None] & (columns < N)[None, :]
    where = out + rows[:, None].to(tl.int64) * N + columns[None, :]
    tl.store(where, top.to(out.dtype.element_ty), inside)


def max_pool(out, x, *, BM, BN, num_warps):
    M, N = x.shape
    grid = (triton.cdiv(M, BM), triton.cdiv(N, BN))
    _max_pool[grid](out, x, M, N, BM, BN, num_warps=num_warps)


@triton.jit
def _transpose_cast(out, x, M, N, BM: tl.constexpr, BN: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    inside = (rows < M)[:, None] & (columns < N)[None, :]
    tile = tl.load(x + rows[:, None].to(tl.int64) * N + columns[None, :], inside)
    turned = tl.trans(tile).to(out.dtype.element_ty)
    there = (columns < N)[:, None] & (rows < M)[None, :]
    tl.store(out + columns[:, None].to(tl.int64) * M + rows[None, :], turned, there)


def transpose_cast(out, x, *, BM, BN, num_warps):
    M, N = x.shape
    grid = (triton.cdiv(M, BM), triton.cdiv(N, BN))
    _transpose_cast[grid](out, x, M, N, BM, BN, num_warps=num_warps)


@triton.jit
def _swap_heads(out, x, T, H, D: tl.constexpr, BT: tl.constexpr):
    b, h = tl.program_id(0).to(tl.int64), tl.program_id(1)
    t = tl.program_id(2) * BT + tl.arange(0, BT)
    at = tl.arange(0, D)
    inside = (t < T)[:, None] & (at < D)[None, :]
    tile = tl.load(x + ((b * T + t[:, None]) * H + h) * D + at[None, :], inside)
    tl.store(out + ((b * H + h) * T + t[:, None]) * D + at[None, :], tile, inside)


def swap_heads(out, x, *, BT, num_warps):
    B, T, H, D = x.shape
    _swap_heads[(B, H, triton.cdiv(T, BT))](out, x, T, H, D, BT, num_warps=num_warps)
