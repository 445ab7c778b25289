"""The declared ops: each says in one line what it computes, in one family only."""

from __future__ import annotations

import importlib
import itertools
import math

import numpy as np
import pytest

from support.acceptance import accepted
from support.numbers import float_values, fresh_rng, int_values
from tilewright.base.dtypes import FLOATS, INTS, bool_, f32, i32
from tilewright.ir.builder import make_op
from tilewright.ir.core import Value
from tilewright.ir.opdef import Effect, Trait, TypeRuleError
from tilewright.ir.ops import FAMILIES, OPS
from tilewright.ir.semantics import ABOUT, EXACT, evaluate, number_of
from tilewright.ir.types import TensorType, TileType


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


@pytest.mark.parametrize(
    ("shape", "strides"), [((8,), (2,)), ((8,), (None,)), ((8, 4), (4, 1)), ((), ())]
)
def test_a_slice_has_one_axis_and_its_elements_lie_side_by_side(shape, strides):
    whole = Value(TensorType(f32, (8,), (1,)))
    assert make_op("length", whole).result.tile == TileType(i32)
    with pytest.raises(TypeRuleError, match="is not a slice"):
        make_op("length", Value(TensorType(f32, shape, strides)))


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


TO_CHECK = sorted(
    n for n in ABOUT if n not in ("ceil", "floor", "round", "remf", "fma", "ftof", "itof")
)
SMALL = 1e-7
"""A relative error, larger than those of f64."""
LARGEST_GROWTH = 5.0
"""How much an error grows somewhere, where no condition number is declared."""


def growth(name, place):
    """How many times as large a relative error of an operand becomes, at most."""
    rng, found = fresh_rng(), 0.0
    for _ in range(4000):
        # Near 1, -1 and pi as well, where some functions are 0 or -inf.
        about = rng.choice([-np.pi, -1.0, 1.0, np.pi, 0.0])
        spread = 10.0 ** rng.uniform(-3, 1.3)
        given = [float(about + spread * rng.standard_normal()) for _ in OPS[name].operands]
        moved = [x * (1 + SMALL) if k == place else x for k, x in enumerate(given)]
        with np.errstate(all="ignore"):
            a, b = (float(ABOUT[name](*map(np.float64, x))) for x in (given, moved))
        if math.isfinite(a) and math.isfinite(b) and a:
            found = max(found, abs(b / a - 1) / SMALL)
    return found


@pytest.mark.parametrize("name", TO_CHECK)
def test_condition_numbers(name):
    """Those declared bound what errors become; where there are none, they may become large."""
    conditions = OPS[name].conditions or [math.inf] * len(OPS[name].operands)
    for place, condition in enumerate(conditions):
        grown = growth(name, place)
        if condition == math.inf:
            assert grown > LARGEST_GROWTH
        else:
            assert 0.9 * condition < grown < condition * 1.001 + 1e-3


def test_results_that_are_not_negative():
    for name in ABOUT:
        if len(OPS[name].operands) > 1 or name in ("ftof", "itof"):
            continue
        with np.errstate(all="ignore"):
            results = [float(ABOUT[name](np.float64(x))) for x in (-50, -3, -2, -0.3, 0.4, 3)]
        least = min([x for x in results if not math.isnan(x)], default=-1.0)
        assert OPS[name].has(Trait.NONNEGATIVE) == (least >= 0)


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
