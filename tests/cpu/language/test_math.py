"""Elementary functions of every float type: within their bounds of a wider computation."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
from support.expressions import BOUNDARY, assert_all, run
from support.functions import erf
from support.numbers import float_values, wide
from tilewright.base.dtypes import FLOATS, bf16, f16, f32, f64, i8, i16, i32, u8, u16

ONE = {
    "exp": (np.exp, (-60, 60)), "exp2": (np.exp2, (-90, 90)), "log": (np.log, (1e-3, 1e3)),
    "log2": (np.log2, (1e-3, 1e3)), "sin": (np.sin, (-20, 20)), "cos": (np.cos, (-20, 20)),
    "tan": (np.tan, (-20, 20)), "sinh": (np.sinh, (-20, 20)), "cosh": (np.cosh, (-20, 20)),
    "tanh": (np.tanh, (-5, 5)), "sqrt": (np.sqrt, (0, 1e4)),
    "rsqrt": (lambda x: 1 / np.sqrt(x), (1e-3, 1e3)), "expm1": (np.expm1, (-3, 3)),
    "log1p": (np.log1p, (-0.99, 5)), "erf": (erf, (-4, 4)), "cbrt": (np.cbrt, (-1e3, 1e3)),
    "asin": (np.arcsin, (-1, 1)), "acos": (np.arccos, (-1, 1)), "atan": (np.arctan, (-5, 5)),
    "log10": (np.log10, (1e-3, 1e3)),
}  # fmt: skip
"""Functions of one number with the same in NumPy, and where they are tried."""

BOUND = {f32: 2.0, f64: 2.0, f16: 1.0, bf16: 1.0}
"""In units in the last place; f16 and bf16 are computed in f32 and rounded once."""

CANONICAL = {
    "tl.floor(a)": np.floor, "tl.ceil(a)": np.ceil, "tl.round(a)": np.rint, "round(a)": np.rint,
    "tl.trunc(a)": np.trunc,
    **{f"tl.{n}(a)": f for n, (f, _) in ONE.items()},
}  # fmt: skip


def distance(result, exact, dtype):
    """How many steps of the type lie between the results and a wider computation."""
    with np.errstate(all="ignore"):
        near = (
            exact.astype(np.float32).astype(dtype.np) if dtype is bf16 else exact.astype(dtype.np)
        )
        finite = np.isfinite(wide(near))
        size = np.abs(wide(near))
        step = np.maximum(np.exp2(np.floor(np.log2(size)) - fraction(dtype)), smallest(dtype))
        step = np.where(size == 0, smallest(dtype), step)
        error = np.abs(result.astype(np.longdouble) - exact) / step
    assert_all(["special values"], [result[~finite]], [near[~finite]])
    return error[finite].max(initial=0)


def fraction(dtype):
    return {f16: 10, bf16: 7, f32: 23, f64: 52}[dtype]


def smallest(dtype):
    return {f16: 2.0**-24, bf16: 2.0**-133, f32: 2.0**-149, f64: 2.0**-1074}[dtype]


def in_numpy(function, *arrays):
    with np.errstate(all="ignore"):
        return function(*(x.astype(np.longdouble) for x in arrays))


@pytest.mark.thinned(2)
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_functions_of_one_number(device, dtype, rng):
    inputs = {n: rng.uniform(*limits, 250).astype(dtype.np) for n, (_, limits) in ONE.items()}
    texts = [f"tl.{name}({name})" for name in ONE]
    got = run(texts, device, inputs, dtype, tile=(64,))
    for name, result in zip(ONE, got, strict=True):
        error = distance(result, in_numpy(ONE[name][0], inputs[name]), dtype)
        assert error <= BOUND[dtype], f"{name}: {error} ulp"


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_edge_values(device, dtype, rng):
    """Zeros, limits, subnormals, infinities and NaN, and numbers of any size."""
    a = float_values(dtype, rng, 20)
    got = run([*CANONICAL], device, {"a": a}, dtype, tile=(16,))
    for (text, function), result in zip(CANONICAL.items(), got, strict=True):
        # Arguments so large that NumPy's own wide functions lose their way are left out.
        keep = (np.abs(wide(a)) < 1e15) | ~np.isin(text[3:6], ["sin", "cos", "tan"])
        error = distance(result[keep], in_numpy(function, a[keep]), dtype)
        assert error <= BOUND[dtype], f"{text}: {error} ulp"


def ties(dtype, rng):
    """All numbers of 16 bits; of others halves, and their neighbours on both sides."""
    if dtype.bits == 16:
        return np.arange(1 << 16, dtype=np.uint16).view(dtype.np)
    most = {f32: 2.0**22, f64: 2.0**51}[dtype]
    near = rng.integers(0, [4, 1000, most], (300, 3)).ravel() + 0.5
    halves = np.concatenate([near, -near, [0.0, -0.0, most, 8 * most, np.inf, np.nan]])
    halves = halves.astype(dtype.np)
    sides = [np.nextafter(halves, np.array(side, dtype.np)) for side in (-np.inf, np.inf)]
    return np.concatenate([halves, *sides])


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_rounding_takes_the_even_one_of_two(device, dtype, rng):
    a = ties(dtype, rng)
    (got,) = run(["tl.round(a)"], device, {"a": a}, dtype, tile=(1024,))
    expected = np.rint(wide(a)).astype(dtype.np)
    number = ~np.isnan(wide(a))
    assert np.isnan(wide(got)[~number]).all()
    assert got[number].tobytes() == expected[number].tobytes(), "the signs of zeros included"


@tw.entry
def to_nearest(out: tl.TensorMut, x: tl.Tensor) -> None:
    out.store(tl.round(tl.load_tile_like(x, out)).astype(out.dtype))


@pytest.mark.parametrize("to", [i8, u8, i16, u16, i32], ids=str)
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_nearest_integers(device, dtype, to, rng):
    """Halves around the ends of the type and beyond, infinities; NaN becomes 0."""
    info = np.iinfo(to.np)
    ends = [end + step / 2 for end in (info.min, info.max) for step in range(-4, 5)]
    drawn = rng.standard_normal(200) * 200
    small = [*np.arange(-300, 300, 0.5), np.nan, np.inf, -np.inf, -0.0, 0.49999997]
    with np.errstate(all="ignore"):
        x = np.concatenate([drawn, small, ends]).astype(np.float64).astype(dtype.np)
    wanted = np.clip(np.rint(x.astype(np.float64)), info.min, info.max)
    wanted = np.where(np.isnan(x.astype(np.float64)), 0, wanted).astype(to.np)
    with tw.device(device):
        out = tw.empty(x.shape, to).sync()
        got = to_nearest(out.partition_mut((64,)), x).out().sync().to_numpy()
    np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_inverse_functions_near_their_ends(device, dtype, rng):
    """Where one formula follows another, near 1 and near 0; beyond 1 they are no numbers."""
    middle, steps = 0.546875, np.arange(-60, 61) * 2.0 ** -fraction(dtype)
    tiny = 10.0 ** rng.uniform(-6, 0, 200)
    a = np.concatenate([middle + steps, -middle - steps, 1 + steps, -1 - steps, tiny, -tiny])
    a = a.astype(dtype.np)
    names = {"asin": np.arcsin, "acos": np.arccos, "atan": np.arctan}
    got = run([f"tl.{n}(a)" for n in names], device, {"a": a}, dtype, tile=(64,))
    for (name, function), result in zip(names.items(), got, strict=True):
        error = distance(result, in_numpy(function, a), dtype)
        assert error <= BOUND[dtype], f"{name}: {error} ulp"


def test_truncation_keeps_the_signs_of_zeros(device):
    a = np.array([0.0, -0.0, 0.5, -0.5, 1.5, -1.5, 2.0**24 + 2, -(2.0**30)], np.float32)
    (got,) = run(["tl.trunc(a)"], device, {"a": a}, f32, tile=(8,))
    assert got.tobytes() == np.trunc(a).tobytes()


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_boundary_shapes(device, dtype, rng):
    for count in BOUNDARY:
        a = rng.uniform(0.5, 4, count).astype(dtype.np)
        got = run([*CANONICAL], device, {"a": a}, dtype, tile=(16,))
        for (text, function), result in zip(CANONICAL.items(), got, strict=True):
            assert distance(result, in_numpy(function, a), dtype) <= BOUND[dtype], text


TWO = {
    "tl.pow(a, b)": np.power, "a ** b": np.power, "tl.atan2(a, b)": np.arctan2,
    "a ** 2": lambda a, b: a * a, "a ** 3": lambda a, b: a**3, "a ** 4": lambda a, b: a**4,
    "a ** -1": lambda a, b: 1 / a, "a ** -2": lambda a, b: 1 / (a * a),
    "a ** 0": lambda a, b: np.ones_like(a), "a ** 0.5": lambda a, b: np.sqrt(a),
    "2.0 ** b": lambda a, b: np.exp2(b), "a ** 7": lambda a, b: a**7,
    "tl.pow(a, 1.5)": lambda a, b: np.power(a, 1.5), "pow(a, b)": np.power,
    "tl.atan2(1.0, b)": lambda a, b: np.arctan2(np.longdouble(1), b),
}  # fmt: skip


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_functions_of_two_numbers(device, dtype, rng):
    a, b = rng.uniform(0.3, 4, 250).astype(dtype.np), rng.uniform(-4, 4, 250).astype(dtype.np)
    got = run([*TWO], device, {"a": a, "b": b}, dtype, tile=(64,))
    for (text, function), result in zip(TWO.items(), got, strict=True):
        products = text in ("a ** 3", "a ** 4", "a ** -2")  # f16 and bf16 round each product
        bound = 2 if products else BOUND[dtype]
        error = distance(result, in_numpy(function, a, b), dtype)
        assert error <= bound, f"{text}: {error} ulp"


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_edges_of_two_numbers(device, dtype, rng):
    """All pairs of special values, as the C library has them."""
    values = np.array([0.0, -0.0, 1, -1, 2, -2, 0.5, 3, np.inf, -np.inf, np.nan], dtype.np)
    a, b = np.repeat(values, len(values)), np.tile(values, len(values))
    got = run(["tl.pow(a, b)", "tl.atan2(a, b)"], device, {"a": a, "b": b}, dtype, tile=(16,))
    for function, result in zip((np.power, np.arctan2), got, strict=True):
        assert distance(result, in_numpy(function, a, b), dtype) <= BOUND[dtype]
        expected = in_numpy(function, a, b).astype(np.float64)
        zero = expected == 0
        assert (np.signbit(wide(result[zero])) == np.signbit(expected[zero])).all()


PRECISE = {f"tl.{n}({n}, precise=True)": (n, *ONE[n]) for n in ONE}


def test_precise_f32_is_rounded_once(device, rng):
    """Computed in f64 and rounded: the correctly rounded result, but in the rarest cases."""
    inputs = {n: rng.uniform(*limits, 250).astype(np.float32) for n, (_, limits) in ONE.items()}
    got = run([*PRECISE], device, inputs, f32, tile=(64,))
    for (text, (name, function, _)), result in zip(PRECISE.items(), got, strict=True):
        error = distance(result, in_numpy(function, inputs[name]), f32)
        assert error <= 0.5001, f"{text}: {error} ulp"
    a, b = rng.uniform(0.3, 4, (2, 250)).astype(np.float32)
    texts = ["tl.pow(a, b, precise=True)", "tl.atan2(a, b, precise=True)"]
    got = run(texts, device, {"a": a, "b": b}, f32, tile=(64,))
    for function, result in zip((np.power, np.arctan2), got, strict=True):
        assert distance(result, in_numpy(function, a, b), f32) <= 0.5001


def test_flushing_variants(device, rng):
    a = rng.uniform(0.5, 8, 100).astype(np.float32)
    texts = ["tl.exp2(a, ftz=True)", "tl.rsqrt(a, ftz=True)", "tl.sqrt(a, ftz=True)",
             "tl.sqrt(a, rounding='approx')"]  # fmt: skip
    functions = [np.exp2, ONE["rsqrt"][0], np.sqrt, np.sqrt]
    for function, result in zip(functions, run(texts, device, {"a": a}, f32, tile=(16,)),
                                strict=True):  # fmt: skip
        assert distance(result, in_numpy(function, a), f32) <= 2
