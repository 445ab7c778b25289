"""SIMT kernels on the CPU, against the reference interpreter."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
from support.numbers import fresh_rng
from support.threads import CASES, claimed, histogram, reversed_by_pointer, run_on, threshold
from tilewright import f32, i32, simt


@simt.kernel
def picked(out: simt.DisjointSlice[f32], x: simt.Slice[f32], where: simt.Slice[i32]) -> None:
    i = simt.index_1d()
    if i < len(out):
        out[i] = x[where[i]]


SIZES = (1, 2, 31, 32, 33, 100, 257)


@pytest.mark.thinned(9)
@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("name", CASES)
def test_same_as_the_reference(name, n):
    case = CASES[name]
    args = case.given(fresh_rng(), n)
    for got, expected in zip(
        run_on("cpu", case, args), run_on("reference", case, args), strict=True
    ):
        if case.tolerance:
            np.testing.assert_allclose(got, expected, rtol=case.tolerance, atol=case.tolerance)
        else:
            np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("device", ["cpu", "reference"])
def test_nothing_to_write_runs_nothing(device):
    with tw.device(device):
        z = tw.zeros((0,)).sync()
        threshold(z.borrow_mut(), np.zeros(0, np.float32), 0.5, 1.0).sync()


@pytest.mark.parametrize("start", range(4))
@pytest.mark.parametrize("extra", [0, 1, 17])
def test_large_outputs_are_written_whole(start, extra):
    """Beyond the caches whole lines are written past them, from wherever the memory begins."""
    n = (9 << 20) // 4 + extra
    x = np.random.default_rng(start).random(n, np.float32)
    z = tw.full((n + 8,), -1.0).sync()
    part = z.borrow_mut()[start : start + n]
    threshold(part, x, 0.5, 4.0).sync()
    got = z.to_numpy()
    np.testing.assert_array_equal(got[start : start + n], np.where(x >= 0.5, x * np.float32(4), 0))
    assert (got[:start] == -1).all()
    assert (got[start + n :] == -1).all()


@pytest.mark.parametrize("device", ["cpu", "reference"])
class TestFailures:
    def test_an_index_beyond_a_slice_names_the_thread(self, device):
        with tw.device(device):
            z = tw.zeros((8,)).sync()
            where = np.array([0, 1, 2, 3, 4, 5, 6, 7], np.int32)
            with pytest.raises(tw.LaunchError, match=r"index out of range.*`x`") as caught:
                picked(z.borrow_mut(), np.zeros(7, np.float32), where).sync()
        assert "7, in thread (7, 0, 0) of block (0, 0, 0)" in str(caught.value)

    def test_an_index_that_the_launch_knows_is_refused_there(self, device):
        with tw.device(device):
            z = tw.zeros((8,)).sync()
            with pytest.raises(tw.LaunchError, match=r"index out of range.*`x`") as caught:
                threshold(z.borrow_mut(), np.zeros(7, np.float32), 0.5, 1.0).sync()
        assert "< len(x)" in str(caught.value)
        assert "len(x) = 7" in str(caught.value)

    def test_an_assertion_names_the_thread(self, device):
        @simt.kernel
        def checked(out: simt.DisjointSlice[i32], x: simt.Slice[i32]) -> None:
            i = simt.index_1d()
            if i < len(out):
                assert x[i] != 3, "no threes"
                out[i] = x[i]

        with tw.device(device):
            z = tw.zeros((300,), tw.i32).sync()
            x = np.zeros(300, np.int32)
            x[270] = 3
            with pytest.raises(tw.LaunchError, match="no threes") as caught:
                checked(z.borrow_mut(), x).sync()
        assert "thread (14, 0, 0) of block (1, 0, 0)" in str(caught.value)

    def test_prints_come_in_the_order_of_threads(self, device, capsys):
        @simt.kernel
        def shown(out: simt.DisjointSlice[f32], x: simt.Slice[f32]) -> None:
            i = simt.index_1d()
            if i < len(out) and i % 100 == 3:
                print("thread", i, f"{x[i]:.2f}")

        with tw.device(device):
            z = tw.zeros((400,)).sync()
            shown(z.borrow_mut(), np.arange(400, dtype=np.float32) / 2).sync()
        lines = capsys.readouterr().out.splitlines()
        assert lines == [f"thread {i} {i / 2:.2f}" for i in (3, 103, 203, 303)]


@pytest.mark.parametrize("n", [1, 33, 1000])
@pytest.mark.parametrize("device", ["cpu", "reference"])
class TestPointers:
    def test_atomics_lose_nothing(self, device, n):
        x = np.random.default_rng(n).integers(-3, 50, n, np.int32)
        with tw.device(device), tw.unsafe():
            counts = tw.zeros((7,), tw.i32).sync()
            launch = histogram(counts.device_pointer(), x, 7)
            launch.launch_config(grid=-(-n // 64), block=64).sync()
            expected = np.bincount(x[x >= 0] % 7, minlength=7)
            np.testing.assert_array_equal(counts.to_numpy(), expected)

    def test_loads_and_stores(self, device, n):
        x = np.random.default_rng(n).random(n, np.float32)
        with tw.device(device), tw.unsafe():
            source, target = tw.from_numpy(x).sync(), tw.zeros((n,)).sync()
            pointers = target.device_pointer(), source.device_pointer()
            reversed_by_pointer(*pointers, n).launch_config(grid=-(-n // 64), block=64).sync()
            np.testing.assert_array_equal(target.to_numpy(), (x + np.float32(1))[::-1])

    def test_compare_and_swap(self, device, n):
        x = np.random.default_rng(n).integers(0, 50, n, np.int32)
        slots = np.where(np.arange(n) % 2 == 0, -1, 77).astype(np.int32)
        with tw.device(device), tw.unsafe():
            held, out = tw.from_numpy(slots).sync(), tw.full((n,), -5, tw.i32).sync()
            claimed(held.device_pointer(), out.borrow_mut(), x).sync()
            tried = x % 3 != 0
            np.testing.assert_array_equal(out.to_numpy(), np.where(tried, slots, -5))
            swapped = tried & (slots == -1)
            np.testing.assert_array_equal(held.to_numpy(), np.where(swapped, x, slots))
