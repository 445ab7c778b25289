"""Rotary position embedding, in halves or interleaved, with gradients."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

from ..base.shapes import FULL
from ..functions.function import Function
from ..lang import Const, Tensor, TensorMut, block_id, load_tile_like, stack, unstack
from ..launch import entry
from .calling import float_operation, reshaped
from .rows import rows_in_tile
from .tiles import rounded, widened


@entry
def rotate(
    y: TensorMut, x: Tensor, cos: Tensor, sin: Tensor, *, AXIS: Const[int], BACK: Const[bool]
) -> None:
    """Rotate pairs of elements, which lie along an axis of extent 2, by the angle of a position."""
    tokens = y.shape[2]
    pairs = y.shape[4 if AXIS == 3 else 3]
    first, second = unstack(widened(load_tile_like(x, y)), AXIS)
    at = (block_id(0) % cos.shape[0], block_id(2), 0)
    c = widened(cos.partition((1, tokens, pairs)).load(at))[None, :, :, :]
    s = widened(sin.partition((1, tokens, pairs)).load(at))[None, :, :, :]
    if BACK:
        s = -s
    y.store(rounded(stack((first * c - second * s, second * c + first * s), AXIS), y))


@cache
def _rotation(tokens: int, interleaved: bool) -> Function:
    axis = 4 if interleaved else 3
    tile = (1, 1, tokens, FULL, 2) if interleaved else (1, 1, tokens, 2, FULL)
    back: Function = Function(
        rotate, outputs="x", tiles=tile, constants={"AXIS": axis, "BACK": True},
        backward=lambda g, cos, sin: (forth(g, cos, sin), None, None),
    )  # fmt: skip
    forth: Function = Function(
        rotate, outputs="x", tiles=tile, constants={"AXIS": axis, "BACK": False},
        backward=lambda dy, cos, sin: (back(dy, cos, sin), None, None),
    )  # fmt: skip
    return forth


@float_operation
def rope(x: Any, cos: Any, sin: Any, *, interleaved: bool = False) -> Any:
    """Rotate the pairs (a, b) of each row to (a * cos - b * sin, b * cos + a * sin).

    x is (..., tokens, depth), cos and sin are (tokens, depth / 2), or of a batch with heads also
    (batch, tokens, depth / 2). Pair i is elements i and i + depth / 2, as in Llama;
    interleaved, it is elements 2 * i and 2 * i + 1.

    >>> ops.rope(np.array([[1.0, 2.0]], "f4"), np.zeros((1, 1), "f4"), np.ones((1, 1), "f4"))
    array([[-2.,  1.]], dtype=float32)
    """
    shape = tuple(x.shape)
    if len(shape) < 2 or shape[-1] % 2:
        raise ValueError(f"`rope` takes (..., tokens, depth) of even depth, got the shape {shape}")
    tokens, half = shape[-2], shape[-1] // 2
    several = [(shape[0], tokens, half), (1, tokens, half)] if len(shape) == 4 else []
    for name, table in (("cos", cos), ("sin", sin)):
        known = tuple(table.shape)
        if known not in ((tokens, half), *several) or known != tuple(cos.shape):
            raise ValueError(
                f"`{name}` of `rope` has the shape {(tokens, half)} for x of {shape}, got {known}"
            )
    lead = (math.prod(shape[:-3]), *shape[-3:-2]) if len(shape) > 2 else (1, 1)
    pairs = (half, 2) if interleaved else (2, half)
    rows = reshaped(x, (*lead, tokens, *pairs))
    count = cos.shape[0] if len(cos.shape) == 3 else 1
    tables = [reshaped(each, (count, tokens, half)) for each in (cos, sin)]
    function = _rotation(rows_in_tile(2 * half), interleaved)
    return reshaped(function(rows, *tables), shape)
