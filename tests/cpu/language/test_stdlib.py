"""The standard library against NumPy: every element type, axis and rank that makes sense."""

from __future__ import annotations

import math

import numpy as np
import pytest

from support.expressions import alike, assert_all, bits_of, run
from support.numbers import float_values, int_values, wide
from tilewright.base.dtypes import (
    ALL,
    FLOATS,
    INTS,
    bf16,
    bool_,
    f4e2m1fn,
    f8e4m3fn,
    f8e5m2,
    f16,
    f32,
    f64,
    i8,
    i32,
)

SHAPE, CUBE = (4, 16), (2, 8, 4)


def computed(table, device, a, dtype, results, **inputs):
    """Run expressions of `a`, and of other inputs, which fill one tile each."""
    arrays = {"a": a, **inputs}
    lines = [f"{k} = in_{k}.load_tile({x.shape}, {[0] * x.ndim})" for k, x in arrays.items()]
    with np.errstate(all="ignore"):
        expected = [np.asarray(f(*arrays.values())) for f in table.values()]
    shapes = [e.shape for e in expected]
    memory = {k: (x, dtype) for k, x in arrays.items()}
    got = run(
        [*table], device, memory, results, tile=shapes, shape=shapes, load="{}", lines=lines
    )  # fmt: skip
    return got, expected


# --- arrangements ------------------------------------------------------------------------------

ARRANGED = {
    "tl.flip(a, 1)": lambda a, b: a[:, ::-1],
    "tl.flip(a, 0)": lambda a, b: a[::-1],
    "tl.flip(a.reshape(2, 8, 4), -2)": lambda a, b: a.reshape(2, 8, 4)[:, ::-1],
    "tl.flip(a.reshape(1, 64), 0)": lambda a, b: a.reshape(1, 64),
    "tl.flip(a.reshape(64), 0)": lambda a, b: a.reshape(64)[::-1],
    "tl.split(a, 2)[1]": lambda a, b: a[:, 8:],
    "tl.split(a, 4, 0)[2]": lambda a, b: a[2:3],
    "tl.split(a, 1)[0]": lambda a, b: a,
    "tl.split(a.reshape(2, 8, 4), 2, axis=1)[0]": lambda a, b: a.reshape(2, 8, 4)[:, :4],
    "tl.stack((a, b))": lambda a, b: np.stack((a, b)),
    "tl.stack((a, b, b, a), 1)": lambda a, b: np.stack((a, b, b, a), 1),
    "tl.stack([a, b], -1)": lambda a, b: np.stack((a, b), -1),
    "tl.stack([a])": lambda a, b: a[None],
    "tl.unstack(a)[3]": lambda a, b: a[3],
    "tl.unstack(a.reshape(4, 8, 2), -1)[1]": lambda a, b: a[:, 1::2],
    "tl.interleave(a, b)": lambda a, b: np.stack((a, b), -1).reshape(4, 32),
    "tl.interleave(a, b, 0)": lambda a, b: np.stack((a, b), 1).reshape(8, 16),
    "tl.cat((a, b, b, a), 1)": lambda a, b: np.concatenate((a, b, b, a), 1),
    "tl.cat([a])": lambda a, b: a,
    "tl.cat([a, b], axis=-1)": lambda a, b: np.concatenate((a, b), -1),
    "tl.cat((tl.extract(a, [0, 1], (4, 4)), b, tl.extract(b, [0, 0], (4, 8)), "
    "tl.extract(a, [0, 3], (4, 4))), 1)":
        lambda a, b: np.concatenate((a[:, 4:8], b, b[:, :8], a[:, 12:]), 1),
    "tl.cat((tl.extract(a, [0, 5], (4, 1)), b, tl.extract(b, [0, 1], (4, 8)), "
    "tl.extract(a, [0, 3], (4, 4)), tl.extract(a, [0, 2], (4, 2)), "
    "tl.extract(a, [0, 9], (4, 1))), 1)":
        lambda a, b: np.concatenate(
            (a[:, 5:6], b, b[:, 8:], a[:, 12:], a[:, 4:6], a[:, 9:10]), 1),
}  # fmt: skip


