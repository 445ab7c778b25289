"""Bounds of integers in loops, beside the numbers that they have."""

from __future__ import annotations

import pytest

from ir_text import kernel, parse
from support.numbers import fresh_rng
from tilewright.analysis.entry_bounds import Bound, Combined, EntryBounds, Exact, Number, Step
from tilewright.analysis.ranges import ranges
from tilewright.analysis.structure import structure
from tilewright.backend.reference.interpreter import run

LOOP = """
%zero = constant {{value=0, dtype=i32}}
%one = constant {{value=1, dtype=i32}}
%three = constant {{value=3, dtype=i32}}
%low = constant {{value={low}, dtype=i32}}
%i = block_id
for %low, %n, %{step} {{ (%k: tile<i32>)
{text}
  print %r
  continue
}}
return
"""
CALCULATED = {
    Step.ADD: lambda a, b: a + b, Step.SUB: lambda a, b: a - b, Step.MUL: lambda a, b: a * b,
    Step.DIV: lambda a, b: a // b, Step.MIN: min, Step.MAX: max,
}  # fmt: skip


def analyzed(text, low=0, step="one"):
    func = parse(kernel(LOOP.format(text=text, low=low, step=step), ["n", "m"]), grid=(2, 1, 1))
    value = next(op.operands[0] for op in func.walk() if op.name == "print")
    return func, EntryBounds(structure(func), ranges(func)).of(value)


def number(bound: Bound, known) -> int:
    """A bound, with the numbers of what is known at the entry."""
    if isinstance(bound, Exact):
        return known[bound.value.name]
    if isinstance(bound, Number):
        return bound.value
    assert isinstance(bound, Combined)
    return CALCULATED[bound.step](number(bound.lhs, known), number(bound.rhs, known))


BOUNDED = [
    "%r = addi %k, %zero",
    "%r = addi %k, %i",
    "%r = addi %k, %m",
    "%r = muli %k, %three",
    "%r = divi %k, %three",
    "%a = muli %k, %three\n%r = addi %a, %i",
    "%r = mini %k, %m",
    "%r = maxi %k, %m",
    "%r = subi %k, %i",
    "%a = remi %k, %three\n%r = mini %a, %k",
]


@pytest.mark.parametrize("text", BOUNDED)
@pytest.mark.parametrize("step", ["one", "three"])
def test_no_number_of_a_loop_is_above_its_bound(text, step):
    func, bound = analyzed(text, step=step)
    assert bound is not None
    for n, m in fresh_rng().integers(-3, 20, (20, 2)).tolist():
        seen = [int(record.values[0]) for record in run(func, [n, m], (2, 1, 1)).printed]
        known = {"n": n, "m": m, "zero": 0, "three": 3}
        highest = max(number(bound, {**known, "i": block}) for block in (0, 1))
        assert all(value <= highest for value in seen), (n, m)


@pytest.mark.parametrize(("step", "expected"), [("one", 9), ("three", 9), ("m", 9)])
def test_the_bound_of_a_counter_is_its_last_number(step, expected):
    _, bound = analyzed("  %r = addi %k, %zero", step=step)
    assert number(bound, {"n": 10, "zero": 0}) == expected
    if step == "three":
        assert number(bound, {"n": 12, "zero": 0}) == 9


def test_what_is_computed_of_parameters_is_exact():
    _, bound = analyzed("  %r = muli %n, %i")
    assert isinstance(bound, Exact)


@pytest.mark.parametrize(
    ("text", "low"),
    [
        ("%a = negi %k\n%r = negi %a", 0),  # no rule
        ("%r = addi %k, %m", -5),  # both may be negative, and wrap to a large number
        ("%r = muli %k, %m", 0),  # may be negative, and wrap
        ("%r = subi %zero, %k", 0),  # falls
        ("%r = divi %k, %m", 0),  # by what may be 0
        ("%r = divi %k, %zero", 0),  # by 0
        ("%a = subi %zero, %three\n%r = divi %k, %a", 0),  # by what is below 0
        ("%r = divi %k, %three {rounding=pos_inf}", 0),  # rounds up
        ("%a = subi %k, %three\n%r = divi %a, %three", 0),  # rounds up, below 0
    ],
)
def test_others_are_not_known(text, low):
    _, bound = analyzed(text, low=low)
    assert bound is None


def test_what_a_loop_carries_is_not_known():
    text = """
    %one = constant {value=1, dtype=i32}
    %s = for %one, %n, %one, %one : tile<i32> { (%k: tile<i32>, %c: tile<i32>)
      print %c
      continue %c
    }
    return
    """
    func = parse(kernel(text))
    value = next(op.operands[0] for op in func.walk() if op.name == "print")
    assert EntryBounds(structure(func), ranges(func)).of(value) is None
