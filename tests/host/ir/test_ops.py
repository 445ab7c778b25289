"""The declared ops: each says in one line what it computes, in one family only."""

from __future__ import annotations

import importlib
import itertools
import math

import numpy as np
import pytest

from support.acceptance import accepted
from support.numbers import float_values, fresh_rng, int_values
from tilewright.base.dtypes import FLOATS, INTS, bool_
from tilewright.ir.builder import make_op
from tilewright.ir.core import Value
from tilewright.ir.opdef import Effect, Trait, TypeRuleError
from tilewright.ir.ops import FAMILIES, OPS
from tilewright.ir.semantics import EXACT, evaluate, number_of
from tilewright.ir.types import TileType


def test_no_name_is_declared_twice():
    assert sum(map(len, FAMILIES.values())) == len(OPS)


@pytest.mark.parametrize("name", sorted(OPS))
def test_declaration(name):
    op = OPS[name]
    assert op.doc.endswith(".")
    assert op.dialect in ("core", "tile", "simt")
    operands = [o.name for o in op.operands]
    assert len(set(operands)) == len(operands)
    assert not op.terminator or op.effects & Effect.CONTROL
    optional = [o.arity for o in op.operands]
    assert optional == sorted(optional, key=("", "*", "?").index), "required operands come first"


def test_memory_ops_have_a_twin_with_a_token():
    touching = {n for n, op in OPS.items() if op.effects & (Effect.READ | Effect.WRITE)}
    # Kernels of threads never go where order is spelled out.
    touching = {n for n in touching if OPS[n].dialect != "simt"}
    plain = {n for n in touching if not n.endswith("_tko")}
    assert touching - plain == {f"{n}_tko" for n in plain}


@pytest.mark.parametrize("family", FAMILIES)
def test_what_is_accepted(family, golden):
    """A change of what a rule refuses, or of the types it returns, is a change of these texts."""
    golden("\n".join(accepted(op).text() for op in FAMILIES[family]), family)


def test_every_op_has_a_constant_of_its_name():
    for family, ops in FAMILIES.items():
        module = importlib.import_module(f"tilewright.ir.ops.{family}")
        for op in ops:
            if not op.name.endswith("_tko"):
                assert getattr(module, op.name.upper()) is op


def numbers(dtype):
    rng = fresh_rng()
    if not dtype.is_float:
        return [int(n) for n in int_values(dtype, rng, 8)]
    found = [float(n) for n in float_values(dtype, rng, 8).astype(np.float64)]
    return [n for n in found if not math.isnan(n)]


def made(name):
    """The op for each type it accepts, and numbers for its operands."""
    for dtype in (bool_, *INTS, *FLOATS):
        try:
            yield dtype, make_op(name, *(Value(TileType(dtype)) for _ in OPS[name].operands))
        except TypeRuleError:
            continue


@pytest.mark.parametrize("name", sorted(n for n, op in OPS.items() if len(op.operands) == 2))
def test_commutative_ops(name):
    """An op that is not declared so differs somewhere, if it can be evaluated at all."""
    if name not in EXACT or name in ("cmpi", "cmpf"):
        assert not OPS[name].has(Trait.COMMUTATIVE)
        return
    pairs = [
        (evaluate(op, (a, b)), evaluate(op, (b, a)))
        for dtype, op in made(name)
        for a, b in itertools.combinations(numbers(dtype), 2)
    ]
    assert all(repr(x) == repr(y) for x, y in pairs) == OPS[name].has(Trait.COMMUTATIVE)


COMBINING = sorted(n for n, op in OPS.items() if op.neutral is not None)


def test_ops_with_a_neutral_number_may_be_grouped_in_any_way():
    assert sorted(n for n, op in OPS.items() if op.has(Trait.ASSOCIATIVE)) == COMBINING


@pytest.mark.parametrize("name", COMBINING)
def test_neutral_numbers_leave_the_other_operand(name):
    for dtype, op in made(name):
        neutral = number_of(OPS[name].neutral(dtype), dtype)
        for n in numbers(dtype):
            x = number_of(n, dtype)
            assert repr(evaluate(op, (neutral, x))) == repr(x), (dtype, x)
            assert repr(evaluate(op, (x, neutral))) == repr(x), (dtype, x)


@pytest.mark.parametrize("name", [n for n in COMBINING if not n.endswith("f")])
def test_integers_are_grouped_exactly(name):
    for dtype, op in made(name):
        for a, b, c in itertools.islice(itertools.permutations(numbers(dtype), 3), 400):
            left = evaluate(op, (evaluate(op, (a, b)), c))
            assert left == evaluate(op, (a, evaluate(op, (b, c)))), (dtype, a, b, c)


def test_traits_follow_from_one_another():
    for name, op in OPS.items():
        if op.has(Trait.ELEMENTWISE | Trait.REARRANGES | Trait.REMATERIALIZABLE):
            assert op.pure and not op.regions, name
        if op.has(Trait.LOOP | Trait.BRANCH):
            assert op.regions and op.effects & Effect.CONTROL, name
        if op.has(Trait.ATOMIC):
            assert op.effects & Effect.READ and op.effects & Effect.WRITE, name
        if op.dialect == "simt":
            assert op.has(Trait.OF_THREAD), name
        assert not op.has(Trait.MATH) or op.has(Trait.ELEMENTWISE), name
        assert op.cost >= 0, name
