"""Intervals of integers and signs of floats: two lattices of `dataflow`.

An interval is kept only if the exact result cannot leave its type; a result that may wrap has the
range of its type.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from ..base.dtypes import i32, int_range
from ..ir.attrs import WARP_SIZE, Rounding, ThreadCoordinate
from ..ir.core import Func, Op, Value
from ..ir.opdef import Trait
from ..ir.ops.control import TILE_INDEX
from ..ir.ops.elementwise import ADDF, DIVF, FMA, FTOF, MAXF, MINF, MULF, NEGF, SELECT, SUBF
from ..ir.ops.layout import CAT
from ..ir.ops.matmul import MMAF
from ..ir.ops.reduction import REDUCE, SCAN
from ..ir.semantics import divide
from ..ir.signature import Signature
from ..ir.types import TileType
from .dataflow import Analysis, Constants, Facts, constants, grid_size, solve
from .structure import combiners

# --- intervals of integers ---------------------------------------------------------------------


class Interval(NamedTuple):
    """All integers from `low` to `high`, both included."""

    low: int
    high: int


@dataclass(frozen=True, eq=False)
class Ranges:
    """The intervals of the integers of one function."""

    known: dict[Value, Interval] = field(default_factory=dict[Value, Interval])

    def of(self, value: Value) -> Interval:
        """Return the interval of a value that is a tile of integers or booleans."""
        return _interval(self.known, value)


def ranges(func: Func, known: Constants | None = None) -> Ranges:
    """Find the intervals of all integers; `known` are the function's constants, if at hand."""
    numbers = constants(func) if known is None else known
    given = {v: Interval(int(n), int(n)) for v, n in numbers.items() if not _is_float(v)}
    return Ranges(solve(func, _Intervals(func.signature, numbers), given))


class _Intervals(Analysis[Interval]):
    """Intervals, ordered by inclusion. A bound that still moves is widened to that of the type."""

    def __init__(self, signature: Signature, numbers: Constants) -> None:
        self.signature = signature
        self.numbers = numbers

    def transfer(self, op: Op, known: dict[Value, Interval]) -> Sequence[Interval | None]:
        if op.is_a(TILE_INDEX):
            return _tile_index(op, known)
        if len(op.results) != 1 or not _is_integer(op.result):
            return ()
        if op.name in SOURCES:
            return (SOURCES[op.name](self.signature, op),)
        rule = _unchanged if op.has(Trait.REARRANGES) else TRANSFER.get(op.name)
        if rule is None:
            return ()
        exact = rule(op, [_interval(known, v) for v in op.operands if _has_range(v)])
        # What does not fit may have wrapped.
        return (exact if exact is not None and _fits(op.result, exact) else None,)

    def join(self, value: Value, a: Interval, b: Interval) -> Interval | None:
        return union([a, b]) if _is_integer(value) else None

    def widen(self, value: Value, old: Interval, new: Interval) -> Interval:
        low, high = int_range(value.tile.dtype)
        return Interval(
            low if new.low < old.low else new.low, high if new.high > old.high else new.high
        )

    def induction(self, op: Op, known: dict[Value, Interval]) -> Interval:
        """Return the range of the variable: least lower bound to below the greatest upper bound."""
        low, high = _interval(known, op.one("lower")).low, _interval(known, op.one("upper")).high
        return Interval(low, max(low, high - 1))

    def taken(self, cond: Value, known: dict[Value, Interval]) -> bool | None:
        truth = self.numbers.get(cond)
        return None if truth is None else bool(truth)


def _interval(known: dict[Value, Interval], value: Value) -> Interval:
    return known.get(value) or Interval(*int_range(value.tile.dtype))


def _fits(value: Value, exact: Interval) -> bool:
    low, high = int_range(value.tile.dtype)
    return low <= exact.low and exact.high <= high


def _is_float(value: Value) -> bool:
    return value.tile.dtype.is_float


def _is_integer(value: Value) -> bool:
    kind = value.type
    return isinstance(kind, TileType) and not kind.is_pointer and kind.dtype.is_int


def union(intervals: Sequence[Interval]) -> Interval:
    """Return the least interval that holds all of these."""
    return Interval(min(i.low for i in intervals), max(i.high for i in intervals))


def _has_range(value: Value) -> bool:
    kind = value.type
    return isinstance(kind, TileType) and not kind.is_pointer and not kind.dtype.is_float


# Values that come from the launch.

INDEX_MAX = int_range(i32)[1]
MOST_THREADS = (1024, 1024, 64)
"""In a block, along x, y and z; 1024 in all."""
MOST_BLOCKS = (INDEX_MAX, 65535, 65535)


def _extent(signature: Signature, op: Op) -> Interval:
    return Interval(0, INDEX_MAX)


def _block_id(signature: Signature, op: Op) -> Interval:
    size = grid_size(signature, op.attrs["axis"])
    return Interval(0, (INDEX_MAX if size is None else max(size, 1)) - 1)


