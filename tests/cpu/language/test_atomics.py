"""Atomic operations of every mode and element type, alone and among many blocks."""

from __future__ import annotations

import operator
from typing import TypeVar

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
from support.expressions import Output, assert_all, wrapped
from support.numbers import int_values
from tilewright import bf16, f16, f32, f64, i32, i64, u32, u64

E = TypeVar("E")
INTS = (i32, i64, u32, u64)
MODES = {
    "add": operator.add, "and": operator.and_, "or": operator.or_, "xor": operator.xor,
    "max": max, "min": min, "xchg": lambda a, b: b,
}  # fmt: skip


@tw.entry(unsafe=True)
def update(
    old: tl.TensorMut[E],
    p: tl.Ptr[E],
    value: tl.Tensor[E],
    n: i32,
    *,
    MODE: tl.Const[str],
    ORDER: tl.Const[str] = "acq_rel",
) -> None:
    """Every element once: what was there comes back."""
    (block,) = old.shape
    at = tl.arange(block) + tl.block_id(0) * block
    given = tl.load_tile_like(value, old)
    old.store(tl.atomic_rmw(p + at, given, MODE, at < n, ordering=ORDER, scope="system"))


def updated(device, dtype, memory, value, **constants):
    with tw.device(device):
        old, target = Output(memory.shape, dtype), Output(memory.shape, dtype)
        target.array[...] = memory
        with tw.unsafe():
            op = update(
                old.cut(16), target.tensor.device_pointer(), value, len(memory), **constants
            )
        op.sync()
        return old.result(), target.result()


@pytest.mark.thinned(12)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dtype", INTS, ids=str)
def test_modes_on_integers(device, dtype, mode, rng):
    values = int_values(dtype, rng)
    memory, value = rng.choice(values, 41), rng.choice(values, 41)
    old, new = updated(device, dtype, memory, value, MODE=mode)
    pairs = zip(memory.tolist(), value.tolist(), strict=True)
    expected = wrapped([MODES[mode](a, b) for a, b in pairs], dtype)
    assert_all(["old", "new"], [old, new], [memory, expected])


@pytest.mark.parametrize("dtype", [f16, bf16, f32, f64], ids=str)
def test_sums_of_floats(device, dtype, rng):
    memory, value = rng.standard_normal((2, 41)).astype(dtype.np)
    old, new = updated(device, dtype, memory, value, MODE="add")
    wide = np.float64 if dtype is f64 else np.float32
    expected = (memory.astype(wide) + value.astype(wide)).astype(dtype.np)
    assert_all(["old", "new"], [old, new], [memory, expected])


@pytest.mark.parametrize("dtype", [f32, f64], ids=str)
def test_exchange_of_floats(device, dtype, rng):
    memory, value = rng.standard_normal((2, 17)).astype(dtype.np)
    old, new = updated(device, dtype, memory, value, MODE="xchg")
    assert_all(["old", "new"], [old, new], [memory, value])


@pytest.mark.parametrize("order", ["relaxed", "acquire", "release", "acq_rel"])
def test_orders(device, order, rng):
    memory, value = rng.integers(0, 100, (2, 33)).astype(np.int32)
    old, new = updated(device, i32, memory, value, MODE="add", ORDER=order)
    assert_all(["old", "new"], [old, new], [memory, memory + value])


@tw.entry(unsafe=True)
def named(p: tl.Ptr[E], value: tl.Tensor[E]) -> None:
    """Each convenience on an element of its own."""
    v = value.load_tile((1,), 0).item()
    tl.atomic_add(p, v)
    tl.atomic_max(p + 1, v, ordering=tl.Ordering.RELAXED)
    tl.atomic_min(p + 2, v)
    tl.atomic_and(p + 3, v)
    tl.atomic_or(p + 4, v)
    tl.atomic_xor(p + 5, v, mask=True)
    tl.atomic_xchg(p + 6, v)
    tl.atomic_rmw_tko(p + 7, v, tl.AtomicMode.ADD)
    tl.atomic_xchg(p + 8, v, mask=False)
    tl.atomic_add(p + 9, 3, scope=tl.Scope.TILE_BLOCK)


@pytest.mark.parametrize("dtype", INTS, ids=str)
def test_conveniences(device, dtype):
    memory = np.arange(20, 30).astype(dtype.np)
    with tw.device(device):
        target = Output((10,), dtype)
        target.array[...] = memory
        with tw.unsafe():
            op = named(target.tensor.device_pointer(), np.array([25], dtype.np))
        op.grid((1,)).sync()
    a, v = memory.tolist(), 25
    expected = [
        a[0] + v, max(a[1], v), min(a[2], v), a[3] & v, a[4] | v, a[5] ^ v, v, a[7] + v, a[8],
        a[9] + 3,
    ]  # fmt: skip
    assert target.result().tolist() == expected


@tw.entry(unsafe=True)
def swap(old: tl.TensorMut[E], p: tl.Ptr[E], compare: tl.Tensor[E], value: tl.Tensor[E]) -> None:
    (block,) = old.shape
    at = tl.arange(block) + tl.block_id(0) * block
    inside = at < tl.get_tensor_shape(compare)[0]
    expected, new = tl.load_tile_like(compare, old), tl.load_tile_like(value, old)
    first = tl.atomic_cas(p + at, expected, new, inside)
    tl.atomic_cas_tko(p + at, new, new, inside, ordering="relaxed")
    old.store(first)


