"""Constant propagation, and the evaluator of elementwise ops on known numbers."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from ..base.dtypes import FLOATS, AnyDType, bf16, f16, i32, int_range, round_to
from ..base.shapes import ceil_div
from ..ir.attrs import Predicate, Rounding
from ..ir.core import Block, Func, Op, Value
from ..ir.ops.control import IF, YIELD
from ..ir.signature import Signature

# -------------------------------------------------------------------------------------------------
# One evaluator for elementwise ops on known numbers: `fold(op, numbers)` gives the number or None.
#
# It computes exactly what every backend computes, or nothing: integers wrap and division is total;
# floats only where the result is correctly rounded by definition (never a NaN, whose bits nobody
# promises, never a transcendental function, never under a flag that allows another answer).

Number: TypeAlias = int | float
"""A bool for booleans, an int for integers, a float (exact in its type) for floats."""

Rule: TypeAlias = Callable[[Op, AnyDType, Sequence[Any]], Number | None]
"""From the op, the element type of its last operand and the numbers, to the result."""


def fold(op: Op, numbers: Sequence[Number]) -> Number | None:
    """What an elementwise op gives for these operands, or None where that is not surely known."""
    rule = FOLD.get(op.name)
    if rule is None:
        return None
    with np.errstate(all="ignore"):
        result = rule(op, op.operands[-1].tile.dtype, numbers)
    return None if isinstance(result, float) and math.isnan(result) else result


def number_of(value: Number, dtype: AnyDType) -> Number:
    """A constant's value in the form facts are kept in."""
    if dtype.is_float:
        return float(value)
    return bool(value) if dtype.is_bool else int(value)


def wrap(dtype: AnyDType, n: int) -> int:
    """The value an integer type holds after wrapping around."""
    low, _ = int_range(dtype)
    return (n - low) % (1 << dtype.bits) + low


def unsigned(dtype: AnyDType, n: int) -> int:
    """The same bits read as unsigned."""
    return n % (1 << dtype.bits)


