"""One test per row of docs/reference/numbers.md, on both devices."""

from __future__ import annotations

import re
from fractions import Fraction
from math import copysign

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
from source_tree import ROOT
from support.functions import numpy_function
from support.numbers import assert_same, float_values, fresh_rng, int_values, nearest, wide
from tilewright import bf16, f16, f32, f64, i8, i16, i32, i64, u8, u32
from tilewright.base.config import override
from tilewright.base.dtypes import INTS, int_range

PAGE = (ROOT / "docs" / "reference" / "numbers.md").read_text(encoding="utf-8")
FLOATS = (f16, bf16, f32, f64)
ROWS = {}

pytestmark = pytest.mark.parametrize("device", ["cpu", "reference"])


def row(*labels):
    """Say which rows of the page a test is for."""

    def mark(test):
        ROWS.update(dict.fromkeys(labels, test.__name__))
        return test

    return mark


def apply(device, function, *arrays, dtype=None):
    """A function over tiles, run as a kernel on arrays of rank 1, in tiles that do not fit."""
    kernel = {1: _unary, 2: _binary, 3: _ternary}[len(arrays)](function)
    first = arrays[0]
    with tw.device(device):
        out = tw.empty(first.shape, dtype or first.dtype).sync()
        kernel(out.partition_mut((64,)), *arrays).sync()
        return out.to_numpy()


def _unary(function):
    @tw.entry
    def kernel(out: tl.TensorMut, x: tl.Tensor) -> None:
        out.store(function(tl.load_tile_like(x, out)))

    return kernel


def _binary(function):
    @tw.entry
    def kernel(out: tl.TensorMut, x: tl.Tensor, y: tl.Tensor) -> None:
        out.store(function(tl.load_tile_like(x, out), tl.load_tile_like(y, out)))

    return kernel


def _ternary(function):
    @tw.entry
    def kernel(out: tl.TensorMut, x: tl.Tensor, y: tl.Tensor, z: tl.Tensor) -> None:
        tiles = tl.load_tile_like(x, out), tl.load_tile_like(y, out), tl.load_tile_like(z, out)
        out.store(function(tiles[0], tiles[1], tiles[2]))

    return kernel


def int_pairs(dtype):
    values = int_values(dtype, fresh_rng(), 12)
    return np.repeat(values, len(values)), np.tile(values, len(values))


def exact(function, dtype, *arrays):
    """The same in Python's integers, wrapped into the type."""
    low, high = int_range(dtype)
    columns = zip(*(a.tolist() for a in arrays), strict=True)
    return np.array([(function(*c) - low) % (high - low + 1) + low for c in columns], dtype.np)


def div_total(a, b):
    return a // b if b else 0


def mod_total(a, b):
    return a % b if b else a


@pytest.mark.thinned(4)
@row("`+ - *`, negation, `abs`")
@pytest.mark.parametrize("dtype", INTS, ids=str)
def test_integers_wrap(device, dtype):
    x, y = int_pairs(dtype)
    for function in (lambda a, b: a + b, lambda a, b: a - b, lambda a, b: a * b):
        assert_same(apply(device, function, x, y), exact(function, dtype, x, y))
    assert_same(apply(device, lambda a: -a, x), exact(lambda a: -a, dtype, x))
    assert_same(apply(device, abs, x), exact(abs, dtype, x))


