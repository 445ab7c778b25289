"""Rearrangements: what changes nothing goes, chains become one op."""

from __future__ import annotations

import pytest

from ir_text import expect
from support.canonical import canonical

TILE = "%v = make_view %w {tile=(4, 8), dim_map=(0, 1)}\n%a = load_view %v, %n, %n\n"


@pytest.mark.parametrize(
    ("chain", "result"),
    [
        ("%b = reshape %a {shape=(32)}\n%r = reshape %b {shape=(2, 16)}",
         "reshape %a {shape=(2, 16)}"),
        ("%b = reshape %a {shape=(32)}\n%r = reshape %b {shape=(4, 8)}", None),
        ("%r = reshape %a {shape=(4, 8)}", None),
        ("%r = broadcast %a {shape=(4, 8)}", None),
        ("%b = permute %a {order=(1, 0)}\n%r = permute %b {order=(1, 0)}", None),
        ("%r = permute %a {order=(0, 1)}", None),
        ("%r = extract %a, %n, %n {shape=(4, 8)}", None),
    ],
)  # fmt: skip
def test_layout_chains(chain, result):
    last = f"%3 = {result}\nprint %3" if result else "print %a"
    expect(canonical, f"{TILE}{chain}\nprint %r\nreturn", f"{TILE}{last}\nreturn")


def test_permutations_compose_in_order():
    expect(
        canonical,
        """
        %i = iota {size=24, dtype=i32}
        %a = reshape %i {shape=(2, 3, 4)}
        %b = permute %a {order=(1, 2, 0)}
        %c1 = permute %b {order=(1, 2, 0)}
        print %c1
        return
        """,
        """
        %i = iota {size=24, dtype=i32}
        %a = reshape %i {shape=(2, 3, 4)}
        %2 = permute %a {order=(2, 0, 1)}
        print %2
        return
        """,
    )


def test_broadcast_of_broadcast():
    expect(
        canonical,
        """
        %i = iota {size=4, dtype=i32}
        %a = reshape %i {shape=(1, 1, 4)}
        %b = broadcast %a {shape=(1, 2, 4)}
        %e = broadcast %b {shape=(8, 2, 4)}
        print %e
        return
        """,
        """
        %i = iota {size=4, dtype=i32}
        %a = reshape %i {shape=(1, 1, 4)}
        %2 = broadcast %a {shape=(8, 2, 4)}
        print %2
        return
        """,
    )
