"""Shapes, constants and assumptions by instructions of Tile IR."""

from __future__ import annotations

import numpy as np
import pytest

from simulator.tile_ir.machine import TileIRError
from support.tile_ir import evaluate
from tilewright.backend.tileir.bytecode.program import Bounded, DivBy, Same
from tilewright.backend.tileir.bytecode.types import F32, I1, I8, I16, I32, TF32, TileValueType

X = np.arange(8).reshape(2, 4)


def test_shapes():
    assert (evaluate("reshape", TileValueType(I32, (4, 2)), (I32, X)) == X.reshape(4, 2)).all()
    row = evaluate("broadcast", TileValueType(I32, (2, 4)), (I32, X[:1]))
    assert (row == np.broadcast_to(X[:1], (2, 4))).all()
    assert (
        evaluate("permute", TileValueType(I32, (4, 2)), (I32, X), permutation=(1, 0)) == X.T
    ).all()
    y = X + 100
    for axis, shape in ((0, (4, 4)), (1, (2, 8))):
        both = evaluate("cat", TileValueType(I32, shape), (I32, X), (I32, y), dim=axis)
        assert (both == np.concatenate([X, y], axis)).all()


def test_a_permutation_names_axes_of_the_source():
    x = np.arange(24).reshape(2, 3, 4)
    got = evaluate("permute", TileValueType(I32, (4, 2, 3)), (I32, x), permutation=(2, 0, 1))
    assert (got == np.transpose(x, (2, 0, 1))).all()


def test_parts():
    kind = TileValueType(I32, (1, 2))
    assert evaluate("extract", kind, (I32, X), (I32, 1), (I32, 1)).tolist() == [[6, 7]]
    whole = evaluate(
        "insert", TileValueType(I32, (2, 4)), (I32, [[8, 9]]), (I32, X), (I32, 1), (I32, 0)
    )
    assert whole.tolist() == [[0, 1, 2, 3], [8, 9, 6, 7]]
    with pytest.raises(TileIRError, match="part"):
        evaluate("extract", kind, (I32, X), (I32, 2), (I32, 1))


@pytest.mark.parametrize(
    ("name", "shape"), [("reshape", (4, 4)), ("broadcast", (4, 4)), ("broadcast", (2, 2, 4))]
)
def test_shapes_that_do_not_fit(name, shape):
    with pytest.raises(TileIRError, match=f"`{name}`"):
        evaluate(name, TileValueType(I32, shape), (I32, X))


def test_results_have_their_type():
    with pytest.raises(TileIRError, match="as a result of type"):
        evaluate("cat", TileValueType(I32, (4, 4)), (I32, X), (I32, X), dim=1)


def test_select():
    kind = TileValueType(I32, (2,))
    assert evaluate("select", kind, (I1, [1, 0]), (I32, [1, 2]), (I32, [3, 4])).tolist() == [1, 4]


def test_numbers_from_nothing():
    assert evaluate("iota", TileValueType(I8, (4,))).tolist() == [0, 1, 2, 3]
    with pytest.raises(TileIRError, match="cannot count"):
        evaluate("iota", TileValueType(I8, (512,)))
    assert evaluate("constant", TileValueType(I16, (3,)), value=b"\xff\xff").tolist() == [-1] * 3
    data = np.array([1, 2], np.int16).tobytes()
    assert evaluate("constant", TileValueType(I16, (2,)), value=data).tolist() == [1, 2]
    tf32 = (0x3F800000 >> 13).to_bytes(3, "little")
    assert evaluate("constant", TileValueType(TF32, (2,)), value=tf32).tolist() == [1.0, 1.0]


def test_constants_of_bits():
    assert evaluate("constant", TileValueType(I1, (4,)), value=b"\xff").all()
    assert not evaluate("constant", TileValueType(I1, (4,)), value=b"\0").any()
    assert evaluate("constant", TileValueType(I1, (4,)), value=b"\x01").tolist() == [
        True,
        False,
        False,
        False,
    ]
    assert evaluate("constant", TileValueType(I1, ()), value=b"\x01")


HELD = [DivBy(4), Bounded(-4, 12), Bounded(None, 12), Same((2, 2))]
BROKEN = [DivBy(8), Bounded(0, None), Bounded(None, 8), Same((2, 4))]
NUMBERS = np.array([[4, 4, 12, 12], [4, 4, 12, 12], [-4, -4, 4, 4], [-4, -4, 4, 4]])


@pytest.mark.parametrize("predicate", HELD, ids=str)
def test_assumptions_that_hold(predicate):
    got = evaluate("assume", TileValueType(I32, (4, 4)), (I32, NUMBERS), predicate=predicate)
    assert (got == NUMBERS).all()


@pytest.mark.parametrize("predicate", BROKEN, ids=str)
def test_assumptions_that_do_not(predicate):
    with pytest.raises(TileIRError, match="does not hold for"):
        evaluate("assume", TileValueType(I32, (4, 4)), (I32, NUMBERS), predicate=predicate)


def test_instructions_without_a_rule():
    with pytest.raises(TileIRError, match=r"`fpowi` .*no rule"):
        evaluate("fpowi", TileValueType(F32, ()), (F32, 1.0), (I32, 2))
