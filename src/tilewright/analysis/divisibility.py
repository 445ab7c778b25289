"""Powers of two that surely divide integers: from a function to the largest known for each.

Wrapping is harmless here: what wraps is a multiple of 2**bits, so low zero bits stay.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from ..base.shapes import is_power_of_two
from ..ir.core import Block, Func, Op, Value
from ..ir.ops.control import FOR, IF, YIELD
from ..ir.types import TileType
from .constants import Constants, constants


@dataclass(frozen=True, eq=False)
class Divisibility:
    """What is known of the integers of one function."""

    known: dict[Value, int] = field(default_factory=dict[Value, int])

    def of(self, value: Value) -> int:
        """The largest power of two known to divide a value (or every element); 2**bits for 0."""
        return self.known.get(value, 1)


def divisibility(func: Func, known: Constants | None = None) -> Divisibility:
    """Find the divisors of all integers; `known` are the function's constants, if at hand."""
    numbers = constants(func) if known is None else known
    found = Divisibility({v: _of_number(v, int(n)) for v, n in numbers.items() if _is_integer(v)})
    _block(func.body, found, numbers)
    return found


def _is_integer(value: Value) -> bool:
    kind = value.type
    return isinstance(kind, TileType) and not kind.is_pointer and kind.dtype.is_int


def _of_number(value: Value, n: int) -> int:
    return n & -n if n else 1 << value.tile.dtype.bits


def _block(block: Block, found: Divisibility, numbers: Constants) -> None:
    for op in block.ops:
        if op.is_a(FOR):
            lower, step = found.of(op.one("lower")), found.of(op.one("step"))
            found.known[op.regions[0].args[0]] = min(lower, step)
        for region in op.regions:
            _block(region, found, numbers)
        if op.is_a(IF):
            _if(op, found)
        elif len(op.results) == 1 and _is_integer(op.result) and op.result not in found.known:
            _note(op, found, numbers)


def _if(op: Op, found: Divisibility) -> None:
    ends = [r.terminator for r in op.regions if r.terminator.is_a(YIELD)]
    for k, result in enumerate(op.results):
        if ends and _is_integer(result) and result not in found.known:
            found.known[result] = min(found.of(end.operands[k]) for end in ends)


def _note(op: Op, found: Divisibility, numbers: Constants) -> None:
    rule = TRANSFER.get(op.name)
    if rule is not None:
        divisor = rule(op, [found.of(v) for v in op.operands], numbers)
        found.known[op.result] = min(divisor, 1 << op.result.tile.dtype.bits)


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
    "reshape": _first, "broadcast": _first, "permute": _first, "extract": _first,
}  # fmt: skip
