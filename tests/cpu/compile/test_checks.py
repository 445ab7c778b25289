"""Safe kernels that cost nothing: no check is left in them, and their code is the twin's."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
from support.proved import NAMES, cases
from tilewright import f32, i32, simt
from tilewright.compile.checks import Checks

COUNTS = {
    "add": Checks(2, 0),
    "gemm": Checks(2, 2),
    "softmax": Checks(0, 2),
    "rms norm": Checks(2, 1),
    "batched matmul": Checks(1, 5),
    "attention": Checks(4, 5),
    "causal attention": Checks(4, 5),
    "grouped attention": Checks(4, 5),
    "causal grouped attention": Checks(4, 5),
    "persistent gemm": Checks(1, 3),
}


def fresh(shape, dtype=tw.f32):
    return tw.randn(shape, seed=1).sync() if dtype is tw.f32 else tw.zeros(shape, dtype).sync()


@pytest.mark.parametrize("name", NAMES)
def test_no_check_is_left(name):
    case = cases()[name]
    counts = case.kernel.checks(*case.arguments(tw.meta), **case.constants)
    assert counts == COUNTS[name]
    assert not counts.in_kernel


@pytest.mark.thinned(5)
@pytest.mark.parametrize("name", NAMES)
def test_the_object_is_that_of_the_unchecked_twin(name):
    case = cases()[name]
    safe = case.kernel.compile(*case.arguments(tw.meta), **case.constants)
    twin = case.twin().compile(*case.arguments(tw.meta), **case.constants)
    assert twin.obligations == () != safe.obligations
    assert isinstance(safe.code, bytes) and safe.code == twin.code


@pytest.mark.thinned(5)
@pytest.mark.parametrize("name", NAMES)
def test_forced_checks_change_no_result(name):
    case = cases()[name]
    results = []
    for checks in ("placed", "pinned", "forced"):
        args = case.arguments(fresh)
        launch = case.kernel(*args, **case.constants).compile_options(checks=checks)
        out, *_ = launch.sync()
        results.append(out.unpartition().to_numpy() if hasattr(out, "unpartition") else None)
    assert all(r is not None and np.array_equal(r, results[0]) for r in results)


@simt.kernel(domain=2, block=(16, 16))
def in_rows(out: simt.DisjointSlice[f32], x: simt.Slice[f32], rows: i32, columns: i32) -> None:
    assert len(x) >= rows * columns
    row = simt.block_idx(1) * 16 + simt.thread_idx(1)
    mine: float = f32(0)
    for start in range(0, columns, 16):
        column = start + simt.thread_idx(0)
        if row < rows and column < columns:
            mine += x[row * columns + column]
    i = simt.index_2d(16)
    if i < len(out):
        out[i] = mine


@simt.kernel(domain=2, block=(16, 16))
def in_columns(out: simt.DisjointSlice[f32], x: simt.Slice[f32], rows: i32, columns: i32) -> None:
    assert len(x) >= rows * columns
    mixed = simt.block_idx(0) * 1000003
    row, column = simt.thread_idx(1), simt.block_idx(0) * 64 + simt.thread_idx(0)
    i = simt.index_2d(16)
    if i < len(out) and row < rows and column < columns:
        out[i] = x[row * columns + column] + f32(mixed % 2)


def plane_of(kernel, rows, columns):
    x = np.arange(rows * columns, dtype=np.float32)
    return kernel, (tw.zeros((256,)), x, rows, columns)


def test_rows_and_columns_of_a_promised_length_are_proved():
    kernel, args = plane_of(in_rows, 16, 40)
    assert kernel.checks(tw.meta((256,)).borrow_mut(), *args[1:]) == Checks(2, 0)
    out, x, *_ = kernel(*args).launch_config(grid=1).sync()
    expected = np.zeros((16, 48), np.float32)
    expected[:, :40] = x.reshape(16, 40)
    got = out.to_numpy().reshape(16, 16)
    np.testing.assert_array_equal(got, expected.reshape(16, 3, 16).sum(1))


def test_what_wraps_in_large_grids_alone_is_asked_of_the_launch():
    kernel, args = plane_of(in_columns, 4, 20)
    of_the_kernel = (tw.meta((256,)).borrow_mut(), *args[1:])
    text = kernel.explain(*of_the_kernel)
    assert "given (grid_dim(0) * 64) <= 2147483696" in text
    assert "1000003" not in text, "what no index rests on may wrap"
    kernel(*args).launch_config(grid=1).sync()
    kernel, args = plane_of(in_columns, 4, 20)
    with pytest.raises(tw.LaunchError, match="wraps around"):
        kernel(*args).launch_config(grid=((1 << 25) + 1, 1)).sync()


def test_rows_of_another_width_are_checked():
    @simt.kernel
    def other(out: simt.DisjointSlice[f32], x: simt.Slice[f32], rows: i32, columns: i32) -> None:
        assert len(x) >= rows * columns
        row, column = simt.thread_idx() // 8, simt.thread_idx() % 8
        i = simt.index_1d()
        if i < len(out) and row < rows and column <= columns:
            out[i] = x[row * columns + column]

    kernel, args = plane_of(other, 4, 5)
    assert kernel.checks(tw.meta((256,)).borrow_mut(), *args[1:]).in_place == 1
    with pytest.raises(tw.LaunchError):
        kernel(*args).launch_config(grid=1).sync()
