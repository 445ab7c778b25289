"""SIMT kernels on the CPU, against the reference interpreter."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
from support.threads import CASES, run_on, threshold
from tilewright import f32, i32, simt

SIZES = (1, 2, 31, 32, 33, 100, 257)


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("name", CASES)
def test_same_as_the_reference(name, n):
    seed = np.random.SeedSequence().entropy
    print(f"seed {seed}")
    case = CASES[name]
    args = case.given(np.random.default_rng(seed), n)
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
            with pytest.raises(tw.LaunchError, match=r"index out of range.*`x`") as caught:
                threshold(z.borrow_mut(), np.zeros(7, np.float32), 0.5, 1.0).sync()
        assert "7, in thread (7, 0, 0) of block (0, 0, 0)" in str(caught.value)

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