def _place(signature: Signature, op: Op) -> Interval:
    """Return the interval of a thread coordinate, by device limits or the declared block."""
    what: ThreadCoordinate = op.attrs["what"]
    axis: int = op.attrs["axis"]
    threads = signature.block_dims[axis] if signature.exact_block else MOST_THREADS[axis]
    blocks = MOST_BLOCKS[axis]
    known = {
        ThreadCoordinate.THREAD: (0, threads - 1),
        ThreadCoordinate.BLOCK: (0, blocks - 1),
        ThreadCoordinate.BLOCK_SIZE: (threads if signature.exact_block else 1, threads),
        ThreadCoordinate.GRID_SIZE: (1, blocks),
        ThreadCoordinate.LANE: (0, WARP_SIZE - 1),
        ThreadCoordinate.WARP: (0, MOST_THREADS[0] // WARP_SIZE - 1),
    }
    return Interval(*known[what])


def _num_blocks(signature: Signature, op: Op) -> Interval:
    # A block that runs is one of at least one.
    return Interval(1, INDEX_MAX)


def _tile_index(op: Op, known: dict[Value, Interval]) -> list[Interval]:
    """Note that each coordinate of a tile index is less than the count along its axis."""
    starts = [_interval(known, v) for v in op.all("starts")] or [Interval(0, 0)] * len(op.results)
    lasts = [max(_interval(known, count).high - 1, 0) for count in op.all("counts")]
    return [
        Interval(max(start.low, 0), min(start.high + last, INDEX_MAX - 1))
        for start, last in zip(starts, lasts, strict=True)
    ]


def _iota(signature: Signature, op: Op) -> Interval:
    low, high = int_range(op.attrs["dtype"])
    last = op.attrs["size"] - 1
    return Interval(0, last) if last <= high else Interval(low, high)


SOURCES: dict[str, Callable[[Signature, Op], Interval]] = {
    "extent": _extent, "num_tiles": _extent, "block_id": _block_id, "num_blocks": _num_blocks,
    "iota": _iota, "length": _extent, "index_1d": _extent, "index_2d": _extent,
    "place": _place,
}  # fmt: skip


# Exact results, before any wrapping.

Rule: TypeAlias = Callable[[Op, Sequence[Interval]], Interval | None]


def corners(compute: Callable[[int, int], int], a: Interval, b: Interval) -> Interval:
    """Return the range of an operation that is monotone in each operand."""
    values = [compute(x, y) for x, y in itertools.product(a, b)]
    return Interval(min(values), max(values))


def _addi(op: Op, x: Sequence[Interval]) -> Interval:
    return Interval(x[0].low + x[1].low, x[0].high + x[1].high)


def _subi(op: Op, x: Sequence[Interval]) -> Interval:
    return Interval(x[0].low - x[1].high, x[0].high - x[1].low)


def _muli(op: Op, x: Sequence[Interval]) -> Interval:
    return corners(lambda a, b: a * b, x[0], x[1])


def _divi(op: Op, x: Sequence[Interval]) -> Interval | None:
    rounding: Rounding = op.attrs["rounding"]
    if x[1].low <= 0:
        return None
    return corners(lambda a, b: divide(a, b, rounding), x[0], x[1])


def _remi(op: Op, x: Sequence[Interval]) -> Interval | None:
    a, b = x
    if b.low <= 0:
        return None
    if a.low >= 0 and a.high < b.low:
        return a
    if op.attrs["rounding"] is Rounding.NEG_INF or a.low >= 0:
        return Interval(0, b.high - 1 if a.low < 0 else min(a.high, b.high - 1))
    return Interval(max(a.low, 1 - b.high), max(0, min(a.high, b.high - 1)))


def _negi(op: Op, x: Sequence[Interval]) -> Interval:
    return Interval(-x[0].high, -x[0].low)


def _absi(op: Op, x: Sequence[Interval]) -> Interval:
    (a,) = x
    least = 0 if a.low <= 0 <= a.high else min(abs(a.low), abs(a.high))
    return Interval(least, max(abs(a.low), abs(a.high)))


def _maxi(op: Op, x: Sequence[Interval]) -> Interval:
    return Interval(max(x[0].low, x[1].low), max(x[0].high, x[1].high))


def _mini(op: Op, x: Sequence[Interval]) -> Interval:
    return Interval(min(x[0].low, x[1].low), min(x[0].high, x[1].high))


def _andi(op: Op, x: Sequence[Interval]) -> Interval | None:
    # An operand that is not negative bounds the result, whatever the other is.
    bounds = [i.high for i in x if i.low >= 0]
    return Interval(0, min(bounds)) if bounds else None


def _shri(op: Op, x: Sequence[Interval]) -> Interval | None:
    return corners(lambda a, b: a >> b, x[0], x[1]) if x[1].low >= 0 and x[1].high < 64 else None


def _shli(op: Op, x: Sequence[Interval]) -> Interval | None:
    bits = op.result.tile.dtype.bits
    if x[1].low < 0 or x[1].high >= bits:
        return None
    return corners(lambda a, b: a << b, x[0], x[1])


def _select(op: Op, x: Sequence[Interval]) -> Interval:
    return union(x[1:])


def _unchanged(op: Op, x: Sequence[Interval]) -> Interval | None:
    return x[0] if x else None


TRANSFER: dict[str, Rule] = {
    "addi": _addi, "subi": _subi, "muli": _muli, "divi": _divi, "remi": _remi,
    "negi": _negi, "absi": _absi, "maxi": _maxi, "mini": _mini,
    "andi": _andi, "shri": _shri, "shli": _shli, "select": _select,
    "exti": _unchanged, "trunci": _unchanged, "bitcast": _unchanged,
}  # fmt: skip
"""Exact intervals of results. Those that do not fit are dropped, for they may have wrapped."""


# --- signs -------------------------------------------------------------------------------------

Sign: TypeAlias = int
"""1: no element is below zero; -1: no element is above."""
Signs: TypeAlias = dict[Value, Sign]


def signs(func: Func) -> Signs:
    """Return the signs of the floats of a function, as far as they are known."""
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
