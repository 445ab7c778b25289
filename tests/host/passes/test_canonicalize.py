"""Folding, and that canonicalization comes to an end."""

from __future__ import annotations

import random

import pytest

from ir_text import expect, unchanged
from support.canonical import canonical, constant, value_of
from support.programs import program, same_meaning_always
from tilewright.passes.canonicalize import canonicalize


@pytest.mark.parametrize(
    ("op", "dtype", "numbers", "result"),
    [
        ("addi", "i8", "127 1", "-128"),
        ("subi", "u8", "0 1", "255"),
        ("muli", "i32", "65536 65536", None),
        ("divi", "i32", "-7 2", "-3"),
        ("divi {rounding=neg_inf}", "i32", "-7 2", "-4"),
        ("divi", "i32", "5 0", None),
        ("divi", "i8", "-128 -1", "-128"),
        ("remi", "i32", "5 0", "5"),
        ("remi {rounding=neg_inf}", "i32", "-7 2", "1"),
        ("shli", "i32", "1 32", None),
        ("shri", "i32", "-8 40", "-1"),
        ("shri", "u32", "8 32", None),
        ("addf", "f32", "0.5 0.25", "0.75"),
        ("addf", "f32", "16777216.0 1.0", "16777216.0"),
        ("mulf", "f16", "256.0 256.0", "inf"),
        ("divf", "f32", "1.0 -0.0", "-inf"),
        ("maxf", "f32", "-0.0 0.0", None),
        ("minf", "f32", "-0.0 0.0", "-0.0"),
    ],
)
def test_elementwise_ops_on_constants_fold(op, dtype, numbers, result):
    name, _, attrs = op.partition(" ")
    a, b = numbers.split()
    before = constant("a", a, dtype) + constant("b", b, dtype)
    shown = f"value={result}, " if result else ""
    expect(
        canonical,
        value_of(f"{name} %a, %b {attrs}".strip(), constants=before),
        f"%0 = constant {{{shown}dtype={dtype}}}\nprint %0\nreturn",
    )


def test_tiles_of_one_number_fold_through_layout_ops():
    expect(
        canonical,
        """
        %a = constant {value=2.0, dtype=f32, shape=(1, 4)}
        %b = broadcast %a {shape=(8, 4)}
        %r = permute %b {order=(1, 0)}
        %s = reshape %r {shape=(32)}
        %t = mulf %s, %s
        print %t
        return
        """,
        """
        %0 = constant {value=4.0, dtype=f32, shape=(32)}
        print %0
        return
        """,
    )


@pytest.mark.parametrize(
    "op",
    ["mulf %a, %b", "exp %a", "sqrt %b", "addf %a, %a {ftz=True}", "addf %b, %b {rounding=zero}"],
)
def test_what_another_answer_is_allowed_for_does_not_fold(op):
    """inf * 0 is a NaN of nobody's choosing; the others have a bound or flags, not one answer."""
    constants = "%a = constant {value=inf, dtype=f32}\n%b = constant {dtype=f32}\n"
    text = value_of(op, constants="\n".join(c for c in constants.splitlines() if c[:2] in op))
    unchanged(canonicalize, text)


def test_what_the_signature_fixes_folds():
    expect(
        canonical,
        """
        %e = extent %s
        %v = make_view %s {tile=(16), dim_map=(0)}
        %t = num_tiles %v
        %g = num_blocks {axis=1}
        %b = block_id {axis=2}
        %o = block_id
        print %e, %t, %g, %b, %o
        return
        """,
        """
        %0 = constant {value=100, dtype=i32}
        %1 = constant {value=7, dtype=i32}
        %2 = constant {value=3, dtype=i32}
        %3 = constant {dtype=i32}
        %o = block_id
        print %0, %1, %2, %3, %o
        return
        """,
        grid=(2, 3, 1),
    )


def test_random_programs_keep_their_meaning():
    same_meaning_always(canonicalize, 80)


def test_a_second_run_finds_nothing():
    seed = random.randrange(2**31)
    print(f"programs from seed {seed}")
    for i in range(60):
        once = canonicalize(program(seed + i))
        assert canonicalize(once) is once