def divide(a: int, b: int, rounding: Rounding) -> int:
    """Total integer division, before wrapping."""
    if b == 0:
        return 0
    if rounding is Rounding.NEG_INF:
        return a // b
    if rounding is Rounding.POS_INF:
        return -(-a // b)
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


COMPARE: dict[Predicate, Callable[[Any, Any], bool]] = {
    Predicate.EQ: operator.eq, Predicate.NE: operator.ne,
    Predicate.LT: operator.lt, Predicate.LE: operator.le,
    Predicate.GT: operator.gt, Predicate.GE: operator.ge,
}  # fmt: skip


# Integers and booleans.


def _int(compute: Callable[[int, int], int]) -> Rule:
    def rule(op: Op, dtype: AnyDType, x: Sequence[Any]) -> Number:
        return wrap(dtype, compute(x[0], x[1]))

    return rule


def _bits(compute: Callable[[int, int], int]) -> Rule:
    def rule(op: Op, dtype: AnyDType, x: Sequence[Any]) -> Number:
        result = compute(x[0], x[1])
        return bool(result) if dtype.is_bool else wrap(dtype, result)

    return rule


def _negi(op: Op, dtype: AnyDType, x: Sequence[Any]) -> Number:
    return wrap(dtype, -x[0])


def _absi(op: Op, dtype: AnyDType, x: Sequence[Any]) -> Number:
    return wrap(dtype, abs(x[0]))


def _divi(op: Op, dtype: AnyDType, x: Sequence[Any]) -> Number:
    return wrap(dtype, divide(x[0], x[1], op.attrs["rounding"]))


def _remi(op: Op, dtype: AnyDType, x: Sequence[Any]) -> Number:
    return wrap(dtype, x[0] - divide(x[0], x[1], op.attrs["rounding"]) * x[1])


def _mulhi(op: Op, dtype: AnyDType, x: Sequence[Any]) -> Number:
    return wrap(dtype, unsigned(dtype, x[0]) * unsigned(dtype, x[1]) >> dtype.bits)


def _noti(op: Op, dtype: AnyDType, x: Sequence[Any]) -> Number:
    return not x[0] if dtype.is_bool else wrap(dtype, ~x[0])


def _shli(op: Op, dtype: AnyDType, x: Sequence[Any]) -> Number:
    amount = unsigned(dtype, x[1])
    return wrap(dtype, x[0] << amount) if amount < dtype.bits else 0


def _shri(op: Op, dtype: AnyDType, x: Sequence[Any]) -> Number:
    return int(x[0]) >> min(unsigned(dtype, x[1]), dtype.bits)


def _cmpi(op: Op, dtype: AnyDType, x: Sequence[Any]) -> Number:
    return COMPARE[op.attrs["predicate"]](x[0], x[1])


# Floats.


def _nearest(op: Op) -> bool:
    return op.attrs.get("rounding", Rounding.NEAREST_EVEN) is Rounding.NEAREST_EVEN


def _round(dtype: AnyDType, value: float) -> float | None:
    """Round once, to nearest even; only to types with arithmetic."""
    return round_to(dtype, value) if dtype in FLOATS else None


def _arithmetic(compute: Callable[[Any, Any], Any]) -> Rule:
    """+ - * /, in f32 for the narrower types, which rounds them correctly."""

    def rule(op: Op, dtype: AnyDType, x: Sequence[Any]) -> Number | None:
        if not _nearest(op) or op.attrs["ftz"]:
            return None
        wide = np.float32 if dtype in (f16, bf16) else dtype.np.type
        return _round(dtype, float(compute(wide(x[0]), wide(x[1]))))

    return rule


def _signed(value: float) -> tuple[float, float]:
    """Floats in order: +0 is greater than -0."""
    return value, math.copysign(1.0, value)


def _maxf(op: Op, dtype: AnyDType, x: Sequence[Any]) -> Number | None:
    numbers: list[float] = [*x]
    return None if op.attrs["ftz"] or any(map(math.isnan, x)) else max(numbers, key=_signed)


def _minf(op: Op, dtype: AnyDType, x: Sequence[Any]) -> Number | None:
    numbers: list[float] = [*x]
    return None if op.attrs["ftz"] or any(map(math.isnan, x)) else min(numbers, key=_signed)


def _exact(compute: Callable[[float], float]) -> Rule:
    def rule(op: Op, dtype: AnyDType, x: Sequence[Any]) -> Number:
        return float(compute(x[0]))

    return rule


def _cmpf(op: Op, dtype: AnyDType, x: Sequence[Any]) -> Number:
    if math.isnan(x[0]) or math.isnan(x[1]):
        return bool(op.attrs["unordered"])
    return COMPARE[op.attrs["predicate"]](x[0], x[1])


def _select(op: Op, dtype: AnyDType, x: Sequence[Any]) -> Number:
    return x[1] if x[0] else x[2]  # type: ignore[no-any-return]


# Conversions.


def _ftof(op: Op, dtype: AnyDType, x: Sequence[Any]) -> Number | None:
    return _round(op.attrs["to"], x[0]) if _nearest(op) else None


def _ftoi(op: Op, dtype: AnyDType, x: Sequence[Any]) -> Number:
    low, high = int_range(op.attrs["to"])
    if math.isnan(x[0]):
        return 0
    if math.isinf(x[0]):
        return low if x[0] < 0 else high
    return min(max(int(x[0]), low), high)


def _itof(op: Op, dtype: AnyDType, x: Sequence[Any]) -> Number | None:
    # Beyond 2**53 the way through f64 would round twice.
    return _round(op.attrs["to"], float(x[0])) if abs(x[0]) <= 1 << 53 else None


def _to_int(op: Op, dtype: AnyDType, x: Sequence[Any]) -> Number:
    return wrap(op.attrs["to"], int(x[0]))


def _bitcast(op: Op, dtype: AnyDType, x: Sequence[Any]) -> Number | None:
    to: AnyDType = op.attrs["to"]
    if not all(d.is_int or d in FLOATS for d in (dtype, to)) or math.isnan(x[0]):
        return None
    number = np.asarray(x[0], dtype.np).view(to.np)
    return float(number) if to.is_float else int(number)


FOLD: dict[str, Rule] = {
    "addi": _int(lambda a, b: a + b), "subi": _int(lambda a, b: a - b),
    "muli": _int(lambda a, b: a * b), "divi": _divi, "remi": _remi, "mulhi": _mulhi,
    "negi": _negi, "absi": _absi,
    "maxi": _int(lambda a, b: max(a, b)), "mini": _int(lambda a, b: min(a, b)),
    "andi": _bits(lambda a, b: a & b), "ori": _bits(lambda a, b: a | b),
    "xori": _bits(lambda a, b: a ^ b), "noti": _noti, "shli": _shli, "shri": _shri, "cmpi": _cmpi,
    "addf": _arithmetic(np.add), "subf": _arithmetic(np.subtract),
    "mulf": _arithmetic(np.multiply), "divf": _arithmetic(np.divide),
    "maxf": _maxf, "minf": _minf, "negf": _exact(lambda a: -a), "absf": _exact(abs),
    "floor": _exact(np.floor), "ceil": _exact(np.ceil),
    "cmpf": _cmpf, "select": _select,
    "ftof": _ftof, "ftoi": _ftoi, "itof": _itof, "exti": _to_int, "trunci": _to_int,
    "bitcast": _bitcast,
}  # fmt: skip
"""How each elementwise op computes with known numbers."""


# -------------------------------------------------------------------------------------------------
# Which values are known numbers: from a function to {value: number}, tiles of one number included.
#
# Known are: constants, elementwise ops on known numbers (see `analysis.fold`), rearrangements of
# tiles whose elements all are one number, what the signature fixes (static extents, tile counts,
# the grid), and results of an `if` that is decided or whose arms agree.

Constants: TypeAlias = dict[Value, Number]


def constants(func: Func) -> Constants:
    """All values of a function that are known numbers."""
    known: Constants = {}
    _block(func.signature, func.body, known)
    return known


def _block(signature: Signature, block: Block, known: Constants) -> None:
    for op in block.ops:
        for region in op.regions:
            _block(signature, region, known)
        if op.is_a(IF):
            _if(op, known)
        elif (number := _result(signature, op, known)) is not None:
            known[op.result] = number


def _if(op: Op, known: Constants) -> None:
    """Results of a decided `if`, or those that both arms agree on."""
    taken = known.get(op.one("cond"))
    arms = op.regions if taken is None else (op.regions[0 if taken else 1],)
    ends = [arm.terminator for arm in arms if arm.terminator.is_a(YIELD)]
    for k, result in enumerate(op.results):
        numbers = [known.get(end.operands[k]) for end in ends]
        first = numbers[0] if numbers else None
        if first is not None and all(n is not None and same(n, first) for n in numbers):
            known[result] = first


def same(a: Number, b: Number) -> bool:
    """Whether two numbers are the same to the bit: -0.0 is not 0.0, a NaN is the same NaN."""
    if isinstance(a, float) and isinstance(b, float):
        if math.isnan(a) or math.isnan(b):
            return math.isnan(a) and math.isnan(b)
        return a == b and math.copysign(1.0, a) == math.copysign(1.0, b)
    return type(a) is type(b) and a == b


def _result(signature: Signature, op: Op, known: Constants) -> Number | None:
    rule = SPECIAL.get(op.name)
    if rule is not None:
        return rule(signature, op, known)
    if op.name not in FOLD or any(v not in known for v in op.operands):
        return None
    return fold(op, [known[v] for v in op.operands])


def _constant(signature: Signature, op: Op, known: Constants) -> Number | None:
    return number_of(op.attrs["value"], op.attrs["dtype"])


def _rearranged(signature: Signature, op: Op, known: Constants) -> Number | None:
    return known.get(op.operands[0])


def _cat(signature: Signature, op: Op, known: Constants) -> Number | None:
    a, b = known.get(op.one("lhs")), known.get(op.one("rhs"))
    return a if a is not None and b is not None and same(a, b) else None


def _extent(signature: Signature, op: Op, known: Constants) -> Number | None:
    axis: int = op.attrs["axis"]
    return _index(op.one("tensor").tensor.shape[axis])


def _num_tiles(signature: Signature, op: Op, known: Constants) -> Number | None:
    view, k = op.one("view").view, int(op.attrs["axis"])
    axis = view.dim_map[k]
    extent = view.tensor.shape[axis] if view.frame is None else view.frame[axis]
    return None if extent is None else _index(ceil_div(extent, (view.step or view.tile)[k]))


def _num_blocks(signature: Signature, op: Op, known: Constants) -> Number | None:
    return _index(grid_size(signature, op.attrs["axis"]))


def _block_id(signature: Signature, op: Op, known: Constants) -> Number | None:
    return 0 if grid_size(signature, op.attrs["axis"]) == 1 else None


def grid_size(signature: Signature, axis: int) -> int | None:
    """The size of the grid along an axis, where the signature fixes it."""
    grid = signature.grid
    return grid[axis] if grid is not None and axis < len(grid) else None


def _index(n: int | None) -> int | None:
    """An i32, unless it would not fit."""
    return n if n is not None and n <= int_range(i32)[1] else None


SPECIAL: dict[str, Callable[[Signature, Op, Constants], Number | None]] = {
    "constant": _constant, "reshape": _rearranged, "broadcast": _rearranged,
    "permute": _rearranged, "extract": _rearranged, "cat": _cat,
    "extent": _extent, "num_tiles": _num_tiles,
    "num_blocks": _num_blocks, "block_id": _block_id,
}  # fmt: skip
"""Ops that are known otherwise than from numbers of all operands."""
