"""Transfer functions of elementwise ops: from symbolic ranges of operands to that of the result.

Every rule gives bounds of the exact result; whether it can leave its type is seen to afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import product
from typing import TypeAlias

from ...ir.attrs import Rounding
from ...ir.core import Op
from .linear import ZERO, Linear, number
from .proofs import Prover
from .symbolic_range import Span, SymbolicRange, few

Rule: TypeAlias = Callable[[Prover, Op, Sequence[SymbolicRange]], SymbolicRange | None]
Combine: TypeAlias = Callable[[Linear, Linear], Linear]


def _each(combine: Combine, a: Sequence[Linear], b: Sequence[Linear]) -> tuple[Linear, ...]:
    return few(combine(x, y) for x, y in product(a, b))


def _joined(a: SymbolicRange, b: SymbolicRange, low: Combine, high: Combine) -> Span | None:
    if a.span is None or b.span is None:
        return None
    return a.span.joined(b.span, low(a.span.low, b.span.low), high(a.span.high, b.span.high))


def _addi(prover: Prover, op: Op, x: Sequence[SymbolicRange]) -> SymbolicRange:
    a, b = x
    lows, highs = _each(Linear.plus, a.lows, b.lows), _each(Linear.plus, a.highs, b.highs)
    return SymbolicRange(lows, highs, _joined(a, b, Linear.plus, Linear.plus))


def _negi(prover: Prover, op: Op, x: Sequence[SymbolicRange]) -> SymbolicRange:
    (a,) = x
    span = None if a.span is None else a.span.turned()
    return SymbolicRange(
        tuple(f.times(-1) for f in a.highs), tuple(f.times(-1) for f in a.lows), span
    )


def _subi(prover: Prover, op: Op, x: Sequence[SymbolicRange]) -> SymbolicRange:
    return _addi(prover, op, (x[0], _negi(prover, op, x[1:])))


def _muli(prover: Prover, op: Op, x: Sequence[SymbolicRange]) -> SymbolicRange | None:
    a, b = x
    for other, by in ((a, b.point), (b, a.point)):
        if by is not None and by.number is not None:
            return _scaled(other, by.number)
    if not (_not_negative(prover, a) and _not_negative(prover, b)):
        return None
    # Bounds of what is not negative: a product of two negative ones would be none.
    a, b, times = _raised(prover, a), _raised(prover, b), prover.algebra.mul
    span = _joined(a, b, times, times)
    return SymbolicRange(
        _each(times, a.lows, b.lows), _each(times, a.highs, b.highs),
        None if span is None else replace(span, dense=False),
    )  # fmt: skip


def _scaled(a: SymbolicRange, factor: int) -> SymbolicRange:
    if factor < 0:
        flipped = _scaled(a, -factor)
        return SymbolicRange(
            tuple(f.times(-1) for f in flipped.highs), tuple(f.times(-1) for f in flipped.lows),
            None if flipped.span is None else flipped.span.turned(),
        )  # fmt: skip
    return _grown(a, lambda f: f.times(factor), dense=factor == 1)


def _grown(
    a: SymbolicRange, move: Callable[[Linear], Linear], *, dense: bool = False
) -> SymbolicRange:
    """A function that grows with its operand."""
    span = None if a.span is None else a.span.moved(move, dense=dense)
    return SymbolicRange(few(map(move, a.lows)), few(map(move, a.highs)), span)


def _not_negative(prover: Prover, a: SymbolicRange) -> bool:
    return any(prover.holds(form) for form in a.lows)


def _divi(prover: Prover, op: Op, x: Sequence[SymbolicRange]) -> SymbolicRange | None:
    a, by = x[0], x[1].point
    if by is None or not prover.holds(by):
        return None
    rounding: Rounding = op.attrs["rounding"]
    if rounding is Rounding.POS_INF:
        return _grown(a, lambda f: prover.algebra.ceildiv(f, by), dense=True)
    if rounding is not Rounding.NEG_INF and not _not_negative(prover, a):
        return None
    # Rounding toward zero is rounding down where nothing is negative.
    kept = a if rounding is Rounding.NEG_INF else _raised(prover, a)
    return _grown(kept, lambda f: prover.algebra.floordiv(f, by), dense=True)


def _raised(prover: Prover, a: SymbolicRange) -> SymbolicRange:
    """The same of a value that is not negative, without lower bounds that may be."""
    span = a.span if a.span is not None and prover.holds(a.span.low) else None
    return SymbolicRange(few((ZERO, *(f for f in a.lows if prover.holds(f)))), a.highs, span)


def _remi(prover: Prover, op: Op, x: Sequence[SymbolicRange]) -> SymbolicRange | None:
    a, by = x[0], x[1].point
    if by is None or not prover.holds(by.shifted(-1)):
        return None
    plain = _not_negative(prover, a)
    if op.attrs["rounding"] is not Rounding.NEG_INF and not plain:
        return None
    highs = few((by.shifted(-1), *(a.highs if plain else ())))
    return SymbolicRange((ZERO,), highs, _remainder(prover, a, by))


def _remainder(prover: Prover, a: SymbolicRange, by: Linear) -> Span | None:
    span = a.span
    if span is None or not prover.holds(span.low):
        return None
    whole = span.dense and span.low == ZERO
    high = prover.algebra.min(span.high, by.shifted(-1))
    return Span(ZERO, high, span.needs, span.varies, exact=whole, dense=whole)


def _mini(prover: Prover, op: Op, x: Sequence[SymbolicRange]) -> SymbolicRange:
    a, b = x
    least = prover.algebra.min
    return SymbolicRange(
        _each(least, a.lows, b.lows), _merged(a.highs, b.highs), _joined(a, b, least, least)
    )


def _maxi(prover: Prover, op: Op, x: Sequence[SymbolicRange]) -> SymbolicRange:
    a, b = x
    most = prover.algebra.max
    return SymbolicRange(
        _merged(a.lows, b.lows), _each(most, a.highs, b.highs), _joined(a, b, most, most)
    )


def _merged(a: Sequence[Linear], b: Sequence[Linear]) -> tuple[Linear, ...]:
    """Bounds of either; those that speak of the launch say more than plain numbers."""
    return few(sorted((*a, *b), key=lambda f: f.number is not None))


def _absi(prover: Prover, op: Op, x: Sequence[SymbolicRange]) -> SymbolicRange | None:
    return x[0] if _not_negative(prover, x[0]) else None


def _shli(prover: Prover, op: Op, x: Sequence[SymbolicRange]) -> SymbolicRange | None:
    by = _amount(op, x[1])
    return None if by is None else _scaled(x[0], 1 << by)


def _shri(prover: Prover, op: Op, x: Sequence[SymbolicRange]) -> SymbolicRange | None:
    by = _amount(op, x[1])
    if by is None:
        return None
    return _grown(x[0], lambda f: prover.algebra.floordiv(f, number(1 << by)), dense=True)


def _amount(op: Op, x: SymbolicRange) -> int | None:
    n = x.point.number if x.point is not None else None
    return n if n is not None and 0 <= n < op.result.tile.dtype.bits else None


def _unchanged(prover: Prover, op: Op, x: Sequence[SymbolicRange]) -> SymbolicRange | None:
    return x[0] if x else None


def union(prover: Prover, found: Sequence[SymbolicRange]) -> SymbolicRange:
    """What is known of a value that is one of several."""
    total = found[0]
    for other in found[1:]:
        total = SymbolicRange(
            _each(prover.algebra.min, total.lows, other.lows),
            _each(prover.algebra.max, total.highs, other.highs),
        )
    return total


def _select(prover: Prover, op: Op, x: Sequence[SymbolicRange]) -> SymbolicRange:
    return union(prover, x[-2:])


TRANSFER: dict[str, Rule] = {
    "addi": _addi, "subi": _subi, "muli": _muli, "divi": _divi, "remi": _remi,
    "negi": _negi, "absi": _absi, "maxi": _maxi, "mini": _mini,
    "shli": _shli, "shri": _shri, "select": _select,
    "exti": _unchanged, "trunci": _unchanged, "bitcast": _unchanged, "reshape": _unchanged,
}  # fmt: skip
