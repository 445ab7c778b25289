"""Steps of optimizers."""

from __future__ import annotations

from typing import Any

import tilewright as tw
import tilewright.lang as tl
from tilewright import f32

from ..case import Call, call


@tw.entry
def _adamw(
    p_out: tl.TensorMut, m_out: tl.TensorMut[f32], v_out: tl.TensorMut[f32], p: tl.Tensor,
    m: tl.Tensor[f32], v: tl.Tensor[f32], g: tl.Tensor, rate: f32, decay: f32, step: f32,
) -> None:  # fmt: skip
    grad = tl.load_tile_like(g, p_out).astype(f32)
    weight = tl.load_tile_like(p, p_out).astype(f32) * (1.0 - rate * decay)
    mean = 0.9 * tl.load_tile_like(m, p_out) + 0.1 * grad
    square = 0.999 * tl.load_tile_like(v, p_out) + 0.001 * grad * grad
    m_out.store(mean)
    v_out.store(square)
    upper = mean / (1.0 - 0.9**step)
    lower = tl.sqrt(square / (1.0 - 0.999**step)) + 1e-8
    p_out.store((weight - rate * upper / lower).astype(p_out.dtype))


def adamw(
    p_out: Any, m_out: Any, v_out: Any, p: Any, m: Any, v: Any, g: Any, rate: float, decay: float,
    step: float, *, tile: Any,
) -> list[Call]:  # fmt: skip
    """AdamW: decoupled decay, corrected moments."""
    outs = [t.partition_mut(tile) for t in (p_out, m_out, v_out)]
    return [call(_adamw, *outs, p, m, v, g, rate, decay, step)]


@tw.entry
def _momentum(
    p_out: tl.TensorMut, b_out: tl.TensorMut[f32], p: tl.Tensor, b: tl.Tensor[f32], g: tl.Tensor,
    rate: f32,
) -> None:  # fmt: skip
    grad = tl.load_tile_like(g, p_out).astype(f32)
    kept = 0.9 * tl.load_tile_like(b, p_out) + grad
    b_out.store(kept)
    weight = tl.load_tile_like(p, p_out).astype(f32)
    p_out.store((weight - rate * (grad + 0.9 * kept)).astype(p_out.dtype))


def nesterov(
    p_out: Any, b_out: Any, p: Any, b: Any, g: Any, rate: float, *, tile: Any
) -> list[Call]:
    """Gradient descent with Nesterov's momentum."""
    outs = p_out.partition_mut(tile), b_out.partition_mut(tile)
    return [call(_momentum, *outs, p, b, g, rate)]
