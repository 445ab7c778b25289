"""Gathers, scatter-adds and histograms."""
# Triton reads the annotations of its kernels, and type checkers cannot read its language.
# mypy: ignore-errors
# pyright: basic, reportArgumentType=false, reportIndexIssue=false
# ruff: noqa: ANN001, ANN201, ANN202, D103

import triton
import triton.language as tl


@triton.jit
def _embedding(out, table, rows, M, N, BM: tl.constexpr, BN: tl.constexpr):
    at = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    inside = (at < M)[:, None] & (columns < N)[None, :]
    number = tl.load(rows + at, at < M, other=0).to(tl.int64)
    tile = tl.load(table + number[:, None] * N + columns[None, :], inside)
    tl.store(out + at[:, None].to(tl.int64) * N + columns[None, :], tile, inside)


def embedding(out, table, rows, *, BM, BN, num_warps):
    M, N = out.shape
    grid = (triton.cdiv(M, BM), triton.cdiv(N, BN))
    _embedding[grid](out, table, rows, M, N, BM, BN, num_warps=num_warps)


@triton.jit
def _embedding_backward(grad, dy, rows, M, N, BM: tl.constexpr, BN: tl.constexpr):
    at = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    inside = (at < M)[:, None] & (columns < N)[None, :]
    number = tl.load(rows + at, at < M, other=0).to(tl.int64)
    tile = tl.load(dy + at[:, None].to(tl.int64) * N + columns[None, :], inside, other=0.0)
    where = grad + number[:, None] * N + columns[None, :]
    tl.atomic_add(where, tile.to(tl.float32), inside, sem="relaxed")


def embedding_backward(grad, dy, rows, *, BM, BN, num_warps):
    grad.zero_()
    M, N = dy.shape
    grid = (triton.cdiv(M, BM), triton.cdiv(N, BN))
    _embedding_backward[grid](grad, dy, rows, M, N, BM, BN, num_warps=num_warps)


@triton.jit
def _combine(out, x, rows, weights, M, N, K: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    at = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    inside = (at < M)[:, None] & (columns < N)[None, :]
    total = tl.zeros((BM, BN), tl.float32)
    for k in tl.static_range(K):
        number = tl.load(rows + at * K + k, at < M, other=0).to(tl.int64)
        weight = tl.load(weights + at * K + k, at < M, other=0.0)
        tile = tl.load(x + number[:, None] * N + columns[None, :], inside, other=0.0)
        total += weight[:, None] * tile.to(tl.float32)
    where = out + at[:, None].to(tl.int64) * N + columns[None, :]
    tl.store(where, total.to(out.dtype.element_ty), inside)


def combine_experts(out, x, rows, weights, *, BM, BN, num_warps):
    M, N = out.shape
    grid = (triton.cdiv(M, BM), triton.cdiv(N, BN))
    _combine[grid](out, x, rows, weights, M, N, rows.shape[1], BM, BN, num_warps=num_warps)


@triton.jit
def _histogram(counts, x, n, BINS: tl.constexpr, BLOCK: tl.constexpr, STEPS: tl.constexpr):
    bins = tl.zeros((BINS,), tl.int32)
    for step in range(STEPS):
        at = (tl.program_id(0) * STEPS + step) * BLOCK + tl.arange(0, BLOCK)
        # What is out of bounds counts as 0, and is taken off again.
        values = tl.load(x + at, at < n, other=0)
        bins += tl.histogram(values, BINS)
        outside = tl.sum((at >= n).to(tl.int32), 0)
        bins -= tl.where(tl.arange(0, BINS) == 0, outside, 0)
    tl.atomic_add(counts + tl.arange(0, BINS), bins, sem="relaxed")


def histogram(counts, x, *, BLOCK, STEPS, num_warps):
    counts.zero_()
    n = x.numel()
    grid = (triton.cdiv(n, BLOCK * STEPS),)
    _histogram[grid](counts, x, n, counts.shape[0], BLOCK, STEPS, num_warps=num_warps)


@triton.jit
def _take_columns(out, x, columns, M, N, K, BM: tl.constexpr, BN: tl.constexpr):
    at = tl.program_id(0) * BM + tl.arange(0, BM)
    places = tl.program_id(1) * BN + tl.arange(0, BN)
    inside = (at < M)[:, None] & (places < N)[None, :]
    number = tl.load(columns + places, places < N, other=0)
    tile = tl.load(x + at[:, None].to(tl.int64) * K + number[None, :], inside)
    tl.store(out + at[:, None].to(tl.int64) * N + places[None, :], tile, inside)


def take_columns(out, x, columns, *, BM, BN, num_warps):
    M, N = out.shape
    grid = (triton.cdiv(M, BM), triton.cdiv(N, BN))
    _take_columns[grid](out, x, columns, M, N, x.shape[1], BM, BN, num_warps=num_warps)
