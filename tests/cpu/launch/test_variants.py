"""Kernels with optional parameters, and with any number of tensors."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
from support.expressions import BOUNDARY
from tilewright import f32, i32

pytestmark = pytest.mark.parametrize("device", ["cpu", "reference"])


@tw.entry
def linear(
    z: tl.TensorMut[f32],
    x: tl.Tensor[f32],
    scale: tl.Tensor[f32] | None,
    factor: f32 | None,
    b: tl.Tensor[f32] | None = None,
) -> None:
    t = tl.load_tile_like(x, z)
    if scale is not None:
        t = t * tl.load_tile_like(scale, z)
    if factor is not None:
        t = t * factor
    z.store(t if b is None else t + tl.load_tile_like(b, z))


@tw.entry
def total(z: tl.TensorMut[f32], factor: f32, *xs: tl.Tensor[f32]) -> None:
    acc = tl.zeros(z.shape, f32)
    for i, x in enumerate(xs):
        acc = acc + tl.load_tile_like(x, z) * (i + 1)
    z.store(acc * factor + len(xs))


@tw.entry
def moments(x: tl.Tensor[f32], first: tl.TensorMut[f32], second: tl.TensorMut[f32] | None) -> None:
    t = tl.load_tile_like(x, first)
    first.store(t)
    if second is not None:
        second.store(t * t)


@tw.entry
def spread(x: tl.Tensor[f32], *zs: tl.TensorMut[f32]) -> None:
    for k, z in enumerate(zs):
        z.store(tl.load_tile_like(x, z) + k)


@pytest.fixture(autouse=True)
def current(device):
    with tw.device(device):
        yield


@pytest.mark.parametrize("has_scale", [False, True])
@pytest.mark.parametrize("factor", [None, 2.0])
@pytest.mark.parametrize("has_bias", [False, True])
def test_every_combination(has_scale, factor, has_bias, rng):
    for n in BOUNDARY:
        x, scale, b = rng.standard_normal((3, n)).astype(np.float32)
        z = tw.full((n,), np.nan).sync()
        given = (x, scale if has_scale else None, factor, b if has_bias else None)
        result = linear(z.partition_mut(16), *given).sync()
        assert all(got is want for got, want in zip(result[1:], given, strict=True))
        expected = x * (scale if has_scale else 1) * np.float32(factor or 1)
        expected = expected + b if has_bias else expected
        np.testing.assert_allclose(z.to_numpy(), expected, rtol=1e-6, atol=1e-6)


def test_what_is_left_out_is_none(rng):
    x = rng.standard_normal(5).astype(np.float32)
    z = tw.empty((5,)).sync()
    result = linear(z.partition_mut(8), x, None, None).sync()
    assert result[2:] == (None, None, None)
    assert np.array_equal(z.to_numpy(), x)
    linear(z.partition_mut(8), x, scale=None, factor=3.0, b=x).sync()
    assert np.array_equal(z.to_numpy(), 4 * x)
    linear(z.partition_mut(8), x, factor=3.0, scale=None).sync()
    assert np.array_equal(z.to_numpy(), 3 * x)


def test_ops_among_the_arguments(rng):
    x = rng.standard_normal(5).astype(np.float32)
    z = tw.empty((5,)).partition(8)
    got = linear(z, x, tw.full((5,), 2.0), None).out().sync().to_numpy()
    assert np.array_equal(got, 2 * x)
    got = total(tw.empty((5,)).partition(8), 1.0, tw.full((5,), 2.0), x).out().sync().to_numpy()
    np.testing.assert_allclose(got, 2 + 2 * x + 2, rtol=1e-6)


def test_kernels_are_chained(rng):
    x = rng.standard_normal(5).astype(np.float32)
    z = tw.empty((5,)).sync()
    made = tw.zip(tw.value(z.partition_mut(8)), tw.value(2.0), tw.value(x), tw.value(x)).then(total)
    assert len(made.sync()) == 4
    np.testing.assert_allclose(z.to_numpy(), 2 * 3 * x + 2, rtol=1e-6)


@pytest.mark.parametrize("count", [0, 1, 2, 5])
def test_any_number_of_tensors(count, rng):
    for n in BOUNDARY:
        xs = list(rng.standard_normal((count, n)).astype(np.float32))
        z = tw.full((n,), np.nan).sync()
        result = total(z.partition_mut(16), 0.5, *xs).sync()
        assert len(result) == 2 + count
        expected = 0.5 * sum((i + 1) * x for i, x in enumerate(xs)) + count
        np.testing.assert_allclose(z.to_numpy(), np.broadcast_to(expected, n), rtol=1e-5, atol=1e-5)


def test_optional_outputs(rng):
    x = rng.standard_normal(21).astype(np.float32)
    first, second = tw.empty((21,)).sync(), tw.full((21,), np.nan).sync()
    moments(x, first.partition_mut(16), None).sync()
    assert np.array_equal(first.to_numpy(), x)
    moments(x, first.partition_mut(16), second.partition_mut(16)).sync()
    np.testing.assert_allclose(second.to_numpy(), x * x, rtol=1e-6)


def test_any_number_of_outputs(rng):
    x = rng.standard_normal(21).astype(np.float32)
    outs = [tw.full((21,), np.nan).sync() for _ in range(3)]
    spread(x, *[z.partition_mut(16) for z in outs]).sync()
    for k, z in enumerate(outs):
        np.testing.assert_allclose(z.to_numpy(), x + k, rtol=1e-6, atol=1e-6)


def test_memory_is_checked_as_of_any_argument():
    z = tw.ones((5,)).sync()
    with pytest.raises(tw.BorrowError, match="write and read one tensor"):
        linear(z.partition_mut(8), z, None, None)
    with pytest.raises(tw.BorrowError, match="`z` and `xs_1` are the same storage"):
        total(z.partition_mut(8), 1.0, np.ones(5, np.float32), z)
    with pytest.raises(tw.ShapeError, match="`xs_0` of `total` has the wrong element type"):
        total(z.partition_mut(8), 1.0, np.ones(5, np.int32))


def test_what_was_compiled_is_shown():
    x = tw.meta((64,))
    z = tw.meta((64,)).partition_mut(16)
    assert "tensor<?xf32" in linear.ir(z, x, x, None)
    assert "%b" not in linear.ir(z, x, x, None)
    assert "%xs_2" in total.ir(z, 1.0, x, x, x)
    assert "None -> given" in linear.explain_recompile() or "has not" in linear.explain_recompile()


def test_variants_are_compiled_once(rng):
    @tw.entry
    def copy(z: tl.TensorMut[i32], x: tl.Tensor[i32], y: tl.Tensor[i32] | None) -> None:
        z.store(tl.load_tile_like(x if y is None else y, z))

    x, y = rng.integers(0, 9, (2, 16), np.int32)
    z = tw.empty((16,), i32).sync()
    for _ in range(3):
        copy(z.partition_mut(16), x, None).sync()
        assert np.array_equal(z.to_numpy(), x)
        copy(z.partition_mut(16), x, y).sync()
        assert np.array_equal(z.to_numpy(), y)
    lines = copy.explain_recompile().splitlines()
    assert len(lines) == 2
    assert "y: None -> given" in lines[1]
