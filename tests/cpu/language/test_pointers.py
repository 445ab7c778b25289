"""Raw pointers in unsafe kernels: gather, scatter, pointer arithmetic, views of raw memory."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
from support.expressions import Output, assert_all, bits_of, held
from tilewright import f32, i32, i64
from tilewright.base.dtypes import ALL, f4e2m1fn

STORED = [t for t in ALL if t is not f4e2m1fn]
E = TypeVar("E")


def launch(op, grid=None):
    (op if grid is None else op.grid(grid)).sync()


@tw.entry(unsafe=True)
def gather_scatter(
    out: tl.TensorMut[E],
    target: tl.Ptr[E],
    source: tl.Ptr[E],
    index: tl.Tensor[i32],
    n: i32,
) -> None:
    """out[i] = source[index[i]] where that exists; the same goes to target, backwards."""
    (block,) = out.shape
    at = tl.arange(block) + tl.block_id(0) * block
    rows = tl.load_tile_like(index, out)
    inside = (rows >= 0) & (rows < n)
    tile = tl.gather(source, rows, inside)
    out.store(tile)
    tl.scatter(target, n - 1 - at, tile, mask=at < n)


@pytest.mark.thinned(9)
@pytest.mark.parametrize("dtype", STORED, ids=str)
def test_gather_and_scatter(device, dtype, rng):
    for n in (1, 15, 16, 17, 31):
        raw = rng.integers(0, 256, (n, dtype.itemsize), dtype=np.uint8)
        source = (raw & 1 if dtype.is_bool else raw).view(dtype.np).reshape(n)
        index = rng.integers(-3, n + 3, n).astype(np.int32)
        with tw.device(device):
            out, target = Output((n,), dtype), Output((n,), dtype)
            memory = held(source.copy(), dtype)
            with tw.unsafe():
                op = gather_scatter(
                    out.cut(16), target.tensor.device_pointer(), memory.device_pointer(), index, n
                )
            op.sync()
        picked = np.where((index >= 0) & (index < n), bits_of(source)[index.clip(0, n - 1)], 0)
        assert (bits_of(out.result()) == picked).all()
        assert (bits_of(target.result()) == picked[::-1]).all()


@tw.entry(unsafe=True)
def filled(out: tl.TensorMut[f32], p: tl.Ptr[f32], n: i32, *, ORDER: tl.Const[str]) -> None:
    at = tl.arange(16)
    tile = tl.load_ptr(p + at, at < n, 9.5, ordering=ORDER, scope="system")
    out.store(tile + tl.load_ptr_tko(p + at, at < n, at.astype(f32), latency=2))


@pytest.mark.parametrize("order", ["weak", "relaxed", "acquire"])
def test_masked_loads_are_filled(device, order, rng):
    x = rng.standard_normal(16).astype(np.float32)
    with tw.device(device):
        out, memory = Output((16,), f32), held(x.copy())
        with tw.unsafe():
            op = filled(out.cut(16), memory.device_pointer(), 11, ORDER=order)
        op.sync()
    at = np.arange(16)
    expected = np.where(at < 11, x + x, np.float32(9.5) + at.astype(np.float32))
    assert_all(["filled"], [out.result()], [expected.astype(np.float32)])


@tw.entry(unsafe=True)
def arithmetic(out: tl.TensorMut[f32], p: tl.Ptr[f32]) -> None:
    """Every way to move a pointer; each row of out is 4 numbers."""
    at = tl.arange(4)
    assert p.rank == 0 and p.ndim == 0 and p.shape == () and p.dtype is f32
    square = tl.broadcast_ptr(p, (2, 2)).offset_tile(at.reshape(2, 2))
    assert square.shape == (2, 2) and square.rank == 2
    rows = (
        p + at,
        at + p,
        p + 7 - at,
        p.offset(3).offset_tile(at),
        tl.addptr(tl.addptr_tile(p.broadcast(4), at), 2),
        tl.reshape_ptr(square, (4,)),
        square.reshape(4) + tl.block_id(0),
        tl.pointer_to_tile(p).reshape(1).broadcast((4,)) + at * 2,
        tl.tile_to_pointer(p.reshape(1, 1)) + at,
        tl.int_to_ptr(tl.ptr_to_int(p + at) + 8, f32),
        tl.ptr_to_ptr(tl.ptr_to_ptr(p + at, i32) + 1, f32),
        p + at.astype(i64) + 1,
        (p + 5) - at.astype(tw.u8),
    )
    lines = out.partition_mut((1, 4))
    for k in tl.static_range(len(rows)):
        lines.store(tl.load_ptr(rows[k])[None, :], [k, 0])


def test_pointer_arithmetic(device, rng):
    x = rng.standard_normal(16).astype(np.float32)
    with tw.device(device):
        out, memory = Output((13, 4), f32), held(x.copy())
        with tw.unsafe():
            op = arithmetic(out.cut(16, 4), memory.device_pointer())
        op.sync()
    at = np.arange(4)
    places = [at, at, 7 - at, 3 + at, 2 + at, at, at, 2 * at, at, at + 2, at + 1, at + 1, 5 - at]
    assert_all(["rows"], [out.result()], [np.stack([x[p] for p in places])])


@tw.entry(unsafe=True)
def stores(p: tl.Ptr[f32], q: tl.Ptr[i32], n: i32, *, ORDER: tl.Const[str]) -> None:
    i = tl.block_id(0)
    at = tl.arange(8) + i * 8
    tl.store_ptr(p + at, at.astype(f32) * 0.5, at < n, ordering=ORDER, scope=tl.Scope.DEVICE)
    tl.store_ptr_tko(q + i, i * 10)
    tl.store_ptr(q + at + 4, 3, mask=(at % 2 == 0) & (at < n))


@pytest.mark.parametrize("order", ["weak", "relaxed", "release"])
def test_stores_through_pointers(device, order):
    with tw.device(device):
        p, q = Output((19,), f32), Output((23,), i32)
        q.array[...] = -1
        with tw.unsafe():
            op = stores(p.tensor.device_pointer(), q.tensor.device_pointer(), 19, ORDER=order)
        launch(op, (3,))
    expected = np.full(23, -1, np.int32)
    expected[:3] = [0, 10, 20]
    expected[4::2] = 3
    assert_all(["p", "q"], [p.result(), q.result()],
               [np.arange(19, dtype=np.float32) * 0.5, expected])  # fmt: skip


# --- views of raw memory -----------------------------------------------------------------------


@tw.entry(unsafe=True)
def through_views(
    out: tl.TensorMut[f32], p: tl.Ptr[f32], target: tl.Ptr[f32], m: i32, n: i32
) -> None:
    """A matrix in raw memory: rows, columns by strides, and a store to another one."""
    x = tl.make_tensor_view(p, (m, n))
    columns = tl.make_tensor_view(p, (n, m), (1, n))
    i, j, _ = tl.get_tile_block_id()
    a = x.load_tile((4, 8), [i, j])
    b = tl.make_partition_view(columns, (8, 4)).load((j, i)).T
    out.store(a + b)
    whole = tl.make_partition_view_mut(tl.make_tensor_view(target, (m, n)), (4, 8))
    whole.store(a * 2.0, [i, j])
    tl.store_view_tko(whole, [i, j], tl.load_view_tko(whole, (i, j)) + 1.0)


def test_views_of_raw_memory(device, rng):
    x = rng.standard_normal((7, 19)).astype(np.float32)
    with tw.device(device):
        out, memory = Output(x.shape, f32), held(x.copy())
        target = tw.zeros(x.shape).sync()
        with tw.unsafe():
            op = through_views(
                out.cut(4, 8), memory.device_pointer(), target.device_pointer(), 7, 19
            )
        op.sync()
        assert_all(["out", "target"], [out.result(), target.to_numpy()], [x + x, x * 2 + 1])


@tw.entry(unsafe=True)
def backwards(out: tl.TensorMut[f32], p: tl.Ptr[f32], last: i32, n: i32, step: i32) -> None:
    """A row whose elements lie before each other."""
    row = tl.make_tensor_view(p + last, (n,), (step,))
    out.store(tl.load_tile_like(row, out))


@pytest.mark.parametrize("step", [-1, -3])
def test_views_that_run_backwards(device, step):
    x = np.arange(60, dtype=np.float32)
    with tw.device(device):
        out, memory = Output((19,), f32), held(x.copy())
        with tw.unsafe():
            op = backwards(out.cut(8), memory.device_pointer(), 59, 19, step)
        op.sync()
        assert out.result().tolist() == x[::step][:19].tolist()


@tw.entry(unsafe=True)
def windows(out: tl.TensorMut[f32], rows: tl.TensorMut[f32], x: tl.Tensor[f32], n: tl.Tensor[i32]):
    """Overlapping windows of 4, two apart; and rows in an order that is data."""
    i, _, _ = tl.get_tile_block_id()
    view = tl.make_strided_view(x, (1, 4), (1, 2), padding=-1.0)
    out.store(view.load([0, i]) + 0.0 * view.num_tiles(1).astype(f32))
    at = n.load_tile((4,), [i])
    picked = tl.make_gather_scatter_view(x, (4, 8), 0, padding=5.0)
    rows.store(tl.load_view_tko(picked, [at, 3]))


def test_windows_and_rows(device, rng):
    x = rng.standard_normal((6, 13)).astype(np.float32)
    index = rng.integers(-2, 8, 28).astype(np.int32)
    with tw.device(device):
        out, rows = Output((7, 4), f32), Output((28, 8), f32)
        with tw.unsafe():
            op = windows(out.cut(1, 4), rows.cut(4, 8), x, index)
        op.sync()
    wide = np.concatenate([x[0], np.full(8, -1, np.float32)])
    expected = np.stack([wide[2 * i : 2 * i + 4] for i in range(7)])
    kept = np.where(((index >= 0) & (index < 6))[:, None], x[index.clip(0, 5), 3:11], 5)
    assert_all(["windows", "rows"], [out.result(), rows.result()],
               [expected, kept.astype(np.float32)])  # fmt: skip


@tw.entry
def blurred(out: tl.TensorMut[f32], x: tl.Tensor[f32]) -> None:
    """The mean of an element and its neighbours that exist: tiles that overlap, and their masks."""
    m, n = out.shape
    i, j, _ = tl.get_tile_block_id()
    view = tl.make_gather_scatter_view(x, (m, n), 0, padding=0)
    total, count = tl.zeros((m, n), f32), tl.zeros((m, n), f32)
    for dy in (-1, 0, 1):
        for dx in (-1, 0, 1):
            tile = view.load([tl.arange(m) + i * m + dy, j * n + dx])
            total, count = total + tile, count + tile.mask().astype(f32)
    out.store(total / tl.maximum(count, 1.0))


@pytest.mark.parametrize("shape", [(1, 1), (3, 7), (4, 8), (5, 9), (13, 19), (0, 4)])
def test_tiles_that_overlap_in_safe_code(device, rng, shape):
    x = rng.standard_normal(shape).astype(np.float32)
    with tw.device(device):
        out = Output(shape, f32)
        blurred(out.cut(4, 8), x).sync()
    rows, columns = shape
    corners = [(a, b) for a in range(3) for b in range(3)]
    sums, counts = (
        sum(np.pad(part, 1)[a : a + rows, b : b + columns] for a, b in corners)
        for part in (x.astype(np.float64), np.ones(shape))
    )
    np.testing.assert_allclose(out.result(), sums / counts, rtol=1e-5, atol=1e-6)


@tw.entry
def correlated(out: tl.TensorMut[f32], x: tl.Tensor[f32], w: tl.Tensor[f32]) -> None:
    (n,) = out.shape
    view = tl.make_strided_view(x, (n,), (1,))
    total = tl.zeros((n,), f32)
    for k in range(w.shape[0]):
        total += view.load([tl.block_id(0) * n + k]) * w.load_tile((1,), [k])
    out.store(total)


@pytest.mark.parametrize("n", [3, 9, 10, 11, 37])
def test_windows_in_safe_code(device, rng, n):
    x, w = rng.standard_normal(n).astype(np.float32), rng.standard_normal(3).astype(np.float32)
    with tw.device(device):
        out = Output((n - 2,), f32)
        correlated(out.cut(8), x, w).sync()
        if n > 10:  # more than one block
            with pytest.raises(tw.LaunchError, match="index out of range"):
                correlated(Output((n - 2,), f32).cut(8), x[:5], w).sync()
    expected = np.correlate(x.astype(np.float64), w, "valid")
    np.testing.assert_allclose(out.result(), expected, rtol=1e-5, atol=1e-5)


@tw.entry
def picked(out: tl.TensorMut[f32], x: tl.Tensor[f32], rows: tl.Tensor[i32], column: i32) -> None:
    view = tl.make_gather_scatter_view(x, out.shape, 0, padding=-7.0)
    out.store(view.load([rows.load_tile((out.shape[0],), [0]), column]))


@pytest.mark.parametrize("column", [-(2**31), -8, -1, 0, 3, 6, 7, 2**31 - 8, 2**31 - 1])
def test_no_number_of_a_row_reaches_outside(device, rng, column):
    x = rng.standard_normal((5, 7)).astype(np.float32)
    rows = np.array([0, 4, 5, -1, 2, 2**31 - 1, -(2**31), 3], np.int32)
    with tw.device(device):
        out = Output((8, 8), f32)
        picked(out.cut(8, 8), x, rows, column).sync()
    expected = np.full((8, 8), -7, np.float32)
    for i, row in enumerate(rows.tolist()):
        for j in range(8):
            if 0 <= row < 5 and 0 <= column + j < 7:
                expected[i, j] = x[row, column + j]
    assert (out.result() == expected).all()


@tw.entry
def taken(out: tl.TensorMut[E], x: tl.Tensor[E], columns: tl.Tensor[i32]) -> None:
    places = columns.load_tile((out.shape[1],), [tl.block_id(1)])
    view = tl.make_gather_scatter_view(x, out.shape, 1, padding=-7)
    out.store(view.load([tl.block_id(0) * out.shape[0], places - 1]))


@pytest.mark.parametrize("dtype", [tw.f16, f32, tw.i8])
@pytest.mark.parametrize(
    ("rows", "columns", "tile"), [(5, 37, (4, 16)), (3, 64, (1, 64)), (9, 130, (2, 128))]
)
def test_columns_whose_numbers_are_loaded(device, rng, dtype, rows, columns, tile):
    x = rng.integers(-100, 100, (rows, 29)).astype(dtype.np)
    numbers = rng.integers(-3, 35, columns).astype(np.int32)
    numbers[:2] = 2**31 - 1, -(2**31) + 1
    with tw.device(device):
        out = Output((rows, columns), dtype)
        taken(out.cut(*tile), x, numbers).sync()
    places = numbers.astype(np.int64) - 1
    inside = (places >= 0) & (places < 29)
    expected = np.where(inside, x[:, np.clip(places, 0, 28)], dtype.np.type(-7))
    assert (out.result() == expected).all()


@tw.entry(unsafe=True)
def scattered(out: tl.TensorMut[f32], x: tl.Tensor[f32], n: tl.Tensor[i32]) -> None:
    """Rows of a whole output, written where data says; rows outside are dropped."""
    i, _, _ = tl.get_tile_block_id()
    view = tl.make_gather_scatter_view(out, (2, 8), 0)
    tl.store_view_tko(view, [n.load_tile((2,), [i]), 0], x.load_tile((2, 8), [i, 0]))


def test_rows_scattered(device, rng):
    x = rng.standard_normal((6, 8)).astype(np.float32)
    order = np.array([3, 0, 5, 9, -1, 1], np.int32)
    with tw.device(device):
        out = Output((6, 8), f32)
        out.array[...] = 0
        with tw.unsafe():
            op = scattered(out.cut(2, 8), x, order)
        op.sync()
    expected = np.zeros((6, 8), np.float32)
    for row, to in zip(x, order, strict=True):
        if 0 <= to < 6:
            expected[to] = row
    assert_all(["rows"], [out.result()], [expected])


@tw.entry(unsafe=True)
def unchecked(out: tl.TensorMut[f32], x: tl.Tensor[f32]) -> None:
    """Far outside a load gives padding and a store does nothing."""
    i, _, _ = tl.get_tile_block_id()
    tiles = x.partition((4,), padding=2.0)
    parts = out.partition_mut((4,))
    tile = tiles.load_unchecked([i * 3], latency=1) + tiles.load_unchecked(i - 1000000)
    parts.store_unchecked(tile, [0])
    parts.store_unchecked(tile * 0.0, [1000000000], allow_tma=True)
    parts.store_unchecked(tile * 0.0, -1)


def test_unchecked_access_is_still_inside(device, rng):
    x = rng.standard_normal(10).astype(np.float32)
    with tw.device(device):
        out = Output((11,), f32)
        with tw.unsafe():
            op = unchecked(out.cut(4), x)
        op.sync()
    wide = np.concatenate([x, np.full(40, 2, np.float32)])
    expected = np.concatenate([wide[12 * i : 12 * i + 4] + 2 for i in range(3)])[:11]
    assert_all(["unchecked"], [out.result()], [expected])


@tw.entry(unsafe=True)
def through_table(
    out: tl.TensorMut[f32],
    table: tl.Tensor[i64],
    sizes: tl.Tensor[i32],
    a: tl.Ptr[f32],
    b: tl.Ptr[f32],
    c: tl.Ptr[f32],
) -> None:
    """Tensors whose addresses are data; the pointers tell the reference what may be read."""
    i, _, _ = tl.get_tile_block_id()
    n = sizes.load_tile((1,), i).item()
    x = tl.load_tensor(table, i, (n,), None, f32)
    out.store(x.load_tile((8,), 0)[None, :])


def test_tensors_by_address(device, rng):
    parts = [rng.standard_normal(n).astype(np.float32) for n in (3, 8, 5)]
    with tw.device(device):
        memory = [held(p.copy()) for p in parts]
        pointers = [m.device_pointer() for m in memory]
        table = np.array([p.address for p in pointers], np.int64)
        out = Output((3, 8), f32)
        with tw.unsafe():
            op = through_table(out.cut(1, 8), table, np.array([3, 8, 5], np.int32), *pointers)
        op.sync()
    expected = np.zeros((3, 8), np.float32)
    for row, part in zip(expected, parts, strict=True):
        row[: len(part)] = part
    assert_all(["rows"], [out.result()], [expected])


@tw.entry(unsafe=True)
def promised(out: tl.TensorMut[i32], p: tl.Ptr[i32], n: i32) -> None:
    """Promises that hold change nothing."""
    q = tl.assume_div_by(p, 4)
    m = tl.assume_bounds(tl.assume_div_by(n, 8), 0, 1000)
    m = tl.assume_bounds_lower(tl.assume_bounds_upper(m, 64), 8)
    at = tl.assume_div_by_every_along(tl.arange(8), 4, 4, 0)
    same = tl.assume_same_elements(tl.full((8,), m), (8,))
    out.store(tl.load_ptr(q + at) + same)


def test_promises(device):
    x = np.arange(8, dtype=np.int32)
    with tw.device(device):
        out, memory = Output((8,), i32), held(x.copy())
        with tw.unsafe():
            op = promised(out.cut(8), memory.device_pointer(), 16)
        op.sync()
    assert (out.result() == x + 16).all()


# --- rows outside of a tensor --------------------------------------------------------------------


@tw.entry
def embedded(out: tl.TensorMut[f32], table: tl.Tensor[f32], rows: tl.Tensor[i32]) -> None:
    m, n = out.shape
    i, j, _ = tl.get_tile_block_id()
    view = tl.make_gather_scatter_view(table, (m, n), 0)
    out.store(view.load([rows.load_tile((m,), [i]), j * n]))


@pytest.mark.parametrize("row", [100, -1, 10_000, 2**31 - 1, -(2**31)])
def test_a_row_outside_fails_with_its_number(device, row, rng):
    table = rng.random((100, 13), np.float32)
    rows = rng.integers(0, 100, 10).astype(np.int32)
    with tw.device(device):
        z = Output((10, 13), f32)
        embedded(z.cut(4, 8), table, rows).sync()
        assert (z.result() == table[rows]).all()
        rows[6] = row
        with pytest.raises(tw.LaunchError) as caught:
            embedded(z.cut(4, 8), table, rows).sync()
        z.result()  # nothing around it is written
    text = str(caught.value)
    assert "index out of range in `embedded`: axis 0 of `table`" in text
    assert "out.store(view.load(" in text
    assert "expected: 0 <= index < 100, the extent of that axis" in text
    assert f"got: {row}, in block (1, " in text
    assert "padding=..." in text


def test_rows_at_both_ends_and_of_short_types(device, rng):
    @tw.entry
    def ends(out: tl.TensorMut[f32], table: tl.Tensor[f32], rows: tl.Tensor) -> None:
        view = tl.make_gather_scatter_view(table, out.shape, 0)
        out.store(view.load([rows.load_tile((4,), [0]), 0]))

    table = rng.random((100, 8), np.float32)
    with tw.device(device):
        for dtype in (np.int8, np.int16, np.int32):
            z, rows = Output((4, 8), f32), np.array([0, 99, 99, 0], dtype)
            ends(z.cut(4, 8), table, rows).sync()
            assert (z.result() == table[rows]).all()
            for row in (-1, 100):
                rows[2] = row
                with pytest.raises(tw.LaunchError, match=f"got: {row}, in block"):
                    ends(z.cut(4, 8), table, rows).sync()


def test_tiles_that_start_outside_fail(device, rng):
    @tw.entry
    def columns(out: tl.TensorMut[f32], x: tl.Tensor[f32], at: tl.Tensor[i32]) -> None:
        start = at.load_tile((1,), [0]).item()
        out.store(tl.make_gather_scatter_view(x, out.shape, 0).load([tl.arange(4), start]))

    x = rng.random((4, 10), np.float32)
    with tw.device(device):
        z = Output((4, 8), f32)
        for start in (0, 2, 5, 9):
            columns(z.cut(4, 8), x, np.array([start], np.int32)).sync()
            expected = np.zeros((4, 8), np.float32)
            expected[:, : min(8, 10 - start)] = x[:, start : start + 8]
            assert (z.result() == expected).all()
        for start in (-1, 10, 2**31 - 1, -(2**31)):
            with pytest.raises(tw.LaunchError, match="axis 1 of `x`") as caught:
                columns(z.cut(4, 8), x, np.array([start], np.int32)).sync()
            assert f"got: {start}, in block" in str(caught.value)


def test_rows_that_are_stored_outside_fail(device, rng):
    @tw.entry(unsafe=True)
    def placed(out: tl.TensorMut[f32], x: tl.Tensor[f32], rows: tl.Tensor[i32]) -> None:
        view = tl.make_gather_scatter_view(out, (4, 8), 0)
        view.store(x.load_tile((4, 8), [0, 0]), [rows.load_tile((4,), [0]), 0])

    x = rng.random((4, 8), np.float32)
    with tw.device(device), tw.unsafe():
        z = Output((4, 8), f32)
        placed(z.cut(4, 8), x, np.array([3, 1, 0, 2], np.int32)).sync()
        assert (z.result() == x[[2, 1, 3, 0]]).all()
        with pytest.raises(tw.LaunchError, match="got: 4, in block"):
            placed(z.cut(4, 8), x, np.array([3, 4, 0, 2], np.int32)).sync()
        z.result()


def test_where_checks_of_rows_go():
    args = tw.meta((10, 13)).partition_mut((4, 8)), tw.meta((100, 13)), tw.meta((10,), i32)
    assert embedded.checks(*args) == (0, 2, 0, 1)

    @tw.entry(deny_in_kernel_checks=True)
    def denied(out: tl.TensorMut[f32], table: tl.Tensor[f32], rows: tl.Tensor[i32]) -> None:
        view = tl.make_gather_scatter_view(table, out.shape, 0)
        out.store(view.load([rows.load_tile((out.shape[0],), [tl.block_id(0)]), 0]))

    with pytest.raises(tw.CompileError, match="denies checks in the kernel") as caught:
        denied.compile(*args)
    assert "make the view with padding=" in caught.value.hint