@pytest.mark.thinned(4)
@pytest.mark.parametrize("dtype", [t for t in ALL if t is not f4e2m1fn], ids=str)
def test_arrangements(device, dtype, rng):
    """Bits stay what they are."""
    raw = rng.integers(0, 2 if dtype.is_bool else 256, (2, *SHAPE, dtype.itemsize), np.uint8)
    a, b = raw.view(dtype.np).reshape(2, *SHAPE)
    got, expected = computed(ARRANGED, device, a, dtype, dtype, b=b)
    for text, result, wanted in zip(ARRANGED, got, expected, strict=True):
        assert (bits_of(result) == bits_of(np.ascontiguousarray(wanted))).all(), text


INDICES_OF = {  # the axis, and the shape of the indices, for a tile of (2, 8, 4)
    0: [(2, 8, 4), (1, 8, 4), (8, 8, 4)],
    1: [(2, 8, 4), (2, 16, 4)],
    2: [(2, 8, 4), (2, 8, 1)],
}


@pytest.mark.thinned(6)
@pytest.mark.parametrize("dtype", [t for t in ALL if t is not f4e2m1fn], ids=str)
def test_elements_taken_along_an_axis(device, dtype, rng):
    """Bits stay what they are, and an index outside wraps around."""
    raw = rng.integers(0, 2 if dtype.is_bool else 256, (*CUBE, dtype.itemsize), np.uint8)
    a = raw.view(dtype.np).reshape(CUBE)
    whole = np.iinfo(np.int32)
    cases = [(axis, shape) for axis, shapes in INDICES_OF.items() for shape in shapes]
    index = {f"i{n}": rng.integers(whole.min, whole.max, shape, np.int32, endpoint=True)
             for n, (_, shape) in enumerate(cases)}  # fmt: skip
    index["i0"] = rng.integers(0, CUBE[0], cases[0][1], np.int32)
    texts = [f"tl.gather(a, i{n}, {axis})" for n, (axis, _) in enumerate(cases)]
    texts[1] = "tl.take_along_axis(a, i1, axis=0)"
    texts[2] = "tl.gather(a, i2, axis=-3)"
    lines = [f"{k} = in_{k}.load_tile({x.shape}, {[0] * 3})" for k, x in {"a": a, **index}.items()]
    shapes = [shape for _, shape in cases]
    memory = {"a": (a, dtype), **{k: (x, i32) for k, x in index.items()}}
    got = run(texts, device, memory, dtype, tile=shapes, shape=shapes, load="{}", lines=lines)
    for n, (axis, _) in enumerate(cases):
        wanted = np.take_along_axis(a, index[f"i{n}"] % CUBE[axis], axis)
        assert (bits_of(got[n]) == bits_of(wanted)).all(), texts[n]


@pytest.mark.parametrize("dtype", INTS, ids=str)
def test_indices_of_every_type(device, dtype, rng):
    a = int_values(dtype, rng, 64)[:64].reshape(4, 16)
    table = {"tl.gather(a, a, 1)": lambda a: np.take_along_axis(a, (a % 16).astype(np.int64), 1)}
    assert_all([*table], *computed(table, device, a, dtype, dtype))


# --- order -------------------------------------------------------------------------------------


def values(dtype, rng, shape):
    """Elements with many ties, and the edge values of the type: NaN of both signs included."""
    if dtype.is_bool:
        return rng.integers(0, 2, shape).astype(np.bool_)
    edges = float_values(dtype, rng) if dtype.is_float else int_values(dtype, rng)
    if dtype.is_float:
        edges = np.concatenate([edges, -edges])
    return rng.choice(edges, shape)


def ranks(a):
    """Numbers of one order with the elements, equal ones of equal elements."""
    _, inverse = np.unique(wide(a), return_inverse=True)  # NaN is last, and equal to NaN
    return inverse.reshape(a.shape)


