"""Lanes that take one of each few neighbours: wide loads and stores with shuffles, no gathers."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
from support.native import Dense
from support.numbers import fresh_rng
from support.plans import AVX2
from tilewright.backend.cpu.emit import emit_module
from tilewright.backend.cpu.loopnest import build_plan
from tilewright.base.dtypes import bf16, bool_, f32, f64, i8


@tw.entry
def apart(out: tl.TensorMut, x: tl.Tensor, *, N: tl.Const[int], PART: tl.Const[int]) -> None:
    rows, columns = out.shape
    tile = x.load_tile((rows, columns * N), [tl.block_id(0), tl.block_id(1)])
    out.store(tl.unstack(tile.reshape(rows, columns, N), -1)[PART])


@tw.entry
def together(out: tl.TensorMut, x: tl.Tensor, y: tl.Tensor) -> None:
    rows, columns = out.shape
    at = [tl.block_id(0), tl.block_id(1)]
    left, right = (z.load_tile((rows, columns // 2), at) for z in (x, y))
    out.store(tl.interleave(left, tl.flip(right, 0)))


@tw.entry
def swapped(out: tl.TensorMut, x: tl.Tensor) -> None:
    rows, columns = out.shape
    tile = tl.load_tile_like(x, out)
    even, odd = tl.unstack(tl.cumsum(tile, 0).reshape(rows, columns // 2, 2), -1)
    out.store(tl.interleave(odd, even))


def numbers(dtype, *shape):
    drawn = fresh_rng().integers(0, 2 if dtype is bool_ else 100, shape)
    return drawn.astype(dtype.np)


def result_of(shape, dtype, call):
    out = tw.full(shape, True if dtype is bool_ else 1, dtype).sync()
    call(out).sync()
    return out.to_numpy()


@pytest.mark.parametrize("shape", [(1, 1), (3, 63), (4, 64), (5, 65), (7, 131)])
@pytest.mark.parametrize(("n", "part"), [(2, 0), (2, 1), (4, 0), (4, 3), (8, 5)])
@pytest.mark.parametrize("dtype", [f32, f64, i8, bool_, bf16])
def test_parts_of_rows(shape, n, part, dtype):
    x = numbers(dtype, shape[0], shape[1] * n)
    out = result_of(
        shape, dtype, lambda z: apart(z.partition_mut((2, 32)), x, N=n, PART=part)
    )  # fmt: skip
    np.testing.assert_array_equal(out, x[:, part::n])


@pytest.mark.parametrize("shape", [(1, 2), (3, 126), (4, 128), (5, 130)])
@pytest.mark.parametrize("dtype", [f32, f64, i8, bool_, bf16])
def test_rows_alternate(shape, dtype):
    rows, columns = shape
    x, y = (numbers(dtype, rows, columns // 2) for _ in range(2))
    out = result_of(shape, dtype, lambda z: together(z.partition_mut((1, 64)), x, y))
    np.testing.assert_array_equal(out, np.stack((x, y), -1).reshape(shape))


@pytest.mark.parametrize("rows", [1, 7, 8, 9])
def test_neighbours_of_a_buffer_change_places(rows):
    x = numbers(f32, rows, 128)
    out = result_of((rows, 128), f32, lambda z: swapped(z.partition_mut((8, 64)), x))
    blocks = [np.cumsum(x[i : i + 8], 0) for i in range(0, rows, 8)]
    expected = np.concatenate(blocks).reshape(rows, 64, 2)[..., ::-1].reshape(rows, 128)
    np.testing.assert_array_equal(out, expected)


def test_no_lane_is_gathered_or_scattered():
    k = Dense()
    tile = k.emit("reshape", k.load(k.tensor("x", f32, 2), (4, 128)), shape=(4, 64, 2))
    even, odd = (
        k.emit("extract", tile, [k.i32(0), k.i32(0), k.i32(n)], shape=(4, 64, 1)) for n in range(2)
    )
    both = k.emit("cat", k.emit("addf", even, odd), k.emit("subf", even, odd), axis=2)
    k.store(k.emit("reshape", both, shape=(4, 128)), k.output("z", f32, 2))
    text = emit_module(build_plan(k.finish(), AVX2), AVX2)
    whole = text[text.index("whole") : text.index("edge", text.index("whole") + 40)]
    assert "shufflevector" in text
    assert "masked.scatter" not in text
    assert "masked.gather" not in whole
