"""Losses over rows of classes."""
# Triton reads the annotations of its kernels, and type checkers cannot read its language.
# mypy: ignore-errors
# pyright: basic, reportArgumentType=false, reportIndexIssue=false
# ruff: noqa: ANN001, ANN201, ANN202, D103

import triton
import triton.language as tl


@triton.jit
def _cross_entropy(loss, lse, x, target, N, BLOCK: tl.constexpr):
    number = tl.program_id(0)
    row = number.to(tl.int64) * N
    wanted = tl.load(target + number)
    right = tl.load(x + row + wanted).to(tl.float32)
    peak = -float("inf")
    total = 0.0
    for j in range(0, N, BLOCK):
        at = j + tl.arange(0, BLOCK)
        tile = tl.load(x + row + at, at < N, other=-float("inf")).to(tl.float32)
        higher = tl.maximum(peak, tl.max(tile, 0))
        total = total * tl.exp(peak - higher) + tl.sum(tl.exp(tile - higher), 0)
        peak = higher
    result = peak + tl.log(total)
    tl.store(lse + number, result)
    tl.store(loss + number, result - right)


def cross_entropy(loss, lse, x, target, *, BLOCK, num_warps):
    rows, N = x.shape
    _cross_entropy[(rows,)](loss, lse, x, target, N, BLOCK, num_warps=num_warps)


@triton.jit
def _cross_entropy_backward(dx, x, target, lse, N, scale, BLOCK: tl.constexpr):
    number = tl.program_id(0)
    row = number.to(tl.int64) * N
    at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = at < N
    p = tl.exp(tl.load(x + row + at, inside).to(tl.float32) - tl.load(lse + number))
    p = tl.where(at == tl.load(target + number), p - 1.0, p)
    tl.store(dx + row + at, (p * scale).to(dx.dtype.element_ty), inside)


def cross_entropy_backward(dx, x, target, lse, scale, *, BLOCK, num_warps):
    rows, N = x.shape
    grid = (rows, triton.cdiv(N, BLOCK))
    _cross_entropy_backward[grid](dx, x, target, lse, N, scale, BLOCK, num_warps=num_warps)


@triton.jit
def _kl_div(loss, x, target, N, BLOCK: tl.constexpr):
    number = tl.program_id(0)
    row = number.to(tl.int64) * N
    total = tl.zeros((BLOCK,), tl.float32)
    for j in range(0, N, BLOCK):
        at = j + tl.arange(0, BLOCK)
        log_p = tl.load(x + row + at, at < N, other=0.0).to(tl.float32)
        log_q = tl.load(target + row + at, at < N, other=0.0).to(tl.float32)
        total += tl.exp(log_q) * (log_q - log_p)
    tl.store(loss + number, tl.sum(total, 0))


def kl_divergence(loss, x, target, *, BLOCK, num_warps):
    rows, N = x.shape
    _kl_div[(rows,)](loss, x, target, N, BLOCK, num_warps=num_warps)


@triton.jit
def _log_softmax(out, x, N, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * N
    at = tl.arange(0, BLOCK)
    inside = at < N
    tile = tl.load(x + row + at, inside, other=-float("inf")).to(tl.float32)
    tile = tile - tl.max(tile, 0)
    result = tile - tl.log(tl.sum(tl.exp(tile), 0))
    tl.store(out + row + at, result.to(out.dtype.element_ty), inside)


def log_softmax(out, x, *, num_warps):
    rows, N = x.shape
    _log_softmax[(rows,)](out, x, N, triton.next_power_of_2(N), num_warps=num_warps)