def ordered(a, axis, descending=False):
    """Where the elements are that sorting puts at each place, of equal ones the first first."""
    return np.argsort(-ranks(a) if descending else ranks(a), axis=axis, kind="stable")


def taken(a, axis, descending=False, k=None):
    indices = np.take(ordered(a, axis, descending), range(k or a.shape[axis]), axis)
    return np.take_along_axis(a, indices, axis)


def assert_same_values(texts, got, expected):
    """The same numbers, NaN or not; zeros of any sign."""
    for text, a, b in zip(texts, got, expected, strict=True):
        assert a.dtype == b.dtype, text
        assert (alike(a, b) | (wide(a) == wide(b))).all(), text


SORTED = {
    "tl.sort(a)": lambda a: taken(a, 2),
    "tl.sort(a, 0)": lambda a: taken(a, 0),
    "tl.sort(a, axis=-2)": lambda a: taken(a, 1),
    "tl.sort(a, descending=True)": lambda a: taken(a, 2, True),
    "tl.sort(a.reshape(64))": lambda a: taken(a.reshape(64), 0),
    "tl.sort(a.reshape(64), 0, True)": lambda a: taken(a.reshape(64), 0, True),
    "tl.sort(a.reshape(64, 1))": lambda a: a.reshape(64, 1),
}


@pytest.mark.thinned(4)
@pytest.mark.parametrize("dtype", [bool_, *INTS, *FLOATS], ids=str)
def test_sorting(device, dtype, rng):
    got, expected = computed(SORTED, device, values(dtype, rng, CUBE), dtype, dtype)
    assert_same_values(SORTED, got, expected)


@pytest.mark.thinned(1)
@pytest.mark.parametrize("dtype", [i32, f32], ids=str)
def test_sorting_long_rows(device, dtype, rng):
    a = values(dtype, rng, (2, 1024))
    table = {
        "tl.sort(a)": lambda a: taken(a, 1),
        "tl.topk(a, 16)[0]": lambda a: taken(a, 1, True, 16),
    }
    assert_same_values(table, *computed(table, device, a, dtype, dtype))


def test_sorted_zeros_keep_their_signs(device):
    a = np.array([0.0, -0.0, 0.0, -0.0, -1.0, 1.0, -0.0, 0.0], np.float32)
    table = {"tl.sort(a)": np.sort}
    ((got,), _) = computed(table, device, a, f32, f32)
    assert np.signbit(got[got == 0]).sum() == 3


INDICES = {
    "tl.argsort(a)": lambda a: ordered(a, 2),
    "tl.argsort(a, 1)": lambda a: ordered(a, 1),
    "tl.argsort(a, 0, descending=True)": lambda a: ordered(a, 0, True),
    "tl.topk(a, 2)[1]": lambda a: ordered(a, 2, True)[:, :, :2],
    "tl.topk(a, 1, 1)[1]": lambda a: ordered(a, 1, True)[:, :1],
    "tl.topk(a.reshape(64), 8, largest=False)[1]": lambda a: ordered(a.reshape(64), 0)[:8],
    "tl.topk(a.reshape(64), 64)[1]": lambda a: ordered(a.reshape(64), 0, True),
}
LARGEST = {
    "tl.topk(a, 2)[0]": lambda a: taken(a, 2, True, 2),
    "tl.topk(a, 1, 1)[0]": lambda a: taken(a, 1, True, 1),
    "tl.topk(a, 4, axis=1, largest=False)[0]": lambda a: taken(a, 1, False, 4),
    "tl.topk(a.reshape(64), 8)[0]": lambda a: taken(a.reshape(64), 0, True, 8),
}


