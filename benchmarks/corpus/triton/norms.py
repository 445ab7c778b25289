"""Norms and softmax, forward and backward."""
# Triton reads the annotations of its kernels, and type checkers cannot read its language.
# mypy: ignore-errors
# pyright: basic, reportArgumentType=false, reportIndexIssue=false
# ruff: noqa: ANN001, ANN201, ANN202, D103

import triton
import triton.language as tl


@triton.jit
def _add_rms_norm(out, total, x, residual, weight, N, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * N
    at = tl.arange(0, BLOCK)
    inside = at < N
    tile = tl.load(x + row + at, inside, other=0.0).to(tl.float32)
    tile += tl.load(residual + row + at, inside, other=0.0).to(tl.float32)
    tl.store(total + row + at, tile.to(total.dtype.element_ty), inside)
    r = tl.rsqrt(tl.sum(tile * tile, 0) / N + eps)
    w = tl.load(weight + at, inside).to(tl.float32)
    tl.store(out + row + at, (tile * r * w).to(out.dtype.element_ty), inside)


def add_rms_norm(out, total, x, residual, weight, eps, *, num_warps):
    rows, N = x.shape
    block = triton.next_power_of_2(N)
    _add_rms_norm[(rows,)](out, total, x, residual, weight, N, eps, block, num_warps=num_warps)


@triton.jit
def _layer_norm(out, x, weight, bias, N, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * N
    at = tl.arange(0, BLOCK)
    inside = at < N
    tile = tl.load(x + row + at, inside, other=0.0).to(tl.float32)
    centred = tl.where(inside, tile - tl.sum(tile, 0) / N, 0.0)
    r = tl.rsqrt(tl.sum(centred * centred, 0) / N + eps)
    w = tl.load(weight + at, inside).to(tl.float32)
    b = tl.load(bias + at, inside).to(tl.float32)
    tl.store(out + row + at, (centred * r * w + b).to(out.dtype.element_ty), inside)


def layer_norm(out, x, weight, bias, eps, *, num_warps):
    rows, N = x.shape
    block = triton.next_power_of_2(N)
    _layer_norm[(rows,)](out, x, weight, bias, N, eps, block, num_warps=num_warps)


@triton.jit
def _layer_norm_dx(dx, dy, x, weight, mean, rstd, N, BLOCK: tl.constexpr):
    number = tl.program_id(0).to(tl.int64)
    row = number * N
    at = tl.arange(0, BLOCK)
    inside = at < N
    m, r = tl.load(mean + number), tl.load(rstd + number)
    w = tl.load(weight + at, inside, other=0.0).to(tl.float32)
    g = tl.load(dy + row + at, inside, other=0.0).to(tl.float32) * w
    normal = (tl.load(x + row + at, inside, other=0.0).to(tl.float32) - m) * r
    a, b = tl.sum(g * normal, 0) / N, tl.sum(g, 0) / N
    tl.store(dx + row + at, ((g - normal * a - b) * r).to(dx.dtype.element_ty), inside)


def layer_norm_dx(dx, dy, x, weight, mean, rstd, *, num_warps):
    rows, N = x.shape
    block = triton.next_power_of_2(N)
    _layer_norm_dx[(rows,)](dx, dy, x, weight, mean, rstd, N, block, num_warps=num_warps)


@triton.jit
def _layer_norm_parts(
    dws, dbs, dy, x, mean, rstd, rows, N, ROWS: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr
):
    part = tl.program_id(0)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    w, b = tl.zeros((BN,), tl.float32), tl.zeros((BN,), tl.float32)
    for i in range(0, ROWS, BM):
        at = part * ROWS + i + tl.arange(0, BM)
        inside = (at < rows)[:, None] & (columns < N)[None, :]
        where = at[:, None].to(tl.int64) * N + columns[None, :]
        g = tl.load(dy + where, inside, other=0.0).to(tl.float32)
        m = tl.load(mean + at, at < rows, other=0.0)[:, None]
        r = tl.load(rstd + at, at < rows, other=0.0)[:, None]
        normal = (tl.load(x + where, inside, other=0.0).to(tl.float32) - m) * r
        w += tl.sum(g * normal, 0)
        b += tl.sum(g, 0)
    tl.store(dws + part * N + columns, w, columns < N)
    tl.store(dbs + part * N + columns, b, columns < N)


@triton.jit
def _sum_of_parts(dw, db, dws, dbs, parts, N, BM: tl.constexpr, BN: tl.constexpr):
    columns = tl.program_id(0) * BN + tl.arange(0, BN)
    w, b = tl.zeros((BM, BN), tl.float32), tl.zeros((BM, BN), tl.float32)
    for i in range(0, parts, BM):
        at = i + tl.arange(0, BM)
        inside = (at < parts)[:, None] & (columns < N)[None, :]
        where = at[:, None] * N + columns[None, :]
        w += tl.load(dws + where, inside, other=0.0)
        b += tl.load(dbs + where, inside, other=0.0)
    tl.store(dw + columns, tl.sum(w, 0).to(dw.dtype.element_ty), columns < N)
    tl.store(db + columns, tl.sum(b, 0).to(db.dtype.element_ty), columns < N)


def layer_norm_dw(dw, db, dws, dbs, dy, x, mean, rstd, *, BM, BN, num_warps):
    rows, N = x.shape
    parts = dws.shape[0]
    each = triton.next_power_of_2(triton.cdiv(rows, parts))
    _layer_norm_parts[(parts, triton.cdiv(N, BN))](
        dws, dbs, dy, x, mean, rstd, rows, N, each, BM, BN, num_warps=num_warps
    )
    _sum_of_parts[(triton.cdiv(N, 64),)](dw, db, dws, dbs, parts, N, 32, 64)


@triton.jit
def _rms_norm_dx(dx, dy, x, weight, rstd, N, BLOCK: tl.constexpr):
    number = tl.program_id(0).to(tl.int64)
    row = number * N
    at = tl.arange(0, BLOCK)
    inside = at < N
    r = tl.load(rstd + number)
    w = tl.load(weight + at, inside, other=0.0).to(tl.float32)
    g = tl.load(dy + row + at, inside, other=0.0).to(tl.float32) * w
    normal = tl.load(x + row + at, inside, other=0.0).to(tl.float32) * r
    a = tl.sum(g * normal, 0) / N
    tl.store(dx + row + at, ((g - normal * a) * r).to(dx.dtype.element_ty), inside)


def rms_norm_dx(dx, dy, x, weight, rstd, *, num_warps):
    rows, N = x.shape
    block = triton.next_power_of_2(N)
    _rms_norm_dx[(rows,)](dx, dy, x, weight, rstd, N, block, num_warps=num_warps)


@triton.jit
def _group_norm(out, x, weight, bias, G, P, eps, C: tl.constexpr, BLOCK: tl.constexpr):
    number = tl.program_id(0)
    channel, at = tl.arange(0, C), tl.arange(0, BLOCK)
    inside = (at < P)[None, :] & (channel < C)[:, None]
    where = number.to(tl.int64) * C * P + channel[:, None] * P + at[None, :]
    tile = tl.load(x + where, inside, other=0.0).to(tl.float32)
    n = C * P
    centred = tl.where(inside, tile - tl.sum(tl.sum(tile, 1), 0) / n, 0.0)
    r = tl.rsqrt(tl.sum(tl.sum(centred * centred, 1), 0) / n + eps)
    w = tl.load(weight + number % G * C + channel)[:, None].to(tl.float32)
    b = tl.load(bias + number % G * C + channel)[:, None].to(tl.float32)
    tl.store(out + where, (centred * r * w + b).to(out.dtype.element_ty), inside)


def group_norm(out, x, weight, bias, eps, *, num_warps):
    images, C, P = x.shape
    _group_norm[(images,)](
        out, x, weight, bias, weight.shape[0], P, eps, C, triton.next_power_of_2(P),
        num_warps=num_warps,
    )  # fmt: skip


@triton.jit
def _softmax(out, x, N, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * N
    at = tl.arange(0, BLOCK)
    inside = at < N
    tile = tl.load(x + row + at, inside, other=-float("inf")).to(tl.float32)
    p = tl.exp(tile - tl.max(tile, 0))
    tl.store(out + row + at, (p / tl.sum(p, 0)).to(out.dtype.element_ty), inside)


def softmax_wide(out, x, *, num_warps):
    rows, N = x.shape
    _softmax[(rows,)](out, x, N, triton.next_power_of_2(N), num_warps=num_warps)


@triton.jit
def _softmax_backward(dx, dy, y, N, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * N
    at = tl.arange(0, BLOCK)
    inside = at < N
    p = tl.load(y + row + at, inside, other=0.0).to(tl.float32)
    d = tl.load(dy + row + at, inside, other=0.0).to(tl.float32)
    tl.store(dx + row + at, (p * (d - tl.sum(p * d, 0))).to(dx.dtype.element_ty), inside)


def softmax_backward(dx, dy, y, *, num_warps):
    rows, N = y.shape
    _softmax_backward[(rows,)](dx, dy, y, N, triton.next_power_of_2(N), num_warps=num_warps)


@triton.jit
def _rms_norm_int8(out, scales, x, weight, N, eps, BLOCK: tl.constexpr):
    number = tl.program_id(0).to(tl.int64)
    row = number * N
    at = tl.arange(0, BLOCK)
    inside = at < N
    tile = tl.load(x + row + at, inside, other=0.0).to(tl.float32)
    w = tl.load(weight + at, inside, other=0.0).to(tl.float32)
    y = tile * tl.rsqrt(tl.sum(tile * tile, 0) / N + eps) * w
    scale = tl.max(tl.abs(y), 0) / 127.0
    q = y / scale
    q = tl.where(q < 0, q - 0.5, q + 0.5)
    tl.store(out + row + at, q.to(tl.int8), inside)
    tl.store(scales + number, scale)


def rms_norm_int8(out, scales, x, weight, eps, *, num_warps):
    rows, N = x.shape
    block = triton.next_power_of_2(N)
    _rms_norm_int8[(rows,)](out, scales, x, weight, N, eps, block, num_warps=num_warps)


@triton.jit
def _dropout_layer_norm(out, x, weight, bias, N, p, seed, BLOCK: tl.constexpr):
    row = tl.program_id(0) * N
    at = tl.arange(0, BLOCK)
    inside = at < N
    tile = tl.load(x + row + at, inside, other=0.0).to(tl.float32)
    tile = tl.where(tl.rand(seed, row + at) >= p, tile / (1 - p), 0.0)
    centred = tl.where(inside, tile - tl.sum(tile, 0) / N, 0.0)
    r = tl.rsqrt(tl.sum(centred * centred, 0) / N + 1e-5)
    w = tl.load(weight + at, inside).to(tl.float32)
    b = tl.load(bias + at, inside).to(tl.float32)
    tl.store(out + row + at, (centred * r * w + b).to(out.dtype.element_ty), inside)


def dropout_layer_norm(out, x, weight, bias, p, *, num_warps):
    rows, N = x.shape
    block = triton.next_power_of_2(N)
    _dropout_layer_norm[(rows,)](out, x, weight, bias, N, p, 42, block, num_warps=num_warps)
