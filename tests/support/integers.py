"""Every operation on integers beside the same in Python's own integers, and a check of all.

`python -m support.integers cpu` runs the check in a process of its own: an instruction that traps
is then a failed test, not a dead test run.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from support.expressions import assert_all, once, run, wrapped
from support.numbers import fresh_rng, int_values
from tilewright.base.dtypes import INTS, AnyDType, bool_, i32, int_range

Array = np.ndarray[Any, np.dtype[Any]]
Exact = Callable[[int, int, AnyDType], int]


def floor_div(a: int, b: int) -> int:
    return a // b if b else 0


def floor_mod(a: int, b: int) -> int:
    return a % b if b else a


def ceil_div(a: int, b: int) -> int:
    return -(-a // b) if b else 0


def trunc_div(a: int, b: int) -> int:
    magnitude = abs(a) // abs(b) if b else 0
    return magnitude if (a < 0) == (b < 0) else -magnitude


def amount(n: int, t: AnyDType) -> int:
    """How far a shift goes: read as unsigned, the width at most."""
    return min(n % (1 << t.bits), t.bits)


def high_half(a: int, b: int, t: AnyDType) -> int:
    return (a % (1 << t.bits)) * (b % (1 << t.bits)) >> t.bits


TWO: dict[str, Exact] = {
    **dict.fromkeys(("a + b", "tl.addi(a, b)"), lambda a, b, t: a + b),
    **dict.fromkeys(("a - b", "tl.subi(a, b)"), lambda a, b, t: a - b),
    **dict.fromkeys(("a * b", "tl.muli(a, b)"), lambda a, b, t: a * b),
    **dict.fromkeys(
        ("a // b", "tl.floor_div(a, b)", "divmod(a, b)[0]",
         "tl.divi(a, b, rounding=tl.Rounding.NEG_INF)"),
        lambda a, b, t: floor_div(a, b),
    ),
    **dict.fromkeys(("a % b", "divmod(a, b)[1]"), lambda a, b, t: floor_mod(a, b)),
    **dict.fromkeys(
        ("tl.ceil_div(a, b)", "tl.divi(a, b, rounding='pos_inf')"),
        lambda a, b, t: ceil_div(a, b),
    ),
    **dict.fromkeys(
        ("tl.divi(a, b)", "tl.divi(a, b, rounding=tl.Rounding.ZERO)"),
        lambda a, b, t: trunc_div(a, b),
    ),
    "tl.remi(a, b)": lambda a, b, t: a - trunc_div(a, b) * b,
    "tl.mulhii(a, b)": high_half,
    **dict.fromkeys(
        ("tl.maxi(a, b)", "tl.maximum(a, b)", "tl.max_tile(a, b)"), lambda a, b, t: max(a, b)
    ),
    **dict.fromkeys(
        ("tl.mini(a, b)", "tl.minimum(a, b)", "tl.min_tile(a, b)"), lambda a, b, t: min(a, b)
    ),
    **dict.fromkeys(("a & b", "tl.andi(a, b)"), lambda a, b, t: a & b),
    **dict.fromkeys(("a | b", "tl.ori(a, b)"), lambda a, b, t: a | b),
    **dict.fromkeys(("a ^ b", "tl.xori(a, b)"), lambda a, b, t: a ^ b),
    **dict.fromkeys(("a << b", "tl.shli(a, b)"), lambda a, b, t: a << amount(b, t)),
    **dict.fromkeys(("a >> b", "tl.shri(a, b)"), lambda a, b, t: a >> amount(b, t)),
    "tl.where(a < b, a, b + 1)": lambda a, b, t: a if a < b else b + 1,
    "tl.select(a == b, 7, a)": lambda a, b, t: 7 if a == b else a,
    "tl.clamp(a, 3, b)": lambda a, b, t: min(max(a, 3), b),
}  # fmt: skip
"""Operations on two tiles."""

ONE: dict[str, Exact] = {
    **dict.fromkeys(("-a", "tl.negi(a)", "0 - a"), lambda a, b, t: -a),
    **dict.fromkeys(("~a", "tl.noti(a)"), lambda a, b, t: ~a),
    **dict.fromkeys(("abs(a)", "tl.abs(a)"), lambda a, b, t: abs(a)),
    "+a": lambda a, b, t: a,
    "a ** 0": lambda a, b, t: 1,
    "a ** 1": lambda a, b, t: a,
    "a ** 5": lambda a, b, t: a**5,
    "a + 3": lambda a, b, t: a + 3,
    "100 - a": lambda a, b, t: 100 - a,
    "a * 7": lambda a, b, t: a * 7,
    "100 // a": lambda a, b, t: floor_div(100, a),
    "100 % a": lambda a, b, t: floor_mod(100, a),
    "a // 3": lambda a, b, t: a // 3,
    "a % 3": lambda a, b, t: a % 3,
    "a // 8": lambda a, b, t: a // 8,
    "a % 8": lambda a, b, t: a % 8,
    "tl.divi(a, 8)": lambda a, b, t: trunc_div(a, 8),
    "tl.remi(a, 8)": lambda a, b, t: a - trunc_div(a, 8) * 8,
    "a // 1": lambda a, b, t: a,
    "a // 0": lambda a, b, t: 0,
    "a % 0": lambda a, b, t: a,
    "1 << a": lambda a, b, t: 1 << amount(a, t),
    "a << 3": lambda a, b, t: a << 3,
    "a >> 3": lambda a, b, t: a >> 3,
    "a << 100": lambda a, b, t: 0,
    "a >> 100": lambda a, b, t: a >> 100,
    "a & 5 | a ^ 3": lambda a, b, t: a & 5 | a ^ 3,
    "tl.clamp(a, 2, 90)": lambda a, b, t: min(max(a, 2), 90),
    "tl.mulhii(a, 5)": lambda a, b, t: high_half(a, 5, t),
}
"""Operations on one tile, or on a tile and a number."""

SIGNED: dict[str, Exact] = {
    "tl.absi(a)": lambda a, b, t: abs(a),
    "a // -1": lambda a, b, t: -a,
    "a % -1": lambda a, b, t: 0,
    "a // -8": lambda a, b, t: a // -8,
    "a % -8": lambda a, b, t: a % -8,
    "tl.divi(a, -1)": lambda a, b, t: -a,
    "tl.remi(a, -1)": lambda a, b, t: 0,
}
"""What only signed integers take."""


def truth(same: Callable[[int, int], bool]) -> Exact:
    """A comparison as a number."""
    return lambda a, b, t: int(same(a, b))


COMPARED: dict[str, Exact] = {
    **{
        text: function
        for symbol, name, same in (
            ("<", "lt", operator.lt), ("<=", "le", operator.le), (">", "gt", operator.gt),
            (">=", "ge", operator.ge), ("==", "eq", operator.eq), ("!=", "ne", operator.ne),
        )
        for function in (truth(same),)
        for text in (f"a {symbol} b", f"tl.{name}_tile(a, b)",
                     f"tl.cmpi(a, b, tl.Predicate.{name.upper()})")
    },
    "a < 3": lambda a, b, t: int(a < 3),
    "3 >= a": lambda a, b, t: int(a <= 3),
    "(a < b) & ~(b == 0) | (a == 1) ^ (b != 2)":
        lambda a, b, t: int((a < b) & (b != 0) | (a == 1) ^ (b != 2)),
}  # fmt: skip
"""What gives booleans."""

LOGIC: dict[str, Callable[[bool, bool], bool]] = {
    **dict.fromkeys(("a & b", "tl.andi(a, b)", "a & b & True"), lambda a, b: a and b),
    **dict.fromkeys(("a | b", "tl.ori(a, b)", "False | a | b"), lambda a, b: a or b),
    **dict.fromkeys(
        ("a ^ b", "tl.xori(a, b)", "a != b", "tl.ne_tile(a, b)"), lambda a, b: a != b
    ),
    **dict.fromkeys(
        ("a == b", "tl.eq_tile(a, b)", "tl.cmpi(a, b, 'eq')"), lambda a, b: a == b
    ),
    **dict.fromkeys(("~a", "tl.noti(a)", "a ^ True"), lambda a, b: not a),
    "tl.where(a, b, ~b)": lambda a, b: b if a else not b,
    "tl.where(a, True, b)": lambda a, b: a or b,
}  # fmt: skip
"""Operations on booleans."""


def operand_pairs(dtype: AnyDType) -> tuple[Array, Array]:
    """All pairs of edge values and some random ones; a number that no tile divides."""
    values = int_values(dtype, fresh_rng(), 12)
    a, b = np.repeat(values, len(values)), np.tile(values, len(values))
    short = max(len(a) - (len(a) % 16 == 0), 1)
    return a[:short], b[:short]


def table_of(dtype: AnyDType) -> dict[str, Exact]:
    """The operations of a type; i32 has them under all their names."""
    table = {**TWO, **ONE, **(SIGNED if dtype.is_signed else {})}
    return table if dtype is i32 else once(table)


def compared(dtype: AnyDType) -> dict[str, Exact]:
    """The comparisons of a type; i32 has them under all their names."""
    return COMPARED if dtype is i32 else once(COMPARED)


def expected_of(function: Exact, a: Array, b: Array, dtype: AnyDType, to: AnyDType) -> Array:
    pairs = zip(a.tolist(), b.tolist(), strict=True)
    return wrapped([function(x, y, dtype) for x, y in pairs], to)


def check(device: str, dtype: AnyDType, words: Sequence[str] = ("",)) -> None:
    """Every operation on one type of integers, on a tensor whose last tile is padded.

    With `words`, only those whose text has one of them.
    """
    a, b = operand_pairs(dtype)
    table = {
        text: (function, to)
        for to, part in ((dtype, table_of(dtype)), (bool_, compared(dtype)))
        for text, function in part.items()
        if any(word in text for word in words)
    }
    texts = list(table)
    functions, results = zip(*table.values(), strict=True)
    got = run(texts, device, {"a": a, "b": b}, results, tile=(16,))
    expected = [expected_of(f, a, b, dtype, to) for f, to in zip(functions, results, strict=True)]
    assert_all(texts, got, [e.astype(to.np) for e, to in zip(expected, results, strict=True)], a, b)


TRAPPING = ("//", "%", "div", "rem", "<<", ">>", "shl", "shr")
"""What a processor, or C, does not define for all numbers."""


def check_all(device: str) -> None:
    """Try on every type what might end the process."""
    for dtype in INTS:
        low, high = int_range(dtype)
        check(device, dtype, TRAPPING)
        print(f"{dtype.name} from {low} to {high}: right", flush=True)


if __name__ == "__main__":
    check_all(sys.argv[1])
