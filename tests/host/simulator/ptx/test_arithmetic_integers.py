"""Integers by instructions of PTX: as Python's own, modulo the width."""

from __future__ import annotations

import numpy as np
import pytest

from simulator.ptx.program import PtxError
from support.ptx import evaluate

EDGES = [0, 1, 2, 3, 5, 31, 32, 33, 63, 64, 65]


def pairs(bits):
    most = 1 << bits
    numbers = [*EDGES, most // 2 - 1, most // 2, most // 2 + 1, most - 2, most - 1]
    both = [(a, b) for a in numbers for b in numbers]
    return [np.array(column, f"uint{bits}") for column in zip(*both, strict=True)]


def signed(n, bits):
    n = int(n) % (1 << bits)
    return n - (1 << bits) if n >> bits - 1 else n


def check(text, bits, expected, *, sign=False, result=0):
    a, b = pairs(bits)
    letter = {32: "r", 64: "d"}[result or bits]
    got = evaluate(text, letter, a, b)
    read = (lambda n: signed(n, bits)) if sign else int
    wanted = [
        expected(read(x), read(y)) % (1 << (result or bits)) for x, y in zip(a, b, strict=True)
    ]
    assert got.tolist() == wanted


@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.parametrize(
    ("name", "expected", "sign"),
    [
        ("add.s{}", lambda a, b: a + b, True),
        ("sub.u{}", lambda a, b: a - b, False),
        ("mul.lo.s{}", lambda a, b: a * b, True),
        ("min.s{}", min, True),
        ("max.u{}", max, False),
        ("and.b{}", lambda a, b: a & b, False),
        ("xor.b{}", lambda a, b: a ^ b, False),
    ],
)
def test_arithmetic(name, expected, sign, bits):
    check(f"{name.format(bits)} $0, $1, $2;", bits, expected, sign=sign)


@pytest.mark.parametrize("bits", [32, 64])
def test_the_upper_half_of_products(bits):
    check(f"mul.hi.s{bits} $0, $1, $2;", bits, lambda a, b: a * b >> bits, sign=True)
    check(f"mul.hi.u{bits} $0, $1, $2;", bits, lambda a, b: a * b >> bits)


def test_wide_products():
    check("mul.wide.s32 $0, $1, $2;", 32, lambda a, b: a * b, sign=True, result=64)
    check("mul.wide.u32 $0, $1, $2;", 32, lambda a, b: a * b, result=64)


@pytest.mark.parametrize("bits", [32, 64])
def test_shifts_by_any_amount(bits):
    a, b = pairs(bits)
    amount = b.astype(np.uint32)
    expected = {
        f"shl.b{bits}": lambda x, n: x << n if n < bits else 0,
        f"shr.u{bits}": lambda x, n: x >> n if n < bits else 0,
        f"shr.s{bits}": lambda x, n: signed(x, bits) >> min(n, bits),
    }
    for name, function in expected.items():
        got = evaluate(f"{name} $0, $1, $2;", {32: "r", 64: "d"}[bits], a, amount)
        wanted = [function(int(x), int(n)) % (1 << bits) for x, n in zip(a, amount, strict=True)]
        assert got.tolist() == wanted


def test_funnels_and_fields():
    a, b = pairs(32)
    by = (b % np.uint32(40)).astype(np.uint32)
    got = evaluate("shf.l.wrap.b32 $0, $1, $2, $3;", "r", a, b, by)
    both = [(int(y) << 32 | int(x)) for x, y in zip(a, b, strict=True)]
    wanted = [n << (int(k) % 32) >> 32 & 0xFFFFFFFF for n, k in zip(both, by, strict=True)]
    assert got.tolist() == wanted
    got = evaluate("bfe.u32 $0, $1, 3, $2;", "r", a, by)
    assert got.tolist() == [(int(x) >> 3) & ((1 << int(k)) - 1) for x, k in zip(a, by, strict=True)]
    got = evaluate("bfe.s32 $0, $1, 4, 8;", "r", a)
    assert got.tolist() == [signed((int(x) >> 4) << 24, 32) >> 24 & 0xFFFFFFFF for x in a]


def test_bits_are_counted_and_reversed():
    a, _ = pairs(64)
    assert evaluate("clz.b64 $0, $1;", "r", a).tolist() == [64 - int(x).bit_length() for x in a]
    assert evaluate("popc.b64 $0, $1;", "r", a).tolist() == [int(x).bit_count() for x in a]
    a, _ = pairs(32)
    assert evaluate("brev.b32 $0, $1;", "r", a).tolist() == [int(f"{x:032b}"[::-1], 2) for x in a]


def test_sums_of_several_words():
    text = "add.cc.u32 %r20, $1, $2; addc.cc.u32 %r21, $2, $1; addc.u32 %r22, 0, 0; "
    a, b = pairs(32)
    got = evaluate(text + "mov.b64 %d9, {%r20, %r21}; xor.b64 $0, %d9, 0;", "d", a, b)
    totals = [(int(x) | int(y) << 32) + (int(y) | int(x) << 32) for x, y in zip(a, b, strict=True)]
    assert got.tolist() == [n & ((1 << 64) - 1) for n in totals]
    got = evaluate(text + "mov.b32 $0, %r22;", "r", a, b)
    assert got.tolist() == [n >> 64 for n in totals]


def test_differences_of_several_words():
    a, b = pairs(32)
    text = "sub.cc.u32 %r20, $1, $2; subc.u32 %r21, $2, $1; mov.b64 $0, {%r20, %r21};"
    got = evaluate(text, "d", a, b)
    totals = [(int(x) | int(y) << 32) - (int(y) | int(x) << 32) for x, y in zip(a, b, strict=True)]
    assert got.tolist() == [n & ((1 << 64) - 1) for n in totals]


def test_quotients_go_toward_zero():
    a, b = (np.array(x, np.int32) for x in ([7, -7, 7, -7, 0], [2, 2, -2, -2, 5]))
    assert evaluate("div.s32 $0, $1, $2;", "r", a, b).view(np.int32).tolist() == [3, -3, -3, 3, 0]
    assert evaluate("rem.s32 $0, $1, $2;", "r", a, b).view(np.int32).tolist() == [1, -1, 1, -1, 0]


@pytest.mark.parametrize(("a", "b"), [(1, 0), (-(2**31), -1)])
def test_a_quotient_that_there_is_not(a, b):
    with pytest.raises(PtxError, match="a division"):
        evaluate("div.s32 $0, $1, $2;", "r", np.array([a], np.int32), np.array([b], np.int32))
