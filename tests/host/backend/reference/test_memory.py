"""Tensors, views and tile accesses against loops over coordinates."""

from __future__ import annotations

from math import inf, isnan, nan

import numpy as np
import pytest

from support.ir import Kernel, checked, poisoned
from support.numbers import fresh_rng
from tilewright.backend.reference.interpreter import run
from tilewright.base.dtypes import (
    ALL,
    bf16,
    bool_,
    f4e2m1fn,
    f8e4m3fn,
    f8e8m0fnu,
    f16,
    f32,
    f64,
    i8,
    i32,
    i64,
    u8,
    u64,
)  # fmt: skip
from tilewright.ir.attrs import AtomicMode


def random_bits(dtype, shape):
    top = 2 if dtype is bool_ else 16 if dtype is f4e2m1fn else 256
    raw = fresh_rng().integers(0, top, (*shape, dtype.itemsize), dtype=np.uint8)
    return raw.view(dtype.np)[..., 0] if shape else raw.view(dtype.np).reshape(())


def bits(a):
    return np.ascontiguousarray(a).view(np.dtype(f"V{a.dtype.itemsize}")).tolist()


def copy_kernel(dtype, tile):
    k = Kernel()
    x, z = k.tensor("x", dtype, len(tile)), k.output("z", dtype, len(tile), tile)
    index = [k.block_id(i) for i in range(len(tile))]
    k.store(k.load(x, tile, *index), z, *index)
    return k.finish()


