"""Matrix products."""
# Triton reads the annotations of its kernels, and type checkers cannot read its language.
# mypy: ignore-errors
# pyright: basic, reportArgumentType=false, reportIndexIssue=false
# ruff: noqa: ANN001, ANN003, ANN201, ANN202, D103

import triton
import triton.language as tl


@triton.jit
def _place(M, N, BM: tl.constexpr, BN: tl.constexpr):
    """The tile of a block, in groups of 8 rows of tiles, which share what they load."""
    number = tl.program_id(0)
    rows, columns = tl.cdiv(M, BM), tl.cdiv(N, BN)
    first = number // (8 * columns) * 8
    height = tl.minimum(rows - first, 8)
    return first + (number % (8 * columns)) % height, (number % (8 * columns)) // height


@triton.jit
def _gelu(x):
    return x * tl.sigmoid(1.5957691216057308 * (x + 0.044715 * x * x * x))


@triton.jit
def _gemm(
    z, x, w, bias, residual, alpha, M, N, K, sxm, sxk, swk, swn,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, KIND: tl.constexpr,
):  # fmt: skip
    i, j = _place(M, N, BM, BN)
    rows, columns, ks = i * BM + tl.arange(0, BM), j * BN + tl.arange(0, BN), tl.arange(0, BK)
    left = x + (rows % M)[:, None].to(tl.int64) * sxm + ks[None, :].to(tl.int64) * sxk
    right = w + ks[:, None].to(tl.int64) * swk + (columns % N)[None, :].to(tl.int64) * swn
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        a = tl.load(left, (ks < K - k)[None, :], other=0.0)
        b = tl.load(right, (ks < K - k)[:, None], other=0.0)
        acc = tl.dot(a, b, acc)
        left += BK * sxk
        right += BK * swk
    inside = (rows < M)[:, None] & (columns < N)[None, :]
    where = rows[:, None].to(tl.int64) * N + columns[None, :]
    if KIND == "bias_gelu":
        acc += tl.load(bias + columns, columns < N, other=0.0)[None, :].to(tl.float32)
        acc = _gelu(acc)
    if KIND == "residual":
        acc = alpha * acc + tl.load(residual + where, inside, other=0.0).to(tl.float32)
    tl.store(z + where, acc.to(z.dtype.element_ty), inside)


def _launch(z, x, w, bias, residual, alpha, steps, kind, BM, BN, BK, num_warps, num_stages):
    (M, N), K = z.shape, w.numel() // z.shape[1]
    grid = (triton.cdiv(M, BM) * triton.cdiv(N, BN),)
    _gemm[grid](
        z, x, w, bias, residual, alpha, M, N, K, *steps, BM, BN, BK, kind,
        num_warps=num_warps, num_stages=num_stages,
    )  # fmt: skip


def gemm_bias_gelu(z, x, w, bias, **how):
    steps = x.stride(0), x.stride(1), w.stride(0), w.stride(1)
    _launch(z, x, w, bias, bias, 1.0, steps, "bias_gelu", **how)


def gemm_residual(z, x, w, residual, alpha, **how):
    steps = x.stride(0), x.stride(1), w.stride(1), w.stride(0)
    _launch(z, x, w, residual, residual, alpha, steps, "residual", **how)


def gemm_weight_gradient(z, x, y, **how):
    steps = x.stride(1), x.stride(0), y.stride(0), y.stride(1)
    _launch(z, x, y, y, y, 1.0, steps, "plain", **how)