@row("`//`, `%`", "`x // 0`", "`x % 0`", "`MIN // -1`")
@pytest.mark.parametrize("dtype", INTS, ids=str)
def test_division_floors_and_is_total(device, dtype):
    x, y = int_pairs(dtype)
    assert_same(apply(device, lambda a, b: a // b, x, y), exact(div_total, dtype, x, y))
    assert_same(apply(device, lambda a, b: a % b, x, y), exact(mod_total, dtype, x, y))


@row("`divi`, `remi`")
@pytest.mark.parametrize("dtype", [i8, i32, i64, u8], ids=str)
def test_divi_truncates(device, dtype):
    def truncated(a, b):
        return 0 if b == 0 else abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)

    x, y = int_pairs(dtype)
    assert_same(apply(device, tl.divi, x, y), exact(truncated, dtype, x, y))
    rest = exact(lambda a, b: a - truncated(a, b) * b, dtype, x, y)
    assert_same(apply(device, tl.remi, x, y), rest)


@row("`mulhii`")
@pytest.mark.parametrize("dtype", INTS, ids=str)
def test_mulhii(device, dtype):
    def high(a, b):
        modulus = 1 << dtype.bits
        return (a % modulus) * (b % modulus) >> dtype.bits

    x, y = int_pairs(dtype)
    assert_same(apply(device, tl.mulhii, x, y), exact(high, dtype, x, y))


@row(
    "`x << n`, `x >> n` for n at least the width",
    "`x << n`, `x >> n` for negative n",
)
@pytest.mark.parametrize("dtype", INTS, ids=str)
def test_shifts_are_total(device, dtype):
    def amount(n):
        return min(n if n >= 0 else dtype.bits, dtype.bits)

    x, y = int_pairs(dtype)
    left = exact(lambda a, n: a << amount(n), dtype, x, y)
    assert_same(apply(device, lambda a, n: a << n, x, y), left)
    right = exact(lambda a, n: a >> amount(n), dtype, x, y)
    assert_same(apply(device, lambda a, n: a >> n, x, y), right)


@row(
    "conversion to a narrower integer",
    "conversion to a wider integer",
    "bool to integer or float",
)
@pytest.mark.parametrize("target", [i8, i16, i64, u8, u32], ids=str)
def test_integer_conversions(device, target):
    x = int_values(i32, fresh_rng())
    result = apply(device, lambda a: a.astype(target), x, dtype=target)
    assert_same(result, exact(lambda a: a, target, x))
    flags = int_values(tw.bool_, fresh_rng())
    for to in (target, f16, f64):
        result = apply(device, lambda a, to=to: a.astype(to), flags, dtype=to)
        assert_same(result, flags.astype(to.np))


def float_lists(dtype, count):
    rng = fresh_rng()
    values = float_values(dtype, rng, 100)
    return [rng.permutation(values) for _ in range(count)]


def exactly_rounded(function, dtype, *arrays):
    """Where all inputs are finite: the exact result, rounded once. Elsewhere NumPy's in f64."""
    results = []
    for values in zip(*(wide(a).tolist() for a in arrays), strict=True):
        if all(map(np.isfinite, values)):
            fraction = function(*map(Fraction, values))
            rounded = copysign(
                nearest(fraction, dtype), 1 if fraction > 0 else -1
            )  # small negatives give -0
            results.append(rounded if fraction else function(*values))
        else:
            with np.errstate(all="ignore"):
                results.append(float(function(*map(np.float64, values))))
    with np.errstate(all="ignore"):
        return np.array(results, np.float64).astype(dtype.np)


@row("`+ - *`")
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_sums_and_products_are_correctly_rounded(device, dtype):
    x, y = float_lists(dtype, 2)
    for function in (lambda a, b: a + b, lambda a, b: a - b, lambda a, b: a * b):
        expected = exactly_rounded(function, dtype, x, y)
        assert_same(apply(device, function, x, y), expected)


@row("`fma`")
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_fma_is_rounded_once(device, dtype):
    arrays = float_lists(dtype, 3)
    keep = np.all([np.isfinite(wide(a)) & (wide(a) != 0) for a in arrays], axis=0)
    arrays = [a[keep] for a in arrays]
    expected = exactly_rounded(lambda a, b, c: a * b + c, dtype, *arrays)
    if dtype in (f16, bf16):  # computed in f64, rounded once
        x, y, z = map(wide, arrays)
        with np.errstate(all="ignore"):
            expected = exactly_rounded(lambda total: total, dtype, x * y + z)
    assert_same(apply(device, tl.fma, *arrays), expected)


@row("comparisons")
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_comparisons(device, dtype):
    x, y = float_lists(dtype, 2)
    y[::3] = x[::3]
    for function in (
        lambda a, b: a < b, lambda a, b: a <= b, lambda a, b: a > b,
        lambda a, b: a >= b, lambda a, b: a == b, lambda a, b: a != b,
    ):  # fmt: skip
        result = apply(device, function, x, y, dtype=tw.bool_)
        assert_same(result, function(wide(x), wide(y)))


@row("conversions between floats")
@pytest.mark.parametrize("target", FLOATS, ids=str)
@pytest.mark.parametrize("source", FLOATS, ids=str)
def test_float_conversions(device, source, target):
    (x,) = float_lists(source, 1)
    result = apply(device, lambda a: a.astype(target), x, dtype=target)
    assert_same(result, exactly_rounded(lambda a: a, target, x))


@row("integer to float")
@pytest.mark.parametrize("target", FLOATS, ids=str)
@pytest.mark.parametrize("source", [i8, i32, i64, u32, tw.u64], ids=str)
def test_integer_to_float(device, source, target):
    x = int_values(source, fresh_rng(), 100)
    result = apply(device, lambda a: a.astype(target), x, dtype=target)
    expected = [nearest(Fraction(n), target) for n in x.tolist()]
    with np.errstate(over="ignore"):
        assert_same(result, np.array(expected, np.float64).astype(target.np))


@pytest.mark.thinned(16)
@row("float to integer")
@pytest.mark.parametrize("target", INTS, ids=str)
@pytest.mark.parametrize("source", FLOATS, ids=str)
def test_float_to_integer_saturates(device, source, target):
    (x,) = float_lists(source, 1)
    expected = [_saturated(v, *int_range(target)) for v in wide(x).tolist()]
    result = apply(device, lambda a: a.astype(target), x, dtype=target)
    assert_same(result, np.array(expected, target.np))


def _saturated(value, low, high):
    if np.isnan(value):
        return 0
    return int(value) if low <= value <= high else low if value < low else high


@row("`negf`, `absf`, `floor`, `ceil`, `round`, `trunc`")
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_exact_functions(device, dtype):
    (x,) = float_lists(dtype, 1)
    for function, same in ((tl.floor, np.floor), (tl.ceil, np.ceil), (tl.round, np.rint),
                           (tl.negf, np.negative), (tl.absf, np.abs),
                           (tl.trunc, np.trunc)):  # fmt: skip
        with np.errstate(all="ignore"):
            assert_same(apply(device, function, x), same(wide(x)).astype(dtype.np))


def ulps(result, expected, dtype):
    """How many steps of the type lie between the results and the wide expectation."""
    finite = np.isfinite(expected) & np.isfinite(expected.astype(dtype.np).astype(np.float64))
    np.testing.assert_array_equal(np.isnan(result), np.isnan(expected))
    with np.errstate(all="ignore"):
        step = np.spacing(np.abs(expected.astype(dtype.np))).astype(np.longdouble)
        return np.max(np.abs(result.astype(np.longdouble) - expected)[finite] / step[finite])


BOUNDED = {
    "`/`, `sqrt`": {"sqrt": (0, 100), "true_div": None},
    "`rsqrt`, `exp`, `exp2`, `log`, `log2`": {
        "rsqrt": (1e-3, 1e3), "exp": (-60, 60), "exp2": (-90, 90), "log": (1e-3, 1e3),
        "log2": (1e-3, 1e3),
    },
    "`expm1`, `log1p`, `erf`": {"expm1": (-3, 3), "log1p": (-0.999, 3), "erf": (-5, 5)},
    "`cbrt`": {"cbrt": (-1e3, 1e3)},
    "`sin`, `cos`, `tan`, `sinh`, `cosh`, `tanh`": dict.fromkeys(
        ("sin", "cos", "tan", "sinh", "cosh", "tanh"), (-20, 20)
    ),
    "`pow`, `atan2`, `asin`, `acos`, `atan`": {
        "pow": None, "atan2": None, "asin": (-1, 1), "acos": (-1, 1), "atan": (-20, 20),
    },
    "`log10`": {"log10": (1e-3, 1e3)},
}  # fmt: skip
FUNCTIONS = [(name, limits) for group in BOUNDED.values() for name, limits in group.items()]


@pytest.mark.thinned(22)
@row(*BOUNDED)
@pytest.mark.parametrize("dtype", [f32, f64], ids=str)
@pytest.mark.parametrize(("name", "limits"), FUNCTIONS, ids=[n for n, _ in FUNCTIONS])
def test_functions_are_within_two_ulp(device, dtype, name, limits):
    rng = fresh_rng()
    arrays = [rng.uniform(*(limits or (0.1, 20)), 1000) for _ in range(1 if limits else 2)]
    arrays = [a.astype(dtype.np) for a in arrays]
    expected = numpy_function(name)(*(a.astype(np.longdouble) for a in arrays))
    assert ulps(apply(device, getattr(tl, name), *arrays), expected, dtype) <= 2


@row("`remf`")
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_remf_is_exact(device, dtype):
    x, y = float_lists(dtype, 2)
    with np.errstate(all="ignore"):
        expected = np.fmod(wide(x), wide(y)).astype(dtype.np)
    assert_same(apply(device, tl.remf, x, y), expected)


@row("`maximum`, `minimum`", "`maxf`, `minf` with `nan=False`")
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_extrema_and_nan(device, dtype):
    x, y = float_lists(dtype, 2)
    a, b = wide(x), wide(y)
    for function, same in ((tl.maximum, np.maximum), (tl.minimum, np.minimum)):
        assert_same(apply(device, function, x, y), _ordered_zeros(same, a, b).astype(dtype.np))
    greater = apply(device, lambda p, q: tl.maxf(p, q, nan=False), x, y)
    assert_same(greater, _ordered_zeros(np.fmax, a, b).astype(dtype.np))
    lesser = apply(device, lambda p, q: tl.minf(p, q, nan=False), x, y)
    assert_same(lesser, _ordered_zeros(np.fmin, a, b).astype(dtype.np))


def _ordered_zeros(function, a, b):
    """NumPy's extrema, but with +0 greater than -0."""
    both_zero = (a == 0) & (b == 0)
    sign = function(np.copysign(1, a), np.copysign(1, b))
    return np.where(both_zero, np.copysign(0.0, sign), function(a, b))


@row("`reduce_sum`, `reduce_prod`, scans of f16 and bf16")
@pytest.mark.parametrize("dtype", [f16, bf16], ids=str)
def test_small_floats_add_up_in_f32(device, dtype):
    @tw.entry
    def sums(out: tl.TensorMut, x: tl.Tensor) -> None:
        tile = x.load_tile((4, 256), [0, 0])
        out.store(tl.reduce_sum(tile, 1))

    # 256 and then 255 ones: added up in f16 or bf16 itself, the ones would be lost.
    x = np.ones((4, 256), dtype.np)
    x[:, 0] = 4096
    with tw.device(device):
        out = tw.empty((4,), dtype).sync()
        sums(out.partition_mut((4,)), x).sync()
        assert_same(out.to_numpy(), np.full(4, 4096 + 255, np.float64).astype(dtype.np))


@row("`mma` with an f32 accumulator", "`mma` with an f16 accumulator", "`mma` of 8-bit integers")
@pytest.mark.parametrize(("source", "target"), [(f32, f32), (f16, f32), (f16, f16), (i8, i32)])
def test_matrix_products(device, source, target):
    @tw.entry
    def product(out: tl.TensorMut, x: tl.Tensor, y: tl.Tensor) -> None:
        tiles = x.load_tile((16, 64), [0, 0]), y.load_tile((64, 16), [0, 0])
        out.store(tl.mma(tiles[0], tiles[1], out.load()))

    rng = fresh_rng()
    x, y = rng.integers(-8, 8, (2, 64, 16)).astype(source.np)
    x = x.T.copy()
    start = rng.integers(-8, 8, (16, 16)).astype(target.np)
    with tw.device(device):
        out = tw.from_numpy(start).sync()
        product(out.partition_mut((16, 16)), x, y).sync()
        expected = x.astype(np.float64) @ y.astype(np.float64) + start
        assert_same(out.to_numpy(), expected.astype(target.np))


def test_results_do_not_depend_on_the_number_of_threads(device):
    @tw.entry
    def reduce_all(out: tl.TensorMut[f32], x: tl.Tensor[f32]) -> None:
        tile = tl.load_tile_like(x, out)
        out.store(tl.cumsum(tl.exp(tile), 1) / tl.reduce_sum(tile, 1, keepdims=True))

    x = fresh_rng().random((64, 500), np.float32)
    results = []
    with tw.device(device):
        for threads in (1, 2, 3):
            with override(num_threads=threads):
                out = tw.empty(x.shape).sync()
                reduce_all(out.partition_mut((1, 512)), x).sync()
                results.append(out.to_numpy())
    assert_same(results[1], results[0])
    assert_same(results[2], results[0])


def test_every_row_has_a_test(device):
    tables = re.findall(r"^\| operation \|.*\n\|---.*\n((?:\|.*\n)+)", PAGE, re.MULTILINE)
    rows = {row.split(" | ")[0].removeprefix("| ") for t in tables for row in t.splitlines()}
    assert rows == set(ROWS), "rows of numbers.md and tests differ"
