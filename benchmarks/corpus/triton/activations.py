"""Activations and other work on single elements."""
# Triton reads the annotations of its kernels, and type checkers cannot read its language.
# mypy: ignore-errors
# pyright: basic, reportArgumentType=false, reportIndexIssue=false
# ruff: noqa: ANN001, ANN201, ANN202, D103

import triton
import triton.language as tl


@triton.jit
def _tanh(x):
    return 2 * tl.sigmoid(2 * x) - 1


@triton.jit
def _gelu(x):
    return 0.5 * x * (1 + _tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)))


@triton.jit
def _bias_gelu(out, x, bias, n, N, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    tile = tl.load(x + at, inside).to(tl.float32) + tl.load(bias + at % N, inside).to(tl.float32)
    tl.store(out + at, _gelu(tile).to(out.dtype.element_ty), inside)


def bias_gelu(out, x, bias, *, BLOCK, num_warps):
    n = x.numel()
    _bias_gelu[(triton.cdiv(n, BLOCK),)](out, x, bias, n, x.shape[1], BLOCK, num_warps=num_warps)


@triton.jit
def _swiglu(out, gate, up, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    g = tl.load(gate + at, inside).to(tl.float32)
    u = tl.load(up + at, inside).to(tl.float32)
    tl.store(out + at, (g * tl.sigmoid(g) * u).to(out.dtype.element_ty), inside)


def swiglu(out, gate, up, *, BLOCK, num_warps):
    n = gate.numel()
    _swiglu[(triton.cdiv(n, BLOCK),)](out, gate, up, n, BLOCK, num_warps=num_warps)


@triton.jit
def _swiglu_backward(dgate, dup, dout, gate, up, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    d = tl.load(dout + at, inside).to(tl.float32)
    g = tl.load(gate + at, inside).to(tl.float32)
    u = tl.load(up + at, inside).to(tl.float32)
    s = tl.sigmoid(g)
    tl.store(dgate + at, (d * u * (s * (1 + g * (1 - s)))).to(dgate.dtype.element_ty), inside)
    tl.store(dup + at, (d * g * s).to(dup.dtype.element_ty), inside)


def swiglu_backward(dgate, dup, dout, gate, up, *, BLOCK, num_warps):
    n = gate.numel()
    grid = (triton.cdiv(n, BLOCK),)
    _swiglu_backward[grid](dgate, dup, dout, gate, up, n, BLOCK, num_warps=num_warps)


@triton.jit
def _geglu_packed(out, x, N, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = at < N
    gate = tl.load(x + row * 2 * N + at, inside).to(tl.float32)
    up = tl.load(x + row * 2 * N + N + at, inside).to(tl.float32)
    tl.store(out + row * N + at, (_gelu(gate) * up).to(out.dtype.element_ty), inside)


def geglu_packed(out, x, *, BLOCK, num_warps):
    rows, N = out.shape
    _geglu_packed[(rows, triton.cdiv(N, BLOCK))](out, x, N, BLOCK, num_warps=num_warps)


@triton.jit
def _softcap(out, x, cap, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    tile = tl.load(x + at, inside).to(tl.float32)
    tl.store(out + at, (cap * _tanh(tile / cap)).to(out.dtype.element_ty), inside)


def softcap(out, x, cap, *, BLOCK, num_warps):
    n = x.numel()
    _softcap[(triton.cdiv(n, BLOCK),)](out, x, cap, n, BLOCK, num_warps=num_warps)


@triton.jit
def _dropout_add(out, x, residual, p, n, seed, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    kept = tl.rand(seed, at) >= p
    tile = tl.load(x + at, inside).to(tl.float32)
    dropped = tl.where(kept, tile / (1 - p), 0.0)
    result = dropped + tl.load(residual + at, inside).to(tl.float32)
    tl.store(out + at, result.to(out.dtype.element_ty), inside)


def dropout_add(out, x, residual, p, *, BLOCK, num_warps):
    n = x.numel()
    _dropout_add[(triton.cdiv(n, BLOCK),)](out, x, residual, p, n, 42, BLOCK, num_warps=num_warps)


@triton.jit
def _normal(out, n, seed, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.randn(seed, at).to(out.dtype.element_ty), at < n)


def normal_numbers(out, _x, *, BLOCK, num_warps):
    n = out.numel()
    _normal[(triton.cdiv(n, BLOCK),)](out, n, 7, BLOCK, num_warps=num_warps)