@pytest.mark.thinned(3)
@pytest.mark.parametrize("dtype", [t for t in (bool_, *INTS, *FLOATS) if t.bits <= 32], ids=str)
def test_indices_in_order(device, dtype, rng):
    """Indices are exact: of equal elements, zeros of either sign among them, the first is first."""
    a = values(dtype, rng, CUBE)
    got, expected = computed(INDICES, device, a, dtype, i32)
    assert_all([*INDICES], got, [e.astype(np.int32) for e in expected])
    assert_same_values(LARGEST, *computed(LARGEST, device, a, dtype, dtype))


@pytest.mark.parametrize("dtype", [f8e4m3fn, f8e5m2], ids=str)
def test_order_of_8_bit_floats(device, dtype, rng):
    """They do not compare, but have an order; any bits, of NaN and infinities, too."""
    a = rng.integers(0, 256, CUBE).astype(np.uint8).view(dtype.np)
    tables = (SORTED, dtype), (LARGEST, dtype), (INDICES, i32)
    for table, result in tables:
        got, expected = computed(table, device, a, dtype, result)
        assert_same_values(table, got, [e.astype(result.np) for e in expected])


@pytest.mark.parametrize(("narrow", "wide"), [(bf16, f32), (f16, f32), (i8, i32)], ids=str)
def test_what_was_widened_is_ranked_before(narrow, wide, device, rng):
    """It was converted without loss, so that order and places are the same, those of NaN too."""
    a = values(narrow, rng, CUBE)
    text = f"tl.topk(a.astype({wide}), 4, 1)"
    places = {f"{text}[1]": lambda a: ordered(a, 1, True)[:, :4]}
    got, expected = computed(places, device, a, narrow, i32)
    assert_all([*places], got, [e.astype(np.int32) for e in expected])
    largest = {f"{text}[0]": lambda a: taken(a, 1, True, 4).astype(wide.np)}
    assert_same_values(largest, *computed(largest, device, a, narrow, wide))


def counted(a, bins):
    inside = a[(a >= 0) & (a < bins)] if bins <= np.iinfo(a.dtype).max else a[a >= 0]
    return np.bincount(inside.astype(np.int64).ravel(), minlength=bins)


COUNTS = {
    f"tl.histogram({text}, {bins})": lambda a, bins=bins: counted(a, bins)
    for bins in (1, 2, 4, 32, 256, 1024)
    for text in ("a", "a.reshape(256)")
}


@pytest.mark.parametrize("dtype", INTS, ids=str)
def test_histograms(device, dtype, rng):
    """Elements outside are not counted, neither the least nor the largest of their type."""
    few, all_ = int_values(dtype, rng, 64)[:64], np.iinfo(dtype.np)
    near = rng.integers(max(all_.min, -3), min(all_.max, 300), 192, dtype.np, endpoint=True)
    a = np.concatenate((few, near)).reshape(4, 16, 4)
    got, expected = computed(COUNTS, device, a, dtype, i32)
    assert_all([*COUNTS], got, [e.astype(np.int32) for e in expected])


# --- functions of floats -----------------------------------------------------------------------

ERF = np.vectorize(math.erf, otypes=[np.float64])


def tanh_gelu(x):
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


ACTIVATIONS = {
    "tl.sigmoid(a)": lambda x: 1 / (1 + np.exp(-x)),
    "tl.silu(a)": lambda x: x / (1 + np.exp(-x)),
    "tl.relu(a)": lambda x: np.maximum(x, 0),
    "tl.gelu(a)": lambda x: 0.5 * x * (1 + ERF(x / np.sqrt(2))),
    "tl.gelu(a, 'tanh')": tanh_gelu,
    "tl.gelu(a, approximate='none')": lambda x: 0.5 * x * (1 + ERF(x / np.sqrt(2))),
}
ABSOLUTE = {f16: 1e-7, bf16: 1e-6, f32: 1e-6, f64: 1e-14}
"""The error where two large terms cancel: of f16 and bf16 f32 has computed it."""
ULP = {f16: 2.0**-10, bf16: 2.0**-7, f32: 2.0**-23, f64: 2.0**-52}


