"""The values of registers: element types, operands as arrays, results rounded once.

A result that is rounded to odd keeps, in its last bit, that something was cut off; rounding it to a
type with fewer bits then is as if it had been exact (Boldo and Melquiond).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

import numpy as np

from tilewright.base.dtypes import bf16

from .program import Operand, PtxError, PtxInstr, PtxNumber, PtxSymbol, Register, Sink, Special

if TYPE_CHECKING:
    from .memory import PtxLayout
    from .threads import PtxThreads

# --- the values of registers -------------------------------------------------------------------

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]
Lanes: TypeAlias = "slice | Array"
"""The threads that run an instruction: their numbers, or `ALL`."""
Action: TypeAlias = "Callable[[PtxThreads, Lanes], None]"
Reader: TypeAlias = "Callable[[PtxThreads, Lanes], Array]"
Maker: TypeAlias = "Callable[[PtxLayout, PtxInstr], Action]"
"""Makes of an instruction what it does; raises PtxError for a form that is not known."""

Compute: TypeAlias = (
    Callable[[Array], Array]
    | Callable[[Array, Array], Array]
    | Callable[[Array, Array, Array], Array]
    | Callable[[Array, Array, Array, Array], Array]
)
"""Computes a result of operands, each of them an array with an element for each thread."""

ALL = slice(None)
TYPES: dict[str, np.dtype[Any]] = {
    **{f"{letter}{bits}": np.dtype(f"uint{bits}") for letter in "bu" for bits in (8, 16, 32, 64)},
    **{f"s{bits}": np.dtype(f"int{bits}") for bits in (8, 16, 32, 64)},
    **{f"f{bits}": np.dtype(f"float{bits}") for bits in (16, 32, 64)},
    "bf16": np.dtype(bf16.np),
    "pred": np.dtype(np.bool_),
}
BITS = {1: np.dtype(np.bool_), **{bits: TYPES[f"b{bits}"] for bits in (8, 16, 32, 64)}}
"""How registers of so many bits are kept."""


class UndefinedPtxError(Exception):
    """What an instruction does is not defined; `which` of the threads that run it is at fault."""

    def __init__(self, what: str, which: int | None = None) -> None:
        super().__init__(what)
        self.which = which


def first(wrong: Array) -> int:
    """Return the first of those at fault."""
    return int(np.flatnonzero(wrong)[0])


def unknown(instr: PtxInstr) -> NoReturn:
    """Refuse an instruction."""
    raise PtxError(f"the interpreter does not know the instruction of {instr}")


def form(instr: PtxInstr, pattern: str, operands: int) -> re.Match[str]:
    """Match a whole opcode, and the number of operands."""
    match = re.fullmatch(pattern, instr.opcode)
    if match is None or len(instr.operands) != operands:
        unknown(instr)
    return match


def bits_of(kind: str) -> int:
    """Return the number of bits of a type."""
    return 1 if kind == "pred" else 8 * TYPES[kind].itemsize


def reader(
    layout: PtxLayout, instr: PtxInstr, operand: Operand, kind: str, *, wide: bool = False
) -> Reader:
    """Read an operand as a type; with `wide`, the low bits of a register that has more."""
    dtype, bits = TYPES[kind], bits_of(kind)
    if isinstance(operand, Register):
        return _register_reader(instr, operand, dtype, bits, wide=wide)
    if isinstance(operand, Special):
        name = operand.name
        return lambda threads, lanes: _taken(threads.special(name), lanes).view(dtype)
    if isinstance(operand, PtxNumber):
        constant = _number(instr, operand, dtype, bits)
    elif isinstance(operand, PtxSymbol):
        constant = np.asarray(layout.address(operand.name), np.uint64).astype(TYPES[f"u{bits}"])
    else:
        raise PtxError(f"{instr} cannot have the operand {operand}")
    return lambda threads, lanes: constant


def _taken(array: Array, lanes: Lanes) -> Array:
    taken: Array = array[lanes]
    return taken


def _register_reader(
    instr: PtxInstr, register: Register, dtype: np.dtype[Any], bits: int, *, wide: bool
) -> Reader:
    if register.bits == bits:
        return lambda threads, lanes: threads.read(register, lanes).view(dtype)
    if not wide or register.bits < bits or bits == 1:
        raise PtxError(f"{instr}: {register.name} has {register.bits} bits, not {bits}")
    narrow = BITS[bits]
    return lambda threads, lanes: threads.read(register, lanes).astype(narrow).view(dtype)


def _number(instr: PtxInstr, number: PtxNumber, dtype: np.dtype[Any], bits: int) -> Array:
    if bits == 1:
        return np.asarray(bool(number.value))
    if number.float_bits not in (0, bits):
        raise PtxError(f"{instr}: a float of {number.float_bits} bits among those of {bits}")
    return np.asarray(number.value & ((1 << bits) - 1), BITS[bits]).view(dtype)


def writer(
    instr: PtxInstr, operand: Operand, kind: str, *, wide: bool = False
) -> Callable[[PtxThreads, Lanes, Array], None]:
    """Write a register as a type; with `wide`, extended to a register that has more bits."""
    bits = bits_of(kind)
    if isinstance(operand, Sink):
        return lambda threads, lanes, value: None
    if not isinstance(operand, Register):
        raise PtxError(f"{instr} cannot write {operand}")
    if operand.bits == bits:
        stored = BITS[bits]
        return lambda threads, lanes, value: threads.write(operand, lanes, value.view(stored))
    if not wide or operand.bits < bits or bits == 1:
        raise PtxError(f"{instr}: {operand.name} has {operand.bits} bits, not {bits}")
    full = BITS[operand.bits]
    extended = TYPES[f"s{operand.bits}"] if kind.startswith("s") else full
    return lambda threads, lanes, value: threads.write(
        operand, lanes, value.astype(extended).view(full)
    )


def pure(
    layout: PtxLayout, instr: PtxInstr, result: str, given: tuple[str, ...], function: Compute
) -> Action:
    """Return an instruction that computes its first operand of the others."""
    write = writer(instr, instr.operands[0], result)
    dtype = TYPES[result]
    pairs = zip(instr.operands[1:], given, strict=True)
    reads = [reader(layout, instr, operand, kind) for operand, kind in pairs]

    compute: Callable[..., Array] = function

    def act(threads: PtxThreads, lanes: Lanes) -> None:
        made = compute(*[read(threads, lanes) for read in reads])
        write(threads, lanes, np.asarray(made, dtype))

    return act


# --- rounding of results -----------------------------------------------------------------------

F16, F32, F64 = np.dtype(np.float16), np.dtype(np.float32), np.dtype(np.float64)
BF16 = np.dtype(bf16.np)
CANONICAL = {F16: 0x7FFF, BF16: 0x7FFF, F32: 0x7FFFFFFF}
"""The NaN that instructions give; those of f64 keep some bits of their operands."""
SAFE = 2.0**450, 2.0**-450
"""Between these, nothing of a product of two f64 is lost below the least number."""


def two_sum(a: Array, b: Array) -> tuple[Array, Array]:
    """Return a sum, and the error of its rounding (Knuth's TwoSum)."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def to_odd(total: Array, rest: Array) -> Array:
    """Round to odd: set the last bit of an inexact sum, toward the lost part."""
    total = np.asarray(total)
    bits = total.view(np.int64)
    away = (rest > 0) == (total > 0)
    fix = np.isfinite(total) & np.isfinite(rest) & (rest != 0) & (bits % 2 == 0)
    return np.where(fix, bits + np.where(away, 1, -1), bits).astype(np.int64).view(np.float64)


def odd_sum(a: Array, b: Array) -> Array:
    """Return the sum of two f64, rounded to odd."""
    return to_odd(*two_sum(a, b))


def narrow(wide: Array, dtype: np.dtype[np.generic], mode: str = "rn") -> Array:
    """Round f64 to a type: to nearest, toward zero, down or up."""
    if dtype == BF16:
        return _narrow_bf16(np.asarray(wide, np.float64), mode)
    nearest = np.asarray(wide).astype(dtype)
    if mode == "rn":
        return nearest
    return _directed(np.asarray(wide), nearest, mode)


def _narrow_bf16(wide: Array, mode: str) -> Array:
    """Round to bf16 through f32, rounded to odd, so that the result is rounded once."""
    toward_zero = _directed(wide, wide.astype(np.float32), "rz")
    inexact = (toward_zero.astype(np.float64) != wide) & np.isfinite(wide)
    single = np.where(inexact, toward_zero.view(np.uint32) | 1, toward_zero.view(np.uint32))
    odd = single.astype(np.uint32).view(np.float32)
    nearest = odd.astype(BF16)
    return nearest if mode == "rn" else _directed(odd.astype(np.float64), nearest, mode)


def _directed(wide: Array, nearest: Array, mode: str) -> Array:
    back = nearest.astype(np.float64)
    size = 8 * nearest.dtype.itemsize
    bits = nearest.view(f"int{size}")
    up, down = _stepped(bits, size, 1), _stepped(bits, size, -1)
    above, below = back > wide, back < wide
    toward_zero = np.where(wide > 0, np.where(above, down, bits), np.where(below, up, bits))
    chosen = {"rz": toward_zero, "rm": np.where(above, down, bits), "rp": np.where(below, up, bits)}
    made: Array = np.asarray(chosen[mode], f"int{size}").view(nearest.dtype)
    return made


def _stepped(bits: Array, size: int, by: int) -> Array:
    """Return the next float above (1) or below (-1), by its bits."""
    sign = np.array(1 << size - 1, f"uint{size}").view(bits.dtype)
    zero = (bits & ~sign) == 0
    least = np.asarray(1, bits.dtype) | (sign if by < 0 else 0)
    return np.where(zero, least, np.where((bits >= 0) == (by > 0), bits + 1, bits - 1))


def canonical(made: Array) -> Array:
    """Replace NaNs by the one that instructions give."""
    if made.dtype == F64:
        return made
    wrong = np.isnan(made.astype(np.float32) if made.dtype == BF16 else made)
    if not np.any(wrong):
        return made
    bits = made.view(f"uint{8 * made.dtype.itemsize}")
    fixed: Array = np.where(wrong, CANONICAL[made.dtype], bits).astype(bits.dtype)
    return fixed.view(made.dtype)


def flushed(array: Array) -> Array:
    """Flush subnormal numbers to zeros of their sign."""
    small = np.abs(array) < np.finfo(array.dtype).tiny
    return np.where(small, np.copysign(array.dtype.type(0), array), array).astype(array.dtype)


# --- fused multiply and add ----------------------------------------------------------------------


def fma_wide(a: Array, b: Array, c: Array) -> Array:
    """Return a * b + c of f64 that hold smaller floats, rounded to odd: the product is exact."""
    return odd_sum(a * b, c)


def _halves(x: Array) -> tuple[Array, Array]:
    """Return a float as a sum of two with 26 bits each (Veltkamp)."""
    scaled = x * 134217729.0
    upper = scaled - (scaled - x)
    return upper, x - upper


def fma_f64(a: Array, b: Array, c: Array) -> Array:
    """Return a * b + c of f64, rounded once to nearest."""
    a, b, c = (np.array(x, np.float64) for x in np.broadcast_arrays(a, b, c))
    product = a * b
    (a1, a0), (b1, b0) = _halves(a), _halves(b)
    error = ((a1 * b1 - product) + a1 * b0 + a0 * b1) + a0 * b0
    sum_c, rest_c = two_sum(c, error)
    total, rest = two_sum(product, sum_c)
    made = np.asarray(total + odd_sum(rest_c, rest))
    high, low = SAFE
    sizes = [np.abs(a), np.abs(b), np.abs(c), np.abs(product)]
    plain = np.logical_and.reduce([(x < high) & (x > low) for x in sizes])
    rare = np.flatnonzero(~plain.reshape(-1))
    if len(rare):
        flat, rows = made.reshape(-1), [x.reshape(-1)[rare].tolist() for x in (a, b, c)]
        flat[rare] = [_fma(*row) for row in zip(*rows, strict=True)]
    return made


def _fma(a: float, b: float, c: float) -> float:
    if not (math.isfinite(a) and math.isfinite(b) and math.isfinite(c)):
        finite = math.isfinite(a) and math.isfinite(b)
        return c if finite else _product(a, b) + c
    if not (a and b):
        return _product(a, b) + c
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    if not exact:
        return 0.0
    try:
        return exact.numerator / exact.denominator or math.copysign(0.0, exact)
    except OverflowError:
        return math.inf if exact > 0 else -math.inf


def _product(a: float, b: float) -> float:
    return float(np.float64(a) * np.float64(b))