@pytest.mark.parametrize("dtype", [*INTS, f32, f64], ids=str)
def test_compare_and_swap(device, dtype, rng):
    memory = rng.integers(0, 3, 37).astype(dtype.np)
    compare = rng.integers(0, 3, 37).astype(dtype.np)
    value = rng.integers(10, 99, 37).astype(dtype.np)
    if dtype.is_float:  # bit for bit: NaN equals itself, and -0 is not 0
        memory[:2], compare[:2] = [np.nan, 0.0], [np.nan, -0.0]
    with tw.device(device):
        old, target = Output((37,), dtype), Output((37,), dtype)
        target.array[...] = memory
        with tw.unsafe():
            op = swap(old.cut(16), target.tensor.device_pointer(), compare, value)
        op.sync()
    bits = f"u{dtype.itemsize}"
    expected = np.where(memory.view(bits) == compare.view(bits), value, memory)
    assert_all(["old", "new"], [old.result(), target.result()], [memory, expected])


@tw.entry(unsafe=True)
def histogram(bins: tl.Ptr[E], x: tl.Tensor[i32], n: i32, *, BLOCK: tl.Const[int] = 64) -> None:
    i, _, _ = tl.get_tile_block_id()
    inside = tl.arange(BLOCK) + i * BLOCK < n
    tl.atomic_add(bins + x.load_tile((BLOCK,), [i]), 1, mask=inside)


@pytest.mark.parametrize("dtype", [i32, u64, f32, f64], ids=str)
def test_many_blocks_count_together(device, dtype, rng):
    """Equal offsets in one tile, and blocks on several threads: nothing is lost."""
    x = rng.integers(0, 5, 5000).astype(np.int32)
    with tw.device(device):
        bins = tw.zeros((5,), dtype).sync()
        with tw.unsafe():
            op = histogram(bins.device_pointer(), x, x.size)
        op.grid((79,)).sync()
        assert bins.to_numpy().tolist() == np.bincount(x, minlength=5).tolist()


@tw.entry(unsafe=True)
def column_sums(sums: tl.Ptr[E], x: tl.Tensor[E], n: i32, *, MODE: tl.Const[str]) -> None:
    """Every block adds its rows to the same few numbers, through a view."""
    i, _, _ = tl.get_tile_block_id()
    view = tl.make_partition_view_mut(tl.make_tensor_view(sums, (n,)), (16,))
    for j in range(tl.num_tiles(view)):
        tile = x.load_tile((1, 16), [i, j]).reshape(16)
        if MODE == "twice":
            tl.atomic_red_view(view, [j], tile)
            tl.atomic_red_view_tko(view, j, tile, "add", scope="device")
        else:
            tl.atomic_red_view(view, [j], tile, MODE)


@pytest.mark.parametrize("mode", ["add", "twice", "max", "min", "and", "or", "xor"])
def test_reductions_through_views(device, mode, rng):
    x = rng.integers(-1000, 1000, (9, 21)).astype(np.int32)
    start = rng.integers(-1000, 1000, 21).astype(np.int32)
    with tw.device(device):
        sums = Output((21,), i32)
        sums.array[...] = start
        with tw.unsafe():
            op = column_sums(sums.tensor.device_pointer(), x, 21, MODE=mode)
        op.grid((9,)).sync()
    functions = {
        "add": np.add, "twice": np.add, "max": np.maximum, "min": np.minimum,
        "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor,
    }  # fmt: skip
    rows = np.concatenate([start[None], x, x] if mode == "twice" else [start[None], x])
    assert_all([mode], [sums.result()], [functions[mode].reduce(rows).astype(np.int32)])


# --- globals -----------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [*INTS, f32, f64], ids=str)
def test_globals_outlast_launches(device, dtype, rng):
    """One number and an array, which each launch finds as the last one left them."""
    start = rng.integers(0, 50, (2, 4)).astype(dtype.np)
    total, table = tl.Global(dtype, 5), tl.Global(dtype, start)

    @tw.entry(unsafe=True)
    def advance(out: tl.TensorMut, n: i32) -> None:
        total.atomic_add(n.astype(total.dtype))
        if tl.block_id(0) == 0:
            table.store(table.load() * 2)
            tl.atomic_add(tl.get_global(table) + 5, 1)
        out.store(tl.full((1,), total.load(ordering="relaxed") * 0, dtype))

    with tw.device(device):
        for _ in range(2):
            out = Output((3,), dtype)
            with tw.unsafe():
                op = advance(out.cut(1), 4)
            op.sync()
        got, numbers = total.to_numpy(device=device), table.to_numpy(device=device)
    expected = start.astype(np.float64) * 4
    expected[1, 1] += 3
    assert int(got) == 5 + 2 * 3 * 4
    assert_all(["table"], [numbers], [expected.astype(dtype.np)])


@pytest.mark.parametrize("dtype", [f16, bf16, f32, f64], ids=str)
def test_float_sums_through_views(device, dtype, rng):
    x = rng.integers(-8, 8, (9, 21)).astype(dtype.np)
    with tw.device(device):
        sums = tw.zeros((21,), dtype).sync()
        with tw.unsafe():
            op = column_sums(sums.device_pointer(), x, 21, MODE="add")
        op.grid((9,)).sync()
        assert_all(["sums"], [sums.to_numpy()], [x.astype(np.float64).sum(0).astype(dtype.np)])
