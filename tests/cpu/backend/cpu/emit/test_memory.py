"""Tile accesses of every dtype and shape: dense, strided, clipped, framed, sparse and guarded."""

from __future__ import annotations

import numpy as np
import pytest

from support.ir import Kernel, poisoned
from support.native import Dense, Native, assert_kernel
from support.numbers import fresh_rng
from tilewright.base.dtypes import ALL, bool_, f4e2m1fnx2, f16, f32, f64, i8, i32, i64, u8
from tilewright.ir.attrs import AtomicMode

EXTENTS = [0, 1, 15, 16, 17, 31, 64, 97]


def random_bits(dtype, shape):
    top = 2 if dtype is bool_ else 16 if dtype.bits == 4 else 256
    raw = fresh_rng().integers(0, top, (*shape, dtype.itemsize), dtype=np.uint8)
    return raw.view(dtype.np)[..., 0]


def copy(kernel, dtype, tile, **attrs):
    k = kernel()
    x, z = k.tensor("x", dtype, len(tile)), k.output("z", dtype, len(tile), tile)
    index = [k.block_id(i) for i in range(len(tile))]
    k.store(k.load(x, tile, *index, **attrs), z, *index)
    return k.finish()


def tiles(shape, tile):
    return tuple(-(-n // t) for n, t in zip(shape, tile, strict=True))


@pytest.mark.thinned(12)
@pytest.mark.parametrize("dtype", ALL)
@pytest.mark.parametrize("kernel", [Dense, Kernel])
def test_copies_of_any_dtype(dtype, kernel):
    native = Native(copy(kernel, dtype, (4, 32)))
    for shape in [(4, 32), (5, 33), (3, 31), (1, 1), (0, 4), (4, 0), (13, 67)]:
        x, z = random_bits(dtype, shape), poisoned(dtype, shape)
        assert native([x, z], tiles(shape, (4, 32))).failure is None
        assert z.tobytes() == x.tobytes(), shape


@pytest.mark.parametrize("tile", [1, 2, 16, 64])
@pytest.mark.parametrize("kernel", [Dense, Kernel])
def test_one_axis_of_any_extent(tile, kernel):
    native = Native(copy(kernel, i32, (tile,)))
    for extent in EXTENTS:
        x, z = random_bits(i32, (extent,)), poisoned(i32, (extent,))
        native([x, z], tiles((extent,), (tile,)))
        assert np.array_equal(x, z)


def test_any_nonzero_byte_is_true():
    x = np.arange(64, dtype=np.uint8)
    z = poisoned(bool_, (64,))
    Native(copy(Dense, bool_, (64,)))([x.view(np.bool_), z])
    assert z.view(np.uint8).tolist() == [0] + [1] * 63


@pytest.mark.parametrize("view", ["transposed", "reversed", "every third", "fortran"])
def test_arbitrary_strides(view):
    rng = fresh_rng()
    whole = rng.standard_normal((90, 120)).astype("f4")
    x = {
        "transposed": whole.T, "reversed": whole[::-1, ::-1], "every third": whole[::3, ::3],
        "fortran": np.asfortranarray(whole),
    }[view]  # fmt: skip
    z = poisoned(f32, (*x.shape[:-1], 2 * x.shape[-1]))[:, ::2]
    assert_kernel(copy(Kernel, f32, (8, 16)), [x], [z], tiles(x.shape, (8, 16)))


@pytest.mark.parametrize("padding", [0.0, float("-inf"), float("nan"), 1.5, None])
@pytest.mark.parametrize("dtype", [f16, f32, f64])
def test_padding(dtype, padding):
    k = Dense()
    tile = k.load(k.tensor("x", dtype, 2), (4, 16), k.block_id(0), padding=padding)
    k.store(tile, k.output("z", dtype, 2), k.block_id(0))
    x = fresh_rng().standard_normal((6, 9)).astype(dtype.np)
    assert_kernel(k.finish(), [x], [poisoned(dtype, (8, 16))], (2,))


@pytest.mark.parametrize("dtype", ALL)
def test_zero_padding_of_every_dtype(dtype):
    """Bits of zero, also where the type has no zero."""
    k = Dense()
    k.store(k.load(k.tensor("x", dtype, 1), (32,)), k.output("z", dtype, 1))
    x = random_bits(dtype, (9,))
    (z,) = assert_kernel(k.finish(), [x], [poisoned(dtype, (32,))])
    assert not z[9:].tobytes().strip(b"\0")


def test_every_index_is_harmless():
    k = Dense()
    x, n, z = k.tensor("x", i32, 2), k.scalar("n", i32), k.output("z", i32, 2)
    tile = k.load(x, (4, 16), n, n, padding=7)
    k.store(tile, z)
    k.store(tile, z, n, n)
    native = Native(k.finish())
    for index in (-1, 1, 5, 2**31 - 1, -(2**31)):
        x, z = random_bits(i32, (5, 9)), poisoned(i32, (4, 16))
        native([x, index, z])
        assert np.array_equal(z, np.full((4, 16), 7)), index


@pytest.mark.parametrize("guard", [True, False])
def test_guards(guard):
    k = Dense()
    x, z, flag = k.tensor("x", i32, 1), k.output("z", i32, 1), k.scalar("flag", bool_)
    y = k.output("y", i32, 1)
    k.store(k.load(x, (16,), guard=flag, padding=-1), z)
    k.store(k.load(x, (16,)), y, guard=flag)
    func = k.finish()
    x, z, y = random_bits(i32, (16,)), poisoned(i32, (16,)), poisoned(i32, (16,))
    before = y.copy()
    Native(func)([x, z, guard, y])
    assert np.array_equal(z, x if guard else np.full(16, -1))
    assert np.array_equal(y, x if guard else before)


@pytest.mark.parametrize("dim_map", [(0, 1, 2), (2, 1, 0), (1, 2, 0)])
def test_axes_in_any_order(dim_map):
    k = Dense()
    x, z = k.tensor("x", f32, 3), k.output("z", f32, 3)
    index = [k.block_id(i) for i in range(3)]
    k.store(k.load(x, (2, 4, 16), *index, dim_map=dim_map), z, *index)
    x = fresh_rng().standard_normal((7, 18, 19)).astype("f4")
    shape = tuple(x.shape[d] for d in dim_map)
    (z,) = assert_kernel(k.finish(), [x], [poisoned(f32, shape)], tiles(shape, (2, 4, 16)))
    assert np.array_equal(z, x.transpose(dim_map))


def test_overlapping_tiles():
    k = Dense()
    x, z = k.tensor("x", i32, 1), k.output("z", i32, 2)
    i = k.block_id(0)
    tile = k.load(x, (16,), i, step=(4,), padding=-7)
    k.store(k.emit("reshape", tile, shape=(1, 16)), z, i)
    data = random_bits(i32, (21,))
    assert_kernel(k.finish(), [data], [poisoned(i32, (6, 16))], (6,))


def framed(shape, tile, frame):
    k = Dense()
    x, z = k.tensor("x", i32, 2), k.output("z", i32, 2, frame)
    n = k.emit("num_tiles", k.view(z, tile, frame=frame), axis=1)
    with k.region(n.type) as body:
        (at,) = body.args
        old = k.load(x, tile, k.i32(0), at, frame=frame, padding=3)
        k.store(old, z, k.i32(0), at, frame=frame)
        k.op("continue", [])
    k.op("for", k.i32(-1), k.emit("addi", n, k.i32(2)), k.i32(1), regions=[body])
    x = random_bits(i32, shape)
    return k.finish(), x


@pytest.mark.parametrize("frame", [(4, 32), (3, 24), (8, 16)])
def test_frames_clip_at_the_region(frame):
    """A block writes its own region only, also where tiles stick out of it."""
    shape = (10, 70)
    func, x = framed(shape, (4, 16), frame)
    (z,) = assert_kernel(func, [x], [poisoned(i32, shape)], tiles(shape, frame))
    rows = np.arange(10) % frame[0] < 4  # one tile of rows per region
    assert np.array_equal(z[rows], x[rows])


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("kernel", [Dense, Kernel])
def test_gather_and_scatter_of_rows(axis, kernel):
    tile = (8, 16) if axis == 0 else (16, 8)
    k = kernel()
    x, rows = k.tensor("x", f32, 2), k.tensor("rows", i32, 1)
    z = k.output("z", f32, 2)
    numbers = k.load(rows, (8,))
    other = k.i32(3)
    index = (numbers, other) if axis == 0 else (other, numbers)
    loaded = k.emit("load_view", k.view(x, tile, sparse=axis, padding=5.0), list(index), None)
    k.op("store_view", loaded, k.view(z, tile, sparse=axis), list(index), None)
    data = fresh_rng().standard_normal((30, 30)).astype("f4")
    places = np.array([4, 0, 29, 30, -1, 7, 2**31 - 1, 11], "i4")
    assert_kernel(k.finish(), [data, places], [poisoned(f32, (30, 30))])


def test_extents_and_checks():
    k = Dense()
    x, n, z = k.tensor("x", i32, 2), k.scalar("n", i32), k.output("z", i32, 1)
    k.line(7)
    extent = k.emit("extent", x, axis=1)
    ok = k.emit("check", n, extent, tensor="x", axis=1)
    k.store(k.broadcast(k.emit("exti", ok, to=i32), (1,)), z, k.block_id(0))
    native = Native(k.finish())
    for index, good in ((0, True), (8, True), (9, False), (-1, False), (2**31 - 1, False)):
        z = poisoned(i32, (1,))
        failure = native([np.zeros((3, 9), "i4"), index, z]).failure
        assert z[0] == good
        assert (failure is None) == good
        if failure is not None:
            assert (failure.index, failure.extent) == (index, 9)
            assert (failure.site.tensor, failure.site.axis, failure.site.span.line) == ("x", 1, 7)


def test_a_failed_check_stops_later_blocks():
    k = Dense()
    z = k.output("z", i32, 1)
    i = k.block_id(0)
    k.store(k.constant(1, i32, (1,)), z, i)
    k.emit("check", i, k.i32(3), tensor="z", axis=0)
    z = np.zeros(100_000, "i4")
    failure = Native(k.finish())([z], (z.size,)).failure
    assert failure is not None
    assert failure.index == failure.block[0] >= 3
    assert z.sum() < z.size


def test_loads_see_stores_in_program_order():
    """The same memory is read before, between and after writes; one load outlives them."""
    k = Dense()
    z, y = k.output("z", i32, 1), k.output("y", i32, 2)
    first = k.load(z, (16,))
    k.store(k.emit("addi", first, first), z)
    second = k.load(z, (16,))
    k.store(k.emit("negi", second), z)
    third = k.load(z, (16,))
    for i, tile in enumerate((first, second, third)):
        k.store(k.emit("reshape", tile, shape=(1, 16)), y, k.i32(i))
    start = random_bits(i32, (16,))
    got, y = assert_kernel(k.finish(), [], [start, poisoned(i32, (3, 16))])
    assert np.array_equal(y, np.stack([start, start * 2, -(start * 2)]))
    assert np.array_equal(got, -(start * 2))


def test_a_shifted_store_does_not_eat_what_is_still_read():
    k = Dense()
    z = k.output("z", i32, 1)
    k.store(k.load(z, (32,), step=(1,)), z, k.i32(1), step=(1,))
    start = np.arange(40, dtype="i4")
    assert_kernel(k.finish(), [], [start])


def test_a_reversing_store_reads_first():
    k = Dense()
    z = k.output("z", i32, 2)
    k.store(k.emit("permute", k.load(z, (16, 16)), order=(1, 0)), z)
    assert_kernel(k.finish(), [], [random_bits(i32, (16, 16))])


def test_atomic_reductions_into_a_view():
    k = Dense()
    x, z = k.tensor("x", i32, 1), k.output("z", i32, 1)
    view = k.view(z, (16,))
    tile = k.load(x, (16,), k.block_id(0))
    k.op("atomic_red_view", tile, view, [k.i32(0)], None, mode=AtomicMode.ADD)
    x = fresh_rng().integers(-9, 9, 160).astype("i4")
    z = np.zeros(13, "i4")
    Native(k.finish())([x, z], (10,))
    assert np.array_equal(z, x.reshape(10, 16).sum(0)[:13])


def test_tensors_from_pointers():
    k = Dense()
    p, n, z = k.pointer("p", f32), k.scalar("n", i64), k.output("z", f32, 2)
    attrs = {"shape": (None, 5), "strides": (None, 1)}
    t = k.emit("make_tensor", p, [n, k.constant(7, i64)], **attrs)
    k.store(k.load(t, (4, 8), padding=-1.0), z)
    data = fresh_rng().standard_normal((3, 7)).astype("f4")
    z = poisoned(f32, (4, 8))
    Native(k.finish())([data, 3, z])
    expected = np.full((4, 8), -1, "f4")
    expected[:3, :5] = data[:, :5]
    assert np.array_equal(z, expected)


def test_results_do_not_depend_on_the_division_of_work():
    """One block at a time, or all at once: the same bits."""
    k = Dense()
    x, z = k.tensor("x", f32, 2), k.output("z", f32, 2, (4, 64))
    i = k.block_id(0)
    tile = k.load(x, (4, 64), i)
    k.store(k.emit("exp", tile), z, i)
    native = Native(k.finish())
    data = fresh_rng().standard_normal((37, 50)).astype("f4")
    whole, single = poisoned(f32, data.shape), poisoned(f32, data.shape)
    native([data, whole], (10,))
    for row in range(0, 37, 4):
        native([data[row : row + 4], single[row : row + 4]], (1,))
    assert whole.tobytes() == single.tobytes()


def test_packed_pairs_take_a_byte():
    x = fresh_rng().integers(0, 256, 33, dtype=np.uint8)
    z = poisoned(f4e2m1fnx2, (33,))
    Native(copy(Dense, f4e2m1fnx2, (16,)))([x, z], (3,))
    assert np.array_equal(x, z)


def test_small_elements_at_the_edge():
    for dtype in (i8, u8):
        native = Native(copy(Dense, dtype, (64,)))
        x, z = random_bits(dtype, (99,)), poisoned(dtype, (99,))
        native([x, z], (2,))
        assert np.array_equal(x, z)
