"""Functions composed of instructions: these computed one by one, as IEEE 754 has them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
from support.cuda import cuda_ir, lowered
from support.functions import numpy_function
from support.numbers import fresh_rng
from tilewright.backend.reference import floating
from tilewright.backend.tileir.bytecode.enums import ComparisonCode
from tilewright.backend.tileir.bytecode.program import Val, program_text
from tilewright.backend.tileir.bytecode.types import F32, F64, I1, I32, I64, TileValueType
from tilewright.backend.tileir.lower import math_expansion
from tilewright.base.dtypes import bf16, f16, f32, f64
from tilewright.ir.attrs import Rounding

NAMES = ("cbrt", "erf", "expm1", "log1p")
IN_NUMPY = {F32: np.float32, F64: np.float64, I32: np.int32, I64: np.int64, I1: np.bool}
DTYPES = {F32: f32, F64: f64}
BOUNDS = {"cbrt": 0.6, "erf": 1.5, "expm1": 1.3, "log1p": 1.2}
"""In ulp; that of `log` comes on top, which counts as the nearest number here."""
CASES = [("erf", -2), ("erf", 0), ("erf", 2), ("expm1", 0), ("log1p", 0), ("cbrt", 0)]
"""Functions, and by how many ulp the power of two that they use is off."""


class Computed(Val):
    """A value that is known."""

    def __init__(self, kind: TileValueType, array: Any) -> None:
        super().__init__(kind)
        self.array = np.asarray(array, IN_NUMPY[kind.scalar])


class Machine:
    """What stands for an emitter: it computes each instruction at once, in NumPy.

    `off` is how far the results of functions are away from the nearest, in ulp.
    """

    def __init__(self, off: int) -> None:
        self._off = off

    def number(self, value: float, kind: TileValueType) -> Computed:
        return Computed(kind, value)

    def same(self, name: str, *operands: Computed, **attrs: Any) -> Computed:
        return self.one(name, operands[0].kind, *operands, **attrs)

    def one(self, name: str, kind: TileValueType, *operands: Computed, **attrs: Any) -> Computed:
        arrays = [x.array for x in operands]
        if name == "fma":
            arrays = np.broadcast_arrays(*arrays)
            made = floating.fma(DTYPES[kind.scalar], Rounding.NEAREST_EVEN, arrays)
            return Computed(kind, made)
        if name in ("exp2", "log"):
            return Computed(kind, self._rough(getattr(np, name), kind, *arrays))
        if name == "cmpf":
            return Computed(kind, COMPARISONS[attrs["comparison_predicate"]](*arrays))
        return Computed(kind, SIMPLE[name](IN_NUMPY[kind.scalar], *arrays))

    def _rough(self, function: Any, kind: TileValueType, x: Any) -> Any:
        made = function(x.astype(np.longdouble)).astype(IN_NUMPY[kind.scalar])
        for _ in range(abs(self._off)):
            made = np.nextafter(made, np.copysign(np.inf, self._off).astype(made.dtype))
        return np.where(np.isfinite(function(x)), made, function(x))


def _high_half(a, b):
    """The upper words of products of integers that are not negative."""
    upper = a.astype(object) * int(b) >> 8 * a.dtype.itemsize
    return upper.astype(a.dtype)


COMPARISONS = {
    ComparisonCode.EQUAL: np.equal, ComparisonCode.LESS_THAN: np.less,
    ComparisonCode.GREATER_THAN: np.greater,
}  # fmt: skip
SIMPLE = {
    "addf": lambda kind, a, b: a + b, "subf": lambda kind, a, b: a - b,
    "mulf": lambda kind, a, b: a * b, "divf": lambda kind, a, b: a / b,
    "addi": lambda kind, a, b: a + b, "shli": lambda kind, a, b: a << b,
    "mulhii": lambda kind, a, b: _high_half(a, b),
    "absf": lambda kind, a: np.abs(a), "negf": lambda kind, a: -a,
    "select": lambda kind, c, a, b: np.where(c, a, b), "bitcast": lambda kind, a: a.view(kind),
}  # fmt: skip


def numbers(rng, scalar):
    """Of every size, dense where methods change, subnormal, and what is special."""
    dtype = IN_NUMPY[scalar]
    # An fma of f64 far from 1 takes the reference long.
    count, bytes_ = {F32: (10_000, 4), F64: (1_000, 8)}[scalar]
    bits = rng.integers(0, 1 << (8 * bytes_), count, dtype=f"u{bytes_}").view(dtype)
    special = np.array([0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 89.0, 710.0, 5e-324, 1e-45])
    sizes = rng.uniform(-1, 1, count) * 10.0 ** rng.integers(-12, 2, count)
    near = rng.uniform(-2, 2, 4 * count)
    parts = [bits, special, sizes, near, near * 2, near * 50, -1 + sizes]
    with np.errstate(all="ignore"):
        return np.concatenate([part.astype(dtype) for part in parts])


def ulps(found, expected):
    """The greatest error of what is finite; what is not, and signs of zeros, must be the same."""
    rounded = expected.astype(found.dtype)
    finite = np.isfinite(rounded) & np.isfinite(found)
    largest = np.abs(expected) > 0.999 * np.finfo(found.dtype).max  # may be infinite or not
    np.testing.assert_array_equal(found[~finite & ~largest], rounded[~finite & ~largest])
    zero = rounded == 0
    np.testing.assert_array_equal(np.signbit(found[zero]), np.signbit(rounded[zero]))
    step = np.spacing(np.abs(rounded[finite])).astype(np.longdouble)
    return np.max(np.abs(found[finite].astype(np.longdouble) - expected[finite]) / step)


@pytest.mark.thinned(5)
@pytest.mark.parametrize("scalar", [F32, F64], ids=str)
@pytest.mark.parametrize(("name", "off"), CASES)
def test_error_bound(name, off, scalar):
    x = numbers(fresh_rng(), scalar)
    kind = TileValueType(scalar, (1,))
    with np.errstate(all="ignore"):
        made = getattr(math_expansion, name)(
            math_expansion.Writer(Machine(off), kind), Computed(kind, x)
        )
        expected = numpy_function(name)(x.astype(np.longdouble))
        assert ulps(made.array, expected) <= BOUNDS[name]


@pytest.mark.parametrize("dtype", [f16, bf16, f32, f64], ids=str)
@pytest.mark.parametrize("name", NAMES)
def test_they_become_programs(name, dtype):
    function = getattr(tl, name)

    @tw.entry
    def kernel(out: tl.TensorMut, x: tl.Tensor) -> None:
        out.store(function(tl.load_tile_like(x, out)))

    x = tw.meta((64,), dtype)
    text = program_text(lowered(cuda_ir(kernel, x.partition_mut((32,)), x)).program)
    assert text.count("fma") >= 5
    assert ("tile<32xf64>" in text) == (dtype is f64)
    assert text.count("ftof") == (2 if dtype in (f16, bf16) else 0)
