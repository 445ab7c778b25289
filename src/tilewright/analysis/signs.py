"""Signs: which floats are known not to be below zero, or not above; a NaN is neither."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from ..ir.core import Func, Op, Value
from ..ir.opdef import Trait
from ..ir.ops.elementwise import ADDF, DIVF, FMA, FTOF, MAXF, MINF, MULF, NEGF, SELECT, SUBF
from ..ir.ops.layout import CAT
from ..ir.ops.matmul import MMAF
from ..ir.ops.reduction import REDUCE, SCAN
from .constants import Constants, constants
from .dataflow import Analysis, Facts, solve
from .structure import combiners

Sign: TypeAlias = int
"""1: no element is below zero; -1: no element is above."""
Signs: TypeAlias = dict[Value, Sign]


def signs(func: Func) -> Signs:
    """Return the floats of a function whose sign is known."""
    return solve(func, _SignAnalysis(constants(func)))


class _SignAnalysis(Analysis[Sign]):
    """The flat lattice of the two signs."""

    def __init__(self, numbers: Constants) -> None:
        self.numbers = numbers

    def transfer(self, op: Op, known: Facts[Sign]) -> Sequence[Sign | None]:
        if op.is_a(REDUCE, SCAN):
            return [
                known.get(given) if made is not None and made.is_a(*KEEPS) else None
                for given, made in zip(op.all("inputs"), combiners(op), strict=True)
            ]
        return [self.of_result(op, known)] if len(op.results) == 1 else ()

    def of_result(self, op: Op, known: Facts[Sign]) -> Sign | None:
        number = self.numbers.get(op.result)
        if isinstance(number, float):
            return 1 if number >= 0 else -1 if number < 0 else None
        if op.has(Trait.NONNEGATIVE):
            return 1
        if op.has(Trait.REARRANGES):
            return known.get(op.operands[0])
        rule = RULES.get(op.defn)
        return None if rule is None else rule(op, [known.get(v) for v in op.operands])

    def join(self, value: Value, a: Sign, b: Sign) -> Sign | None:
        return _agreed(a, b)


Found: TypeAlias = Sign | None


def _agreed(*found: Found) -> Found:
    """Return the sign that all have."""
    return found[0] if len(set(found)) == 1 else None


def _negated(sign: Found) -> Found:
    return None if sign is None else -sign


def _product(op: Op, a: Found, b: Found) -> Found:
    if op.operands[0] is op.operands[1]:
        return 1
    return None if a is None or b is None else a * b


def _greatest(found: Sequence[Found], sign: Sign) -> Found:
    """Return the sign that one operand decides, or that both have."""
    return sign if sign in found else _agreed(*found)


RULES: dict[object, Callable[[Op, Sequence[Found]], Found]] = {
    ADDF: lambda op, s: _agreed(*s),
    SUBF: lambda op, s: _agreed(s[0], _negated(s[1])),
    MULF: lambda op, s: _product(op, s[0], s[1]),
    DIVF: lambda op, s: _product(op, s[0], s[1]),
    FMA: lambda op, s: _agreed(_product(op, s[0], s[1]), s[2]),
    MMAF: lambda op, s: _agreed(None if s[0] is None or s[1] is None else s[0] * s[1], s[2]),
    NEGF: lambda op, s: _negated(s[0]),
    MAXF: lambda op, s: _greatest(s, 1),
    MINF: lambda op, s: _greatest(s, -1),
    SELECT: lambda op, s: _agreed(s[1], s[2]),
    CAT: lambda op, s: _agreed(*s),
    FTOF: lambda op, s: s[0],
}
KEEPS = (ADDF, MAXF, MINF)
"""What combines elements of one sign to a result of that sign."""
