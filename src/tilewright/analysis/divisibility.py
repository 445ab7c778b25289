"""Divisibility: the largest power of two known to divide each integer (trailing zero bits).

Wrapping is harmless here: it subtracts a multiple of 2**bits, so low zero bits stay.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from ..base.shapes import is_power_of_two
from ..ir.core import Func, Op, Value
from ..ir.opdef import Trait
from ..ir.types import TileType
from .dataflow import Analysis, Constants, constants, solve


@dataclass(frozen=True, eq=False)
class Divisibility:
    """The known divisors of the integers of one function."""

    known: dict[Value, int] = field(default_factory=dict[Value, int])

    def of(self, value: Value) -> int:
        """Return the largest power of two known to divide a value or each element (0: 2**bits)."""
        return self.known.get(value, 1)


def divisibility(func: Func, known: Constants | None = None) -> Divisibility:
    """Find the divisors of all integers; `known` are the function's constants, if at hand."""
    numbers = constants(func) if known is None else known
    given = {v: _of_number(v, int(n)) for v, n in numbers.items() if _is_integer(v)}
    return Divisibility(solve(func, _Divisors(numbers), given))


class _Divisors(Analysis[int]):
    """Powers of two, ordered by divisibility; 1 says nothing."""

    def __init__(self, numbers: Constants) -> None:
        self.numbers = numbers

    def transfer(self, op: Op, known: dict[Value, int]) -> Sequence[int | None]:
        rule = TRANSFER.get(op.name)
        if rule is None and op.has(Trait.REARRANGES):
            rule = _first
        if rule is None or not _is_integer(op.result):
            return ()
        divisor = rule(op, [known.get(v, 1) for v in op.operands], self.numbers)
        return (min(divisor, 1 << op.result.tile.dtype.bits),)

    def join(self, value: Value, a: int, b: int) -> int:
        return min(a, b)

    def induction(self, op: Op, known: dict[Value, int]) -> int:
        return min(known.get(op.one("lower"), 1), known.get(op.one("step"), 1))

    def taken(self, cond: Value, known: dict[Value, int]) -> bool | None:
        truth = self.numbers.get(cond)
        return None if truth is None else bool(truth)


def _is_integer(value: Value) -> bool:
    kind = value.type
    return isinstance(kind, TileType) and not kind.is_pointer and kind.dtype.is_int


def _of_number(value: Value, n: int) -> int:
    return n & -n if n else 1 << value.tile.dtype.bits


Rule: TypeAlias = Callable[[Op, Sequence[int], Constants], int]


def _least(op: Op, x: Sequence[int], numbers: Constants) -> int:
    return min(x)


def _muli(op: Op, x: Sequence[int], numbers: Constants) -> int:
    return x[0] * x[1]


def _andi(op: Op, x: Sequence[int], numbers: Constants) -> int:
    return max(x)


def _shli(op: Op, x: Sequence[int], numbers: Constants) -> int:
    amount = numbers.get(op.one("rhs"), 0)
    bits = op.result.tile.dtype.bits
    return x[0] << min(int(amount) % (1 << bits), bits)


def _divi(op: Op, x: Sequence[int], numbers: Constants) -> int:
    by = numbers.get(op.one("rhs"), 0)
    exact = is_power_of_two(int(by)) and x[0] % int(by) == 0
    return x[0] // int(by) if exact else 1


def _select(op: Op, x: Sequence[int], numbers: Constants) -> int:
    return min(x[1:])


def _first(op: Op, x: Sequence[int], numbers: Constants) -> int:
    return x[0]


def _recast(op: Op, x: Sequence[int], numbers: Constants) -> int:
    return x[0] if _is_integer(op.one("arg")) else 1


TRANSFER: dict[str, Rule] = {
    "addi": _least, "subi": _least, "ori": _least, "xori": _least, "remi": _least,
    "maxi": _least, "mini": _least, "muli": _muli, "andi": _andi, "shli": _shli, "divi": _divi,
    "negi": _first, "absi": _first, "select": _select,
    "exti": _recast, "trunci": _first, "bitcast": _recast,
}  # fmt: skip
