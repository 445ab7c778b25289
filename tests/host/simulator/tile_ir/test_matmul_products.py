"""Matrix products: exact for integers, rounded once for floats, by the signs they are told."""

from __future__ import annotations

import numpy as np
import pytest

from simulator.tile_ir.machine import TileIRError
from support.tile_ir import evaluate
from tilewright.backend.tileir.bytecode.enums import Signedness
from tilewright.backend.tileir.bytecode.types import (
    BF16,
    F8E4M3FN,
    F16,
    F32,
    F64,
    I8,
    I32,
    TF32,
    TileValueType,
)

RNG = np.random.default_rng(0)
SIGNED, UNSIGNED = Signedness.SIGNED, Signedness.UNSIGNED


@pytest.mark.parametrize("scalar", [F16, BF16, TF32, F32, F8E4M3FN], ids=str)
def test_floats(scalar):
    a, b = RNG.integers(-4, 5, (4, 8)), RNG.integers(-4, 5, (8, 2))
    acc = RNG.integers(-4, 5, (4, 2))
    got = evaluate("mmaf", TileValueType(F32, (4, 2)), (scalar, a), (scalar, b), (F32, acc))
    assert (got == acc + a @ b).all()


def test_batches():
    a, b = RNG.integers(-4, 5, (3, 4, 8)), RNG.integers(-4, 5, (3, 8, 2))
    got = evaluate(
        "mmaf", TileValueType(F64, (3, 4, 2)), (F64, a), (F64, b), (F64, np.zeros((3, 4, 2)))
    )
    assert (got == a @ b).all()


def test_low_bits_of_tf32_do_not_count():
    a = np.full((1, 1), np.float32(1 + 2.0**-20))
    got = evaluate("mmaf", TileValueType(F32, (1, 1)), (TF32, a), (TF32, [[1.0]]), (F32, [[0.0]]))
    assert got == 1.0


@pytest.mark.parametrize("left", Signedness)
@pytest.mark.parametrize("right", Signedness)
def test_integers(left, right):
    a, b = RNG.integers(0, 256, (4, 8)), RNG.integers(0, 256, (8, 2))
    got = evaluate("mmai", TileValueType(I32, (4, 2)), (I8, a), (I8, b), (I32, np.ones((4, 2),
                                                                                       int)),
                   signedness_lhs=left, signedness_rhs=right)  # fmt: skip
    x = a.astype(np.uint8).astype(np.int8) if left is SIGNED else a
    y = b.astype(np.uint8).astype(np.int8) if right is SIGNED else b
    assert (got == x.astype(int) @ y.astype(int) + 1).all()


def test_integers_that_do_not_fit():
    most = np.full((1, 1), (1 << 31) - 1)
    with pytest.raises(TileIRError, match="does not fit i32"):
        evaluate("mmai", TileValueType(I32, (1, 1)), (I8, [[1]]), (I8, [[1]]), (I32, most))


def test_types_that_are_not_multiplied():
    with pytest.raises(TileIRError, match="bf16 times bf16 in f64"):
        evaluate("mmaf", TileValueType(F64, (1, 1)), (BF16, [[1]]), (BF16, [[1]]), (F64, [[1]]))


def test_scales():
    a, b = RNG.integers(-4, 5, (2, 64)), RNG.integers(-4, 5, (64, 2))
    left, right = np.array([[1, 2], [4, 8]]), np.array([[1, 0.5], [2, 1]])
    got = evaluate(
        "mmaf_scaled", TileValueType(F32, (2, 2)), (F8E4M3FN, a), (F8E4M3FN, b), (F32,
                                                                                  np.zeros((2, 2))),
        (F8E4M3FN, left), (F8E4M3FN, right),
    )  # fmt: skip
    expected = (a * np.repeat(left, 32, 1)) @ (b * np.repeat(right, 32, 0))
    assert (got == expected).all()
