"""Safe kernels that cost nothing: no check is left in them, and their code is the twin's."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
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


@pytest.mark.thinned(6)
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


@pytest.mark.thinned(3)
@pytest.mark.parametrize("name", NAMES)
def test_forced_checks_change_no_result(name):
    case = cases()[name]
    results = []
    for checks in ("placed", "pinned", "forced"):
        args = case.arguments(fresh)
        launch = case.kernel(*args, **case.constants).compile_options(checks=checks)
        out, *_ = launch.sync()
        results.append(out.unpartition().to_numpy() if hasattr(out, "unpartition") else None)
    assert all(r is not None for r in results)
    if tw.default_device().name == "cpu":
        assert all(np.array_equal(r, results[0]) for r in results)
    else:  # where there is a branch, an assembler may fuse other products and sums
        for result in results:
            np.testing.assert_allclose(result, results[0], rtol=1e-5, atol=1e-6)


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


# --- nothing is read outside in silence ----------------------------------------------------------


def from_minus_one(z: tl.TensorMut[f32], x: tl.Tensor[f32, tl.Dyn]) -> None:
    xs = x.partition(z.shape)
    acc = tl.zeros(z.shape, f32)
    for i in range(-1, tl.num_tiles(xs, 0)):
        acc = acc + xs.load([i])
    z.store(acc)


def from_minus_one_by_two(z: tl.TensorMut[f32], x: tl.Tensor[f32, tl.Dyn]) -> None:
    xs = x.partition(z.shape)
    acc = tl.zeros(z.shape, f32)
    for i in range(-1, tl.num_tiles(xs, 0), 2):
        acc = acc + xs.load([i])
    z.store(acc)


def from_below_a_block(z: tl.TensorMut[f32], x: tl.Tensor[f32, tl.Dyn]) -> None:
    xs = x.partition(z.shape)
    acc = tl.zeros(z.shape, f32)
    block = tl.get_tile_block_id()[0]
    for i in range(block - 2, block + 1):
        acc = acc + xs.load([i])
    z.store(acc)


@pytest.mark.parametrize("kernel", [from_minus_one, from_minus_one_by_two])
def test_a_loop_that_surely_starts_below_0_does_not_compile(kernel):
    out, x = tw.zeros((8,), f32).sync(), tw.ones((8,), f32).sync()
    with pytest.raises(tw.CompileError, match="index out of range in every launch") as caught:
        tw.entry(kernel)(out.partition_mut((4,)), x).sync()
    assert "0 <= index" in str(caught.value)


def test_a_loop_that_starts_below_0_in_some_block_fails_in_that_block():
    out, x = tw.zeros((8,), f32).sync(), tw.ones((8,), f32).sync()
    with pytest.raises(tw.LaunchError, match=r"got: -[12], in block"):
        tw.entry(from_below_a_block)(out.partition_mut((4,)), x).sync()


@tw.entry
def third_of_whole_tiles(z: tl.TensorMut[f32], x: tl.Tensor[f32, tl.Dyn]) -> None:
    assert x.shape[0] % 4 == 0
    z.store(x.partition((4,)).load([2]))


def test_a_promise_of_whole_tiles_promises_no_more_of_them():
    for length, runs in ((8, False), (12, True)):
        out, x = tw.zeros((4,), f32).sync(), tw.ones((length,), f32).sync()
        if runs:
            third_of_whole_tiles(out.partition_mut((4,)), x).sync()
            assert (out.to_numpy() == 1).all()
            continue
        with pytest.raises(tw.Error, match="index out of range"):
            third_of_whole_tiles(out.partition_mut((4,)), x).sync()


def within(z: tl.MappedPartitionMut[f32], first: i32) -> None:
    for index in z.iter_indices_within(((first, 2),)):
        z.store(tl.full(z.shape, 1.0, f32), index)


def within_data(z: tl.MappedPartitionMut[f32], x: tl.Tensor[i32, tl.Dyn]) -> None:
    first = x.partition((1,)).load([0]).reshape(())
    for index in z.iter_indices_within(((first, 2),)):
        z.store(tl.full(z.shape, 1.0, f32), index)


def spanned(kernel, *more):
    """An output of four tiles, an entry, and what makes its arguments."""
    out = tw.zeros((16,), f32).sync()

    def given():
        return (out.partition_mut((4,)).map((1,)), *more)

    entry = tw.entry(kernel)
    return out, entry, given


def test_spans_that_the_launch_knows_are_listed_and_checked_there():
    out, entry, given = spanned(within, 1)
    assert entry.checks(*given()) == (0, 1, 0, 0)
    text = str(entry.explain(*given()))
    assert "z.iter_indices_within" in text
    assert "axis 0 of `z`, at launch: 0 <= first" in text
    tw.entry(within, deny_in_kernel_checks=True)(*given()).sync()
    assert out.to_numpy().tolist() == [0] * 4 + [1] * 8 + [0] * 4
    for first in (-1, 3, 2**31 - 1, -(2**31)):
        with pytest.raises(tw.Error, match=r"iter_indices_within|span"):
            entry(*spanned(within, first)[2]()).sync()


@pytest.mark.parametrize("first", [-1, 3, 2**31 - 1, -(2**31)])
def test_spans_that_only_the_kernel_knows_are_listed_denied_and_checked(first):
    x = tw.from_numpy(np.array([first], np.int32)).sync()
    _, entry, given = spanned(within_data, x)
    assert entry.checks(*given()) == (0, 1, 0, 1)
    assert "axis 0 of `z`, in place" in str(entry.explain(*given()))
    with pytest.raises(tw.CompileError, match="denies checks in the kernel"):
        tw.entry(within_data, deny_in_kernel_checks=True)(*given()).sync()
    with pytest.raises(tw.Error):
        entry(*given()).sync()
