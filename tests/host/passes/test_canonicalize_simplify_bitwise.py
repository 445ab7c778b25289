"""Identities of bits, on integers of both signs and on booleans."""

from __future__ import annotations

import pytest

from ir_text import expect, unchanged
from support.canonical import canonical, constant, value_of
from tilewright.passes.canonicalize import canonicalize

CONSTANTS = "".join(
    [
        constant("zero", "0", "i32"), constant("ones", "-1", "i32"),
        constant("yes", "True", "bool"),
        constant("no", "False", "bool"), constant("uones", "4294967295", "u32"),
    ]
)  # fmt: skip


@pytest.mark.parametrize(
    ("op", "result"),
    [
        ("andi %c, %yes", "c"), ("ori %no, %c", "c"), ("xori %c, %no", "c"),
        ("andi %u, %uones", "u"), ("andi %ones, %n", "n"), ("shri %n, %zero", "n"),
        ("andi %c, %c", "c"),
    ],
)  # fmt: skip
def test_the_operand(op, result):
    expect(canonical, value_of(op, constants=CONSTANTS), f"print %{result}\nreturn")


@pytest.mark.parametrize(
    ("op", "attrs"),
    [
        ("andi %no, %c", "{dtype=bool}"),
        ("ori %c, %yes", "{value=True, dtype=bool}"),
        ("ori %n, %ones", "{value=-1, dtype=i32}"),
        ("ori %u, %uones", "{value=4294967295, dtype=u32}"),
        ("xori %c, %c", "{dtype=bool}"),
    ],
)
def test_a_constant(op, attrs):
    after = f"%0 = constant {attrs}\nprint %0\nreturn"
    expect(canonical, value_of(op, constants=CONSTANTS), after)


@pytest.mark.parametrize(("op", "operand"), [("xori %c, %yes", "c"), ("xori %ones, %n", "n")])
def test_an_exclusive_or_with_ones_is_a_not(op, operand):
    expect(canonical, value_of(op, constants=CONSTANTS), f"%0 = noti %{operand}\nprint %0\nreturn")


def test_a_shift_of_zero_stays_one():
    """0 << x is 0 too, but that is no identity of x; folding needs both."""
    text = value_of("shli %zero, %n", constants=constant("zero", "0", "i32").strip())
    unchanged(canonicalize, text)
