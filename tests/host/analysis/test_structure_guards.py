"""What comparisons of an index with a length are worth: where checks of slices go."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
from support.ir import Kernel
from tilewright import f32, i32, simt
from tilewright.analysis.structure import bound_of, structure
from tilewright.base.dtypes import bool_, u32
from tilewright.compile.checks import Checks
from tilewright.ir.attrs import Predicate


def slices(*lengths: int):
    first, *others = [tw.meta((n,)) for n in lengths]
    return first.borrow_mut(), *others


@simt.kernel
def inside(out: simt.DisjointSlice[f32]) -> None:
    i = simt.index_1d()
    if i < len(out):
        out[i] = 1.0


@simt.kernel
def mirrored(out: simt.DisjointSlice[f32]) -> None:
    i = simt.index_1d()
    if len(out) > i:
        for _ in range(3):
            out[i] += 1.0


@simt.kernel
def clause(out: simt.DisjointSlice[f32]) -> None:
    i = simt.index_1d()
    if i >= len(out):
        return
    out[i] = 1.0


@simt.kernel
def negated(out: simt.DisjointSlice[f32]) -> None:
    i = simt.index_1d()
    if not (i >= len(out)):
        out[i] = 1.0


@simt.kernel
def other_arm(out: simt.DisjointSlice[f32]) -> None:
    i = simt.index_1d()
    if i >= len(out):
        pass
    else:
        out[i] = 1.0


@simt.kernel
def wrong_arm(out: simt.DisjointSlice[f32]) -> None:
    i = simt.index_1d()
    if i >= len(out):
        out[i] = 1.0


@simt.kernel
def at_most(out: simt.DisjointSlice[f32]) -> None:
    i = simt.index_1d()
    if i <= len(out):
        out[i] = 1.0


@simt.kernel
def unguarded(out: simt.DisjointSlice[f32]) -> None:
    out[simt.index_1d()] = 1.0


@simt.kernel
def after(out: simt.DisjointSlice[f32], n: i32) -> None:
    i = simt.index_1d()
    if i < len(out):
        n = n + 1
    out[i] = f32(n)


PROVED = (inside, mirrored, clause, negated, other_arm)
AT_LAUNCH = (wrong_arm, at_most, unguarded)


@pytest.mark.parametrize("kernel", PROVED, ids=lambda k: k.__name__)
def test_a_comparison_proves_the_check(kernel):
    counts = kernel.checks(*slices(4))
    assert counts.proved > 0 == counts.at_launch == counts.in_kernel


@pytest.mark.parametrize("kernel", AT_LAUNCH, ids=lambda k: k.__name__)
@pytest.mark.parametrize("device", ["cpu", "reference"])
def test_another_comparison_lets_the_launch_decide(kernel, device):
    """A block has 256 threads, so those beyond the slice have no element, unless it is as long."""
    assert kernel.checks(*slices(4)) == Checks(0, 1)
    with tw.device(device), pytest.raises(tw.LaunchError, match="index out of range"):
        kernel(tw.empty((255,))).sync()
    if kernel is not wrong_arm:
        with tw.device(device):
            (out,) = kernel(tw.empty((256,))).sync()
            assert (out.to_numpy() == 1).all()


def test_a_comparison_holds_in_its_arm_only():
    assert after.checks(*slices(4), 1) == Checks(0, 1)


def test_a_number_below_a_length_may_be_negative():
    @simt.kernel
    def below(out: simt.DisjointSlice[f32], x: simt.Slice[f32], j: i32) -> None:
        if j < len(x):
            out[simt.index_1d()] = x[j]

    with pytest.raises(tw.LaunchError, match="`x`"):
        below(tw.empty((4,)), np.zeros(4, np.float32), -1).launch_config(block=4).sync()


@simt.kernel
def promised(out: simt.DisjointSlice[f32], x: simt.Slice[f32]) -> None:
    assert len(x) >= len(out)
    i = simt.index_1d()
    if i < len(out):
        out[i] = x[i]


@simt.kernel
def promised_otherwise(out: simt.DisjointSlice[f32], x: simt.Slice[f32]) -> None:
    assert len(x) <= len(out)
    i = simt.index_1d()
    if i < len(out):
        out[i] = x[i]


def test_what_the_launch_promises_proves_a_check():
    assert promised.checks(*slices(4, 4)) == Checks(2)
    assert promised_otherwise.checks(*slices(4, 4)) == Checks(1, 1)


@simt.kernel
def both(out: simt.DisjointSlice[f32], x: simt.Slice[f32], where: simt.Slice[i32]) -> None:
    i = simt.index_1d()
    if i >= len(out) or i >= len(where):
        return
    at = where[i]
    out[i] = x[at] if at >= 0 and at < len(x) else 0.0


def test_conditions_in_words_say_as_much_as_their_parts():
    where = tw.meta((9,), tw.i32)
    assert both.checks(tw.meta((8,)).borrow_mut(), tw.meta((7,)), where) == Checks(3)


def test_forced_checks_are_made_by_the_threads():
    forced = tw.CompileOptions(checks="forced")
    assert inside.checks(*slices(4), options=forced) == Checks(in_place=1)


# --- one comparison at a time --------------------------------------------------------------------


def sides(predicate, *, truth, turned=False, dtype=i32):
    """What a comparison of the first parameter with the second says: which is below which."""
    k = Kernel()
    a, b = k.scalar("a", dtype), k.scalar("b", dtype)
    cond = k.emit("cmpi", a, b, predicate=predicate)
    cond = k.emit("noti", cond) if turned else cond
    found = bound_of(structure(k.finish()), cond, truth)
    return found and tuple(v.name for v in found)


@pytest.mark.parametrize("turned", [False, True])
def test_which_side_of_a_comparison_is_below_the_other(turned):
    for truth in (False, True):
        holds = truth is not turned
        said = {p: sides(p, truth=truth, turned=turned) for p in Predicate}
        first, second = (("a", "b"), ("b", "a")) if holds else (("b", "a"), ("a", "b"))
        strict = (Predicate.LT, Predicate.GT) if holds else (Predicate.LE, Predicate.GE)
        assert said[strict[0]] == first
        assert said[strict[1]] == second
        assert not any(said[p] for p in Predicate if p not in strict)


def test_what_is_no_comparison_of_signed_numbers_says_nothing():
    k = Kernel()
    flag, x = k.scalar("flag", bool_), k.scalar("x", f32)
    joined, floats = k.emit("andi", flag, flag), k.emit("cmpf", x, x, predicate=Predicate.LT)
    nesting = structure(k.finish())
    for cond in (flag, joined, floats):
        assert bound_of(nesting, cond, True) is None
    assert sides(Predicate.LT, truth=True, dtype=u32) is None
