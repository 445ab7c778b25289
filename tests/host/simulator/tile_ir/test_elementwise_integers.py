"""Integers by instructions of Tile IR: as Python's own, modulo the width; broken promises raise."""

from __future__ import annotations

import numpy as np
import pytest

from simulator.tile_ir.machine import TileIRError
from support.tile_ir import evaluate
from tilewright.backend.tileir.bytecode.enums import (
    ComparisonCode,
    OverflowCode,
    RoundingCode,
    Signedness,
)
from tilewright.backend.tileir.bytecode.types import I1, I8, I16, I32, I64, TileValueType

WIDTHS = [I8, I16, I32, I64]
SIGNED, UNSIGNED = Signedness.SIGNED, Signedness.UNSIGNED


def edges(scalar):
    most = 1 << scalar.width
    numbers = [0, 1, 2, 3, 5, most // 2 - 1, most // 2, most // 2 + 1, most - 2, most - 1, 100]
    pairs = [(a, b) for a in numbers for b in numbers]
    return [a for a, _ in pairs], [b for _, b in pairs]


def as_signed(n, scalar):
    n %= 1 << scalar.width
    return n - (1 << scalar.width) if n >> (scalar.width - 1) else n


def as_unsigned(n, scalar):
    return n % (1 << scalar.width)


def check(name, scalar, expected, a, b, *, result=None, **attrs):
    kind = TileValueType(result or scalar, (len(a),))
    got = evaluate(name, kind, (scalar, a), (scalar, b), **attrs)
    wanted = [expected(x, y) for x, y in zip(a, b, strict=True)]
    if result is I1:
        assert got.tolist() == wanted
    else:
        assert got.tolist() == [as_signed(n, scalar) for n in wanted]


@pytest.mark.parametrize("scalar", WIDTHS, ids=str)
def test_arithmetic_wraps(scalar):
    a, b = edges(scalar)
    check("addi", scalar, lambda x, y: x + y, a, b)
    check("subi", scalar, lambda x, y: x - y, a, b)
    check("muli", scalar, lambda x, y: x * y, a, b)
    check("mulhii", scalar, lambda x, y: x * y >> scalar.width, a, b)
    check("xori", scalar, lambda x, y: x ^ y, a, b)
    check("andi", scalar, lambda x, y: x & y, a, b)
    check("ori", scalar, lambda x, y: x | y, a, b)


@pytest.mark.parametrize("sign", Signedness)
@pytest.mark.parametrize("scalar", WIDTHS, ids=str)
def test_what_depends_on_the_sign(scalar, sign):
    read = as_signed if sign is SIGNED else as_unsigned
    a, b = edges(scalar)
    check("maxi", scalar, lambda x, y: max(read(x, scalar), read(y, scalar)), a, b, signedness=sign)
    check("mini", scalar, lambda x, y: min(read(x, scalar), read(y, scalar)), a, b, signedness=sign)
    predicates = {
        ComparisonCode.EQUAL: lambda x, y: x == y, ComparisonCode.NOT_EQUAL: lambda x, y: x != y,
        ComparisonCode.LESS_THAN: lambda x, y: x < y,
        ComparisonCode.LESS_THAN_OR_EQUAL: lambda x, y: x <= y,
        ComparisonCode.GREATER_THAN: lambda x, y: x > y,
        ComparisonCode.GREATER_THAN_OR_EQUAL: lambda x, y: x >= y,
    }  # fmt: skip
    for code, holds in predicates.items():
        check(
            "cmpi", scalar, lambda x, y, h=holds: h(read(x, scalar), read(y, scalar)), a, b,
            result=I1, signedness=sign, comparison_predicate=code,
        )  # fmt: skip
    shifts = [n % scalar.width for n in b]
    check("shri", scalar, lambda x, y: read(x, scalar) >> y, a, shifts, signedness=sign)
    check("shli", scalar, lambda x, y: x << y, a, shifts)


@pytest.mark.parametrize("sign", Signedness)
@pytest.mark.parametrize("scalar", WIDTHS, ids=str)
def test_division(scalar, sign):
    read = as_signed if sign is SIGNED else as_unsigned
    least = 1 << (scalar.width - 1)
    whole = [(x, y) for x, y in zip(*edges(scalar), strict=True)
             if y and not (sign is SIGNED and x == least and read(y, scalar) == -1)]  # fmt: skip
    a, b = [x for x, _ in whole], [y for _, y in whole]

    def quotient(mode):
        def exact(x, y):
            x, y = read(x, scalar), read(y, scalar)
            floor, rest = divmod(x, y)
            ceil = floor + bool(rest)
            toward_zero = floor if (x < 0) == (y < 0) else ceil
            return {RoundingCode.ZERO: toward_zero, RoundingCode.NEGATIVE_INF: floor,
                    RoundingCode.POSITIVE_INF: ceil}[mode]  # fmt: skip

        return exact

    modes = [RoundingCode.ZERO, RoundingCode.POSITIVE_INF]
    for mode in [*modes, RoundingCode.NEGATIVE_INF] if sign is SIGNED else modes:
        check("divi", scalar, quotient(mode), a, b, signedness=sign, rounding=mode)

    def rest(x, y):
        return read(x, scalar) - quotient(RoundingCode.ZERO)(x, y) * read(y, scalar)

    check("remi", scalar, rest, a, b, signedness=sign)


def test_one_bit():
    a, b = [False, False, True, True], [False, True, False, True]
    both = [(I1, a), (I1, b)]
    kind = TileValueType(I1, (4,))
    assert evaluate("addi", kind, *both).tolist() == [False, True, True, False]
    assert evaluate("muli", kind, *both).tolist() == [False, False, False, True]
    less = {"comparison_predicate": ComparisonCode.LESS_THAN}
    assert evaluate("cmpi", kind, *both, **less, signedness=SIGNED).tolist() == [0, 0, 1, 0]
    assert evaluate("cmpi", kind, *both, **less, signedness=UNSIGNED).tolist() == [0, 1, 0, 0]


def test_widths_change():
    kind = TileValueType(I32, (3,))
    assert evaluate("exti", kind, (I8, [1, 127, 255]), signedness=SIGNED).tolist() == [1, 127, -1]
    assert evaluate("exti", kind, (I8, [1, 127, 255]), signedness=UNSIGNED).tolist() == [
        1,
        127,
        255,
    ]
    assert evaluate("exti", TileValueType(I8, (2,)), (I1, [0, 1]), signedness=SIGNED).tolist() == [
        0,
        -1,
    ]
    narrow = TileValueType(I8, (3,))
    assert evaluate("trunci", narrow, (I32, [1, 128, 511])).tolist() == [1, -128, -1]
    assert evaluate("absi", narrow, (I8, [-3, 3, -128])).tolist() == [3, 3, -128]
    assert evaluate("negi", narrow, (I8, [-3, 3, -128])).tolist() == [3, -3, -128]
    with pytest.raises(TileIRError, match="not narrower"):
        evaluate("exti", kind, (I32, [1, 2, 3]))
    with pytest.raises(TileIRError, match="not wider"):
        evaluate("trunci", kind, (I32, [1, 2, 3]))


NSW, NUW = OverflowCode.NO_SIGNED_WRAP, OverflowCode.NO_UNSIGNED_WRAP
BROKEN = [
    ("addi", I8, (127, 1), NSW), ("addi", I8, (255, 1), NUW), ("subi", I8, (-128, 1), NSW),
    ("subi", I8, (0, 1), NUW), ("muli", I64, (1 << 62, 2), NSW), ("muli", I64, (1 << 63, 2), NUW),
    ("shli", I32, (1 << 30, 1), NSW), ("shli", I32, (1 << 31, 1), NUW),
    ("addi", I64, ((1 << 63) - 1, 1), OverflowCode.NO_WRAP), ("negi", I8, (-128,), NSW),
]  # fmt: skip
KEPT = [
    ("addi", I8, (127, 1), NUW), ("addi", I8, (255, 1), NSW), ("subi", I8, (1, 2), NSW),
    ("muli", I64, (1 << 62, 2), NUW), ("muli", I64, (-1, 2), NSW), ("shli", I32, (1 << 30, 1), NUW),
    ("shli", I32, (-1, 31), NSW), ("negi", I8, (-127,), NSW),
]  # fmt: skip


@pytest.mark.parametrize(("name", "scalar", "operands", "promise"), BROKEN)
def test_broken_promises_raise(name, scalar, operands, promise):
    given = [(scalar, [n]) for n in operands]
    with pytest.raises(TileIRError, match=rf"`{name}`.* wraps around"):
        evaluate(name, TileValueType(scalar, (1,)), *given, overflow=promise)
    evaluate(name, TileValueType(scalar, (1,)), *given, overflow=OverflowCode.NONE)


@pytest.mark.parametrize(("name", "scalar", "operands", "promise"), KEPT)
def test_kept_promises_change_nothing(name, scalar, operands, promise):
    given = [(scalar, [n]) for n in operands]
    kind = TileValueType(scalar, (1,))
    assert evaluate(name, kind, *given, overflow=promise) == evaluate(name, kind, *given)


def test_truncation_may_promise_too():
    with pytest.raises(TileIRError, match="wraps around"):
        evaluate("trunci", TileValueType(I8, (1,)), (I32, [128]), overflow=NSW)
    assert evaluate("trunci", TileValueType(I8, (1,)), (I32, [128]), overflow=NUW) == -128


@pytest.mark.parametrize(
    ("name", "operands", "message"),
    [
        ("divi", (1, 0), "divided by zero"), ("remi", (1, 0), "divided by zero"),
        ("divi", (-(1 << 31), -1), "divided by -1"), ("shli", (1, 32), "shifted by 32"),
        ("shri", (1, -1), "shifted by 4294967295"),
    ],
)  # fmt: skip
def test_undefined_results_raise(name, operands, message):
    with pytest.raises(TileIRError, match=message):
        evaluate(name, TileValueType(I32, (1,)), *[(I32, [n]) for n in operands])


def test_unsigned_quotients_are_not_floors():
    with pytest.raises(TileIRError, match="NEGATIVE_INF"):
        evaluate(
            "divi", TileValueType(I32, (1,)), (I32, [1]), (I32, [2]),
            signedness=UNSIGNED, rounding=RoundingCode.NEGATIVE_INF,
        )  # fmt: skip


def test_operands_have_one_shape():
    with pytest.raises(TileIRError, match="shapes"):
        evaluate(
            "addi",
            TileValueType(I32, (2, 2)),
            (I32, np.zeros((2, 2), int)),
            (I32, np.zeros((1, 2), int)),
        )
