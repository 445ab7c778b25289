"""Pairs of ops that lead back to where they started."""

from __future__ import annotations

import pytest

from ir_text import expect, unchanged
from support.canonical import canonical
from tilewright.passes.canonicalize import canonicalize


@pytest.mark.parametrize(
    ("there", "back", "operand"),
    [
        ("negf %f", "negf %t", "f"),
        ("negi %n", "negi %t", "n"),
        ("noti %c", "noti %t", "c"),
        ("exti %n {to=i64}", "trunci %t {to=i32}", "n"),
        ("bitcast %f {to=u32}", "bitcast %t {to=f32}", "f"),
    ],
)
def test_there_and_back(there, back, operand):
    expect(
        canonical,
        f"%t = {there}\n%r = {back}\nprint %r\nreturn",
        f"print %{operand}\nreturn",
    )


def test_narrowing_first_loses_something():
    unchanged(canonicalize, "%t = trunci %n {to=i8}\n%r = exti %t {to=i32}\nprint %r\nreturn")
