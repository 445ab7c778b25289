"""The meaning of ops on numbers, against the reference: every op and type, random numbers."""

from __future__ import annotations

import math
import random

import ml_dtypes
import numpy as np
import pytest

from support.ir import apply as reference_apply
from support.numbers import float_values, fresh_rng, int_values
from support.numbers import wide as wide_of
from tilewright.base.dtypes import (
    FLOATS,
    INTS,
    bf16,
    bool_,
    f16,
    f32,
    f64,
    i8,
    i16,
    i32,
    i64,
    u8,
    u16,
    u32,
    u64,
)
from tilewright.ir.attrs import Predicate, Rounding
from tilewright.ir.builder import make_op
from tilewright.ir.core import Value
from tilewright.ir.opdef import Trait, TypeRuleError
from tilewright.ir.ops import OPS
from tilewright.ir.ops.memory import POINTER_OPS
from tilewright.ir.semantics import ABOUT, EXACT, estimate, number_of
from tilewright.ir.semantics import evaluate as evaluate_op
from tilewright.ir.types import TileType

EDGES = (-128, -127, -65, -2, -1, 0, 1, 2, 3, 64, 126, 127)


def evaluate(name, dtype, *numbers, **attrs):
    op = make_op(name, *(Value(TileType(dtype)) for _ in numbers), attrs=attrs)
    return evaluate_op(op, numbers)


def edges(dtype):
    return EDGES if dtype.is_signed else tuple(n % 256 for n in EDGES)


def wide(dtype, name, a, b):
    """The same on NumPy, in 64 bits, then wrapped."""
    with np.errstate(all="ignore"):
        return int(np.asarray(getattr(np, name)(np.int64(a), np.int64(b))).astype(dtype.np))


@pytest.mark.parametrize("dtype", [i8, u8])
@pytest.mark.parametrize(
    ("op", "numpy_name"),
    [
        ("addi", "add"), ("subi", "subtract"), ("muli", "multiply"), ("maxi", "maximum"),
        ("mini", "minimum"), ("andi", "bitwise_and"), ("ori", "bitwise_or"),
        ("xori", "bitwise_xor"),
    ],
)  # fmt: skip
def test_integers_wrap(op, numpy_name, dtype):
    for a in edges(dtype):
        for b in edges(dtype):
            assert evaluate(op, dtype, a, b) == wide(dtype, numpy_name, a, b)


