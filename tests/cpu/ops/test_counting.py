"""Counts and histograms against NumPy and PyTorch."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
from support import tiers
from support.numbers import fresh_rng
from support.op_checks import check_gradients, numbers, results_of, torch
from tilewright import ops


@pytest.mark.parametrize("count", [0, 1, 1023, 1025, 40000])
@pytest.mark.parametrize("bins", [1, 7, 20000])
@pytest.mark.parametrize("dtype", ["int64", "int32", "uint8"])
@pytest.mark.thinned(1)
def test_counts(count, bins, dtype):
    x = fresh_rng().integers(0, min(bins, 256 if dtype == "uint8" else bins), count).astype(dtype)
    expected = np.bincount(x, minlength=bins)
    for (found,) in results_of(lambda x: ops.bincount(x, length=bins), x):
        assert found.dtype == np.int64
        np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(ops.bincount(x), np.bincount(x))
    found = ops.bincount(torch.from_numpy(x), minlength=bins)
    np.testing.assert_array_equal(found.numpy(), expected)


@pytest.mark.parametrize("count", [1, 1025, 5000])
@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
def test_weights(count, dtype):
    rng = fresh_rng()
    x, w = rng.integers(0, 9, count), rng.standard_normal(count).astype(dtype)
    expected = np.bincount(x, w.astype("f8"))
    found = ops.bincount(x, w)
    assert found.dtype == ("f8" if dtype == "float64" else "f4")
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("dtype", tiers.count(quick=["float32"], full=["float64", "float32"]))
def test_sums_of_weights_that_do_not_depend_on_order(dtype):
    rng = fresh_rng()
    x, w = rng.integers(0, 9, 20000), (rng.standard_normal(20000) * 1e6).astype(dtype)
    found = ops.bincount(x, w, length=9, deterministic=True)
    np.testing.assert_allclose(found, np.bincount(x, w), rtol=1e-6, atol=abs(w).max() * 1e-7)
    order = rng.permutation(20000)
    for (again,) in results_of(
        lambda x, w: ops.bincount(x, w, length=9, deterministic=True), x[order], w[order]
    ):
        assert again.tobytes() == found.tobytes()
    none = ops.bincount(x[:0], w[:0], length=2, deterministic=True)
    np.testing.assert_array_equal(none, [0, 0])


def test_gradients_of_weights():
    x = torch.tensor(fresh_rng().integers(0, 6, 30))
    check_gradients(lambda w: ops.bincount(x, w), numbers(30))


@pytest.mark.parametrize("shape", [(0,), (1,), (1025,), (70, 90)])
@pytest.mark.parametrize("bins", [1, 7, 300])
@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
@pytest.mark.thinned(1)
def test_histogram(shape, bins, dtype):
    x = (2 * fresh_rng().standard_normal(shape)).astype(dtype)
    # Numbers in the middle of intervals: rounding does not move them to another.
    x = (np.floor(x * bins / 6) + 0.5) * 6 / bins
    x = x.astype(dtype)
    x.flat[: min(2, x.size)] = np.nan
    expected = torch.histc(torch.from_numpy(x[~np.isnan(x)].astype("f8")), bins, -3, 3).numpy()
    for (found,) in results_of(lambda x: ops.histogram(x, bins, range=(-3, 3)), x):
        assert found.dtype == np.int64
        np.testing.assert_array_equal(found, expected)


def test_limits_of_intervals():
    x = np.array([-0.1, 0.0, 1.0, 2.0, 2.1, np.inf, -np.inf], "f4")
    np.testing.assert_array_equal(ops.histogram(x, 2, range=(0, 2)), [1, 2])


def test_jax():
    jax = pytest.importorskip("jax")
    x = jax.numpy.asarray([1, 2, 2])
    counts = jax.jit(lambda x: ops.bincount(x, length=4))(x)
    np.testing.assert_array_equal(counts, [0, 1, 2, 0])
    np.testing.assert_array_equal(ops.bincount(x), [0, 1, 2])


def test_what_is_refused():
    with pytest.raises(tw.LaunchError):
        ops.bincount(np.array([1, -1]), length=3)
    with pytest.raises(tw.LaunchError):
        ops.bincount(np.array([1, 3]), length=3)
    with pytest.raises(TypeError, match="needs `length`"):
        ops.bincount(tw.zeros((3,), tw.i32)).sync()
    with pytest.raises(ValueError, match=r"as many weights; got \(3,\) and weights of \(2,\)"):
        ops.bincount(np.zeros(3, "i4"), np.zeros(2, "f4"))
    with pytest.raises(ValueError, match="`minlength` of `bincount` is 0 or more, got -1"):
        ops.bincount(np.zeros(3, "i4"), minlength=-1)
    with pytest.raises(ValueError, match=r"got 3 from 1\.0 to 1\.0"):
        ops.histogram(np.zeros(3, "f4"), 3, range=(1, 1))
