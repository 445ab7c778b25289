"""Random numbers in kernels: those of the tensors that the host makes, and of a Philox in NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
from support import philox as expect
from support.expressions import BOUNDARY, run
from support.numbers import fresh_rng
from tilewright import bf16, f16, f32, f64, i8, i16, i32, i64, u8, u32, u64


@pytest.fixture
def seed():
    number = int(fresh_rng().integers(0, 1 << 64, dtype=np.uint64))
    print("seed", number)
    return number


@tw.entry
def draw(
    words: tl.TensorMut[u32],
    uniform: tl.TensorMut[f32],
    wide: tl.TensorMut[f64],
    below: tl.TensorMut[i32],
    seed: u64,
    low: i32,
    high: i32,
) -> None:
    (n,) = uniform.shape
    offset = tl.arange(n) + tl.block_id(0) * n
    words.store(tl.stack(tl.philox(seed, offset), 1))
    uniform.store(tl.rand(seed, offset))
    wide.store(tl.rand(seed, offset, f64))
    below.store(tl.randint(seed, offset, low, high))


def test_numbers_of_every_offset(device, seed):
    for count in BOUNDARY:
        numbers = np.arange(count)
        with tw.device(device):
            outs = [tw.testing.poison(tw.empty(shape, dtype).sync()) if shape[0] else
                    tw.empty(shape, dtype).sync()
                    for shape, dtype in (((count, 4), u32), ((count,), f32), ((count,), f64),
                                         ((count,), i32))]  # fmt: skip
            parts = [z.partition_mut((16, 4) if z.ndim == 2 else (16,)) for z in outs]
            draw(*parts, seed, -7, 1000).sync()
            words, uniform, wide, below = (z.to_numpy() for z in outs)
            same = tw.rand((count,), seed=seed).to_numpy().sync()
            same64 = tw.rand((count,), f64, seed=seed).to_numpy().sync()
            integers = tw.randint(-7, 1000, (count,), seed=seed).to_numpy().sync()
        assert np.array_equal(words, np.stack(expect.words(numbers, seed), 1))
        assert np.array_equal(uniform, expect.uniform32(numbers, seed))
        assert np.array_equal(uniform, same)
        assert np.array_equal(wide, same64)
        assert np.array_equal(below, integers)
        assert below.tolist() == expect.below(numbers, seed, -7, 1000).tolist()


@pytest.mark.parametrize("dtype", [f16, f32, f64], ids=str)
def test_normal_numbers_are_those_of_tensors(device, dtype, seed):
    a = np.zeros(100, np.int32)
    text = f"tl.randn({seed}, a + tl.arange(32) + tl.block_id(0) * 32, {dtype.__name__})"
    (got,) = run([text], device, {"a": a}, dtype, tile=(32,))
    with tw.device(device):
        expected = tw.randn((100,), dtype, seed=seed).to_numpy().sync()
    assert np.array_equal(got, expected)


def test_normal_numbers_of_bf16_are_rounded_once(device, seed):
    offset = np.arange(100, dtype=np.int32)
    text = f"tl.randn({seed}, a, bf16)"
    (got,) = run([text], device, {"a": offset}, bf16, tile=(32,))
    with tw.device(device):
        expected = tw.randn((100,), seed=seed).to_numpy().sync().astype(bf16.np)
    assert np.array_equal(got, expected)


@pytest.mark.parametrize("dtype", [i8, u8, i32, u32, i64, u64], ids=str)
def test_offsets_of_every_type(device, dtype, seed):
    """Negative offsets count as 64 bits, as NumPy converts them."""
    info = np.iinfo(dtype.np)
    offset = np.array([0, 1, 2, info.max // 2, info.max - 1, info.max, info.min], dtype.np)
    offset = np.concatenate([offset, fresh_rng().integers(info.min, info.max, 33, dtype.np)])
    (got,) = run([f"tl.philox({seed}, a)[0]"], device, {"a": offset}, u32, tile=(8,))
    assert np.array_equal(got, expect.bits32(offset.astype(np.uint64), seed))


@pytest.mark.parametrize(
    ("low", "high", "dtype"),
    [(0, 10, i32), (-128, 128, i8), (-3, -2, i16), (0, 256, u8), (5, 1 << 32, u32),
     (-(1 << 63), (1 << 63) - 1, i64)],
)  # fmt: skip
def test_integers_of_every_type(device, low, high, dtype, seed):
    offset = np.arange(50, dtype=np.int32)
    text = f"tl.randint({seed}, a, {low}, {high}, {dtype.__name__})"
    (got,) = run([text], device, {"a": offset}, dtype, tile=(16,))
    assert got.tolist() == expect.below(offset, seed, low, high).tolist()


def test_seeds_of_constants_and_scalars_of_any_width(device):
    offset = np.arange(20, dtype=np.int32)
    texts = ["tl.rand(5, a)", "tl.rand(i32(5), a)", "tl.rand(u64(5), a)", "tl.rand(i8(5), a)"]
    for got in run(texts, device, {"a": offset}, f32, tile=(16,)):
        assert np.array_equal(got, expect.uniform32(offset, 5))


@tw.entry
def dropout(out: tl.TensorMut[f32], x: tl.Tensor[f32], seed: u64, keep: f32) -> None:
    (n,) = out.shape
    kept = tl.rand(seed, tl.arange(n) + tl.block_id(0) * n) < keep
    out.store(tl.where(kept, tl.load_tile_like(x, out) / keep, 0.0))


@pytest.mark.cpu_alone
def test_numbers_are_uniform_normal_and_independent():
    """Moments, a chi-squared test, and correlations of neighbours, of seeds and of both."""
    n = 1 << 17
    numbers = tw.rand((2, n), seed=3).to_numpy().sync()
    out = tw.empty((n,)).sync()
    dropout(out.partition_mut((1024,)), np.ones(n, np.float32), 3, 0.25).sync()
    kept = out.to_numpy() != 0
    assert np.array_equal(kept, numbers[0] < 0.25)
    assert abs(kept.mean() - 0.25) < 0.005
    again = tw.empty((n,)).sync()
    dropout(again.partition_mut((1024,)), np.ones(n, np.float32), 4, 0.25).sync()
    other = again.to_numpy() != 0
    for a, b in ((kept[1:], kept[:-1]), (kept, other), (kept[1:], other[:-1])):
        assert abs(np.corrcoef(a, b)[0, 1]) < 0.012
