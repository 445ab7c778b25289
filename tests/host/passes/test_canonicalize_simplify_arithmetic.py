"""Identities of numbers: exact ones are applied, all others stay."""

from __future__ import annotations

import pytest

from ir_text import expect, unchanged
from support.canonical import canonical, constant, value_of
from tilewright.passes.canonicalize import canonicalize


@pytest.mark.parametrize(
    "op",
    [
        "addi %n, %zero", "addi %zero, %n", "subi %n, %zero", "muli %n, %one", "muli %one, %n",
        "divi %n, %one", "ori %n, %zero", "xori %zero, %n", "andi %n, %all", "shli %n, %zero",
        "shri %n, %zero", "maxi %n, %n", "mini %n, %n", "andi %n, %n", "ori %n, %n",
    ],
)  # fmt: skip
def test_integer_identities_give_the_operand(op):
    constants = constant("zero", "0", "i32") + constant("one", "1", "i32")
    constants += constant("all", "-1", "i32")
    expect(canonical, value_of(op, constants=constants), "print %n\nreturn")


@pytest.mark.parametrize(
    "op", ["subi %n, %n", "xori %n, %n", "muli %n, %zero", "andi %zero, %n", "remi %n, %one"]
)
def test_integer_identities_give_zero(op):
    constants = constant("zero", "0", "i32") + constant("one", "1", "i32")
    expect(
        canonical,
        value_of(op, constants=constants),
        "%1 = constant {dtype=i32}\nprint %1\nreturn",
    )


@pytest.mark.parametrize(
    "op", ["addf %f, %minus", "addf %minus, %f", "subf %f, %zero", "mulf %f, %one", "divf %f, %one"]
)
def test_exact_float_identities(op):
    constants = constant("zero", "0.0", "f32") + constant("one", "1.0", "f32")
    constants += constant("minus", "-0.0", "f32")
    expect(canonical, value_of(op, constants=constants), "print %f\nreturn")


@pytest.mark.parametrize(
    ("op", "number"),
    [
        ("addf %f, %k1", "0.0"),
        ("subf %f, %k1", "-0.0"),
        ("subf %k1, %f", "0.0"),
        ("mulf %f, %k1", "0.0"),
        ("divf %k1, %f", "1.0"),
        ("subf %f, %k1 {rounding=neg_inf}", "0.0"),
        ("mulf %f, %k1 {ftz=True}", "1.0"),
    ],
)
def test_float_identities_that_are_not_exact_stay(op, number):
    unchanged(canonicalize, value_of(op, constants=constant("k1", number, "f32")))


@pytest.mark.parametrize("op", ["subf %f, %f", "divf %f, %f", "maxf %f, %f {nan=False}"])
def test_floats_compared_with_themselves_stay(op):
    """x - x is NaN for infinities."""
    unchanged(canonicalize, value_of(op))


def test_a_float_equals_itself_only_if_it_is_no_nan():
    unchanged(canonicalize, value_of("cmpf %f, %f {predicate=eq}"))
