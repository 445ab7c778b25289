from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
from support import philox as expect
from support.numbers import fresh_rng
from tilewright.kernels import writing
from tilewright.kernels.writing import TILE

DEVICES = ["cpu", "reference"]
SHAPES = [(), (0,), (1,), (7,), (TILE - 1,), (TILE + 1,), (3, 0, 2), (5, 7, 3)]


@pytest.fixture
def seed():
    number = int(fresh_rng().integers(0, 1 << 64, dtype=np.uint64))
    print("seed", number)
    return number


def numbers(shape):
    return np.arange(int(np.prod(shape))).reshape(shape)


@pytest.mark.parametrize("device", DEVICES)
def test_bits_and_uniforms(seed, device):
    for shape in SHAPES:
        n, where = numbers(shape), {"seed": seed, "device": device}
        for name in (tw.u8.np, tw.u16.np, tw.u32.np, tw.i8.np, tw.i16.np, tw.i32.np):
            found = tw.random_bits(shape, name, **where).to_numpy().sync()
            assert np.array_equal(found, expect.bits32(n, seed).astype(name)), (shape, name)
        for name in (tw.u64.np, tw.i64.np):
            found = tw.random_bits(shape, name, **where).to_numpy().sync()
            assert np.array_equal(found, expect.bits64(n, seed).astype(name)), (shape, name)
        found = tw.rand(shape, **where).to_numpy().sync()
        assert found.dtype == "f4" and np.array_equal(found, expect.uniform32(n, seed)), shape
        found = tw.rand(shape, tw.f64, **where).to_numpy().sync()
        assert found.dtype == "f8" and np.array_equal(found, expect.uniform64(n, seed)), shape


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(
    ("low", "high", "dtype"),
    [(0, 10, tw.i32), (-128, 128, tw.i8), (-3, -2, tw.i16), (0, 256, tw.u8), (5, 1 << 32, tw.u32),
     (-(1 << 63), 1 << 63, tw.i64), (0, 1 << 64, tw.u64), (1 << 63, (1 << 63) + 7, tw.u64),
     (-7, (1 << 63) - 1, tw.i64)],
)  # fmt: skip
def test_integers(low, high, dtype, seed, device):
    found = tw.randint(low, high, (123,), dtype, seed=seed, device=device).to_numpy().sync()
    expected = expect.below(np.arange(123), seed, low, high)
    if high - low == 1 << 64:
        expected = expect.bits64(np.arange(123), seed).astype(dtype.np)
    assert found.dtype == dtype.np
    assert found.tolist() == expected.tolist()
    assert low <= int(found.min()) <= int(found.max()) < high


@pytest.mark.parametrize("device", DEVICES)
def test_normals(seed, device):
    for shape in SHAPES:
        n, where = numbers(shape), {"seed": seed, "device": device}
        exact = expect.normal32(n, seed)
        found = tw.randn(shape, **where).to_numpy().sync()
        assert found.dtype == "f4" and found.shape == shape
        tw.testing.assert_close(found, exact.astype("f4"), ulp=8)
        exact64 = expect.normal64(n, seed)
        found64 = tw.randn(shape, tw.f64, **where).to_numpy().sync()
        assert found64.dtype == "f8"
        tw.testing.assert_close(found64, exact64, ulp=8)
        half = tw.randn_f16(shape, **where).to_numpy().sync()
        assert half.dtype == "f2"
        tw.testing.assert_close(half, exact.astype("f2"), ulp=1)
        assert np.array_equal(half, tw.randn(shape, tw.f16, **where).to_numpy().sync())
        moved = tw.randn(shape, mean=-3.0, std=0.5, **where).to_numpy().sync()
        np.testing.assert_allclose(moved, exact * 0.5 - 3, rtol=1e-6, atol=1e-6)


def test_normals_are_normal():
    z = np.sort(tw.randn((200_000,), seed=11).to_numpy().sync().astype("f8"))
    assert abs(z.mean()) < 0.01 and abs(z.std() - 1) < 0.01
    share = np.searchsorted(z, [-2.0, -1.0, 0.0, 1.0, 2.0]) / z.size
    np.testing.assert_allclose(share, [0.02275, 0.15866, 0.5, 0.84134, 0.97725], atol=0.005)
    assert np.isfinite(z).all()


def test_uniforms_are_uniform():
    u = tw.rand((200_000,), seed=12).to_numpy().sync()
    assert u.min() >= 0 and u.max() < 1
    counts = np.bincount((u * 100).astype(int), minlength=100)
    assert np.sum((counts - 2000) ** 2 / 2000) < 180  # chi-squared, 99 degrees of freedom


def test_a_seed_reproduces_and_none_is_random():
    a, b = (tw.rand((64,), seed=5).to_numpy().sync() for _ in range(2))
    assert np.array_equal(a, b)
    c, d = (tw.rand((64,)).to_numpy().sync() for _ in range(2))
    assert not np.array_equal(c, d)
    part = tw.rand((16,), seed=5).to_numpy().sync()
    assert np.array_equal(part, a[:16])  # an element depends on its number alone
    assert np.array_equal(tw.rand((8, 8), seed=5).to_numpy().sync().ravel(), a)


@pytest.mark.parametrize("first", [(1 << 30), (1 << 32) - 4096, (3 << 32)])
def test_elements_beyond_32_bits(first, seed):
    """As the second and later launches of a huge tensor draw them."""
    from tilewright.kernels.random_numbers import store_bits32, store_uniform

    n = np.arange(first, first + 100)
    key = seed & 0xFFFFFFFF, seed >> 32
    out = tw.empty((100,), tw.u32).sync()
    store_bits32(out.partition_mut((128,)), first & 0xFFFFFFFF, first >> 32, *key).sync()
    assert np.array_equal(out.to_numpy(), expect.bits32(n, seed))
    wide = tw.empty((100,), tw.f64).sync()
    store_uniform(wide.partition_mut((128,)), first & 0xFFFFFFFF, first >> 32, *key).sync()
    assert np.array_equal(wide.to_numpy(), expect.uniform64(n, seed))


def test_several_launches_draw_what_one_does(monkeypatch, seed):
    whole = tw.randn((5000,), seed=seed).to_numpy().sync()
    monkeypatch.setattr(writing, "AT_ONCE", 1024)
    assert np.array_equal(tw.randn((5000,), seed=seed).to_numpy().sync(), whole)
