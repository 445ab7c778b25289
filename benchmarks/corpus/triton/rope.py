"""Rotary position embeddings."""
# Triton reads the annotations of its kernels, and type checkers cannot read its language.
# mypy: ignore-errors
# pyright: basic, reportArgumentType=false, reportIndexIssue=false
# ruff: noqa: ANN001, ANN201, ANN202, D103

import triton
import triton.language as tl


@triton.jit
def _halves(out, x, cos, sin, H, D: tl.constexpr, BH: tl.constexpr):
    t = tl.program_id(0).to(tl.int64)
    heads = tl.program_id(1) * BH + tl.arange(0, BH)
    at = tl.arange(0, D // 2)
    c = tl.load(cos + t * (D // 2) + at)[None, :].to(tl.float32)
    s = tl.load(sin + t * (D // 2) + at)[None, :].to(tl.float32)
    where = (t * H + heads[:, None]) * D + at[None, :]
    inside = (heads < H)[:, None] & (at < D)[None, :]
    first = tl.load(x + where, inside).to(tl.float32)
    second = tl.load(x + where + D // 2, inside).to(tl.float32)
    tl.store(out + where, (first * c - second * s).to(out.dtype.element_ty), inside)
    tl.store(out + where + D // 2, (second * c + first * s).to(out.dtype.element_ty), inside)


def rope_halves(out, x, cos, sin, *, BH, num_warps):
    T, H, D = x.shape
    _halves[(T, triton.cdiv(H, BH))](out, x, cos, sin, H, D, BH, num_warps=num_warps)


@triton.jit
def _pairs(out, x, cos, sin, H, D: tl.constexpr, BH: tl.constexpr):
    t = tl.program_id(0).to(tl.int64)
    heads = tl.program_id(1) * BH + tl.arange(0, BH)
    half, at = tl.arange(0, D // 2), tl.arange(0, D)
    c = tl.load(cos + t * (D // 2) + half)[None, :].to(tl.float32)
    s = tl.load(sin + t * (D // 2) + half)[None, :].to(tl.float32)
    where = (t * H + heads[:, None]) * D + at[None, :]
    inside = (heads < H)[:, None] & (at < D)[None, :]
    tile = tl.load(x + where, inside).to(tl.float32)
    even, odd = tl.split(tl.reshape(tile, (BH, D // 2, 2)))
    turned = tl.interleave(even * c - odd * s, odd * c + even * s)
    tl.store(out + where, turned.to(out.dtype.element_ty), inside)


def rope_pairs(out, x, cos, sin, *, BH, num_warps):
    T, H, D = x.shape
    _pairs[(T, triton.cdiv(H, BH))](out, x, cos, sin, H, D, BH, num_warps=num_warps)
