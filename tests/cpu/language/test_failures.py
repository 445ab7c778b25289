"""Launches that fail while running: what is told, and that everything stays usable."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
from support.expressions import Output, output
from tilewright import f32, i32


@tw.entry
def pick(out: tl.TensorMut[f32], x: tl.Tensor[f32], which: tl.Tensor[i32]) -> None:
    """Tile numbers that come from data."""
    i = tl.block_id(0)
    row = which.load_tile((1,), i).item()
    out.store(x.load_tile((1, 4), [row, 0]))


BAD = [-1, 5, 2**31 - 1, -(2**31), 1_000_000]


@pytest.mark.parametrize("bad", BAD)
def test_indices_from_data(device, bad, rng):
    x = rng.standard_normal((5, 4)).astype(np.float32)
    which = np.array([4, 0, bad, 1], np.int32)
    with tw.device(device):
        z = Output((4, 4), f32)
        with pytest.raises(tw.LaunchError) as caught:
            pick(z.cut(1, 4), x, which).sync()
        text = str(caught.value)
        assert "index out of range in `pick`: axis 0 of `x`" in text
        assert "x.load_tile((1, 4), [row, 0])" in text and "test_failures.py" in text
        assert "expected: 0 <= index < 5" in text
        assert f"got: {bad}, in block (2, 0, 0)" in text
        which[2] = 3
        pick(z.cut(1, 4), x, which).sync()
    assert (z.result() == x[which]).all()


@tw.entry
def store_at(out: tl.TensorMut[f32], n: i32) -> None:
    parts = out.partition_mut((2, 2))
    parts.store(tl.ones((2, 2)), [n, 0])


@tw.entry
def wrapped_index(out: tl.TensorMut[f32], x: tl.Tensor[f32], n: i32) -> None:
    """Arithmetic on indices wraps, and what comes out is checked all the same."""
    out.store(x.load_tile((4,), [n * 65536 * 65536 + n]))


@tw.entry
def in_a_loop(out: tl.TensorMut[f32], x: tl.Tensor[f32], n: i32) -> None:
    total = tl.zeros(out.shape, f32)
    for k in range(n):
        total = total + x.load_tile((4,), k)
    out.store(total)


@tw.entry
def second_axis(out: tl.TensorMut[f32], x: tl.Tensor[f32], n: i32) -> None:
    tiles = x.partition((2, 4), dim_map=(1, 0))
    out.store(tiles.load((0, n)))


def launch(kernel, args, shape, tile, **options):
    z = Output(shape, f32)
    with pytest.raises(tw.LaunchError) as caught:
        kernel(z.cut(*tile), *args).compile_options(**options).sync()
    z.result()  # nothing outside was written
    return str(caught.value)


X = np.ones(10, np.float32)
SQUARE = np.ones((6, 10), np.float32)
CASES = {
    "store past the end": (store_at, (2,), (4, 4), (4, 4), "axis 0 of `out`", "index < 2", "2"),
    "store before": (store_at, (-1,), (4, 4), (4, 4), "axis 0 of `out`", "index < 2", "-1"),
    "loop": (in_a_loop, (X, 9), (4,), (4,), "axis 0 of `x`", "index < 3", "3"),
    "wrapped": (wrapped_index, (X, 3), (4,), (4,), "axis 0 of `x`", "index < 3", "3"),
    "other axis": (second_axis, (SQUARE, 3), (2, 4), (2, 4), "of `x`", "index < 2", "3"),
}


@pytest.mark.parametrize("name", CASES)
def test_where_indices_go_wrong(device, name):
    kernel, args, shape, tile, what, limit, got = CASES[name]
    with tw.device(device):
        text = launch(kernel, args, shape, tile, checks="forced")
    assert what in text and limit in text and f"got: {got}, in block (0, 0, 0)" in text


@pytest.mark.parametrize("name", CASES)
def test_what_the_host_can_see_is_told_before_anything_runs(device, name):
    kernel, args, shape, tile, what, *_ = CASES[name]
    with tw.device(device):
        text = launch(kernel, args, shape, tile)
    assert text.startswith("index out of range in `") and what in text and " = " in text


@tw.entry
def some_blocks(out: tl.TensorMut[f32], n: i32) -> None:
    i = tl.block_id(0)
    value = i * 1
    assert value < n, "this block must not run"
    out.store(tl.full((1,), value.astype(f32)))


def test_the_first_failure_is_told(device):
    """Blocks that had started finish; what is told is a block that failed."""
    with tw.device(device):
        z = Output((2000,), f32)
        with pytest.raises(tw.LaunchError, match=r"block \(\d+, 0, 0\) failed it"):
            some_blocks(z.cut(1), 100).sync()
        some_blocks(z.cut(1), 2000).sync()
    assert (z.result() == np.arange(2000)).all()


def test_failing_launches_beside_good_ones(rng):
    """Threads share the pool: a failure is told to its own launch only."""
    x = rng.standard_normal((64, 4)).astype(np.float32)
    good, bad = np.arange(64, dtype=np.int32), np.full(64, 99, np.int32)
    outcomes = {}

    def work(name, which):
        try:
            for _ in range(10):
                z = output(x)
                pick(z.cut(1, 4), x, which).sync()
                outcomes[name] = bool((z.result() == x).all())
        except tw.LaunchError:
            outcomes[name] = "failed"

    threads = [threading.Thread(target=work, args=(k, bad if k % 2 else good)) for k in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert outcomes == {k: "failed" if k % 2 else True for k in range(6)}


def test_errors_of_the_compiler_leave_nothing_behind(device, rng):
    """A kernel that does not compile for one type may compile for another."""

    @tw.entry
    def halve(out: tl.TensorMut, x: tl.Tensor) -> None:
        out.store(tl.load_tile_like(x, out) * 0.5)

    x = rng.standard_normal(9).astype(np.float32)
    with tw.device(device):
        for _ in range(2):
            with pytest.raises(tw.CompileError, match="does not mix with i32"):
                halve(Output((9,), i32).cut(4), x.astype(np.int32)).sync()
        z = output(x)
        halve(z.cut(4), x).sync()
    assert (z.result() == x * np.float32(0.5)).all()
