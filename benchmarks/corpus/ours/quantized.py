"""Products of quantized matrices."""

from __future__ import annotations

from typing import Any

import tilewright as tw
import tilewright.lang as tl
from tilewright import f32, i8, i32, u8

from ..case import Call, call


@tw.entry
def _int8_weight(
    z: tl.TensorMut, x: tl.Tensor, w: tl.Tensor[i8], scale: tl.Tensor, *, BK: tl.Const[int]
) -> None:
    assert x.shape[1] == w.shape[0]
    BM, BN = z.shape
    i, j, _ = tl.get_tile_block_id()
    xs, ws = x.partition((BM, BK)), w.partition((BK, BN))
    acc = tl.zeros((BM, BN), f32)
    for k in range(xs.num_tiles(1)):
        acc = tl.mma(xs.load((i, k)), ws.load((k, j)).astype(x.dtype), acc)
    acc = acc * scale.load_tile((BN,), [j]).astype(f32)[None, :]
    z.store(acc.astype(z.dtype))


def int8_weight(z: Any, x: Any, w: Any, scale: Any, *, tile: Any, step: int) -> list[Call]:
    """x @ (w * scale), with weights of 8 bits."""
    return [call(_int8_weight, z.partition_mut(tile), x, w, scale, BK=step)]


def int8_weight_few(z: Any, x: Any, w: Any, scale: Any, *, tile: Any, step: int) -> list[Call]:
    """The same with 16 rows."""
    return int8_weight(z, x, w, scale, tile=tile, step=step)


@tw.entry
def _int4_weight(
    z: tl.TensorMut, x: tl.Tensor, w: tl.Tensor[u8], scale: tl.Tensor, *, BK: tl.Const[int]
) -> None:
    assert x.shape[1] == 2 * w.shape[0]
    BM, BN = z.shape
    i, j, _ = tl.get_tile_block_id()
    xs, ws = x.partition((BM, BK)), w.partition((BK // 2, BN))
    acc = tl.zeros((BM, BN), f32)
    for k in range(xs.num_tiles(1)):
        packed = ws.load((k, j)).astype(i32)
        both = tl.interleave((packed & 15) - 8, (packed >> 4) - 8, 0)
        acc = tl.mma(xs.load((i, k)), both.astype(x.dtype), acc)
    acc = acc * scale.load_tile((BN,), [j]).astype(f32)[None, :]
    z.store(acc.astype(z.dtype))


def int4_weight_few(z: Any, x: Any, w: Any, scale: Any, *, tile: Any, step: int) -> list[Call]:
    """Weights of 4 bits, two of them in a byte: rows 2k and 2k + 1."""
    return [call(_int4_weight, z.partition_mut(tile), x, w, scale, BK=step)]


@tw.entry
def _scaled(
    z: tl.TensorMut, x: tl.Tensor, w: tl.Tensor, row_scale: tl.Tensor[f32],
    column_scale: tl.Tensor[f32], *, BK: tl.Const[int], INTEGER: tl.Const[bool],
) -> None:  # fmt: skip
    assert x.shape[1] == w.shape[1]
    BM, BN = z.shape
    i, j, _ = tl.get_tile_block_id()
    xs, ws = x.partition((BM, BK)), w.partition((BN, BK))
    acc = tl.zeros((BM, BN), i32 if INTEGER else f32)
    for k in range(xs.num_tiles(1)):
        acc = tl.mma(xs.load((i, k)), ws.load((j, k)).T, acc)
    rows = row_scale.load_tile((BM, 1), [i, 0])
    columns = column_scale.load_tile((1, BN), [0, j])
    z.store((acc.astype(f32) * rows * columns).astype(z.dtype))


def fp8_gemm(
    z: Any, x: Any, w: Any, row_scale: Any, column_scale: Any, *, tile: Any, step: int
) -> list[Call]:
    """8-bit floats with a scale for each row and column."""
    args = z.partition_mut(tile), x, w, row_scale, column_scale
    return [call(_scaled, *args, BK=step, INTEGER=False)]


def int8_gemm(
    z: Any, x: Any, w: Any, row_scale: Any, column_scale: Any, *, tile: Any, step: int
) -> list[Call]:
    """8-bit integers with a scale for each row and column."""
    args = z.partition_mut(tile), x, w, row_scale, column_scale
    return [call(_scaled, *args, BK=step, INTEGER=True)]
