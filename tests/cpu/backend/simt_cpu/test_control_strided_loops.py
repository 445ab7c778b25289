"""Loops over a grid's or a block's stride, against the reference interpreter and as code."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tilewright as tw
from support.numbers import fresh_rng
from tilewright import i32, simt

LAST = 2**31 - 1


@simt.kernel(unsafe=True)
def over_the_grid(out: simt.DisjointSlice[i32], x: simt.Slice[i32]) -> None:
    """Two values are carried; a barrier behind the loop needs all threads."""
    i, total, count = simt.index_1d(), 0, 0
    for j in range(simt.index_1d(), len(x), simt.grid_dim() * simt.block_dim()):
        total = total * 3 + x[j]
        count += 1
    simt.sync_threads()
    if i < len(out):
        out[i] = total * 8 + count


@simt.kernel(unsafe=True)
def over_the_block(out: simt.DisjointSlice[i32], x: simt.Slice[i32]) -> None:
    """One strided loop inside of another one, and some threads that have returned."""
    i, total = simt.index_1d(), 0
    if i % 5 == 3:
        return
    for j in range(simt.thread_idx(), len(x), simt.block_dim()):
        for k in range(simt.thread_idx(), j, 40):
            total += x[k] - j
        total = total * 5 + x[j]
    if i < len(out):
        out[i] = total


@simt.kernel(unsafe=True)
def from_an_offset(out: simt.DisjointSlice[i32], x: simt.Slice[i32]) -> None:
    """A start that is the place and something else."""
    i, total = simt.index_1d(), 0
    for j in range(simt.thread_idx() + 7, len(x), simt.block_dim()):
        total = total * 3 + x[j]
    if i < len(out):
        out[i] = total


@simt.kernel(unsafe=True)
def counted(out: simt.DisjointSlice[i32], end: i32, step: i32) -> None:
    """Iterations of a loop whose numbers may reach the end of their type."""
    i, count, mixed = simt.index_1d(), 0, 0
    for j in range(simt.index_1d(), end, step):
        count += 1
        mixed = mixed * 5 + j
    if i < len(out):
        out[i] = count * 1000 + mixed


def run(device: str, kernel: Any, size: int, args: tuple[Any, ...], grid: int, block: int) -> Any:
    with tw.device(device), tw.unsafe():
        out = tw.from_numpy(np.full(size, -77, np.int32)).sync()
        kernel(out.borrow_mut(), *args).launch_config(grid=grid, block=block).sync()
        return out.to_numpy()


def same_as_reference(kernel: Any, grid: int, block: int, *args: Any) -> None:
    size = grid * block - 1
    got, expected = (
        run(device, kernel, size, args, grid, block) for device in ("cpu", "reference")
    )
    np.testing.assert_array_equal(got, expected)


@pytest.mark.thinned(4)
@pytest.mark.parametrize("kernel", [over_the_grid, over_the_block, from_an_offset])
@pytest.mark.parametrize(("grid", "block"), [(1, 1), (2, 32), (3, 63), (1, 100), (2, 64)])
def test_same_as_the_reference(kernel: Any, grid: int, block: int) -> None:
    threads = grid * block
    for length in (1, threads - 1, threads, threads + 1, 3 * threads - 5):
        x = fresh_rng().integers(-99, 99, max(length, 1), dtype=np.int32)
        same_as_reference(kernel, grid, block, x)


@settings(deadline=None, max_examples=40)
@given(
    end=st.one_of(st.integers(-5, 300), st.integers(LAST - 70, LAST)),
    step=st.one_of(st.integers(1 << 28, LAST), st.integers(LAST - 40, LAST)),
)
def test_numbers_that_would_wrap(end: int, step: int) -> None:
    same_as_reference(counted, 2, 48, end, step)


@pytest.mark.parametrize("kernel", [over_the_grid, from_an_offset])
def test_adjacent_threads_load_adjacent_elements(kernel: Any) -> None:
    given = tw.meta((100,), i32), tw.meta((1000,), i32)
    assert "masked.gather" not in kernel.inspect(given[0].borrow_mut(), given[1])["llvm"]
