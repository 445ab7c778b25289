"""Fast forms on hostile numbers: within the bounds of the reference, the same for any threads.

Reductions add in another order than the reference, so a result may differ by as many roundings as
it has terms, each at the size of the terms; where that says nothing any more (sums that overflow in
some order, variances that are all rounding), only the rest of the output is compared.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
from benchmarks import kernels
from support.numbers import float_values, fresh_rng
from tilewright import f32, i32
from tilewright.base.config import override

EPS = 2.0**-23
LEAST = 2.0**-149
MAX = float(np.finfo("f4").max)
pytestmark = pytest.mark.thinned

SHAPES = [(1, 1), (3, 63), (4, 64), (5, 61), (9, 64)]
"""Against tiles of 4 x 64: one element, less, all, a prime, more."""


# Numbers that go wrong.


def _bits(rng, shape):
    return rng.integers(0, 2**32, shape, dtype=np.uint32).view(np.float32)


def _mostly(usual, rare, rng, shape, share=0.1):
    return np.where(rng.random(shape) < share, rng.choice(rare, shape), usual).astype("f4")


def _cancelling(rng, shape):
    """Large numbers of both signs that leave a small one."""
    large = rng.choice(np.array([1.0, -1.0]), shape) * 2.0 ** rng.integers(20, 24, shape)
    return (large + rng.standard_normal(shape)).astype("f4")


def _normal(rng, shape):
    return rng.standard_normal(shape).astype("f4")


KINDS = {
    "usual": _normal,
    "huge": lambda rng, shape: (rng.uniform(-1, 1, shape) * MAX).astype("f4"),
    "large": lambda rng, shape: (rng.standard_normal(shape) * 1e4).astype("f4"),
    "tiny": lambda rng, shape: (rng.standard_normal(shape) * 1e-38).astype("f4"),
    "subnormal": lambda rng, shape: (rng.integers(-99, 99, shape) * LEAST).astype("f4"),
    "zeros": lambda rng, shape: rng.choice(np.array([0.0, -0.0], "f4"), shape),
    "cancelling": _cancelling,
    "infinite": lambda rng, shape: _mostly(_normal(rng, shape), [np.inf, -np.inf], rng, shape),
    "masked": lambda rng, shape: _mostly(_normal(rng, shape), [-np.inf], rng, shape, 0.7),
    "nan": lambda rng, shape: _mostly(_normal(rng, shape), [np.nan, -np.nan], rng, shape, 0.02),
    "mixed": lambda rng, shape: rng.choice(float_values(f32, rng, 64), shape),
    "bits": _bits,
}


@pytest.fixture(params=[*KINDS])
def numbers(request):
    rng = fresh_rng()
    return lambda shape: KINDS[request.param](rng, shape)


# Comparing.


def on_both(kernel, dtype, shape, tile, *args, **constants):
    """What the CPU gives and what the reference gives; both wrote every element."""
    results = []
    for device in ("cpu", "reference"):
        with tw.device(device):
            out = tw.full(shape, -77, dtype).sync()
            kernel(out.partition_mut(tile), *args, **constants).sync()
            results.append(out.to_numpy())
    return results


def assert_within(got, expected, bound, known=True):
    """NaN and infinities agree, the rest is within an absolute bound, wherever that is known."""
    got, expected, bound, known = np.broadcast_arrays(got, expected, bound, known)
    with np.errstate(all="ignore"):
        alike = (got == expected) | (np.isnan(got) & np.isnan(expected))
        near = np.abs(got.astype("f8") - expected.astype("f8")) <= bound
        # Beyond the largest number a rounding leads to infinity.
        near |= np.isinf(got) & (np.abs(expected) >= MAX * (1 - 2 * EPS))
        near |= np.isinf(expected) & (np.abs(got) >= MAX * (1 - 2 * EPS))
    wrong = known & ~(alike | near)
    at = tuple(int(i) for i in np.argwhere(wrong)[0]) if wrong.any() else ()
    assert not wrong.any(), f"{got[at]!r}, expected {expected[at]!r} within {bound[at]} at {at}"


def wide(x):
    with np.errstate(all="ignore"):
        return x.astype(np.float64)


def sizes(x):
    """Magnitudes; infinities and NaN count nothing, because they make a sum what it is at once."""
    return np.where(np.isfinite(x), np.abs(wide(x)), 0)


def fits(total):
    """Whether terms of these sizes can be added up in any order without an overflow."""
    return total < MAX / 4


# Sums, extremes, places.


@tw.entry
def sum_rows(out: tl.TensorMut[f32], x: tl.Tensor[f32, tl.Dyn, tl.Dyn]) -> None:
    i, _, _ = tl.get_tile_block_id()
    out.store(x.load_tile((4, 64), [i, 0]).sum(1))


@tw.entry
def sum_columns(out: tl.TensorMut[f32], x: tl.Tensor[f32, tl.Dyn, tl.Dyn]) -> None:
    out.store(x.load_tile((16, 64), [0, 0]).sum(0))


@tw.entry
def running_sums(out: tl.TensorMut[f32], x: tl.Tensor[f32, tl.Dyn, tl.Dyn]) -> None:
    out.store(tl.cumsum(tl.load_tile_like(x, out), 1))


@pytest.mark.parametrize("shape", SHAPES)
def test_sums(numbers, shape):
    x = numbers(shape)
    for kernel, axis, tile in ((sum_rows, 1, (4,)), (sum_columns, 0, (64,))):
        count, total = shape[axis], sizes(x).sum(axis)
        got, expected = on_both(kernel, f32, (shape[1 - axis],), tile, x)
        assert_within(got, expected, 2 * count * EPS * total + LEAST, fits(total))
    total = np.cumsum(sizes(x), 1)
    got, expected = on_both(running_sums, f32, shape, (4, 64), x)
    assert_within(got, expected, 2 * shape[1] * EPS * total + LEAST, fits(total))


@tw.entry
def extremes(
    top: tl.TensorMut[f32],
    bottom: tl.TensorMut[f32],
    first: tl.TensorMut[i32],
    last: tl.TensorMut[i32],
    x: tl.Tensor[f32, tl.Dyn, tl.Dyn],
    *,
    AXIS: tl.Const[int],
) -> None:
    high = x.load_tile((16, 64), [0, 0], padding=tl.neg_inf)
    low = x.load_tile((16, 64), [0, 0], padding=float("inf"))
    top.store(tl.reduce_max(high, AXIS))
    bottom.store(tl.reduce_min(low, AXIS))
    first.store(tl.argmax(high, AXIS))
    last.store(tl.argmin(low, AXIS))


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("shape", SHAPES)
def test_extremes_are_exact(numbers, shape, axis):
    x = numbers(shape)
    results = []
    for device in ("cpu", "reference"):
        with tw.device(device):
            kept = (shape[1 - axis],)
            outs = [tw.full(kept, -77, t).sync() for t in (f32, f32, i32, i32)]
            cuts = [out.partition_mut((64 if axis == 0 else 16,)) for out in outs]
            extremes(*cuts, x, AXIS=axis).sync()
            results.append([out.to_numpy() for out in outs])
    for got, expected in zip(*results, strict=True):
        np.testing.assert_array_equal(got, expected)
        if got.dtype.kind == "f":
            signs = [np.signbit(np.where(np.isnan(a), 0, a)) for a in (got, expected)]
            assert np.array_equal(*signs)


# Functions and quotients.


FUNCTIONS = [
    "exp", "exp2", "expm1", "log", "log1p", "log2", "sqrt", "rsqrt", "sin", "cos", "tanh", "sinh",
    "erf",
]  # fmt: skip


@pytest.mark.thinned(6)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(numbers, name):
    function = getattr(tl, name)

    @tw.entry
    def kernel(out: tl.TensorMut[f32], x: tl.Tensor[f32, tl.Dyn, tl.Dyn]) -> None:
        out.store(function(tl.load_tile_like(x, out)))

    for shape in SHAPES:
        got, expected = on_both(kernel, f32, shape, (4, 64), numbers(shape))
        assert_within(got, expected, 2 * EPS * np.abs(wide(expected)) + 2 * LEAST)


@tw.entry
def quotients(
    out: tl.TensorMut[f32], x: tl.Tensor[f32, tl.Dyn, tl.Dyn], y: tl.Tensor[f32, tl.Dyn]
) -> None:
    i, _, _ = tl.get_tile_block_id()
    out.store(tl.load_tile_like(x, out) / y.load_tile((4,), [i], padding=1.0)[:, None])


@pytest.mark.parametrize("divisors", ["usual", "huge", "tiny", "subnormal", "mixed", "bits"])
def test_quotients_of_rows(numbers, divisors):
    for shape in SHAPES:
        y = KINDS[divisors](fresh_rng(), shape[:1])
        got, expected = on_both(quotients, f32, shape, (4, 64), numbers(shape), y)
        assert_within(got, expected, 2 * EPS * np.abs(wide(expected)) + 2 * LEAST)


# Rows that are normalized.


@pytest.mark.parametrize("shape", SHAPES)
def test_softmax(numbers, shape):
    """Arguments of exp are the same on both sides; all terms of the sum are positive."""
    x = numbers(shape)
    got, expected = on_both(kernels.softmax, f32, shape, (4, 64), x)
    assert_within(got, expected, (2 * shape[1] + 8) * EPS * wide(expected) + 2 * LEAST)


@pytest.mark.parametrize("shape", SHAPES)
def test_rms_norm(numbers, shape):
    x, weight = numbers(shape), _normal(fresh_rng(), shape[1])
    got, expected = on_both(kernels.rms_norm, f32, shape, (4, 64), x, weight, 1e-6)
    squares = (sizes(x) ** 2).sum(1, keepdims=True)
    sure = fits(squares) | (squares > 4 * MAX)
    bound = (2 * shape[1] + 16) * EPS * np.abs(wide(expected)) + 2 * LEAST
    assert_within(got, expected, bound, sure)


@pytest.mark.parametrize("shape", SHAPES)
def test_layer_norm(numbers, shape):
    """The mean is off by roundings of the terms; where these are most of the variance, skip."""
    rng = fresh_rng()
    x, weight, bias = numbers(shape), _normal(rng, shape[1]), _normal(rng, shape[1])
    got, expected = on_both(kernels.layer_norm, f32, shape, (4, 64), x, weight, bias, 1e-5)
    with np.errstate(all="ignore"):
        size = np.abs(wide(x)).max(1, keepdims=True)
        slack = 4 * shape[1] * EPS * size
        deviation = np.sqrt(wide(x).var(1, keepdims=True) + 1e-5)
        bound = 8 * (slack / deviation + shape[1] * EPS) * np.abs(weight) * (1 + size / deviation)
        bound = bound + 8 * EPS * np.abs(bias) + LEAST
        known = ~(np.isfinite(size) & ((slack > 0.01 * deviation) | (size * size > MAX / 1000)))
        known = known & (~np.isnan(expected) | np.isnan(wide(x).sum(1, keepdims=True)))
    assert_within(got, expected, np.nan_to_num(bound), known)


# Products.


@pytest.mark.parametrize("shape", [(1, 1, 1), (5, 7, 3), (16, 16, 16), (17, 33, 15), (16, 40, 32)])
def test_products(numbers, shape):
    m, k, n = shape
    x, y = numbers((m, k)), numbers((k, n))
    got, expected = on_both(kernels.gemm, f32, (m, n), (16, 16), x, y, BK=16)
    total = sizes(x) @ sizes(y)
    assert_within(got, expected, 2 * k * EPS * total + k * LEAST, fits(total))


ATTENTION = ("usual", "tiny", "subnormal", "zeros", "nan", "masked")


@pytest.mark.thinned(3)
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(
    ("tokens", "step"), [(1, 16), (15, 16), (16, 16), (33, 16), (47, 32), (97, 32)]
)
@pytest.mark.parametrize("kind", ATTENTION)
def test_attention(kind, tokens, step, causal):
    """Scores are off by roundings of their products, and so is the logarithm of each weight."""
    rng = fresh_rng()
    depth, shape = 8, (2, tokens, 8)
    q, k = _normal(rng, shape) * 4, _normal(rng, shape) * 4
    v = KINDS[kind](rng, shape)
    args = (q, k, v, 0.35)
    got, expected = on_both(
        kernels.attention, f32, shape, (1, 16, depth), *args, BN=step, LAST=16, CAUSAL=causal
    )
    with np.errstate(all="ignore"):
        score = np.abs(wide(q)) @ np.abs(wide(k)).transpose(0, 2, 1) * 0.35
        relative = 4 * (depth * score.max() + tokens + 16) * EPS
        largest = np.abs(np.where(np.isfinite(v), wide(v), 0)).max()
    assert_within(got, expected, relative * largest + 4 * LEAST * tokens)


# Threads.


@dataclass(frozen=True)
class Form:
    """A kernel, what it gives, and on what."""

    kernel: Any
    shape: tuple[int, ...]
    tile: tuple[int, ...]
    inputs: tuple[tuple[int, ...], ...]
    numbers: tuple[float, ...] = ()
    constants: tuple[tuple[str, Any], ...] = ()


ROWS = (67, 61)
FORMS = {
    "sum rows": Form(kernels.sum_rows, (67,), (4,), (ROWS,), (), (("BN", 32),)),
    "sum columns": Form(kernels.sum_columns, (61,), (16,), (ROWS,), (), (("BM", 8),)),
    "running sums": Form(running_sums, ROWS, (4, 64), (ROWS,)),
    "softmax": Form(kernels.softmax, ROWS, (4, 64), (ROWS,)),
    "rms norm": Form(kernels.rms_norm, ROWS, (4, 64), (ROWS, (61,)), (1e-6,)),
    "layer norm": Form(kernels.layer_norm, ROWS, (4, 64), (ROWS, (61,), (61,)), (1e-5,)),
    "quotients": Form(quotients, ROWS, (4, 64), (ROWS, (67,))),
    "product": Form(kernels.gemm, (67, 50), (16, 16), (ROWS, (61, 50)), (), (("BK", 16),)),
    "attention": Form(
        kernels.attention,
        (3, 40, 8),
        (1, 16, 8),
        ((3, 40, 8),) * 3,
        (0.3,),
        (("BN", 32), ("LAST", 16)),
    ),
}


@pytest.mark.parametrize("kind", ["usual", "cancelling", "mixed"])
@pytest.mark.parametrize("name", [*FORMS])
def test_any_number_of_threads_gives_the_same_bits(name, kind):
    form, rng = FORMS[name], fresh_rng()
    arrays = [KINDS[kind](rng, shape) for shape in form.inputs]
    results = set()
    for threads in (1, 2, 3, 8):
        with override(num_threads=threads), tw.device("cpu"):
            out = tw.full(form.shape, -77, f32).sync()
            cut = out.partition_mut(form.tile)
            form.kernel(cut, *arrays, *form.numbers, **dict(form.constants)).sync()
            results.add(out.to_numpy().tobytes())
    assert len(results) == 1