def assert_close(texts, got, expected, dtype, ulps):
    """The rounded result to so many units of the last place, or to what cancels."""
    for text, a, e in zip(texts, got, expected, strict=True):
        assert a.dtype == dtype.np, text
        np.testing.assert_allclose(
            wide(a), wide(e.astype(dtype.np)), rtol=ulps * ULP[dtype], atol=ABSOLUTE[dtype],
            err_msg=text,
        )  # fmt: skip


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_activations(device, dtype, rng):
    edges = [0.0, -0.0, 1.0, -1.0, 10.0, -10.0, 80.0, -80.0, 6e4, -6e4, np.inf, -np.inf, np.nan]
    a = np.concatenate([edges, 3 * rng.standard_normal(64 - len(edges))]).astype(dtype.np)
    table = {t: lambda x, f=f: f(wide(x)) for t, f in ACTIVATIONS.items()}
    got, expected = computed(table, device, a.reshape(SHAPE), dtype, dtype)
    assert_close(table, got, expected, dtype, 1 if dtype.bits == 16 else 8)


@pytest.mark.thinned(6)
@pytest.mark.parametrize("dtype", [*INTS, *FLOATS], ids=str)
def test_signs(device, dtype, rng):
    a = values(dtype, rng, SHAPE)
    table = {
        "tl.sign(a)": lambda x: np.sign(wide(x)).astype(dtype.np),
        "tl.relu(a)": lambda x: np.maximum(wide(x), 0).astype(dtype.np)
        if dtype.is_float else np.maximum(x, 0),
    }  # fmt: skip
    assert_same_values(table, *computed(table, device, a, dtype, dtype))
    table = {"tl.isnan(a)": lambda x: np.isnan(wide(x))}
    if dtype.is_float:
        table |= {
            "tl.isinf(a)": lambda x: np.isinf(wide(x)),
            "~tl.isinf(-a)": lambda x: ~np.isinf(wide(x)),
        }
    assert_all([*table], *computed(table, device, a, dtype, bool_))


def test_functions_of_scalars(device):
    table = {
        "tl.full((1,), tl.sigmoid(a.item()))": lambda a: 1 / (1 + np.exp(-a)),
        "tl.full((1,), tl.relu(a.item()))": lambda a: np.maximum(a, 0),
        "tl.full((1,), tl.sign(a.item()))": np.sign,
        "tl.full((1,), tl.mean(a.item()))": lambda a: a,
    }
    got, expected = computed(table, device, np.array([-0.5], np.float32), f32, f32)
    assert_close(table, got, expected, f32, 4)


def test_functions_of_constants(device):
    """A Python number counts as f32."""
    table = {
        "a * tl.sigmoid(0.5)": lambda a: a / (1 + np.exp(-0.5)),
        "a * tl.silu(0.5)": lambda a: a * 0.5 / (1 + np.exp(-0.5)),
        "a * tl.relu(-0.5)": lambda a: a * 0,
        "a * tl.gelu(1.0)": lambda a: a * 0.5 * (1 + math.erf(0.5**0.5)),
        "a * tl.sign(-0.5)": lambda a: -a,
        "a * tl.asin(-0.75)": lambda a: a * np.arcsin(-0.75),
        "a * tl.acos(0.25)": lambda a: a * np.arccos(0.25),
        "a * tl.atan(2.0)": lambda a: a * np.arctan(2.0),
        "a * tl.log10(1000.0)": lambda a: a * 3,
        "a * tl.trunc(-1.5)": lambda a: -a,
    }
    got, expected = computed(table, device, np.array([1.0, 2.0], np.float32), f32, f32)
    assert_close(table, got, expected, f32, 4)


# --- reductions --------------------------------------------------------------------------------


def softmax(x, axis):
    powers = np.exp(x - x.max(axis, keepdims=True))
    return powers / powers.sum(axis, keepdims=True)


def logsumexp(x, axis, keepdims=False):
    return np.logaddexp.reduce(x, axis=axis, keepdims=keepdims)


