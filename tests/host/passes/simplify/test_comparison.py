"""Decided comparisons and selections."""

from __future__ import annotations

import pytest

from ir_text import expect, unchanged
from support.canonical import canonical, constant, value_of
from tilewright.passes.canonicalize import canonicalize


@pytest.mark.parametrize(
    ("comparison", "answer"),
    [
        ("cmpi %n, %n {predicate=le}", True),
        ("cmpi %n, %n {predicate=ne}", False),
        ("cmpi %b, %zero {predicate=ge}", True),
        ("cmpi %b, %zero {predicate=lt}", False),
        ("cmpi %u, %uzero {predicate=lt}", False),
    ],
)
def test_decided_comparisons(comparison, answer):
    setup = "%b = block_id\n" + constant("zero", "0", "i32") + constant("uzero", "0", "u32")
    shown = "value=True, " if answer else ""
    expect(
        canonical,
        value_of(comparison, constants=setup),
        f"%0 = constant {{{shown}dtype=bool}}\nprint %0\nreturn",
    )


def test_an_undecided_comparison_stays():
    unchanged(
        canonicalize,
        value_of(
            "cmpi %b, %zero {predicate=gt}", constants="%b = block_id\n%zero = constant {dtype=i32}"
        ),
    )


@pytest.mark.parametrize(
    ("op", "result"),
    [
        ("select %yes, %n, %m", "%n"),
        ("select %no, %n, %m", "%m"),
        ("select %c, %n, %n", "%n"),
        ("select %c, %yes, %no", "%c"),
    ],
)
def test_selections(op, result):
    constants = constant("yes", "True", "bool") + constant("no", "False", "bool")
    expect(canonical, value_of(op, constants=constants), f"print {result}\nreturn")
