"""Numbers in SIMT kernels as PTX: arithmetic, conversions and functions, at edge values.

Results are compared with the reference bit by bit, those of math functions within their bounds.
"""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
from support import simulated_cuda, tiers
from tilewright import simt
from tilewright.base import dtypes
from tilewright.base.config import override
from tilewright.devices import registry
from tilewright.frontend.capture.sources import execute
from tilewright.ir.ops.elementwise import MATH_OPS

FUNCTIONS = [op.name for op in MATH_OPS if op.name not in ("ceil", "floor", "round", "sqrt")]
"""Elementary functions that are not single instructions."""

NAMES = (
    "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f16", "bf16", "f32", "f64",
    "f8e4m3fn", "f8e5m2",
)  # fmt: skip
INTEGERS, FLOATS = NAMES[:8], ("f16", "bf16", "f32", "f64")
ANY = ("x[i] + y[i]", "x[i] - y[i]", "x[i] * y[i]", "-x[i]", "tl.minimum(x[i], y[i])",
       "tl.maximum(x[i], y[i])", "x[i] if x[i] < y[i] else y[i]")  # fmt: skip
OF_INTEGERS = (
    "x[i] // y[i]",
    "x[i] % y[i]",
    "x[i] << y[i]",
    "x[i] >> y[i]",
    "x[i] & y[i]",
    "~x[i]",
)
MODES = ("ZERO", "POS_INF", "NEG_INF")
OF_FLOATS = (
    "x[i] / y[i]", "tl.fma(x[i], y[i], x[i])", "tl.sqrt(x[i])", "tl.floor(x[i])", "tl.round(x[i])",
)  # fmt: skip
DIRECTED = [
    f"tl.{name}, rounding=tl.Rounding.{mode})"
    for name in ("addf(x[i], y[i]", "subf(x[i], y[i]", "mulf(x[i], y[i]", "divf(x[i], y[i]",
                 "sqrt(x[i]")
    for mode in MODES
]  # fmt: skip
CASES = [
    *((text, name) for name in (*INTEGERS, *FLOATS) for text in ANY),
    *((text, name) for name in INTEGERS for text in OF_INTEGERS),
    *((text, name) for name in FLOATS for text in OF_FLOATS),
    *((text, name) for name in ("f32", "f64") for text in DIRECTED),
]
TWO = ("pow", "atan2")
BOUND = 2.5
"""Ulps between two results, each within 2 of the exact one and mostly within 1."""
HEAD = """
def kernel(out: simt.DisjointSlice[R], x: simt.Slice[T], y: simt.Slice[T]) -> None:
    i = simt.index_1d()
    if i < len(out):
        out[i] = """
EDGES = [
    0.0, -0.0, 1, -1, 0.5, 1.5, 2.5, -2.5, np.inf, -np.inf, np.nan, 1e-45, 1e-40, 6e-8, 6.1e-5,
    65504, 65520, 1e38, 3.4e38, 127.5, 128, 255.5, 256, -128.5, -129, 32767.5, 2147483647,
    2147483648, 4294967295, 4294967296, 9.2e18, 1.9e19, -9.3e18, 1e300, 1e-310, 448, 57344, 61440,
]  # fmt: skip


@pytest.fixture(params=["sm_90", "sm_80", "sm_100"] if tiers.tier() == tiers.FULL else ["sm_90"])
def gpu(request, monkeypatch):
    """A simulated GPU."""
    simulated_cuda.install(request.param, patch=monkeypatch.setattr)
    (found,) = registry._Gpus.found
    return found


def numbers(rng, dtype, count=128):
    if not dtype.is_float:
        ends = np.iinfo(dtype.np)
        small = [n for n in (0, 1, 2, 3, 7, 31, 32, 63, 64, 127, 128, 255) if n <= ends.max]
        edges = np.array([*small, ends.max, ends.min, ends.max - 1, ends.min + 1], dtype.np)
        drawn = rng.integers(ends.min, ends.max, count - len(edges), dtype.np, endpoint=True)
        return np.concatenate([edges, drawn])
    drawn = rng.standard_normal(count) * 10.0 ** rng.integers(-9, 9, count)
    with np.errstate(all="ignore"):
        return np.concatenate([np.array(EDGES), drawn])[:count].astype(dtype.np)


def results(text, given, result, rng, gpu):
    """What the reference and the simulated GPU give."""
    names = {"simt": simt, "tl": tl, "T": given, "R": result}
    names |= {name: getattr(dtypes, name) for name in NAMES}
    kernel = simt.kernel(execute(f"{HEAD}{text}\n", names)["kernel"])
    x, y = numbers(rng, given), rng.permutation(numbers(rng, given))
    for device in ("reference", gpu):
        with tw.device(device):
            out = tw.zeros((len(x),), result).sync()
            kernel(out.borrow_mut(), *(tw.from_numpy(a).sync() for a in (x, y))).sync()
            yield out.to_numpy()


def check(text, given, result, rng, gpu, ulps=0.0):
    expected, got = results(text, given, result, rng, gpu)
    if not result.is_float:
        np.testing.assert_array_equal(got, expected)
        return
    one, other = (a.astype(np.float64) for a in (expected, got))
    same = (one == other) & (np.signbit(one) == np.signbit(other))
    same |= np.isnan(one) & np.isnan(other)
    if ulps:
        kind = ml_dtypes.finfo(result.np)
        step = np.maximum(np.abs(one) * float(kind.eps), float(kind.smallest_subnormal))
        with np.errstate(all="ignore"):
            same |= np.abs(one - other) <= ulps * step
    assert same.all(), (text, expected[~same][:4], got[~same][:4])


@pytest.mark.thinned(12)
@pytest.mark.parametrize(("text", "name"), CASES)
def test_arithmetic(text, name, rng, gpu):
    dtype = getattr(dtypes, name)
    check(text, dtype, dtype, rng, gpu)


@pytest.mark.thinned(24)
@pytest.mark.parametrize("result", NAMES)
@pytest.mark.parametrize("given", NAMES)
def test_conversions(given, result, rng, gpu):
    one, other = getattr(dtypes, given), getattr(dtypes, result)
    check(f"x[i].astype({result})", one, other, rng, gpu)


@pytest.mark.thinned(6)
@pytest.mark.parametrize("libdevice", ["", "off"])
@pytest.mark.parametrize("name", ["f16", "f32", "f64"])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_functions(function, name, libdevice, rng, gpu):
    dtype = getattr(dtypes, name)
    text = f"tl.{function}(x[i], y[i])" if function in TWO else f"tl.{function}(x[i])"
    with override(libdevice=libdevice):
        check(text, dtype, dtype, rng, gpu, BOUND)
