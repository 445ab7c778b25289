"""Decided comparisons and selections."""

from __future__ import annotations

import pytest

from ir_text import apply, expect, kernel, parse, unchanged
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


@pytest.mark.parametrize(
    ("arms", "becomes"),
    [
        ("%no, %yes", "noti"), ("%yes, %d", "select"), ("%d, %no", "select"),
        ("%no, %d", "select"), ("%d, %yes", "select"),
    ],
)  # fmt: skip
def test_selections_of_truth_values(arms, becomes):
    """Only both arms together, one true and the other false, are the condition or its opposite."""
    constants = constant("yes", "True", "bool") + constant("no", "False", "bool")
    made = canonical(parse(kernel(value_of(f"select %c, {arms}", constants=constants))))
    assert [op.name for op in made.walk() if op.name not in ("constant", "print", "return")] == [
        becomes
    ]


INTERVALS = """
%b = block_id
%three = constant {value=3, dtype=i32}
%four = constant {value=4, dtype=i32}
%seven = constant {value=7, dtype=i32}
%low = remi %b, %four
%high = addi %low, %three
%far = addi %low, %four
"""


@pytest.mark.parametrize(
    ("comparison", "answer"),
    [
        # %low is 0..3, %high 3..6, %far 4..7
        ("%low, %far {predicate=lt}", True),
        ("%low, %high {predicate=lt}", None),
        ("%low, %high {predicate=le}", True),
        ("%low, %far {predicate=ge}", False),
        ("%low, %high {predicate=ge}", None),
        ("%far, %low {predicate=gt}", True),
        ("%high, %low {predicate=gt}", None),
        ("%high, %low {predicate=ge}", True),
        ("%low, %far {predicate=eq}", False),
        ("%low, %far {predicate=ne}", True),
        ("%low, %high {predicate=ne}", None),
        ("%low, %low {predicate=lt}", False),
    ],
)
def test_intervals_decide_up_to_their_ends(comparison, answer):
    text = apply(canonical, kernel(f"{INTERVALS}\n{value_of(f'cmpi {comparison}')}"))
    if answer is None:
        assert "cmpi" in text
    else:
        shown = "value=True, " if answer else ""
        assert f"constant {{{shown}dtype=bool}}" in text
        assert "cmpi" not in text
