"""Reductions along each axis, and of everything."""
# Triton reads the annotations of its kernels, and type checkers cannot read its language.
# mypy: ignore-errors
# pyright: basic, reportArgumentType=false, reportIndexIssue=false
# ruff: noqa: ANN001, ANN201, ANN202, D103

import triton
import triton.language as tl


@triton.jit
def _sum_rows(out, x, M, N, BM: tl.constexpr, BN: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    total = tl.zeros((BM, BN), tl.float32)
    for j in range(0, N, BN):
        at = j + tl.arange(0, BN)
        where = rows[:, None].to(tl.int64) * N + at[None, :]
        inside = (rows < M)[:, None] & (at < N)[None, :]
        total += tl.load(x + where, inside, other=0.0).to(tl.float32)
    tl.store(out + rows, tl.sum(total, 1), rows < M)


def sum_rows(out, x, *, BM, BN, num_warps):
    M, N = x.shape
    _sum_rows[(triton.cdiv(M, BM),)](out, x, M, N, BM, BN, num_warps=num_warps)


@triton.jit
def _column_moments(mean, variance, x, M, N, BM: tl.constexpr, BN: tl.constexpr):
    columns = tl.program_id(0) * BN + tl.arange(0, BN)
    total, squares = tl.zeros((BM, BN), tl.float32), tl.zeros((BM, BN), tl.float32)
    for i in range(0, M, BM):
        at = i + tl.arange(0, BM)
        where = at[:, None].to(tl.int64) * N + columns[None, :]
        inside = (at < M)[:, None] & (columns < N)[None, :]
        tile = tl.load(x + where, inside, other=0.0).to(tl.float32)
        total += tile
        squares += tile * tile
    average = tl.sum(total, 0) / M
    tl.store(mean + columns, average, columns < N)
    tl.store(variance + columns, tl.sum(squares, 0) / M - average * average, columns < N)


def column_moments(mean, variance, x, *, BM, BN, num_warps):
    M, N = x.shape
    grid = (triton.cdiv(N, BN),)
    _column_moments[grid](mean, variance, x, M, N, BM, BN, num_warps=num_warps)


@triton.jit
def _sum_middle(out, x, M, N, BM: tl.constexpr, BN: tl.constexpr):
    b = tl.program_id(0).to(tl.int64)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), tl.float32)
    for i in range(0, M, BM):
        at = i + tl.arange(0, BM)
        where = (b * M + at[:, None]) * N + columns[None, :]
        inside = (at < M)[:, None] & (columns < N)[None, :]
        total += tl.load(x + where, inside, other=0.0).to(tl.float32)
    tl.store(out + b * N + columns, tl.sum(total, 0), columns < N)


def sum_middle(out, x, *, BM, BN, num_warps):
    B, M, N = x.shape
    _sum_middle[(B, triton.cdiv(N, BN))](out, x, M, N, BM, BN, num_warps=num_warps)


@triton.jit
def _sum_some(part, x, n, BLOCK: tl.constexpr):
    block, blocks = tl.program_id(0), tl.num_programs(0)
    total = tl.zeros((BLOCK,), tl.float32)
    for i in range(block * BLOCK, n, blocks * BLOCK):
        at = i + tl.arange(0, BLOCK)
        total += tl.load(x + at, at < n, other=0.0).to(tl.float32)
    tl.store(part + block, tl.sum(total, 0))


@triton.jit
def _sum_parts(out, part, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out, tl.sum(tl.load(part + at, at < n, other=0.0), 0))


def sum_all(out, part, x, *, BLOCK, num_warps):
    parts = part.shape[0]
    _sum_some[(parts,)](part, x, x.numel(), BLOCK, num_warps=num_warps)
    _sum_parts[(1,)](out, part, parts, triton.next_power_of_2(parts))


@triton.jit
def _argmax_rows(out, x, M, N, BM: tl.constexpr, BN: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    best = tl.full((BM,), -float("inf"), tl.float32)
    where = tl.zeros((BM,), tl.int32)
    for j in range(0, N, BN):
        at = j + tl.arange(0, BN)
        inside = (rows < M)[:, None] & (at < N)[None, :]
        place = x + rows[:, None].to(tl.int64) * N + at[None, :]
        tile = tl.load(place, inside, other=-float("inf")).to(tl.float32)
        top, index = tl.max(tile, 1, return_indices=True)
        where = tl.where(top > best, index + j, where)
        best = tl.maximum(best, top)
    tl.store(out + rows, where, rows < M)


def argmax_rows(out, x, *, BM, BN, num_warps):
    M, N = x.shape
    _argmax_rows[(triton.cdiv(M, BM),)](out, x, M, N, BM, BN, num_warps=num_warps)
