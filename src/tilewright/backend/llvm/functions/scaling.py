"""Powers of two: the integer nearest to a number, and products with two to such an integer."""

from __future__ import annotations

from typing import NamedTuple

from .text import BIAS, FRACTION_BITS, Body, Value, fma, vector

BITS = {"float": 32, "double": 64}
SUFFIX = {"float": "ps", "double": "pd"}
REGISTERS = (512, 256, 128)
"""Bits of the vectors that x86 scales with one instruction."""


class Exponent(NamedTuple):
    """An integer as a float, and the bits of that float plus a number that is easy to shift out."""

    number: Value
    bits: Value


def nearest(x: Value, factor: float = 1.0) -> Exponent:
    """The integer nearest to x * factor, which must be below 2^(fraction bits - 2) in magnitude.

    Adding 1.5 * 2^(fraction bits) leaves the integer in the low bits; twice the bias of exponents
    comes along, so that either half of the integer is a biased exponent. Unlike a conversion this
    is defined for every input: NaN stays NaN, and its bits are arbitrary.
    """
    magic = 1.5 * 2.0 ** FRACTION_BITS[x.elem] + 2 * BIAS[x.elem]
    shifted = x + magic if factor == 1.0 else fma(x, factor, magic)
    return Exponent(shifted - magic, shifted.bits())


def scale(x: Value, exponent: Exponent) -> Value:
    """x * 2^exponent rounded once, also where the result is subnormal or overflows.

    x must be near 1 and the exponent at most about twice the range of normal numbers.
    """
    if x.body.scales and (lanes := register_lanes(x)):
        return scale_registers(x, exponent.number, lanes)
    # Two factors, because one may be beyond the range of normal numbers.
    place = FRACTION_BITS[x.elem]
    half = exponent.bits.lshr(1)
    rest = exponent.bits - half
    return x * (half << place).as_float() * (rest << place).as_float()


def scale_normal(x: Value, exponent: Exponent) -> Value:
    """x * 2^exponent, where that power of two is a normal number."""
    place = FRACTION_BITS[x.elem]
    return x * ((exponent.bits - BIAS[x.elem]) << place).as_float()


def half_power(exponent: Exponent) -> Value:
    """Half of 2^exponent, where that is a normal number."""
    elem = exponent.number.elem
    return ((exponent.bits - (BIAS[elem] + 1)) << FRACTION_BITS[elem]).as_float()


# One instruction, where the target has it.


def register_lanes(x: Value) -> int:
    """How many lanes of x one instruction takes; 0 if they fill no register."""
    for bits in REGISTERS:
        lanes = bits // BITS[x.elem]
        if x.lanes % lanes == 0:
            return lanes
    return 0


def scale_registers(x: Value, number: Value, lanes: int) -> Value:
    """x * 2^number, register by register."""
    parts = [
        scale_register(part(x, start, lanes), part(number, start, lanes))
        for start in range(0, x.lanes, lanes)
    ]
    while len(parts) > 1:
        parts = [joined(a, b) for a, b in zip(parts[::2], parts[1::2], strict=True)]
    return parts[0]


def scale_register(x: Value, number: Value) -> Value:
    """x * 2^number in one register, without a mask; the widest form also takes a rounding."""
    bits = x.lanes * BITS[x.elem]
    symbol = f"@llvm.x86.avx512.mask.scalef.{SUFFIX[x.elem]}.{bits}"
    mask = f"i{max(x.lanes, 8)}"
    types, rest = [x.type, x.type, x.type, mask], f"{x.type} zeroinitializer, {mask} -1"
    if bits == REGISTERS[0]:
        types, rest = [*types, "i32"], f"{rest}, i32 {CURRENT_ROUNDING}"
    x.body.declarations.add(f"declare {x.type} {symbol}({', '.join(types)})")
    return x.body.emit(f"call {x.type} {symbol}({x}, {number}, {rest})", x.elem, x.lanes)


CURRENT_ROUNDING = 4


def part(x: Value, start: int, lanes: int) -> Value:
    """Neighbouring lanes."""
    return x if lanes == x.lanes else shuffled(x, x, range(start, start + lanes))


def joined(a: Value, b: Value) -> Value:
    """The lanes of one, then those of the other."""
    return shuffled(a, b, range(2 * a.lanes))


def shuffled(a: Value, b: Value, order: range) -> Value:
    """Lanes of two vectors, counted through both."""
    body: Body = a.body
    kind = vector("i32", len(order))
    text = f"shufflevector {a}, {b}, {kind} <{', '.join(f'i32 {i}' for i in order)}>"
    return body.emit(text, a.elem, len(order))
