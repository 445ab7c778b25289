"""Activations and other work on single elements."""

from __future__ import annotations

from typing import Any

import tilewright as tw
import tilewright.lang as tl
from tilewright import f32, u64

from ..case import Call, call


@tw.entry
def _bias_gelu(out: tl.TensorMut, x: tl.Tensor, bias: tl.Tensor) -> None:
    _, BN = out.shape
    shift = bias.load_tile((BN,), [tl.block_id(1)]).astype(f32)
    tile = tl.load_tile_like(x, out).astype(f32) + shift[None, :]
    out.store(tl.gelu(tile, "tanh").astype(out.dtype))


def bias_gelu(out: Any, x: Any, bias: Any, *, tile: Any) -> list[Call]:
    """Bias, then GELU by tanh."""
    return [call(_bias_gelu, out.partition_mut(tile), x, bias)]


@tw.entry
def _swiglu(out: tl.TensorMut, gate: tl.Tensor, up: tl.Tensor) -> None:
    g = tl.load_tile_like(gate, out).astype(f32)
    u = tl.load_tile_like(up, out).astype(f32)
    out.store((tl.silu(g) * u).astype(out.dtype))


def swiglu(out: Any, gate: Any, up: Any, *, tile: Any) -> list[Call]:
    """silu(gate) * up."""
    return [call(_swiglu, out.partition_mut(tile), gate, up)]


@tw.entry
def _swiglu_backward(
    dgate: tl.TensorMut, dup: tl.TensorMut, dout: tl.Tensor, gate: tl.Tensor, up: tl.Tensor
) -> None:
    d = tl.load_tile_like(dout, dgate).astype(f32)
    g = tl.load_tile_like(gate, dgate).astype(f32)
    u = tl.load_tile_like(up, dgate).astype(f32)
    s = tl.sigmoid(g)
    dgate.store((d * u * (s * (1.0 + g * (1.0 - s)))).astype(dgate.dtype))
    dup.store((d * g * s).astype(dup.dtype))


def swiglu_backward(
    dgate: Any, dup: Any, dout: Any, gate: Any, up: Any, *, tile: Any
) -> list[Call]:
    """Gradients of gate and up."""
    outs = dgate.partition_mut(tile), dup.partition_mut(tile)
    return [call(_swiglu_backward, *outs, dout, gate, up)]


@tw.entry
def _geglu_packed(out: tl.TensorMut, x: tl.Tensor) -> None:
    BM, BN = out.shape
    i, j, _ = tl.get_tile_block_id()
    half = x.shape[1] // 2
    gate = x.load_at((i * BM, j * BN), (BM, BN), padding=0).astype(f32)
    up = x.load_at((i * BM, half + j * BN), (BM, BN), padding=0).astype(f32)
    out.store((tl.gelu(gate, "tanh") * up).astype(out.dtype))


def geglu_packed(out: Any, x: Any, *, tile: Any) -> list[Call]:
    """gelu(left half) * right half."""
    return [call(_geglu_packed, out.partition_mut(tile), x)]


@tw.entry
def _softcap(out: tl.TensorMut, x: tl.Tensor, cap: f32) -> None:
    tile = tl.load_tile_like(x, out).astype(f32)
    out.store((cap * tl.tanh(tile / cap)).astype(out.dtype))


def softcap(out: Any, x: Any, cap: float, *, tile: Any) -> list[Call]:
    """Scores limited to -cap and cap."""
    return [call(_softcap, out.partition_mut(tile), x, cap)]


@tw.entry
def _dropout_add(out: tl.TensorMut, x: tl.Tensor, residual: tl.Tensor, seed: u64, p: f32) -> None:
    (n,) = out.shape
    kept = tl.rand(seed, tl.arange(n) + tl.block_id(0) * n) >= p
    tile = tl.load_tile_like(x, out).astype(f32)
    dropped = tl.where(kept, tile / (1.0 - p), 0.0)
    out.store((dropped + tl.load_tile_like(residual, out).astype(f32)).astype(out.dtype))


def dropout_add(out: Any, x: Any, residual: Any, p: float, *, tile: Any) -> list[Call]:
    """Dropout, then a residual; the random numbers are not kept."""
    return [call(_dropout_add, out.partition_mut(tile), x, residual, 42, p)]


@tw.entry
def _normal(out: tl.TensorMut, seed: u64) -> None:
    (n,) = out.shape
    out.store(tl.randn(seed, tl.arange(n) + tl.block_id(0) * n).astype(out.dtype))


def normal_numbers(out: Any, _x: Any, *, tile: Any) -> list[Call]:
    """Standard normal numbers."""
    return [call(_normal, out.partition_mut(tile), 7)]
