"""Reductions and scans: whatever the axis, the body and the number of operands."""

from __future__ import annotations

import numpy as np
import pytest

from simulator.tile_ir.machine import TileIRError
from support.tile_ir import evaluate, instr
from tilewright.backend.tileir.bytecode.program import Identity, InstructionRegion, Val
from tilewright.backend.tileir.bytecode.types import F32, I1, I32, TileValueType

X = np.random.default_rng(0).integers(-50, 50, (4, 8))
ZERO = (Identity(I32, 0),)


def body(name, **attrs):
    """Element and accumulator, combined by one instruction."""
    args = (Val(TileValueType(I32)), Val(TileValueType(I32)))
    made = instr(name, [TileValueType(I32)], *args, **attrs)
    return InstructionRegion(args, [made, instr("yield", [], made.results)])


@pytest.mark.parametrize("axis", [0, 1])
def test_sums(axis):
    shape = tuple(n for k, n in enumerate(X.shape) if k != axis)
    got = evaluate("reduce", TileValueType(I32, shape), (I32, X), regions=[body("addi")], dim=axis,
                   identities=ZERO)  # fmt: skip
    assert (got == X.sum(axis)).all()


@pytest.mark.parametrize("reverse", [0, 1])
@pytest.mark.parametrize("axis", [0, 1])
def test_scans(axis, reverse):
    got = evaluate("scan", TileValueType(I32, X.shape), (I32, X), regions=[body("addi")], dim=axis,
                   reverse=reverse, identities=ZERO)  # fmt: skip
    turned = np.flip(X, axis) if reverse else X
    expected = np.cumsum(turned, axis)
    assert (got == (np.flip(expected, axis) if reverse else expected)).all()


def test_an_identity_takes_part():
    wrong = {"dim": 1, "identities": (Identity(I32, 1),), "regions": [body("addi")]}
    assert (evaluate("reduce", TileValueType(I32, (4,)), (I32, X), **wrong) == X.sum(1) + 1).all()
    assert (
        evaluate("scan", TileValueType(I32, X.shape), (I32, X), **wrong) == np.cumsum(X, 1) + 1
    ).all()


def test_an_identity_has_the_type_of_its_operand():
    with pytest.raises(TileIRError, match="identity of type f32"):
        evaluate("reduce", TileValueType(I32, (4,)), (I32, X), regions=[body("addi")], dim=1,
                 identities=(Identity(F32, 0),))  # fmt: skip


def test_elements_and_accumulators_keep_their_order():
    """The last element: the body gives its first argument, the element, unless that is 0."""
    args = (Val(TileValueType(I32)), Val(TileValueType(I32)))
    zero = instr("constant", [TileValueType(I32)], value=bytes(4))
    same = instr("cmpi", [TileValueType(I1)], args[0], zero.result, comparison_predicate=0)
    chosen = instr("select", [TileValueType(I32)], same.result, args[1], args[0])
    region = InstructionRegion(args, [zero, same, chosen, instr("yield", [], chosen.results)])
    x = np.array([[3, 0, 5, 0], [0, 0, 0, 7], [9, 0, 0, 0], [0, 0, 0, 0]])
    got = evaluate(
        "reduce", TileValueType(I32, (4,)), (I32, x), regions=[region], dim=1, identities=ZERO
    )
    assert got.tolist() == [5, 7, 9, 0]


def test_two_operands():
    """The place of the largest, by pairs."""
    args = tuple(Val(TileValueType(I32)) for _ in range(4))
    value, best, place, best_place = args
    larger = instr("cmpi", [TileValueType(I1)], value, best, comparison_predicate=4)
    picks = [instr("select", [TileValueType(I32)], larger.result, a, b)
             for a, b in ((value, best), (place, best_place))]  # fmt: skip
    end = instr("yield", [], [p.result for p in picks])
    region = InstructionRegion(args, [larger, *picks, end])
    places = np.broadcast_to(np.arange(8), X.shape)
    least = (Identity(I32, 1 << 31), Identity(I32, 0))
    got = evaluate("reduce", [TileValueType(I32, (4,))] * 2, (I32, X), (I32, places),
                   regions=[region],
                   dim=1, identities=least)  # fmt: skip
    assert (got[0] == X.max(1)).all()
    assert (got[1] == X.argmax(1)).all()
