"""Functions that write in place, and functions whose outputs are accumulators."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
from support import tiers
from support.numbers import fresh_rng
from tilewright import f32, i32

BLOCK = 16


@tw.entry
def descend(p: tl.TensorMut, total: tl.TensorMut, grad: tl.Tensor, rate: f32) -> None:
    total.store(total.load() + tl.load_tile_like(grad, total))
    p.store(p.load() - rate * total.load())


@tw.entry
def count(counts: tl.Accumulator, x: tl.Tensor[i32]) -> None:
    counts.add(1, x.load_tile(BLOCK, tl.block_id(0), padding=-1), clip=True)


@tw.entry
def doubled_and_counted(y: tl.TensorMut, counts: tl.Accumulator, x: tl.Tensor[i32]) -> None:
    tile = tl.load_tile_like(x, y)
    y.store(2 * tile)
    counts.add(tl.where(tile.mask(), 1, 0), tl.where(tile.mask(), tile, 0))


def blocks(x):
    return -(-x.shape[0] // BLOCK)


step = tw.function(descend, tiles=8)
counted = tw.function(count, outputs=lambda x: ((5,), i32), grid=blocks)
both = tw.function(
    doubled_and_counted, outputs={"y": "x", "counts": lambda x: ((5,), i32)}, tiles={"y": BLOCK}
)
SIZES = tiers.count(quick=[0, 40], full=[0, 1, 7, 16, 40])


def given(n):
    p, total, grad = fresh_rng().standard_normal((3, n)).astype("f4")
    return p, total, grad, p - 0.5 * (total + grad), total + grad


@pytest.mark.parametrize("n", SIZES)
def test_arrays_are_written(n):
    p, total, grad, after, sums = given(n)
    found = step(p, total, grad, 0.5)
    assert found[0] is p and found[1] is total
    np.testing.assert_allclose(p, after, rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(total, sums)


@pytest.mark.parametrize("n", SIZES)
def test_tensors_are_written_when_the_op_runs(n):
    p, total, grad, after, sums = given(n)
    ours, kept = (tw.from_numpy(x.copy()).sync() for x in (p, total))
    found = step(ours, kept, grad, 0.5).sync()
    np.testing.assert_allclose(ours.to_numpy(), after, rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(found[1].to_numpy(), sums)
    found = step(tw.from_numpy(p), tw.from_numpy(total), tw.from_numpy(grad), 0.5).sync()
    np.testing.assert_allclose(found[0].to_numpy(), after, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("n", SIZES)
def test_frameworks(n):
    torch = pytest.importorskip("torch")
    p, total, grad, after, _ = given(n)
    known = torch.nn.Parameter(torch.tensor(p))
    found = step(known, torch.tensor(total), torch.tensor(grad), 0.5)
    assert found[0] is known and known.requires_grad
    np.testing.assert_allclose(known.detach(), after, rtol=1e-5, atol=1e-6)
    jax = pytest.importorskip("jax")
    arrays = [jax.numpy.asarray(x) for x in (p, total, grad)]
    for call in (step, jax.jit(step, static_argnums=3)):
        found = call(*arrays, 0.5)
        np.testing.assert_allclose(found[0], after, rtol=1e-5, atol=1e-6)
        np.testing.assert_array_equal(arrays[0], p)


def test_autograd_notices_what_is_written():
    torch = pytest.importorskip("torch")
    p = torch.ones(4, requires_grad=True)
    y = (p * p).sum()
    step(p, torch.ones(4), torch.ones(4), 0.5)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()


@pytest.mark.parametrize("n", SIZES)
def test_accumulators_begin_with_zeros(n):
    x = fresh_rng().integers(0, 5, n).astype("i4")
    expected = np.bincount(x, minlength=5)
    for _ in range(3):
        np.testing.assert_array_equal(counted(x), expected)
        y, counts = both(x)
        np.testing.assert_array_equal(y, 2 * x)
        np.testing.assert_array_equal(counts, expected)
        for tensor in (tw.from_numpy(x), tw.from_numpy(x).sync()):
            np.testing.assert_array_equal(counted(tensor).sync().to_numpy(), expected)
        y, counts = both(tw.from_numpy(x)).sync()
        np.testing.assert_array_equal(counts.to_numpy(), expected)


@pytest.mark.parametrize("n", SIZES)
def test_accumulators_of_frameworks(n):
    torch = pytest.importorskip("torch")
    jax = pytest.importorskip("jax")
    x = fresh_rng().integers(0, 5, n).astype("i4")
    expected = np.bincount(x, minlength=5)
    array = jax.numpy.asarray(x)
    for _ in range(3):
        np.testing.assert_array_equal(counted(torch.tensor(x)), expected)
        np.testing.assert_array_equal(both(torch.tensor(x))[1], expected)
        for call in (counted, jax.jit(counted)):
            np.testing.assert_array_equal(call(array), expected)
        np.testing.assert_array_equal(jax.jit(both)(array)[1], expected)


def test_compiled_by_torch():
    torch = pytest.importorskip("torch")
    x = torch.tensor([1, 1, 4], dtype=torch.int32)
    torch.library.opcheck(_definition(counted, x), (x,))


def _definition(function, x):
    function(x)
    return function.registered["torch"].definition


def test_what_is_refused():
    with pytest.raises(TypeError, match="`descend` writes in place, and so has no gradient"):
        tw.function(descend, tiles=8, backward=lambda dp, dtotal: None)
    with pytest.raises(TypeError, match=r"`count` only adds to accumulators: .* `grid`"):
        tw.function(count, outputs=lambda x: ((5,), i32))
    with pytest.raises(TypeError, match=r"takes `p`, `total`, `grad`, `rate`, got 2 arguments"):
        step(np.zeros(3, "f4"), np.zeros(3, "f4"))
    frozen = np.zeros(3, "f4")
    frozen.flags.writeable = False
    with pytest.raises(tw.BorrowError):
        step(frozen, np.zeros(3, "f4"), np.zeros(3, "f4"), 0.5)