full_tiles = pytest.mark.filterwarnings(r"ignore:\[padding-not-neutral\]")
"""Inputs fill their tiles: nothing is padded."""

REDUCED = {
    "tl.softmax(a)": lambda x: softmax(x, -1),
    "tl.softmax(a, 0)": lambda x: softmax(x, 0),
    "tl.softmax(a, (0, 2))": lambda x: softmax(x, (0, 2)),
    "tl.logsumexp(a, 2)": lambda x: logsumexp(x, 2),
    "tl.logsumexp(a, 1, keepdims=True)": lambda x: logsumexp(x, 1, True),
    "tl.full((1,), tl.logsumexp(a))": lambda x: logsumexp(x.reshape(-1), 0, True),
    "tl.mean(a, 0)": lambda x: x.mean(0),
    "tl.mean(a, (1, 2), keepdims=True)": lambda x: x.mean((1, 2), keepdims=True),
    "tl.full((1,), tl.mean(a))": lambda x: x.mean().reshape(1),
    "tl.var(a, -1)": lambda x: x.var(-1),
    "tl.var(a, 1, keepdims=True, ddof=1)": lambda x: x.var(1, keepdims=True, ddof=1),
    "tl.full((1,), tl.var(a))": lambda x: x.var().reshape(1),
}


@pytest.mark.thinned(2)
@full_tiles
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_reductions(device, dtype, rng):
    table = {t: lambda x, f=f: f(wide(x)) for t, f in REDUCED.items()}
    for shape in (CUBE, (1, 2, 2)):
        a = (3 * rng.standard_normal(shape)).astype(dtype.np)
        got, expected = computed(table, device, a, dtype, dtype)
        assert_close(table, got, expected, dtype, 1 if dtype.bits == 16 else 16)


PRODUCTS = {
    "tl.cumprod(a)": lambda x: np.cumprod(x, 0),
    "tl.cumprod(a, 1)": lambda x: np.cumprod(x, 1),
    "tl.cumprod(a, -1, reverse=True)": lambda x: np.cumprod(x[..., ::-1], -1)[..., ::-1],
}


@pytest.mark.thinned(6)
@full_tiles
@pytest.mark.parametrize("dtype", [*INTS, *FLOATS], ids=str)
def test_partial_products(device, dtype, rng):
    for shape in (CUBE, (1, 2, 2)):
        if dtype.is_float:
            a = rng.uniform(-1.5, 1.5, shape).astype(dtype.np)
            table = {t: lambda x, f=f: f(wide(x)) for t, f in PRODUCTS.items()}
            got, expected = computed(table, device, a, dtype, dtype)
            assert_close(table, got, expected, dtype, 1 if dtype.bits == 16 else 16)
        else:
            a = rng.integers(0, 7, shape).astype(dtype.np) * 2 + 1
            table = {t: lambda x, f=f: f(x).astype(dtype.np) for t, f in PRODUCTS.items()}
            assert_all([*table], *computed(table, device, a.astype(dtype.np), dtype, dtype))


@full_tiles
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_reductions_of_edge_values(device, dtype):
    """Nothing overflows on the way, and what is infinite, or no number, is so in the end."""
    inf, nan, big = np.inf, np.nan, 6e4
    rows = [[-inf, -inf], [-inf, 1.0], [inf, 1.0], [nan, 1.0], [big, big], [-big, -big],
            [inf, -inf], [big, -inf]]  # fmt: skip
    a = np.array(rows).astype(dtype.np)
    table = {
        "tl.softmax(a)": lambda x: softmax(wide(x), -1),
        "tl.logsumexp(a, 1)": lambda x: logsumexp(wide(x), 1),
        "tl.mean(a, 1)": lambda x: wide(x).mean(1),
    }
    got, expected = computed(table, device, a, dtype, dtype)
    assert_close(table, got, expected, dtype, 1 if dtype.bits == 16 else 4)
