"""Tiles at the edges of tensors: full vectors up to the end, nothing beyond it."""

from __future__ import annotations

import numpy as np
import pytest

from support.ir import Kernel, checked, poisoned
from support.native import Dense, Native
from support.numbers import assert_same, fresh_rng
from support.plans import AVX2, body
from tilewright.backend.cpu.emit import emit_module
from tilewright.backend.cpu.loopnest import build_plan
from tilewright.base.dtypes import bool_, f16, f32, i8, i32, i64

EXTENTS = [0, 1, 7, 8, 9, 31, 32, 33, 63, 64, 65, 97, 127, 128, 131]
TILE = 64
GUARD = 40
"""Elements around outputs that nobody may touch."""


def numbers(dtype, shape):
    return fresh_rng().integers(1, 50, shape).astype(dtype.np)


def fenced(dtype, shape):
    """Poison, and the room it lies in."""
    count = int(np.prod(shape))
    room = poisoned(dtype, (count + 2 * GUARD,))
    return room, room[GUARD : GUARD + count].reshape(shape)


def agree(native, func, inputs, dtype, shape, grid):
    """Native code gives what the reference gives, and leaves what is around as it was."""
    (room, got), (other, expected) = fenced(dtype, shape), fenced(dtype, shape)
    for streamed in (False, True):
        assert native([*inputs, got], grid, streamed=streamed).failure is None
        checked(func, [*inputs, expected], grid)
        assert_same(got, expected)
        assert room.tobytes() == other.tobytes()


def tiles(shape, tile):
    return tuple(-(-n // t) for n, t in zip(shape, tile, strict=True))


@pytest.mark.parametrize("dtype", [f32, f16, i8, i64])
@pytest.mark.parametrize("kernel", [Dense, Kernel])
def test_inputs_and_outputs_of_all_extents(dtype, kernel):
    """Inputs that end before the output, with it, or after it."""
    k = kernel()
    x, y, z = k.tensor("x", dtype, 1), k.tensor("y", dtype, 1), k.output("z", dtype, 1)
    i = k.block_id(0)
    word = "addf" if dtype.is_float else "addi"
    k.store(k.emit(word, k.load(x, (TILE,), i, padding=3), k.load(y, (TILE,), i)), z, i)
    func = k.finish()
    native = Native(func)
    for extent in EXTENTS:
        for difference in (-9, 0, 5):
            x = numbers(dtype, (max(extent + difference, 0),))
            y = numbers(dtype, (extent,))
            agree(native, func, [x, y], dtype, (extent,), tiles((extent,), (TILE,)))


@pytest.mark.parametrize("tile", [(4, 64), (8, 8), (3, 2, 32), (1, 128)])
def test_several_axes(tile):
    k = Dense()
    rank = len(tile)
    x, z = k.tensor("x", f32, rank), k.output("z", f32, rank)
    at = [k.block_id(axis) for axis in range(rank)]
    loaded = k.load(x, tile, *at, padding=2.0)
    k.store(k.emit("addf", loaded, loaded), z, *at)
    func = k.finish()
    native = Native(func)
    for change in (-1, 0, 1):
        for times in (1, 2):
            shape = tuple(max(times * n + change, 0) for n in tile)
            agree(native, func, [numbers(f32, shape)], f32, shape, tiles(shape, tile))
    wide = (2 * tile[0], *(2 * n + 5 for n in tile[1:]))
    agree(native, func, [numbers(f32, tile)], f32, wide, tiles(wide, tile))


@pytest.mark.parametrize("at", [-1, 0, 1, 2, 1 << 20, -(1 << 31)])
def test_tiles_that_begin_before_or_after(at):
    """Overlapping tiles, of which the first may begin before the tensor."""
    k = Dense()
    x, z = k.tensor("x", i32, 1), k.output("z", i32, 1)
    tile = k.load(x, (TILE,), k.i32(at), step=(24,), padding=-5)
    k.store(tile, z, k.i32(at), step=(24,))
    func = k.finish()
    native = Native(func)
    for extent in EXTENTS:
        agree(native, func, [numbers(i32, (extent,))], i32, (extent,), (1,))


@pytest.mark.parametrize("guard", [False, True])
@pytest.mark.parametrize("side", ["load", "store"])
def test_guarded(guard, side):
    k = Dense()
    x, flag, z = k.tensor("x", i32, 1), k.scalar("flag", bool_), k.output("z", i32, 1)
    k.store(
        k.load(x, (TILE,), guard=flag if side == "load" else None, padding=9),
        z,
        guard=flag if side == "store" else None,
    )
    func = k.finish()
    native = Native(func)
    for extent in EXTENTS:
        agree(native, func, [numbers(i32, (extent,)), guard], i32, (extent,), (1,))


@pytest.mark.parametrize("padding", [0.0, 1.0])
@pytest.mark.parametrize("axis", [0, 1])
def test_padding_takes_part_in_sums(padding, axis):
    """Whole numbers: the sums are exact in any order."""
    k = Dense()
    x, z = k.tensor("x", f32, 2), k.output("z", f32, 1)
    tile = k.load(x, (8, 128), padding=padding)
    k.store(k.emit("reduce", [tile], regions=body("addf", f32), axis=axis, identities=(0.0,)), z)
    func = k.finish()
    native = Native(func)
    for rows in (0, 1, 7, 8, 9):
        for columns in EXTENTS:
            shape = (128,) if axis == 0 else (8,)
            agree(native, func, [numbers(f32, (rows, columns))], f32, shape, (1,))


def test_loops_that_are_one_axis_together():
    """An operand of a multiply is packed into panels of columns, each with its own end."""
    k = Dense()
    x, y, z = k.tensor("x", f32, 2), k.tensor("y", f32, 2), k.output("z", f32, 2)
    shape = (128, 128)
    zero = k.constant(0.0, f32, shape)
    k.store(k.emit("mmaf", k.load(x, shape), k.load(y, shape), zero), z)
    func = k.finish()
    native = Native(func)
    for n in (1, 31, 33, 64, 95, 127, 128, 129):
        agree(native, func, [numbers(f32, (n, n)), numbers(f32, (n, n))], f32, (n, n), (1,))


def test_scans_that_run_backwards():
    k = Dense()
    x, z = k.tensor("x", f32, 2), k.output("z", f32, 2)
    tile = k.load(x, (16, 64), padding=1.0)
    total = k.emit(
        "scan", [tile], regions=body("addf", f32), axis=0, identities=(0.0,), reverse=True
    )
    k.store(total, z)
    func = k.finish()
    native = Native(func)
    for shape in [(16, 64), (15, 63), (1, 1), (17, 65), (16, 33)]:
        agree(native, func, [numbers(f32, shape)], f32, shape, (1,))


def test_full_vectors_need_no_test():
    """The version for edges has a loop without tests, also in reductions."""
    for shape, axis in (((4, 256), 1), ((4, 256), 0)):
        k = Dense()
        tile = k.load(k.tensor("x", f32, 2), shape, k.block_id(0))
        total = k.emit("reduce", [tile], regions=body("addf", f32), axis=axis, identities=(0.0,))
        k.store(total, k.output("z", f32, 1), k.block_id(0))
        text = emit_module(build_plan(k.finish(), AVX2), AVX2)
        assert "free" in text