@triton.jit
def _gated(z, x, gate, up, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    i, j = _place(M, N, BM, BN)
    rows, columns, ks = i * BM + tl.arange(0, BM), j * BN + tl.arange(0, BN), tl.arange(0, BK)
    left = x + (rows % M)[:, None].to(tl.int64) * K + ks[None, :]
    right = ks[:, None].to(tl.int64) * N + (columns % N)[None, :]
    g, u = tl.zeros((BM, BN), tl.float32), tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        inside = (ks < K - k)[:, None]
        a = tl.load(left + k, (ks < K - k)[None, :], other=0.0)
        g = tl.dot(a, tl.load(gate + right, inside, other=0.0), g)
        u = tl.dot(a, tl.load(up + right, inside, other=0.0), u)
        right += BK * N
    where = rows[:, None].to(tl.int64) * N + columns[None, :]
    result = (g * tl.sigmoid(g) * u).to(z.dtype.element_ty)
    tl.store(z + where, result, (rows < M)[:, None] & (columns < N)[None, :])


def gemm_swiglu(z, x, gate, up, *, BM, BN, BK, num_warps, num_stages):
    (M, N), K = z.shape, x.shape[1]
    grid = (triton.cdiv(M, BM) * triton.cdiv(N, BN),)
    _gated[grid](z, x, gate, up, M, N, K, BM, BN, BK, num_warps=num_warps, num_stages=num_stages)


@triton.jit
def _batched(z, x, y, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    b, i, j = tl.program_id(0).to(tl.int64), tl.program_id(1), tl.program_id(2)
    rows, columns, ks = i * BM + tl.arange(0, BM), j * BN + tl.arange(0, BN), tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        at = k + ks
        left = tl.load(
            x + (b * M + rows[:, None]) * K + at[None, :], (rows < M)[:, None] & (at < K)[None, :],
            other=0.0,
        )  # fmt: skip
        right = tl.load(
            y + (b * K + at[:, None]) * N + columns[None, :],
            (at < K)[:, None] & (columns < N)[None, :], other=0.0,
        )  # fmt: skip
        acc = tl.dot(left, right, acc)
    inside = (rows < M)[:, None] & (columns < N)[None, :]
    where = (b * M + rows[:, None]) * N + columns[None, :]
    tl.store(z + where, acc.to(z.dtype.element_ty), inside)


def gemm_batched(z, x, y, *, BM, BN, BK, num_warps, num_stages):
    (B, M, N), K = z.shape, x.shape[2]
    _batched[(B, triton.cdiv(M, BM), triton.cdiv(N, BN))](
        z, x, y, M, N, K, BM, BN, BK, num_warps=num_warps, num_stages=num_stages
    )


@triton.jit
def _indirect(
    z, x, w, rows_of, experts, M, N, K, ROWS: tl.constexpr, GATHER: tl.constexpr,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    i, j = _place(M, N, BM, BN)
    rows, columns, ks = i * BM + tl.arange(0, BM), j * BN + tl.arange(0, BN), tl.arange(0, BK)
    if GATHER:
        numbers = tl.load(rows_of + rows, rows < M, other=0)
        start = w
    else:
        numbers = rows % M
        start = w + tl.load(experts + i * BM // ROWS).to(tl.int64) * K * N
    left = x + numbers[:, None].to(tl.int64) * K + ks[None, :]
    right = start + ks[:, None].to(tl.int64) * N + (columns % N)[None, :]
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        a = tl.load(left + k, (ks < K - k)[None, :], other=0.0)
        b = tl.load(right, (ks < K - k)[:, None], other=0.0)
        acc = tl.dot(a, b, acc)
        right += BK * N
    where = rows[:, None].to(tl.int64) * N + columns[None, :]
    inside = (rows < M)[:, None] & (columns < N)[None, :]
    tl.store(z + where, acc.to(z.dtype.element_ty), inside)


def gemm_grouped(z, x, w, experts, *, BM, BN, BK, num_warps, num_stages):
    (M, N), K = z.shape, x.shape[1]
    _indirect[(triton.cdiv(M, BM) * triton.cdiv(N, BN),)](
        z, x, w, experts, experts, M, N, K, 128, False, BM, BN, BK,
        num_warps=num_warps, num_stages=num_stages,
    )  # fmt: skip


def gemm_gathered(z, x, rows, w, *, BM, BN, BK, num_warps, num_stages):
    (M, N), K = z.shape, x.shape[1]
    _indirect[(triton.cdiv(M, BM) * triton.cdiv(N, BN),)](
        z, x, w, rows, rows, M, N, K, 128, True, BM, BN, BK,
        num_warps=num_warps, num_stages=num_stages,
    )  # fmt: skip


@triton.jit
def _split(parts, x, y, M, N, K, each, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    s, i, j = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    rows, columns, ks = i * BM + tl.arange(0, BM), j * BN + tl.arange(0, BN), tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    stop = tl.minimum(K, (s + 1) * each)
    for k in range(s * each, stop, BK):
        at = k + ks
        left = tl.load(
            x + rows[:, None].to(tl.int64) * K + at[None, :],
            (rows < M)[:, None] & (at < stop)[None, :], other=0.0,
        )  # fmt: skip
        right = tl.load(
            y + at[:, None].to(tl.int64) * N + columns[None, :],
            (at < stop)[:, None] & (columns < N)[None, :], other=0.0,
        )  # fmt: skip
        acc = tl.dot(left, right, acc)
    inside = (rows < M)[:, None] & (columns < N)[None, :]
    tl.store(parts + (s * M + rows[:, None]) * N + columns[None, :], acc, inside)


@triton.jit
def _sum_of_splits(z, parts, n, S, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    acc = tl.zeros((BLOCK,), tl.float32)
    for s in range(S):
        acc += tl.load(parts + s * n + at, at < n, other=0.0)
    tl.store(z + at, acc.to(z.dtype.element_ty), at < n)


def gemm_split_k(z, parts, x, y, *, BM, BN, BK, num_warps, num_stages):
    (M, N), K = z.shape, x.shape[1]
    S = parts.shape[0]
    each = triton.cdiv(triton.cdiv(K, S), BK) * BK
    _split[(S, triton.cdiv(M, BM), triton.cdiv(N, BN))](
        parts, x, y, M, N, K, each, BM, BN, BK, num_warps=num_warps, num_stages=num_stages
    )
    _sum_of_splits[(triton.cdiv(M * N, 1024),)](z, parts, M * N, S, 1024)