@pytest.mark.parametrize("dtype", [i8, u8])
def test_division_is_total_and_rounds_as_asked(dtype):
    for a in edges(dtype):
        for b in edges(dtype):
            floor = evaluate("divi", dtype, a, b, rounding=Rounding.NEG_INF)
            ceil = evaluate("divi", dtype, a, b, rounding=Rounding.POS_INF)
            zero = evaluate("divi", dtype, a, b)
            if b == 0:
                assert floor == ceil == zero == 0
                assert evaluate("remi", dtype, a, b) == a
                continue
            if (a, b) == (-128, -1):
                assert floor == ceil == zero == -128
                assert evaluate("remi", dtype, a, b) == 0
                continue
            assert (floor, ceil, zero) == (a // b, -(-a // b), int(a / b))
            assert evaluate("remi", dtype, a, b) == math.fmod(a, b)
            assert evaluate("remi", dtype, a, b, rounding=Rounding.NEG_INF) == a % b


@pytest.mark.parametrize("dtype", [i8, u8])
def test_shifts_by_the_width_or_more(dtype):
    for a in edges(dtype):
        for amount in (0, 1, 7, 8, 9, 127, *([-1] if dtype.is_signed else [255])):
            n = amount % 256
            left = (a << n) % 256 if n < 8 else 0
            assert evaluate("shli", dtype, a, amount) % 256 == left
            assert evaluate("shri", dtype, a, amount) == a >> min(n, 8)


def test_high_half_absolute_and_negation():
    assert evaluate("mulhi", i8, -1, -1) == wide(i8, "right_shift", 255 * 255, 8)
    assert evaluate("mulhi", u32, 2**32 - 1, 2) == 1
    assert evaluate("absi", i8, -128) == -128
    assert evaluate("negi", i8, -128) == -128
    assert evaluate("negi", u8, 1) == 255
    assert evaluate("noti", u8, 0) == 255
    assert evaluate("noti", bool_, True) is False


@pytest.mark.parametrize("dtype", [f16, bf16, f32, f64])
@pytest.mark.parametrize(
    ("op", "compute"),
    [("addf", np.add), ("subf", np.subtract), ("mulf", np.multiply), ("divf", np.divide)],
)
def test_float_arithmetic_rounds_once(op, compute, dtype):
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    rng = np.random.default_rng(seed)
    special = [0.0, -0.0, np.inf, -np.inf, 1.0, float(ml_dtypes.finfo(dtype.np).max)]
    numbers = np.concatenate([rng.standard_normal(40) * 10.0 ** rng.integers(-6, 6, 40), special])
    with np.errstate(all="ignore"):
        numbers = numbers.astype(np.float32).astype(dtype.np)
        for a in numbers:
            b = rng.choice(numbers.astype(np.float64)).astype(np.float32).astype(dtype.np)
            want = float(compute(a, b))
            got = evaluate(op, dtype, float(a), float(b))
            if math.isnan(want):
                assert got is None
            else:
                assert repr(got) == repr(want)


@pytest.mark.parametrize("rounding", [r for r in Rounding if r is not Rounding.NEAREST_EVEN])
def test_other_roundings_and_flushing_are_left(rounding):
    assert evaluate("addf", f32, 1.0, 2.0, rounding=rounding) is None
    assert evaluate("addf", f32, 1.0, 2.0, ftz=True) is None


@pytest.mark.parametrize("predicate", list(Predicate))
def test_comparisons(predicate):
    compute = getattr(np, {"eq": "equal", "ne": "not_equal", "lt": "less", "le": "less_equal",
                           "gt": "greater", "ge": "greater_equal"}[predicate])  # fmt: skip
    for a in (-1.0, -0.0, 0.0, 2.0):
        for b in (-1.0, -0.0, 0.0, 2.0):
            assert evaluate("cmpf", f32, a, b, predicate=predicate) is bool(compute(a, b))
            assert evaluate("cmpi", i32, int(a), int(b), predicate=predicate) is bool(
                compute(int(a), int(b))
            )
    for unordered in (False, True):
        got = evaluate("cmpf", f32, math.nan, 1.0, predicate=predicate, unordered=unordered)
        assert got is unordered


def test_extremes_and_signed_zeros():
    assert repr(evaluate("maxf", f32, -0.0, 0.0)) == "0.0"
    assert repr(evaluate("minf", f32, 0.0, -0.0)) == "-0.0"
    assert evaluate("maxf", f32, math.nan, 0.0) is None
    assert evaluate("maxf", f32, math.nan, 0.0, nan=False) is None
    assert repr(evaluate("floor", f32, -0.0)) == "-0.0"
    assert evaluate("ceil", f32, 0.5) == 1.0


@pytest.mark.parametrize("to", [i8, u8, i16, u16, i32, u32, i64, u64])
def test_float_to_integer_saturates(to):
    low, high = np.iinfo(to.np).min, np.iinfo(to.np).max
    assert evaluate("ftoi", f32, 1e30, to=to) == high
    assert evaluate("ftoi", f32, -math.inf, to=to) == low
    assert evaluate("ftoi", f32, math.nan, to=to) == 0
    assert evaluate("ftoi", f32, -1.9, to=to) == (-1 if to.is_signed else 0)


def test_conversions_round_once():
    assert evaluate("itof", i32, 2**24 + 1, to=f32) == 2.0**24
    assert evaluate("itof", i64, 2**62 + 1, to=f32) is None
    assert evaluate("itof", bool_, True, to=f16) == 1.0
    # Halfway in bf16 and a little more: through f32 it would round down.
    tricky = 1 + 2.0**-8 + 2.0**-30
    assert evaluate("ftof", f64, tricky, to=bf16) == 1 + 2.0**-7
    assert evaluate("ftof", f64, 1 + 2.0**-8, to=bf16) == 1.0
    assert evaluate("ftof", f64, 1e300, to=f32) == math.inf
    assert evaluate("exti", bool_, True, to=i32) == 1
    assert evaluate("exti", i8, -1, to=u32) == 2**32 - 1
    assert evaluate("trunci", i32, 300, to=u8) == 44
    assert evaluate("bitcast", f32, 1.0, to=u32) == 0x3F800000
    assert evaluate("bitcast", u32, 0x7FC00000, to=f32) is None
    assert repr(evaluate("bitcast", i32, -(2**31), to=f32)) == "-0.0"


def test_only_declared_ops_are_in_the_table_and_no_transcendental_one():
    assert EXACT.keys() <= OPS.keys()
    assert not EXACT.keys() & {
        "exp", "expm1", "log", "log1p", "sin", "cos", "tanh", "erf", "pow", "sqrt", "rsqrt", "fma"
    }  # fmt: skip


ATTRIBUTES = {
    "divi": [{"rounding": r} for r in (Rounding.ZERO, Rounding.NEG_INF, Rounding.POS_INF)],
    "remi": [{"rounding": r} for r in (Rounding.ZERO, Rounding.NEG_INF)],
    "cmpi": [{"predicate": p} for p in Predicate],
    "cmpf": [{"predicate": p, "unordered": u} for p in Predicate for u in (False, True)],
    "ftof": [{"to": t} for t in (f16, bf16, f32, f64)],
    "itof": [{"to": t} for t in (f16, bf16, f32, f64)],
    "ftoi": [{"to": t} for t in (i8, u8, i32, u32, i64, u64)],
    "exti": [{"to": t} for t in (i64, u64)],
    "trunci": [{"to": t} for t in (i8, u8)],
    "bitcast": [{"to": t} for t in (i8, u8, i32, u32, f32, i64, f64, f16, bf16)],
}
KINDS = (*INTS, bool_, *FLOATS)


def numbers_of(dtype, rng):
    """Numbers at the bounds of a type, and random ones; signalling NaNs are made quiet."""
    if not dtype.is_float:
        return int_values(dtype, rng, 8)
    with np.errstate(all="ignore"):
        return wide_of(float_values(dtype, rng, 6)).astype(dtype.np)


def operands_of(op, rng):
    """All combinations of such numbers for the operands of an op, as arrays."""
    kinds = [v.tile.dtype for v in op.operands]
    grids = np.meshgrid(*(np.arange(len(numbers_of(k, rng))) for k in kinds), indexing="ij")
    columns = [numbers_of(k, rng) for k in kinds]
    return kinds, [c[g.ravel()] for c, g in zip(columns, grids, strict=True)]


def each(arrays, kinds):
    """The numbers of each place."""
    for row in zip(*(a.tolist() for a in arrays), strict=True):
        yield [number_of(n, kind) for n, kind in zip(row, kinds, strict=True)]


def cases(name):
    """The types and attributes that an op accepts."""
    for dtype in KINDS:
        for attrs in ATTRIBUTES.get(name, [{}]):
            values = [Value(TileType(dtype)) for _ in OPS[name].operands]
            if name == "select":
                values[0] = Value(TileType(bool_))
            try:
                yield dtype, attrs, make_op(name, *values, attrs=attrs)
            except TypeRuleError:
                continue


@pytest.mark.parametrize("name", sorted(EXACT))
def test_agrees_with_the_reference(name):
    tried, rng = 0, fresh_rng()
    for dtype, attrs, op in cases(name):
        kinds, arrays = operands_of(op, rng)
        want = reference_apply(name, *zip(kinds, arrays, strict=True), **attrs)
        for expected, numbers in zip(want.tolist(), each(arrays, kinds), strict=True):
            got = evaluate_op(op, numbers)
            if got is not None:
                tried += 1
                right = repr(number_of(expected, op.result.tile.dtype))
                assert repr(got) == right, (dtype, attrs, numbers)
    assert tried > 3


FORMS = [n for n in sorted(ABOUT) if n not in ("ftof", "itof")]


@pytest.mark.parametrize("dtype", [f32, f64])
@pytest.mark.parametrize("name", FORMS)
def test_estimates_are_near_the_reference(name, dtype):
    values = [Value(TileType(dtype)) for _ in OPS[name].operands]
    op, rng = make_op(name, *values), fresh_rng()
    column = np.concatenate([rng.uniform(-8, 8, 9), [0.0, 1.0, -1.0]]).astype(dtype.np)
    grids = np.meshgrid(*[column] * len(values), indexing="ij")
    arrays = [g.ravel() for g in grids]
    want = reference_apply(name, *((dtype, a) for a in arrays))
    got = [estimate(op, numbers) for numbers in each(arrays, [dtype] * len(values))]
    near = 1e-5 if dtype is f32 else 1e-12
    np.testing.assert_allclose(np.array(got), want.astype(np.float64), rtol=near, atol=near)


@pytest.mark.parametrize("name", sorted(OPS))
def test_elementwise_ops_have_a_meaning(name):
    """Elementary functions may have none: nothing but a warning rests on an estimate."""
    op, known = OPS[name], name in EXACT or name in ABOUT
    elementwise = op.has(Trait.ELEMENTWISE) and op not in POINTER_OPS
    assert known == elementwise or (elementwise and op.has(Trait.MATH))


@pytest.mark.parametrize("sign", [1, -1])
def test_integers_become_floats_where_that_rounds_once(sign):
    exact = sign * (1 << 53)
    assert evaluate("itof", i64, exact, to=f64) == float(exact)
    assert evaluate("itof", i64, exact, to=f32) == float(exact)
    assert evaluate("itof", i64, exact + sign, to=f32) is None


def test_bits_are_read_anew_where_their_number_says_all_of_them():
    assert evaluate("bitcast", f32, 1.0, to=i32) == 0x3F800000
    assert evaluate("bitcast", i32, -1, to=u32) == 2**32 - 1
    assert evaluate("bitcast", f32, math.nan, to=i32) is None
    assert evaluate("bitcast", bool_, True, to=bool_) is None