@pytest.mark.thinned(60)
@pytest.mark.parametrize("dtype", ALL)
@pytest.mark.parametrize("shape", [(4, 8), (5, 9), (3, 7), (1, 1), (0, 4), (4, 0), (13, 17)])
def test_copy_of_any_shape_and_type(dtype, shape):
    x, z = random_bits(dtype, shape), poisoned(dtype, shape)
    grid = (-(-shape[0] // 4), -(-shape[1] // 8))
    checked(copy_kernel(dtype, (4, 8)), [x, z], grid)
    assert bits(z) == bits(x)


@pytest.mark.parametrize("extent", [1, 7, 8, 9, 16, 17])
def test_stores_clip(extent):
    whole = np.full(32, -1.0, np.float32)
    x, z = np.arange(extent, dtype=np.float32), whole[8 : 8 + extent]
    checked(copy_kernel(f32, (8,)), [x, z], (4,))
    assert np.array_equal(z, x)
    assert (whole[:8] == -1).all() and (whole[8 + extent :] == -1).all()


LAYOUTS = {
    "transposed": lambda a: a.T,
    "reversed": lambda a: a[::-1, ::-1],
    "strided": lambda a: np.repeat(np.repeat(a, 3, 0), 2, 1)[::3, ::2],
    "fortran": np.asfortranarray,
    "sliced": lambda a: np.pad(a, 2)[2:-2, 2:-2],
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("side", ["input", "output"])
def test_strides_of_any_kind(side, layout):
    a = fresh_rng().standard_normal((9, 10)).astype(np.float32)
    given = LAYOUTS[layout](a)
    if side == "input":
        out = poisoned(f32, given.shape)
        checked(copy_kernel(f32, (4, 4)), [given, out], (3, 3))
        assert np.array_equal(out, given)
    else:
        out = LAYOUTS[layout](np.zeros_like(a))
        checked(copy_kernel(f32, (4, 4)), [np.ascontiguousarray(given), out], (3, 3))
        assert np.array_equal(out, given)


def test_an_input_may_repeat_itself():
    x, z = np.broadcast_to(np.arange(6.0, dtype=np.float32), (5, 6)), poisoned(f32, (5, 6))
    checked(copy_kernel(f32, (2, 2)), [x, z], (3, 3))
    assert np.array_equal(z, x)


def load_kernel(dtype, tile, rank, **attrs):
    """Loads the tile at indices given at launch, and stores it whole."""
    k = Kernel()
    x, z = k.tensor("x", dtype, rank), k.output("z", dtype, rank)
    index = [k.scalar(f"i{n}", i32) for n in range(rank)]
    loaded = k.load(x, tile, *index, **attrs)
    k.store(loaded, z)
    return k.finish()


@pytest.mark.parametrize("index", [-(2**31), -2, -1, 0, 1, 2, 3, 2**31 - 1])
@pytest.mark.parametrize("extent", [0, 1, 3, 4, 5, 8, 11])
def test_padding_outside(extent, index):
    x, z = np.arange(1.0, extent + 1, dtype=np.float32), poisoned(f32, (4,))
    checked(load_kernel(f32, (4,), 1, padding=-7.5), [x, z, index])
    where = [index * 4 + j for j in range(4)]
    assert z.tolist() == [x[c] if 0 <= c < extent else -7.5 for c in where]


PADDINGS = [
    (f32, inf), (f32, -inf), (f32, nan), (f32, -0.0), (f16, nan), (bf16, -inf), (f64, 1e300),
    (f8e4m3fn, nan), (i8, -128), (u64, 2**64 - 1), (bool_, True), (i64, -1), (f8e8m0fnu, 2.0),
]  # fmt: skip


@pytest.mark.parametrize(("dtype", "padding"), PADDINGS)
def test_padding_of_every_kind(dtype, padding):
    z = poisoned(dtype, (4,))
    checked(load_kernel(dtype, (4,), 1, padding=padding), [np.zeros(0, dtype.np), z, 0])
    for value in z.astype(object).tolist() if dtype.is_int else z.astype(np.float64).tolist():
        assert value == padding or (isnan(padding) and isnan(value))
        assert dtype.is_int or np.signbit(value) == np.signbit(float(padding)) or isnan(value)


@pytest.mark.parametrize("dtype", ALL)
def test_no_padding_means_zero_bits(dtype):
    z = poisoned(dtype, (4,))
    checked(load_kernel(dtype, (4,), 1, padding=None), [np.zeros(0, dtype.np), z, 0])
    assert not z.reshape(-1, 1).view(np.uint8).any()


@pytest.mark.parametrize("index", [(0, 0), (1, 0), (0, 2), (2, 1), (-1, 0)])
def test_dim_map_turns_axes(index):
    x = fresh_rng().standard_normal((5, 7)).astype(np.float32)
    z = poisoned(f32, (2, 4))
    checked(load_kernel(f32, (2, 4), 2, dim_map=(1, 0), padding=9), [x, z, *index])
    for j in np.ndindex(2, 4):
        column, row = index[0] * 2 + j[0], index[1] * 4 + j[1]
        inside = 0 <= row < 5 and 0 <= column < 7
        assert z[j] == (x[row, column] if inside else 9)


@pytest.mark.parametrize("step", [(1,), (2,), (4,), (7,)])
@pytest.mark.parametrize("index", [-1, 0, 1, 3])
def test_steps_overlap_or_leave_gaps(index, step):
    x, z = np.arange(10, dtype=np.float32), poisoned(f32, (4,))
    checked(load_kernel(f32, (4,), 1, step=step, padding=-1), [x, z, index])
    where = [index * step[0] + j for j in range(4)]
    assert z.tolist() == [c if 0 <= c < 10 else -1 for c in where]


def test_steps_go_with_tile_axes_and_frames_with_tensor_axes():
    k = Kernel()
    x, z = k.tensor("x", i32, 2), k.output("z", i32, 4)
    loaded = k.load(x, (2, 3), 1, 0, dim_map=(1, 0), step=(4, 1), frame=(5, 8), padding=-1)
    tile = k.emit("reshape", loaded, shape=(1, 1, 2, 3))
    k.store(tile, z, k.block_id(0), k.block_id(1))
    x = np.arange(9 * 14, dtype=np.int32).reshape(9, 14)
    out = poisoned(i32, (2, 2, 2, 3))
    checked(k.finish(), [x, out], (2, 2))
    for b0, b1, j0, j1 in np.ndindex(2, 2, 2, 3):
        local = (j1, 4 + j0)
        row, column = b0 * 5 + local[0], b1 * 8 + local[1]
        inside = local[0] < 5 and local[1] < 8 and row < 9 and column < 14
        assert out[b0, b1, j0, j1] == (x[row, column] if inside else -1)


@pytest.mark.parametrize("extent", [0, 1, 5, 6, 7, 12, 17])
def test_frames_keep_blocks_apart(extent):
    """Tiles of 4 in regions of 6: the second tile is cut at the region's end."""
    k = Kernel()
    z = k.output("z", i32, 1, (6,))
    mine = k.broadcast(k.block_id(0), (4,))
    for index in (-1, 0, 1, 2):
        k.store(mine, z, index, frame=(6,))
    whole = np.full(24, -1, np.int32)
    checked(k.finish(), [whole[:extent]], (-(-extent // 6),))
    assert whole.tolist() == [i // 6 if i < extent else -1 for i in range(24)]


def test_sparse_views_gather_rows():
    x = fresh_rng().standard_normal((6, 9)).astype(np.float32)
    k = Kernel()
    t, rows, z = k.tensor("x", f32, 2), k.tensor("rows", i32, 1), k.output("z", f32, 2)
    start = k.scalar("start", i32)
    index = [k.load(rows, (8,)), start]
    view = k.view(t, (8, 4), sparse=0, padding=-1)
    k.store(k.emit("load_view", view, index), z)
    func = k.finish()
    rows = np.array([5, 0, 0, -1, 6, 3, 2**31 - 1, -(2**31)], np.int32)
    for start in (0, 3, 6, -2, 100):
        z = poisoned(f32, (8, 4))
        checked(func, [x, rows, z, start])
        for i, j in np.ndindex(8, 4):
            r, c = int(rows[i]), start + j
            assert z[i, j] == (x[r, c] if 0 <= r < 6 and 0 <= c < 9 else -1)


def test_sparse_views_scatter_columns():
    k = Kernel()
    rows, z = k.tensor("rows", i32, 1), k.output("z", i32, 2)
    value = k.emit("iota", size=4, dtype=i32)
    tile = k.emit("broadcast", k.emit("reshape", value, shape=(4, 1)), shape=(4, 2))
    view = k.view(z, (4, 2), sparse=0, dim_map=(1, 0))
    k.op("store_view", tile, view, [k.load(rows, (4,)), k.i32(1)])
    out = np.full((3, 6), -1, np.int32)
    checked(k.finish(), [np.array([4, 0, 9, 2], np.int32), out])
    expected = np.full((3, 6), -1, np.int32)
    expected[1:, 4], expected[1:, 0], expected[1:, 2] = 0, 1, 3
    assert np.array_equal(out, expected)


@pytest.mark.parametrize("ok", [True, False])
def test_guards(ok):
    k = Kernel()
    x, z, w = k.tensor("x", f32, 1), k.output("z", f32, 1), k.output("w", f32, 1)
    guard = k.scalar("guard", bool_)
    k.store(k.load(x, (4,), guard=guard, padding=5), z)
    k.store(k.load(x, (4,)), w, guard=guard)
    x, z, w = np.arange(4, dtype=np.float32), poisoned(f32, (4,)), np.full(4, -1, np.float32)
    checked(k.finish(), [x, z, w, ok])
    assert z.tolist() == ([0, 1, 2, 3] if ok else [5] * 4)
    assert w.tolist() == ([0, 1, 2, 3] if ok else [-1] * 4)


def test_tensors_of_rank_zero():
    x, z = np.array(2.5, np.float32), poisoned(f32, ())
    checked(copy_kernel(f32, ()), [x, z])
    assert z == 2.5


def test_any_byte_but_zero_is_true():
    x = np.array([0, 1, 2, 128, 255], np.uint8).view(np.bool_)
    z = poisoned(bool_, (5,))
    checked(copy_kernel(bool_, (8,)), [x, z], (1,))
    assert z.view(np.uint8).tolist() == [0, 1, 1, 1, 1]


def test_extent_and_num_tiles():
    k = Kernel()
    x, z = k.tensor("x", f32, 2), k.output("z", i32, 1)
    plain = k.view(x, (4, 2), dim_map=(1, 0))
    stepped = k.view(x, (4, 2), step=(3, 5))
    framed = k.view(x, (4, 2), frame=(6, 7), dim_map=(1, 0), step=(2, 4))
    values = [k.emit("extent", x, axis=a) for a in (0, 1)]
    values += [k.emit("num_tiles", v, axis=a) for v in (plain, stepped, framed) for a in (0, 1)]
    for i, value in enumerate(values):
        k.store(k.emit("reshape", value, shape=(1,)), z, i)
    func = k.finish()
    for shape in [(0, 0), (1, 1), (8, 9), (13, 4)]:
        z = poisoned(i32, (8,))
        checked(func, [np.zeros(shape, np.float32), z])
        n, m = shape
        tiles = [-(-m // 4), -(-n // 2), -(-n // 3), -(-m // 5), -(-7 // 2), -(-6 // 4)]
        assert z.tolist() == [n, m, *tiles]


def test_make_tensor_from_a_pointer():
    k = Kernel()
    p, z = k.pointer("p", f32), k.output("z", f32, 2)
    rows, stride = k.scalar("rows", i32), k.scalar("stride", i64)
    t = k.emit("make_tensor", p, [rows, stride], shape=(None, 3), strides=(None, 2))
    k.store(k.load(t, (4, 4), padding=-1), z)
    data, z = np.arange(40, dtype=np.float32), poisoned(f32, (4, 4))
    checked(k.finish(), [data, z, 3, 10])
    expected = [[r * 10 + c * 2 if r < 3 and c < 3 else -1 for c in range(4)] for r in range(4)]
    assert z.tolist() == expected


def test_a_mutable_tensor_from_a_pointer():
    k = Kernel()
    p = k.pointer("p", i32)
    t = k.emit("make_tensor", p, shape=(3,), strides=(2,), mutable=True)
    k.store(k.emit("iota", size=4, dtype=i32), t)
    data = np.full(8, -1, np.int32)
    outcome = run(k.finish(), [data], (1,))
    assert outcome.problems == ()
    assert data.tolist() == [0, -1, 1, -1, 2, -1, -1, -1]


@pytest.mark.parametrize(("index", "ok"), [(0, True), (4, True), (5, False), (-1, False)])
def test_check(index, ok):
    k = Kernel()
    i, n, z = k.scalar("i", i32), k.scalar("n", i32), k.output("z", bool_, 0)
    k.line(12, "y = x[i]")
    result = k.emit("check", i, n, tensor="x", axis=1)
    k.store(result, z)
    z = poisoned(bool_, ())
    outcome = run(k.finish(), [index, 5, z], (1,))
    assert bool(z) == ok
    if ok:
        assert outcome.failure is None
    else:
        assert outcome.failure is not None
        site = outcome.failure.site
        assert (site.kind, site.tensor, site.axis) == ("check", "x", 1)
        assert site.span is not None and site.span.line == 12
        assert (outcome.failure.index, outcome.failure.extent) == (index, 5)


@pytest.mark.parametrize("extent", [1, 5, 8, 9])
@pytest.mark.parametrize("ok", [True, False])
def test_atomic_reduction_into_a_view(extent, ok):
    k = Kernel()
    z, guard = k.output("z", f16, 1), k.scalar("guard", bool_)
    ones = k.constant(1.0, f16, (4,))
    for index in (-1, 0, 1, 9):
        k.op("atomic_red_view", ones, k.view(z, (4,)), [k.i32(index)], guard, mode=AtomicMode.ADD)
    out = np.zeros(extent, np.float16)
    checked(k.finish(), [out, ok], (3,))
    assert out.tolist() == [3 * ok * (i < 8) for i in range(extent)]


def test_atomic_reduction_with_overlapping_tiles():
    k = Kernel()
    z = k.output("z", u8, 1)
    values = k.emit("iota", size=4, dtype=u8)
    view = k.view(z, (4,), step=(1,))
    k.op("atomic_red_view", values, view, [k.block_id()], mode=AtomicMode.MAX)
    out = np.zeros(6, np.uint8)
    checked(k.finish(), [out], (3,))
    assert out.tolist() == [0, 1, 2, 3, 3, 3]
