"""Memory happens in the order of the program, and only where the program goes."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
from support.expressions import Output, assert_all, output
from tilewright import f32, i32


def written(device, kernel, start, tile, *args):
    """A kernel with one output, which holds `start` before."""
    with tw.device(device):
        z = output(start)
        z.array[...] = start
        kernel(z.cut(*tile), *args).sync()
    return z.result()


@tw.entry
def transposed(out: tl.TensorMut[f32]) -> None:
    """Every element is read before the first is overwritten."""
    out.store(out.load().T)


@tw.entry
def swapped(out: tl.TensorMut[f32]) -> None:
    parts = out.partition_mut((8, 4))
    left, right = parts.load([0, 0]), parts.load([0, 1])
    parts.store(right, [0, 0])
    parts.store(left, [0, 1])


@tw.entry
def thrice(out: tl.TensorMut[f32]) -> None:
    """Loads see the last store before them; tiles keep what they were loaded with."""
    first = out.load()
    out.store(first.T)
    second = out.load()
    out.store(second + first)
    out.store(out.load() * 2.0 - second)


@tw.entry
def scanned(out: tl.TensorMut[f32]) -> None:
    out.store(tl.cumsum(out.load(), 0, reverse=True) + tl.cumsum(out.load(), 1))


@tw.entry
def multiplied(out: tl.TensorMut[f32]) -> None:
    out.store(tl.mma(out.load(), out.load().T, out.load()))


@tw.entry
def halves(out: tl.TensorMut[f32]) -> None:
    top, bottom = tl.extract(out.load(), [0, 0], (4, 8)), tl.extract(out.load(), [1, 0], (4, 8))
    out.store(tl.cat(bottom, top, 0))


def after_thrice(x):
    return (x.T + x) * 2 - x.T


IN_PLACE = {
    transposed: lambda x: x.T,
    swapped: lambda x: np.concatenate([x[:, 4:], x[:, :4]], 1),
    thrice: after_thrice,
    scanned: lambda x: x[::-1].cumsum(0)[::-1] + x.cumsum(1),
    multiplied: lambda x: x @ x.T + x,
    halves: lambda x: np.concatenate([x[4:], x[:4]]),
}


@pytest.mark.parametrize("kernel", IN_PLACE, ids=lambda k: k.__name__)
def test_in_place(device, kernel, rng):
    x = rng.integers(-9, 9, (16, 16)).astype(np.float32)
    blocks = [(slice(i, i + 8), slice(j, j + 8)) for i in (0, 8) for j in (0, 8)]
    expected = x.copy()
    for block in blocks:
        expected[block] = IN_PLACE[kernel](x[block])
    assert_all([kernel.__name__], [written(device, kernel, x, (8, 8))], [expected])


@tw.entry
def accumulated(out: tl.TensorMut[f32], x: tl.Tensor[f32], n: i32) -> None:
    """Read and written part by part and as a whole, in turns."""
    parts = out.partition_mut((2,))
    for k in range(n):
        for j in range(2):
            parts.store(parts.load([j]) + x.load_tile((2,), [k % 4]), [j])
        out.store(out.load() * 0.5)


def test_loops_over_the_own_region(device, rng):
    x, start = rng.integers(-9, 9, 8).astype(np.float32), rng.integers(-9, 9, 4).astype("f4")
    expected = start.copy()
    for k in range(5):
        for j in range(2):
            expected[2 * j : 2 * j + 2] += x[2 * (k % 4) :][:2]
        expected *= np.float32(0.5)
    assert_all(["sums"], [written(device, accumulated, start, (4,), x, 5)], [expected])


@tw.entry
def between_outputs(a: tl.TensorMut[f32], b: tl.TensorMut[f32], x: tl.Tensor[f32]) -> None:
    """A block may read its own region of every output."""
    b.store(tl.load_tile_like(x, b) * 2.0)
    a.store(tl.load_tile_like(b, a) + 1.0)
    b.store(tl.load_tile_like(a, b) + tl.load_tile_like(b, b))


def test_outputs_are_read_back(device, rng):
    x = rng.integers(-9, 9, 13).astype(np.float32)
    with tw.device(device):
        a, b = output(x), output(x)
        between_outputs(a.cut(4), b.cut(4), x).sync()
    assert_all(["a", "b"], [a.result(), b.result()], [x * 2 + 1, x * 4 + 1])


# --- what is not reached -----------------------------------------------------------------------


@tw.entry
def guarded(out: tl.TensorMut[f32], x: tl.Tensor[f32], n: i32, bad: i32) -> None:
    """Neither the index nor the assertion counts where they are not reached."""
    total = tl.zeros((4,))
    for _ in range(n):
        total = total + x.load_tile((4,), [bad])
        assert bad < 3, "too large"
    if n > 5:
        total = total + x.load_tile((4,), [bad * 2])
    chosen = x.load_tile((4,), [bad]) if bad < 2 else tl.full((4,), -1.0)
    out.store(total + chosen)


def test_bad_indices_that_are_not_reached(device):
    x, zeros = np.arange(8, dtype=np.float32), np.zeros(4, np.float32)
    for n, bad, expected in (
        (0, 99, zeros - 1), (0, -1, None), (2, 1, x[4:] * 3), (1, 2, None), (0, 1, x[4:]),
        (6, 1, None), (6, 0, x[:4] * 8),
    ):  # fmt: skip
        if expected is None:
            with pytest.raises(tw.LaunchError, match="index out of range in `guarded`"):
                written(device, guarded, zeros, (4,), x, n, bad)
        else:
            assert_all(
                [f"{n}, {bad}"], [written(device, guarded, zeros, (4,), x, n, bad)], [expected]
            )


@tw.entry
def invariant(out: tl.TensorMut[i32], n: i32, d: i32) -> None:
    """What does not change in a loop may be computed before it, if that does no harm."""
    total = 0
    for _ in range(n):
        total += 100 // d + 100 % d
    out.store(tl.full((4,), total))


def test_divisions_in_loops_that_do_not_run(device):
    zeros = np.zeros(4, np.int32)
    for n, d, expected in ((0, 0, 0), (3, 0, 300), (3, 7, 48), (2, -1, -200)):
        assert (written(device, invariant, zeros, (4,), n, d) == expected).all()


@tw.entry
def by_block(out: tl.TensorMut[f32], x: tl.Tensor[f32]) -> None:
    """Blocks take different ways; one returns before it writes at all."""
    i = tl.block_id(0)
    if i == 1:
        return
    for k in tl.static_range(3):
        if i == k:
            out.store(x.load_tile((4,), k) + 100.0)
            return
    out.store(x.load_tile((4,), [i - 2]) if i < 4 else tl.full((4,), -1.0))


def test_blocks_that_return_early(device):
    x, start = np.arange(8, dtype=np.float32), np.full(20, 7, np.float32)
    with pytest.raises(tw.LaunchError, match="got: 2, in block"):
        written(device, by_block, start, (4,), x)
    x = np.arange(12, dtype=np.float32)
    expected = np.concatenate([x[:4] + 100, start[:4], x[8:] + 100, x[4:8], start[:4] * 0 - 1])
    assert_all(["blocks"], [written(device, by_block, start, (4,), x)], [expected])


def test_a_store_that_is_overwritten(device, rng):
    """The last store wins, also where the first one was wider."""

    @tw.entry
    def twice(out: tl.TensorMut[f32], x: tl.Tensor[f32]) -> None:
        out.store(tl.full(out.shape, 9.0))
        parts = out.partition_mut((2, 8))
        for k in range(parts.num_tiles(0)):
            if k != 2:
                parts.store(x.load_tile((2, 8), [k, 0]), [k, 0])

    x = rng.integers(-9, 9, (8, 8)).astype(np.float32)
    expected = x.copy()
    expected[4:6] = 9
    with tw.device(device):
        z = Output((8, 8), f32)
        twice(z.cut(8, 8), x).sync()
    assert_all(["parts"], [z.result()], [expected])
