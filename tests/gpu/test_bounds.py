"""Functions of f32 beside the same in f64, over all there is: millions of numbers for each."""

from __future__ import annotations

import math

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
from tilewright import f32, simt
from tilewright.launch.simt import SimtEntry

COUNT = 1 << 22
ULPS = 2.0
"""What docs/reference/numbers.md allows."""
TWO = ("atan2", "true_div", "pow")
"""Functions of two numbers."""
LARGEST = float(np.finfo(np.float32).max)
TINY = np.finfo(np.float32).tiny
DOMAINS = {
    "sqrt": (np.sqrt, 0.0, LARGEST),
    "rsqrt": (lambda x: 1 / np.sqrt(x), TINY, LARGEST),
    "exp": (np.exp, -90, 89),
    "exp2": (np.exp2, -130, 128),
    "expm1": (np.expm1, -90, 89),
    "log": (np.log, TINY, LARGEST),
    "log1p": (np.log1p, -1.0, LARGEST),
    "log2": (np.log2, TINY, LARGEST),
    "sin": (np.sin, -LARGEST, LARGEST),
    "cos": (np.cos, -LARGEST, LARGEST),
    "tan": (np.tan, -LARGEST, LARGEST),
    "sinh": (np.sinh, -90, 90),
    "cosh": (np.cosh, -90, 90),
    "tanh": (np.tanh, -20, 20),
    "cbrt": (np.cbrt, -LARGEST, LARGEST),
    "erf": (np.vectorize(math.erf, [float]), -7, 7),
}
"""Each function in NumPy, and where its argument lies."""


def of_one(name):
    function = getattr(tl, name)

    @tw.entry
    def kernel(out: tl.TensorMut[f32], x: tl.Tensor[f32]) -> None:
        out.store(function(tl.load_tile_like(x, out)))

    return kernel


def of_two(name):
    function = getattr(tl, name)

    @tw.entry
    def kernel(out: tl.TensorMut[f32], x: tl.Tensor[f32], y: tl.Tensor[f32]) -> None:
        out.store(function(tl.load_tile_like(x, out), tl.load_tile_like(y, out)))

    return kernel


def of_threads(name):
    """The same for single threads."""
    function = getattr(tl, name)

    @simt.kernel
    def one(out: simt.DisjointSlice[f32], x: simt.Slice[f32]) -> None:
        i = simt.index_1d()
        if i < len(out):
            out[i] = function(x[i])

    @simt.kernel
    def two(out: simt.DisjointSlice[f32], x: simt.Slice[f32], y: simt.Slice[f32]) -> None:
        i = simt.index_1d()
        if i < len(out):
            out[i] = function(x[i], y[i])

    return two if name in TWO else one


def spread(rng, low, high, count=COUNT):
    """Half of the numbers evenly between the bounds, half of them of every magnitude."""
    even = rng.uniform(low / 2, high / 2, count // 2) * 2  # the width itself may overflow
    bits = rng.integers(0, 1 << 32, count - count // 2, dtype=np.uint32).view(np.float32)
    fitting = np.where((bits >= low) & (bits <= high), bits, np.float32(0.5))
    return np.concatenate([even.astype(np.float32), fitting])


def run(kernel, *arrays, options=None):
    """What a kernel writes on the GPU, into poisoned memory."""
    out = tw.full(arrays[0].shape, float("nan"), f32).sync()
    threads = isinstance(kernel, SimtEntry)
    written = out.borrow_mut() if threads else out.partition_mut((1024,))
    launch = kernel(written, *(tw.from_numpy(a).sync() for a in arrays))
    (launch if options is None else launch.compile_options(options)).sync()
    return out.to_numpy()


def error(found, expected):
    """The largest error in steps of f32, and where it is; of results that are normal numbers."""
    with np.errstate(all="ignore"):
        normal = (np.abs(expected) >= TINY) & (np.abs(expected) <= LARGEST)
        step = np.spacing(np.abs(expected).astype(np.float32)).astype(np.float64)
        off = np.where(normal, np.abs(found.astype(np.float64) - expected) / step, 0.0)
    assert not np.isnan(found[normal]).any()
    return float(off.max()), int(off.argmax())


def report(name, found, expected, *arrays):
    most, where = error(found, expected)
    print(f"{name}: {most:.3f} ulp at {[float(a[where]) for a in arrays]}")
    return most


@pytest.mark.parametrize("made", [of_one, of_threads], ids=["tiles", "threads"])
@pytest.mark.parametrize("name", DOMAINS)
def test_functions_of_one_number(rng, name, made):
    in_numpy, low, high = DOMAINS[name]
    x = spread(rng, low, high)
    with np.errstate(all="ignore"):
        expected = in_numpy(x.astype(np.float64))
    assert report(name, run(made(name), x), expected, x) <= ULPS


@pytest.mark.parametrize("made", [of_two, of_threads], ids=["tiles", "threads"])
@pytest.mark.parametrize(("name", "in_numpy"), [("atan2", np.arctan2), ("true_div", np.divide)])
def test_functions_of_two_numbers(rng, name, in_numpy, made):
    x, y = (rng.permutation(spread(rng, -LARGEST, LARGEST)) for _ in range(2))
    with np.errstate(all="ignore"):
        expected = in_numpy(x.astype(np.float64), y.astype(np.float64))
    assert report(name, run(made(name), x, y), expected, x, y) <= ULPS


@pytest.mark.parametrize("made", [of_two, of_threads], ids=["tiles", "threads"])
def test_powers(rng, made):
    x = np.exp2(rng.uniform(-126, 127, COUNT)).astype(np.float32)
    most = 127 / np.maximum(np.abs(np.log2(x)), 1e-3)  # beyond it the result overflows
    y = (rng.uniform(-1, 1, COUNT) * most).astype(np.float32)
    x[: COUNT // 2] = rng.uniform(0.5, 2, COUNT // 2)
    with np.errstate(all="ignore"):
        expected = np.power(x.astype(np.float64), y.astype(np.float64))
    assert report("pow", run(made("pow"), x, y), expected, x, y) <= ULPS


@pytest.mark.parametrize("made", [of_one, of_threads], ids=["tiles", "threads"])
def test_what_lies_beyond_the_numbers(made):
    x = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 128, -127, 200, -200, 1e30, -1e30], "f4")
    for name in DOMAINS:
        with np.errstate(all="ignore"):
            expected = DOMAINS[name][0](x.astype(np.float64)).astype(np.float32)
        found = run(made(name), x)
        ordinary = np.isfinite(expected) & (np.abs(expected) >= TINY)
        np.testing.assert_allclose(found[ordinary], expected[ordinary], rtol=1e-6, err_msg=name)
        special = ~np.isfinite(expected) | (expected == 0)
        np.testing.assert_array_equal(found[special], expected[special], err_msg=name)
