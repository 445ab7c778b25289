"""Memory of which numbers alone do not tell whether a launch may use it: the core asks Python."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
from support.core_paths import called_launches
from support.numbers import fresh_rng
from tilewright.devices.host import CPU
from tilewright.launch import Launch

pytestmark = pytest.mark.cpu_alone


@tw.entry
def doubled(z: tl.TensorMut[tw.f32], x: tl.Tensor[tw.f32]) -> None:
    z.store(tl.load_tile_like(x, z) * 2.0)


@tw.entry
def picked(z: tl.TensorMut[tw.f32], x: tl.Tensor[tw.f32], where: tl.Tensor[tw.i32]) -> None:
    z.store(x.load_tile(z.shape, where.load_tile((1,), 0).item()))


@pytest.fixture
def called(monkeypatch: pytest.MonkeyPatch) -> list[Launch[Any]]:
    """The launches that the core did not end."""
    return called_launches(monkeypatch)


def numbers(size: int) -> Any:
    return fresh_rng().random(size, np.float32)


@pytest.mark.parametrize("size", [1, 17, 1009])
def test_memory_known_by_two_names(called: list[Launch[Any]], size: int) -> None:
    array, out = numbers(3 * size), tw.zeros((2 * size,), device="cpu").sync()
    low, high = tw.asarray(array[: 2 * size]), tw.asarray(array[size:])
    before, streams = array.copy(), [CPU.new_stream() for _ in range(2)]
    doubled(low.partition_mut(16), out).start_on(streams[0])
    doubled(out.partition_mut(16), high).start_on(streams[1])
    assert called == []
    np.testing.assert_array_equal(out.to_numpy(), np.r_[np.zeros(size), before[2 * size :] * 2])
    np.testing.assert_array_equal(array, np.r_[np.zeros(2 * size), before[2 * size :]])


def test_borrows_of_overlapping_memory_end_each_other(called: list[Launch[Any]]) -> None:
    array, out = numbers(30), tw.zeros((20,), device="cpu").sync()
    low, high = tw.asarray(array[:20]), tw.asarray(array[10:])
    reads = doubled(out.partition_mut(4), high)
    doubled(low.partition_mut(4), tw.asarray(numbers(20))).sync()
    with pytest.raises(tw.BorrowError, match=r"its shared borrow .* has ended"):
        reads.sync()
    writes = doubled(high.partition_mut(4), out)
    low.to_numpy()
    with pytest.raises(tw.BorrowError, match=r"its exclusive borrow .* has ended"):
        writes.sync()
    assert called == []
    with pytest.raises(tw.BorrowError, match="would write and read one tensor"):
        doubled(low.partition_mut(4), high)


def test_names_that_are_gone_are_forgotten(called: list[Launch[Any]]) -> None:
    array, out = numbers(30), tw.zeros((20,), device="cpu").sync()
    low, high = tw.asarray(array[:20]), tw.asarray(array[10:])
    doubled(out.partition_mut(4), high).sync()
    state = low.region.storage.state
    del high
    gc.collect()
    for _ in range(2):
        doubled(low.partition_mut(4), out).sync()
    assert state.slow_path & ~1 == 0, "all but an exclusive borrow"
    assert called == []


def test_random_slices_of_one_array(called: list[Launch[Any]]) -> None:
    """As on NumPy, whatever overlaps and whichever stream it is put on."""
    rng, size = fresh_rng(), 40
    array = numbers(size)
    expected, streams = array.copy(), [CPU.new_stream() for _ in range(3)]
    for _ in range(200):
        length = int(rng.integers(1, 12))
        one, other = rng.integers(0, size - length + 1, 2)
        if abs(one - other) < length:
            continue
        z, x = tw.asarray(array[one : one + length]), tw.asarray(array[other : other + length])
        op = doubled(z.partition_mut(4), x)
        stream = streams[rng.integers(3)]
        op.sync_on(stream) if rng.integers(2) else op.start_on(stream)
        expected[one : one + length] = np.float32(2) * expected[other : other + length]
        if expected.max() > 1e30:
            for each in streams:
                each.synchronize()
            array[:] = expected[:] = numbers(size)
    for each in streams:
        each.synchronize()
    np.testing.assert_array_equal(array, expected)
    assert called == []


@pytest.mark.parametrize("end", ["sync", "start"])
def test_memory_that_is_written_part_by_part(called: list[Launch[Any]], end: str) -> None:
    x, e = tw.asarray(numbers(16)), tw.empty((40,), tw.f32, device="cpu").sync()
    out = tw.zeros((16,), device="cpu").sync()
    for part in (np.s_[:16], np.s_[16:32]):
        getattr(doubled(e.borrow_mut()[part].partition(8), x), end)()
        doubled(out.partition_mut(4), e[part]).sync()
        np.testing.assert_array_equal(out.to_numpy(), x.to_numpy() * 4)
    with pytest.raises(tw.BorrowError, match="nothing has written"):
        doubled(out.partition_mut(4), e[24:]).sync()
    getattr(doubled(e.borrow_mut()[32:].partition(8), x[:8]), end)()
    assert called == []
    np.testing.assert_array_equal(e.to_numpy()[24:], np.r_[x.to_numpy()[8:], x.to_numpy()[:8]] * 2)


def test_parts_between_those_that_are_read(called: list[Launch[Any]]) -> None:
    both = tw.asarray(numbers(64))
    before, borrow = both.to_numpy(), both.borrow_mut()
    doubled(borrow[::2].partition(8), borrow[1::2].tensor).sync()
    assert called == []
    np.testing.assert_array_equal(both.to_numpy()[::2], before[1::2] * 2)
    np.testing.assert_array_equal(both.to_numpy()[1::2], before[1::2])


def test_memory_is_written_once_nobody_else_sees_it(called: list[Launch[Any]]) -> None:
    x, z = tw.asarray(numbers(16)), tw.zeros((16,), device="cpu").sync()
    view = np.asarray(z)
    with pytest.raises(tw.BorrowError, match="NumPy view of it is alive"):
        doubled(z.partition_mut(4), x).sync()
    del view
    doubled(z.partition_mut(4), x).sync()
    part = np.asarray(z[:8])
    doubled(z.borrow_mut()[8:].partition(4), x[:8]).sync()
    with pytest.raises(tw.BorrowError, match="NumPy view of it is alive"):
        doubled(z.borrow_mut()[4:].partition(4), x[:12]).sync()
    assert called == []
    np.testing.assert_array_equal(part, x.to_numpy()[:8] * 2)
    np.testing.assert_array_equal(z.to_numpy()[8:], x.to_numpy()[:8] * 2)


@pytest.mark.parametrize("fails", [False, True])
def test_a_started_launch_that_may_fail_is_moved_its_output(
    called: list[Launch[Any]], fails: bool
) -> None:
    x = tw.asarray(numbers(8))
    where = tw.asarray(np.array([9 if fails else 1], np.int32))
    out = (
        tw.value(where)
        .then(lambda where: picked(tw.zeros((4,), device="cpu").partition(4), x, where).out())
        .start()
    )
    assert called == []
    if fails:
        with pytest.raises(tw.Error, match="out of range"):
            out.to_numpy()
    else:
        np.testing.assert_array_equal(out.to_numpy(), x.to_numpy()[4:])


def test_the_first_launch_is_compiled_on_the_way(called: list[Launch[Any]]) -> None:
    @tw.entry
    def fresh(z: tl.TensorMut[tw.f32], x: tl.Tensor[tw.f32], by: tw.f32) -> None:
        z.store(tl.load_tile_like(x, z) * by)

    x, z = tw.asarray(numbers(16)), tw.zeros((16,), device="cpu").sync()
    fresh(z.partition_mut(4), x, 3.0).sync()
    np.testing.assert_array_equal(z.to_numpy(), x.to_numpy() * 3)
    assert called == []
