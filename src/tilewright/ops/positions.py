"""Rotary position embedding, in halves or interleaved, with gradients."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

from ..base.shapes import FULL
from ..functions.function import Function
from ..lang import Const, Tensor, TensorMut, block_id, load_tile_like, stack, unstack
from ..launch import entry
from .calling import operation, reshaped
from .rows import rows_in_tile
from .tiles import rounded, widened


@entry
def rotate(
    y: TensorMut, x: Tensor, cos: Tensor, sin: Tensor, *, AXIS: Const[int], BACK: Const[bool]
) -> None:
    """Rotate pairs of elements, which lie along an axis of extent 2, by the angle of a position."""
    tokens = y.shape[1]
    pairs = y.shape[3 if AXIS == 2 else 2]
    first, second = unstack(widened(load_tile_like(x, y)), AXIS)
    i = block_id(1)
    c = widened(cos.partition((tokens, pairs)).load((i, 0)))[None, :, :]
    s = widened(sin.partition((tokens, pairs)).load((i, 0)))[None, :, :]
    if BACK:
        s = -s
    y.store(rounded(stack((first * c - second * s, second * c + first * s), AXIS), y))


@cache
def _rotation(tokens: int, interleaved: bool) -> Function:
    axis = 3 if interleaved else 2
    tile = (1, tokens, FULL, 2) if interleaved else (1, tokens, 2, FULL)
    back = Function(rotate, outputs="x", tiles=tile, constants={"AXIS": axis, "BACK": True})
    return Function(
        rotate, outputs="x", tiles=tile, constants={"AXIS": axis, "BACK": False},
        backward=lambda dy, cos, sin: (back(dy, cos, sin), None, None),
    )  # fmt: skip


@operation
def rope(x: Any, cos: Any, sin: Any, *, interleaved: bool = False) -> Any:
    """Rotate the pairs (a, b) of each row to (a * cos - b * sin, b * cos + a * sin).

    x is (..., tokens, depth), cos and sin are (tokens, depth / 2). Pair i is elements i and i +
    depth / 2, as in Llama; interleaved, it is elements 2 * i and 2 * i + 1.

    >>> ops.rope(np.array([[1.0, 2.0]], "f4"), np.zeros((1, 1), "f4"), np.ones((1, 1), "f4"))
    array([[-2.,  1.]], dtype=float32)
    """
    shape = tuple(x.shape)
    if len(shape) < 2 or shape[-1] % 2:
        raise ValueError(f"`rope` takes (..., tokens, depth) of even depth, got the shape {shape}")
    tokens, half = shape[-2], shape[-1] // 2
    for name, table in (("cos", cos), ("sin", sin)):
        if tuple(table.shape) != (tokens, half):
            raise ValueError(
                f"`{name}` of `rope` has the shape {(tokens, half)} for x of {shape}, got"
                f" {tuple(table.shape)}"
            )
    pairs = (half, 2) if interleaved else (2, half)
    rows = reshaped(x, (math.prod(shape[:-2]), tokens, *pairs))
    function = _rotation(rows_in_tile(2 * half), interleaved)
    return reshaped(function(rows, cos, sin), shape)
