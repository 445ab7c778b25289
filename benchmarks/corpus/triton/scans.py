"""Scans and sorts."""
# Triton reads the annotations of its kernels, and type checkers cannot read its language.
# mypy: ignore-errors
# pyright: basic, reportArgumentType=false, reportIndexIssue=false
# ruff: noqa: ANN001, ANN201, ANN202, D103

import triton
import triton.language as tl


@triton.jit
def _cumsum_rows(out, x, N, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * N
    at = tl.arange(0, BLOCK)
    tile = tl.load(x + row + at, at < N, other=0.0).to(tl.float32)
    tl.store(out + row + at, tl.cumsum(tile, 0).to(out.dtype.element_ty), at < N)


def cumsum_rows(out, x, *, num_warps):
    rows, N = x.shape
    _cumsum_rows[(rows,)](out, x, N, triton.next_power_of_2(N), num_warps=num_warps)


@triton.jit
def _cumsum_columns(out, x, M, N, BM: tl.constexpr, BN: tl.constexpr):
    columns = tl.program_id(0) * BN + tl.arange(0, BN)
    before = tl.zeros((1, BN), tl.float32)
    for i in range(0, M, BM):
        at = i + tl.arange(0, BM)
        where = at[:, None].to(tl.int64) * N + columns[None, :]
        inside = (at < M)[:, None] & (columns < N)[None, :]
        tile = tl.load(x + where, inside, other=0.0).to(tl.float32)
        tl.store(out + where, (tl.cumsum(tile, 0) + before).to(out.dtype.element_ty), inside)
        before += tl.sum(tile, 0)[None, :]


def cumsum_columns(out, x, *, BM, BN, num_warps):
    M, N = x.shape
    _cumsum_columns[(triton.cdiv(N, BN),)](out, x, M, N, BM, BN, num_warps=num_warps)


@triton.jit
def _recurrence(out, a, x, T, N, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < N
    state = tl.zeros((BLOCK,), tl.float32)
    for t in range(T):
        decay = tl.load(a + t * N + at, inside, other=0.0).to(tl.float32)
        state = decay * state + tl.load(x + t * N + at, inside, other=0.0).to(tl.float32)
        tl.store(out + t * N + at, state.to(out.dtype.element_ty), inside)


def recurrence(out, a, x, *, BLOCK, num_warps):
    T, N = x.shape
    _recurrence[(triton.cdiv(N, BLOCK),)](out, a, x, T, N, BLOCK, num_warps=num_warps)


@triton.jit
def _sort_rows(out, x, N, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * N
    at = tl.arange(0, BLOCK)
    tile = tl.load(x + row + at, at < N, other=float("inf"))
    tl.store(out + row + at, tl.sort(tile), at < N)


def sort_rows(out, x, *, num_warps):
    rows, N = x.shape
    _sort_rows[(rows,)](out, x, N, triton.next_power_of_2(N), num_warps=num_warps)


@triton.jit
def _topk_gate(weights, experts, x, M, N, K: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    at, places = tl.arange(0, BN), tl.arange(0, K)
    inside = (rows < M)[:, None] & (at < N)[None, :]
    tile = tl.load(x + rows[:, None] * N + at[None, :], inside, other=-float("inf"))
    tile = tile.to(tl.float32)
    top = tl.full((BM, K), -float("inf"), tl.float32)
    where = tl.zeros((BM, K), tl.int32)
    for k in tl.static_range(K):
        best, index = tl.max(tile, 1, return_indices=True)
        top = tl.where(places[None, :] == k, best[:, None], top)
        where = tl.where(places[None, :] == k, index[:, None], where)
        tile = tl.where(at[None, :] == index[:, None], -float("inf"), tile)
    p = tl.exp(top - tl.max(top, 1)[:, None])
    p = p / tl.sum(p, 1)[:, None]
    place = rows[:, None] * K + places[None, :]
    kept = (rows < M)[:, None] & (places < K)[None, :]
    tl.store(weights + place, p, kept)
    tl.store(experts + place, where, kept)


def topk_gate(weights, experts, x, *, BM, num_warps):
    M, N = x.shape
    _topk_gate[(triton.cdiv(M, BM),)](
        weights, experts, x, M, N, weights.shape[1], BM, triton.next_power_of_2(N),
        num_warps=num_warps,
    )  # fmt: skip
