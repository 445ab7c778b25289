"""What the prover claims of a launch holds in every launch of a small space, to the last unit.

A form is shifted until it is 0 in the launch where it is least: it may be proved not to be
negative, but never once it is shifted by one more.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from support.launch_space import (
    CONDITIONS,
    EXPRESSIONS,
    GRID,
    SIGNATURE,
    SMALL,
    TILE,
    VALUES,
    X0,
    X1,
    M,
    N,
    Z,
    form_value,
    value,
    where,
)
from tilewright.analysis.bounds.proofs import (
    ATOM_BOUNDS,
    EVERYTHING,
    LARGEST,
    MOST_BLOCKS,
    PLAIN,
    ZERO,
    Linear,
    Prover,
    atom,
    condition,
    number,
)
from tilewright.base.dtypes import bool_, f32, i8, i32, u32
from tilewright.ir.launch_expr import Expr, LaunchCheck
from tilewright.ir.signature import OutputSpec, ScalarSpec, Signature, TensorSpec

Assumed = Sequence[Expr]


def prover(*assumed: Expr) -> Prover:
    return Prover(SIGNATURE, [LaunchCheck(expr, "", None) for expr in assumed])


def constant(n: int) -> Expr:
    return ("const", n)


def tiles(leaf: Expr, by: int = 4) -> Expr:
    return ("ceildiv", leaf, constant(by))


def least(form: Linear, held: np.ndarray) -> int:
    return int(form_value(form)[held].min())


def is_sound(known: Prover, form: Linear, held: np.ndarray, given: Sequence[Linear] = ()) -> bool:
    """Whether a form that is negative somewhere is not proved: that closest to a true one."""
    return not known.holds(form.shifted(-least(form, held) - 1), given)


ASSUMED = st.lists(CONDITIONS, max_size=3)


@given(ASSUMED, EXPRESSIONS)
def test_bounds_hold_everywhere(assumed, expr):
    held = where(assumed)
    assume(held.any())
    known = prover(*assumed)
    low, high = known.bounds(known.algebra.of(expr))
    assert low <= value(expr)[held].min()
    assert value(expr)[held].max() <= high


@given(ASSUMED, EXPRESSIONS)
def test_forms_of_a_prover_equal_their_expressions(assumed, expr):
    held = where(assumed)
    assert np.all(form_value(prover(*assumed).algebra.of(expr))[held] == value(expr)[held])


@given(ASSUMED, EXPRESSIONS)
def test_nothing_is_proved_that_fails_somewhere(assumed, expr):
    held = where(assumed)
    assume(held.any())
    known = prover(*assumed)
    assert is_sound(known, known.algebra.of(expr), held)


@given(ASSUMED, SMALL, EXPRESSIONS)
def test_nothing_is_proved_of_differences_that_fails_somewhere(assumed, a, b):
    """As in kernels: an upper bound of an index less a count of tiles."""
    held = where(assumed)
    assume(held.any())
    known = prover(*assumed)
    form = known.algebra.of(a).minus(known.algebra.of(b))
    assert is_sound(known, form, held)
    assert is_sound(known, form.times(-1), held)


@given(ASSUMED, st.lists(EXPRESSIONS, min_size=1, max_size=3), EXPRESSIONS)
def test_what_is_given_is_believed_and_no_more(assumed, here, expr):
    known = prover(*assumed)
    given_forms = [known.algebra.of(e) for e in here]
    held = where([*assumed, *(condition(f) for f in given_forms)])
    assume(held.any())
    form = known.algebra.of(expr)
    assert is_sound(known, form, held, given_forms)
    known.believe(given_forms)
    assert is_sound(known, form, held)
    assert all(known.holds(f) for f in given_forms)


@given(ASSUMED, EXPRESSIONS, EXPRESSIONS)
def test_the_least_of_two_forms_is_the_lesser_everywhere(assumed, a, b):
    held = where(assumed)
    known = prover(*assumed)
    forms = [known.algebra.of(e) for e in (a, b)]
    expected = np.minimum(*map(form_value, forms))
    assert np.all(form_value(known.least(*forms))[held] == expected[held])


def test_the_least_of_forms_leaves_out_what_is_never_the_least():
    known, a, b = prover(("le", N, X0)), atom(N), atom(M)
    lesser = known.algebra.min(a, b)
    for other in (a.shifted(1), a, b, b.shifted(2), atom(X0)):
        assert known.least(lesser, other) == lesser
        assert known.least(other, lesser) == lesser
    moved = known.algebra.min(a.shifted(2), b.shifted(2))
    assert known.least(lesser.shifted(2), a.shifted(3)) == moved
    assert known.least(a.shifted(1), a) == a == known.least(a, a.shifted(1))
    assert known.least(atom(X0), a) == a
    assert known.least(b, a) == lesser


@given(CONDITIONS)
def test_forms_of_a_condition_are_not_negative_where_it_holds(expr):
    held = where([expr])
    for form in prover().forms(expr):
        assert np.all(form_value(form)[held] >= 0)


@given(st.sampled_from(("lt", "le", "gt", "ge", "eq")), SMALL, SMALL)
def test_forms_of_a_comparison_are_not_negative_only_where_it_holds(word, a, b):
    """None is dropped but those that say nothing of the launch."""
    expr = (word, a, b)
    if PLAIN.of(("sub", a, b)).terms:
        forms = list(prover().forms(expr))
        assert np.all((np.array([form_value(f) for f in forms]) >= 0).all(axis=0) == value(expr))


# --- beside a decision procedure ------------------------------------------------------------------


def test_what_is_proved_is_true_by_a_decision_procedure(request):
    """Of what is true, most is proved: the share is in docs/reliability.md.

    `--proofs 5000` asks as many questions, and prints the share.
    """
    pytest.importorskip("islpy")
    from support import presburger

    questions = request.config.getoption("--proofs")
    asked = {"true": 0, "proved": 0}

    @settings(max_examples=questions)
    @given(presburger.ASSUMED, presburger.SHORT, presburger.LINEAR)
    def ask(assumed, a, b):
        held = where(assumed)
        assume(held.any())
        known = prover(*assumed)
        form = known.algebra.of(("sub", a, b))
        tight = form.shifted(-least(form, held))
        proved, true = known.holds(tight), presburger.is_true(assumed, tight)
        assert true or not proved, "proved, though it is not true"
        asked["true"] += true
        asked["proved"] += proved

    ask()
    print(f"of {asked['true']} true forms {asked['proved']} are proved")
    assert asked["proved"] > asked["true"] / 2


# --- what is known of leaves ----------------------------------------------------------------------


def test_scalars_have_the_range_of_their_type():
    scalars = {"b": i8, "u": u32, "s": i32, "flag": bool_}
    params = tuple(ScalarSpec(name, dtype) for name, dtype in scalars.items())
    known = Prover(Signature(params))
    bounds = {name: known.bounds(atom(("scalar", name))) for name in scalars}
    assert bounds == {
        "b": (-128, 127), "u": (0, 2**32 - 1), "s": (-(2**31), 2**31 - 1), "flag": (0, 1)
    }  # fmt: skip


@pytest.mark.parametrize(
    ("leaf", "bounds"),
    [
        (X0, (0, LARGEST)),
        (("length", "x"), (0, LARGEST)),
        (("grid", 0), (1, LARGEST)),
        (("grid_dim", 0), (1, LARGEST)),
        (("grid_dim", 1), (1, 65535)),
        (("grid_dim", 2), (1, 65535)),
        (("given", "threads", 96), (96, 96)),
    ],
)
def test_other_leaves_have_the_range_that_launches_see_to(leaf, bounds):
    assert Prover(Signature((TensorSpec("x", f32, (None,), (1,)),))).bounds(atom(leaf)) == bounds


def test_a_sum_is_no_atom():
    """It would have the range of an extent, which may be wrong."""
    with pytest.raises(KeyError):
        prover().atom_bounds(("sub", N, M))


def test_what_the_signature_fixes_is_a_number():
    x = TensorSpec("x", f32, (5, None), (None, 1))
    known = Prover(Signature((x,), grid=(7, 1), grid_rank=3))
    of = known.algebra.of
    assert of(("extent", "x", 0)) == number(5)
    assert of(("extent", "x", 1)).number is None
    assert [of(("grid", axis)).number for axis in range(3)] == [7, 1, 1]


def output(**more: object) -> OutputSpec:
    return OutputSpec("z", f32, (None, None), (None, 1), (4, 8), **more)  # type: ignore[arg-type]


def test_the_grid_is_that_of_the_output():
    of = Prover(Signature((output(),))).algebra.of
    assert of(("grid", 0)) == of(("ceildiv", Z, constant(4)))
    assert of(("grid", 1)) == of(("ceildiv", ("extent", "z", 1), constant(8)))
    assert of(("grid", 2)) == number(1)


def test_a_partial_output_has_at_least_as_many_tiles_as_there_are_blocks():
    known = Prover(Signature((output(partial=True),)))
    count, grid = known.algebra.of(tiles(Z)), known.algebra.of(("grid", 0))
    assert grid.terms == frozenset([(("grid", 0), 1)])
    assert known.holds(count.minus(grid))
    assert not known.holds(grid.minus(count))


def test_the_blocks_of_a_mapped_output_stand_in_a_row_and_its_tiles_can_be_counted():
    known = Prover(Signature((output(groups=(2, 1)),)))
    of = known.algebra.of
    assert of(("grid", 1)) == number(1) == of(("grid", 2))
    assert of(("grid", 0)).number is None
    total = of(("mul", tiles(Z, 4), tiles(("extent", "z", 1), 8)))
    assert known.holds(number(LARGEST).minus(total))
    assert not known.holds(number(LARGEST - 1).minus(total))


def test_a_block_that_runs_is_one_of_at_least_one():
    known = prover()
    assert known.holds(atom(("ceildiv", Z, constant(TILE))).shifted(-1))
    assert not known.holds(atom(("ceildiv", Z, constant(TILE))).shifted(-2))


# --- conditions that let leaves be written otherwise ----------------------------------------------


def test_conditions_that_need_not_hold_are_not_believed():
    check = LaunchCheck(("ge", N, constant(0)), "", None, where=(("ge", M, constant(0)),))
    assert not Prover(SIGNATURE, [check]).holds(atom(N))
    assert prover(("ge", N, constant(0))).holds(atom(N))


def test_divisors_of_one_leaf_come_together():
    known = prover(
        ("eq", ("mod", X0, constant(4)), constant(0)), ("eq", ("mod", X0, constant(6)), constant(0))
    )
    assert known.algebra.divisors == {X0: 12}
    assert known.algebra.of(("mod", X0, constant(12))) == ZERO


@pytest.mark.parametrize(
    "expr",
    [
        ("eq", ("mod", X0, constant(4)), constant(1)),
        ("eq", ("mod", X0, constant(-4)), constant(0)),
        ("eq", ("mod", X0, constant(0)), constant(0)),
        ("eq", ("mod", ("add", X0, N), constant(4)), constant(0)),
        ("eq", ("mod", GRID, constant(4)), constant(0)),
    ],
)
def test_only_remainders_of_0_of_one_argument_are_divisors(expr):
    assert prover(expr).algebra.divisors == {}


def test_an_integer_is_never_equal_to_a_fraction():
    """Such a launch is refused; as a fact, cut down to 2, it would prove what is not so."""
    for said in (("eq", X0, ("const", 2.5)), ("eq", ("const", 2.5), X0)):
        known = prover(said)
        assert known.algebra.of(X0) == atom(X0)
        assert not known.holds(number(2).minus(atom(X0)))


def test_cases_of_a_minimum_in_a_minimum_take_one_step_each():
    leaves = (X0, X1, N, M)
    least = atom(leaves[0])
    for leaf in leaves[1:]:
        least = PLAIN.of(("min", least.expr(), leaf))
    given = [atom(leaf).minus(atom(Z)) for leaf in leaves]
    assert prover().holds(least.minus(atom(Z)), given)
    assert not prover().holds(least.minus(atom(Z)), given[:-1])


def test_quotients_by_what_is_not_known_lie_between_0_and_the_dividend():
    for name in ("floordiv", "ceildiv"):
        bounds = ATOM_BOUNDS[name]
        assert bounds((-5, -1), (1, 7)) == (-5, 0)
        assert bounds((2, 5), (0, 7)) == (0, 5)
        assert bounds((-5, 5), (-1, 7)) == EVERYTHING


def test_equal_leaves_have_one_form_whatever_order_they_are_said_in():
    chain = [("eq", X0, X1), ("eq", X1, N), ("eq", N, ("add", M, constant(2)))]
    for said in (chain, chain[::-1]):
        of = prover(*said).algebra.of
        assert of(X0) == of(X1) == of(N) == of(("add", M, constant(2)))


def test_a_leaf_is_not_written_by_itself():
    known = prover(("eq", N, ("min", N, M)))
    assert N not in known.algebra.equal
    assert known.holds(atom(M).minus(atom(N)))


def test_a_leaf_with_a_divisor_keeps_its_name():
    known = prover(("eq", ("mod", N, constant(4)), constant(0)), ("eq", N, M))
    assert known.algebra.of(("mod", M, constant(4))) == ZERO


# --- proofs that kernels need ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("assumed", "expr"),
    [
        ((), ("sub", X0, tiles(X0))),
        ((), ("sub", tiles(("add", X0, constant(1))), tiles(X0))),
        ((), ("sub", tiles(X0), ("floordiv", X0, constant(4)))),
        ((), ("sub", ("floordiv", ("add", X0, constant(3)), constant(4)), tiles(X0))),
        ((), ("sub", constant(3), ("mod", X0, constant(4)))),
        ((), ("sub", X0, ("mod", X0, constant(9)))),
        ((), ("sub", N, ("min", N, M))),
        ((), ("sub", ("max", N, M), M)),
        ((), ("sub", ("add", X0, X1), ("max", X0, X1))),
        ((), ("sub", X0, ("floordiv", X0, X1))),
        ((), ("sub", X0, ("ceildiv", X0, X1))),
        ((("le", N, M),), ("sub", M, N)),
        ((("lt", N, M),), ("sub", ("sub", M, N), constant(1))),
        ((("le", N, M), ("le", M, X0)), ("sub", X0, N)),
        ((("ge", N, constant(1)), ("ge", M, constant(0))), ("sub", ("mul", N, M), M)),
        ((("ge", N, constant(2)), ("ge", M, constant(0))),
         ("sub", ("mul", N, M), ("mul", constant(2), M))),
        ((), ("sub", X0, ("mul", ("floordiv", X0, X1), X1))),
        ((("le", N, X1), ("ge", N, constant(0))), ("sub", X0, ("mul", ("floordiv", X0, X1), N))),
        ((("eq", ("mod", X0, constant(4)), constant(0)),),
         ("sub", X0, ("mul", tiles(X0), constant(4)))),
    ],
)  # fmt: skip
def test_proofs_that_are_found(assumed, expr):
    known = prover(*assumed)
    form = known.algebra.of(expr)
    assert np.all(value(expr)[where(assumed)] >= 0), "no such thing is true"
    assert known.holds(form)


@pytest.mark.parametrize(
    ("assumed", "expr"),
    [
        ((("ge", N, constant(0)),), ("sub", X0, ("mul", ("floordiv", X0, X1), N))),
        ((("le", N, M),), ("sub", X0, ("mul", ("floordiv", X0, M), N))),
        ((("ge", M, constant(0)), ("le", M, X1)), ("sub", N, ("mul", ("floordiv", N, X1), M))),
        ((("ge", M, constant(0)),), ("sub", ("mul", N, M), M)),
        ((("ge", N, constant(1)),), ("sub", ("mul", N, M), M)),
        ((), ("sub", N, ("floordiv", N, X1))),
        ((), ("sub", N, ("ceildiv", N, X1))),
        ((), ("sub", ("floordiv", X0, constant(4)), tiles(X0))),
        ((), ("sub", tiles(X0), tiles(("add", X0, constant(1))))),
        ((), ("sub", tiles(X0, 4), tiles(X0, 2))),
        ((), ("sub", ("floordiv", X0, constant(3)), ("floordiv", X0, constant(2)))),
        ((), ("sub", N, ("mod", N, constant(4)))),
        ((("ge", N, constant(0)),), ("sub", ("sub", M, constant(1)), ("mod", N, M))),
        ((("ge", N, constant(0)), ("ge", M, constant(0))),
         ("sub", ("sub", M, constant(1)), ("mod", N, M))),
    ],
)  # fmt: skip
def test_each_premise_is_needed(assumed, expr):
    """What is not true without its last premise is not proved without it."""
    known = prover(*assumed)
    assert np.any(value(expr)[where(assumed)] < 0), "this is true"
    assert not known.holds(known.algebra.of(expr))


def test_a_factor_that_is_a_sum_is_bounded_as_one():
    """Ten leaves times a quotient are one atom; nothing says that their sum is positive."""
    params = tuple(ScalarSpec(f"s{k}", i32) for k in range(10))
    known = Prover(Signature((*params, TensorSpec("x", f32, (None,), (1,)))))
    total: Expr = ("scalar", "s0")
    for spec in params[1:]:
        total = ("sub", total, ("scalar", spec.name))
    quotient = ("floordiv", ("extent", "x", 0), constant(LARGEST))
    form = known.algebra.of(("sub", ("extent", "x", 0), ("mul", quotient, total)))
    # x = LARGEST and a sum of 2 * LARGEST: x - 1 * 2 * LARGEST is negative.
    assert not known.holds(form)


# --- what the grid is asked for -------------------------------------------------------------------


def test_only_what_the_grid_decides_is_asked_for():
    known = Prover(Signature((ScalarSpec("n", i32),), block=(128,)))
    blocks = atom(("grid_dim", 0))
    fits = number(LARGEST).minus(blocks.times(128))
    assert not known.granted(fits)
    known.asked = []
    assert known.granted(blocks)
    assert known.asked == []
    assert not known.granted(atom(("scalar", "n")))
    assert known.granted(fits)
    assert known.asked == [fits]
    assert known.holds(fits)


# --- numbers without end --------------------------------------------------------------------------


def test_bounds_of_products_grow_to_infinity_and_never_wrap():
    huge: Expr = X0
    for _ in range(7):
        huge = ("mul", huge, X0)
    low, high = prover().bounds(PLAIN.of(huge))
    assert (low, high) == (0, math.inf)
    assert prover().bounds(PLAIN.of(("mul", huge, N))) == EVERYTHING
    assert prover().bounds(PLAIN.of(("mul", X0, X0))) == (0, LARGEST**2)
    assert prover().bounds(atom(("mul", constant(0), huge))) == (0, 0)


def test_limits_of_launches():
    assert MOST_BLOCKS == (2**31 - 1, 65535, 65535)
    assert LARGEST == 2**31 - 1


def test_the_space_has_both_ends_of_a_scalar():
    assert (min(VALUES[N]), max(VALUES[N])) == (-128, 127)
