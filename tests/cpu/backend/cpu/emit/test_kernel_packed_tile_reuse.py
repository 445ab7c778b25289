"""Blocks that share tiles: right for every grid, never with tiles of an earlier launch."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from support.execute import run_on
from support.ir import poisoned
from support.native import Dense, Native, slots_of
from support.numbers import fresh_rng
from tilewright.backend.cpu.loopnest import build_plan
from tilewright.backend.llvm.object import host_target
from tilewright.base import config
from tilewright.base.dtypes import f16, f32, i32
from tilewright.devices.cpu.record import LONG
from tilewright.devices.cpu.run import QUIET, Launcher
from tilewright.devices.host import CPU
from tilewright.ir.types import TileType

TM, TN, TK = 128, 32, 16
ROWS = 4
"""Blocks of TM rows that run together."""
HOST = host_target()


def gemm(dtype=f32, *, turned=False):
    """Small integers multiply exactly, in any order."""
    k = Dense("gemm")
    x, y = k.tensor("x", dtype, 2), k.tensor("y", dtype, 2)
    z = k.output("z", f32, 2, (TM, TN))
    i, j = k.block_id(0), k.block_id(1)
    zero = k.constant(0.0, f32, (TM, TN))
    count = k.emit("num_tiles", k.view(x, (TM, TK)), axis=1)
    with k.region(TileType(i32), zero.type) as loop:
        at, acc = loop.args
        a = k.load(x, (TM, TK), i, at)
        b = k.load(y, (TN, TK), j, at) if turned else k.load(y, (TK, TN), at, j)
        b = k.emit("permute", b, order=(1, 0)) if turned else b
        k.op("continue", [k.emit("mmaf", a, b, acc)])
    (total,) = k.op("for", k.i32(0), count, k.i32(1), [zero], regions=[loop]).results
    k.store(total, z, i, j)
    return k.finish()


def whole(*shape, dtype=f32):
    return fresh_rng().integers(-3, 4, shape).astype(dtype.np)


def launch(native, x, y, *, turned=False, threads=1):
    """All blocks in one go on one thread, so that they share what they can."""
    z = poisoned(f32, (x.shape[0], y.shape[0 if turned else 1]))
    grid = (-(-z.shape[0] // TM), -(-z.shape[1] // TN), 1)
    slots = slots_of(native.artifact, [x, y, z]).tolist()
    scratch = native.artifact.scratch_bytes
    launcher = Launcher(native.function, slots, grid, scratch, together=grid[0] * grid[1])
    record = launcher.record()
    record.words[LONG] = 1
    with config.override(num_threads=threads):
        assert run_on(CPU.new_stream(), launcher, record) is QUIET
    return z


def expected(x, y, *, turned=False):
    return x.astype(np.float32) @ (y.T if turned else y).astype(np.float32)


@pytest.fixture(scope="module", params=[(f32, False), (f16, True)], ids=["plain", "turned"])
def made(request):
    dtype, turned = request.param
    native = Native(gemm(dtype, turned=turned))
    assert any("groups of 4 rows" in line for line in native.artifact.decisions)
    return native, dtype, turned


@pytest.mark.parametrize("rows", [1, ROWS - 1, ROWS, ROWS + 1, 7])
@pytest.mark.parametrize("columns", [1, 2, 5])
def test_grids(made, rows, columns):
    native, dtype, turned = made
    m, n, k = rows * TM - 1, columns * TN - 3, 3 * TK + 1
    x = whole(m, k, dtype=dtype)
    y = whole(*((n, k) if turned else (k, n)), dtype=dtype)
    z = launch(native, x, y, turned=turned)
    assert np.array_equal(z, expected(x, y, turned=turned))


@pytest.mark.thinned(3)
@pytest.mark.parametrize("k", [1, TK - 1, TK, TK + 1, 2 * TK, 131])
def test_more_tiles_than_there_is_room_for(k):
    """With room for two tiles per row of blocks, the second serves all but the first."""
    bare = build_plan(gemm(), replace(HOST, scratch_limit=1 << 16)).scratch_bytes
    room = 2 * 4 * (ROWS * TM * TK + TK * TN) + 1024
    native = Native(gemm(), replace(HOST, scratch_limit=bare + room))
    assert any("reuse up to 8 tiles 128x16" in line for line in native.artifact.decisions)
    x, y = whole(5 * TM, k), whole(k, 3 * TN)
    assert np.array_equal(launch(native, x, y), expected(x, y))


def test_tiles_are_forgotten_between_launches(made):
    """The same scratch, the same places, other numbers."""
    native, dtype, turned = made
    x, y = whole(2 * TM, 2 * TK, dtype=dtype), whole(2 * TN, 2 * TN, dtype=dtype)[:, : 2 * TK]
    y = np.ascontiguousarray(y if turned else y.T)
    for _ in range(3):
        z = launch(native, x, y, turned=turned)
        assert np.array_equal(z, expected(x, y, turned=turned))
        x += dtype.np.type(1)
        y -= dtype.np.type(1)


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_threads_change_no_bit(threads):
    native = Native(gemm())
    rng = fresh_rng()
    x = rng.standard_normal((9 * TM - 5, 100), np.float32)
    y = rng.standard_normal((100, 7 * TN - 5), np.float32)
    alone = launch(native, x, y)
    assert np.array_equal(launch(native, x, y, threads=threads), alone)


def test_a_failure_names_the_logical_block():
    """Of blocks in groups, too: the only one whose tile is outside is the one reported."""
    k = Dense("gemm")
    x, y, z = k.tensor("x", f32, 2), k.tensor("y", f32, 2), k.output("z", f32, 2, (TM, TN))
    i, j = k.block_id(0), k.block_id(1)
    zero = k.constant(0.0, f32, (TM, TN))
    bad = k.emit("addi", k.emit("muli", i, k.i32(10)), j)
    k.op("check", bad, k.i32(42), tensor="y", axis=0)
    with k.region(TileType(i32), zero.type) as loop:
        at, acc = loop.args
        a, b = k.load(x, (TM, TK), i, at), k.load(y, (TK, TN), at, j)
        k.op("continue", [k.emit("mmaf", a, b, acc)])
    (total,) = k.op("for", k.i32(0), k.i32(2), k.i32(1), [zero], regions=[loop]).results
    k.store(total, z, i, j)
    native = Native(k.finish())
    x_, y_ = whole(5 * TM, 2 * TK), whole(2 * TK, 3 * TN)
    report = native([x_, y_, poisoned(f32, (5 * TM, 3 * TN))], (5, 3))
    assert report.failure is not None
    assert (report.failure.block, report.failure.index) == ((4, 2, 0), 42)
