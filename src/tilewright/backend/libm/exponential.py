"""Exponentials and functions made of them: exp, expm1, exp2, sinh, cosh, tanh, erf.

Range reduction and a Remez minimax polynomial each, as in Muller, "Elementary Functions".
"""

from __future__ import annotations

from typing import NamedTuple

from ...base.polynomials import ERF, ERF_ONE, ERFC, ERFC_1, EXP, EXP2_F32, LN2, LOG2E
from ..llvm.builder import (
    BIAS,
    FRACTION_BITS,
    MANGLED,
    FunctionBody,
    LlvmFunction,
    Vec,
    absolute,
    constant,
    copysign,
    fma,
    horner,
    signed,
    vector,
    where,
)

# -------------------------------------------------------------------------------------------------
# Powers of two: the integer nearest to a number, and scaling by a power of two (scalbn).

BITS = {"float": 32, "double": 64}
SUFFIX = {"float": "ps", "double": "pd"}
REGISTERS = (512, 256, 128)
"""Bits of the vectors that x86 scales with one instruction."""


class Exponent(NamedTuple):
    """An integer as a float, and the bits of that float plus a number that is easy to shift out."""

    number: Vec
    bits: Vec


def nearest(x: Vec, factor: float = 1.0) -> Exponent:
    """Return the integer nearest to x * factor, which must be below 2^(fraction bits - 2).

    Adding 1.5 * 2^(fraction bits) leaves the integer in the low bits; twice the bias of exponents
    comes along, so that either half of the integer is a biased exponent. Unlike a conversion this
    is defined for every input: NaN stays NaN, and its bits are arbitrary.
    """
    magic = 1.5 * 2.0 ** FRACTION_BITS[x.elem] + 2 * BIAS[x.elem]
    shifted = x + magic if factor == 1.0 else fma(x, factor, magic)
    return Exponent(shifted - magic, shifted.bits())


def scale(x: Vec, exponent: Exponent) -> Vec:
    """Compute x * 2^exponent, rounded once, also if the result is subnormal or overflows.

    x must be near 1 and the exponent at most about twice the range of normal numbers.
    """
    if x.body.scales and (lanes := register_lanes(x)):
        return scale_registers(x, exponent.number, lanes)
    # Two factors, because one may be beyond the range of normal numbers.
    place = FRACTION_BITS[x.elem]
    half = exponent.bits.lshr(1)
    rest = exponent.bits - half
    return x * (half << place).as_float() * (rest << place).as_float()


def scale_normal(x: Vec, exponent: Exponent) -> Vec:
    """Compute x * 2^exponent, where that power of two is a normal number."""
    place = FRACTION_BITS[x.elem]
    return x * ((exponent.bits - BIAS[x.elem]) << place).as_float()


def half_power(exponent: Exponent) -> Vec:
    """Return half of 2^exponent, where that is a normal number."""
    elem = exponent.number.elem
    return ((exponent.bits - (BIAS[elem] + 1)) << FRACTION_BITS[elem]).as_float()


# One instruction, where the target has it.


def register_lanes(x: Vec) -> int:
    """Return the number of lanes of x that one instruction takes; 0 if they fill no register."""
    for bits in REGISTERS:
        lanes = bits // BITS[x.elem]
        if x.lanes % lanes == 0:
            return lanes
    return 0


def scale_registers(x: Vec, number: Vec, lanes: int) -> Vec:
    """Compute x * 2^number, register by register."""
    parts = [
        scale_register(part(x, start, lanes), part(number, start, lanes))
        for start in range(0, x.lanes, lanes)
    ]
    while len(parts) > 1:
        parts = [joined(a, b) for a, b in zip(parts[::2], parts[1::2], strict=True)]
    return parts[0]


def scale_register(x: Vec, number: Vec) -> Vec:
    """Compute x * 2^number in one unmasked register; the widest form also takes a rounding."""
    bits = x.lanes * BITS[x.elem]
    symbol = f"@llvm.x86.avx512.mask.scalef.{SUFFIX[x.elem]}.{bits}"
    mask = f"i{max(x.lanes, 8)}"
    types, rest = [x.type, x.type, x.type, mask], f"{x.type} zeroinitializer, {mask} -1"
    if bits == REGISTERS[0]:
        types, rest = [*types, "i32"], f"{rest}, i32 {CURRENT_ROUNDING}"
    x.body.declarations.add(f"declare {x.type} {symbol}({', '.join(types)})")
    return x.body.emit(f"call {x.type} {symbol}({x}, {number}, {rest})", x.elem, x.lanes)


CURRENT_ROUNDING = 4


def part(x: Vec, start: int, lanes: int) -> Vec:
    """Return adjacent lanes."""
    return x if lanes == x.lanes else shuffled(x, x, range(start, start + lanes))


def joined(a: Vec, b: Vec) -> Vec:
    """Return the lanes of one, then those of the other."""
    return shuffled(a, b, range(2 * a.lanes))


def shuffled(a: Vec, b: Vec, order: range) -> Vec:
    """Return lanes of two vectors, counted through both."""
    body: FunctionBody = a.body
    kind = vector("i32", len(order))
    text = f"shufflevector {a}, {b}, {kind} <{', '.join(f'i32 {i}' for i in order)}>"
    return body.emit(text, a.elem, len(order))


# -------------------------------------------------------------------------------------------------
# exp, expm1 and exp2: Cody-Waite reduction x = n ln 2 + r with |r| <= ln 2 / 2.
#
# e^r is a polynomial; the result is scaled by 2^n.

EXPM1_ENDS = {"float": (-30.0, 89.0), "double": (-60.0, 710.0)}
"""Where e^x - 1 is -1 and infinity."""
EXPM1_SMALL = {"float": 2.0**-25, "double": 2.0**-54}
"""Below it, expm1 rounds to x, or to its neighbour."""


def clamp(x: Vec, low: float, high: float) -> Vec:
    """Clamp to [low, high]; NaN stays."""
    x = where(x > high, constant(x, high), x)
    return where(x < low, constant(x, low), x)


def exp_reduced(r: Vec) -> Vec:
    """Compute e^r for |r| <= ln 2 / 2."""
    return horner(r, (1.0, 1.0, *EXP[MANGLED[r.elem]]))


def exp_parts(x: Vec) -> tuple[Vec, Exponent]:
    """Return e^x as a float near 1 and the exponent of a power of two to multiply it with."""
    high, low = LN2[MANGLED[x.elem]]
    exponent = nearest(x, LOG2E)
    n = exponent.number
    # The first product cancels against x without error, so r is as exact as a float can be.
    return exp_reduced(fma(n, -low, fma(n, -high, x))), exponent


def exp2_reduced_f64(r: Vec, low: Vec | None = None) -> Vec:
    """Compute 2^(r + low) for |r| <= 1/2 and a tiny low."""
    high, rest = LN2["f64"]
    tail = r * rest
    return exp_reduced(fma(r, high, tail if low is None else fma(low, high, tail)))


def exp_f32(x: Vec) -> Vec:
    """Compute e^x. The ends of the clamp yield 0 and infinity."""
    return scale(*exp_parts(clamp(x, -104.0, 89.0)))


def exp_f64(x: Vec) -> Vec:
    """Compute e^x."""
    return scale(*exp_parts(clamp(x, -746.0, 710.0)))


def expm1(x: Vec) -> Vec:
    """Compute e^x - 1 = 2^n (e^r - 1) + (2^n - 1), in halves: 2^n may overflow before e^x does.

    r has a part that is exact, and a small one that enters the sum with all that is small.
    """
    high, low = LN2[MANGLED[x.elem]]
    inside = clamp(x, *EXPM1_ENDS[x.elem])
    exponent = nearest(inside, LOG2E)
    n = exponent.number
    exact, rest = fma(n, -high, inside), n * -low
    r = exact + rest
    small = fma(r * r, horner(r, EXP[MANGLED[x.elem]]), rest)
    factor = half_power(exponent)
    half = fma(factor, small, fma(factor, exact, factor - 0.5))
    return where(absolute(x) < EXPM1_SMALL[x.elem], x, half + half)


def exp2_f32(x: Vec) -> Vec:
    """Compute 2^x; exact for integers."""
    x = clamp(x, -151.0, 129.0)
    exponent = nearest(x)
    r = x - exponent.number
    return scale(fma(r, horner(r, EXP2_F32), 1.0), exponent)


def exp2_f64(x: Vec) -> Vec:
    """Compute 2^x; exact for integers."""
    x = clamp(x, -1076.0, 1025.0)
    exponent = nearest(x)
    return scale(exp2_reduced_f64(x - exponent.number), exponent)


# -------------------------------------------------------------------------------------------------
# sinh, cosh, tanh: from e^|x| where that loses nothing, else by an odd polynomial.

SINH_F64 = (
    0.16666666666666666, 0.008333333333333333, 0.000198412698412696, 2.755731922411629e-06,
    2.5052108346509174e-08, 1.6059050601239818e-10, 7.646482897148948e-13, 2.8482329732039093e-15,
)  # fmt: skip
"""(sinh(x) / x - 1) / x^2 in x^2, for |x| <= 1."""
TANH = {
    "float": (-0.33333298563957214, 0.13331924378871918, -0.05378387123346329,
              0.020796053111553192, -0.005895197857171297),
    "double": (-0.3333333333333333, 0.13333333333333067, -0.05396825396804399,
               0.02186948852783969, -0.008863235336540006, 0.003592125166629838,
               -0.0014558058806966626, 0.0005898332119412073, -0.00023821463716123455,
               9.396815501897528e-05, -3.296670941795875e-05, 7.448994875721695e-06),
}  # fmt: skip
"""(tanh(x) / x - 1) / x^2 in x^2, for |x| <= 0.6 (f32) and 0.55 (f64)."""
TANH_SMALL = {"float": 0.6, "double": 0.55}
TANH_ONE = {"float": 20.0, "double": 40.0}
"""Where 2x is this large, tanh(x) rounds to 1."""


def odd(x: Vec, coefficients: tuple[float, ...]) -> Vec:
    """Compute x + x^3 P(x^2)."""
    square = x * x
    return fma(square * x, horner(square, coefficients), x)


def half_exp(x: Vec) -> Vec:
    """Compute e^x / 2 for x >= 0; it overflows only where sinh and cosh do."""
    significand, exponent = exp_parts(clamp(x, 0.0, 712.0))
    return scale(significand * 0.5, exponent)


def sinh_f64(x: Vec) -> Vec:
    """Compute the hyperbolic sine."""
    magnitude = absolute(x)
    half = half_exp(magnitude)
    result = where(magnitude < 1.0, odd(magnitude, SINH_F64), half - 0.25 / half)
    return copysign(result, x)


def cosh_f64(x: Vec) -> Vec:
    """Compute the hyperbolic cosine."""
    half = half_exp(absolute(x))
    return half + 0.25 / half


def tanh(x: Vec) -> Vec:
    """Compute the hyperbolic tangent: 1 - 2 / (e^2x + 1), or the polynomial."""
    magnitude = absolute(x)
    double = magnitude + magnitude
    limit = TANH_ONE[x.elem]
    significand, exponent = exp_parts(where(double > limit, constant(x, limit), double))
    power = scale_normal(significand, exponent)
    small = odd(magnitude, TANH[x.elem])
    result = where(magnitude < TANH_SMALL[x.elem], small, 1.0 - 2.0 / (power + 1.0))
    return copysign(result, x)


def sinh_f32(x: Vec) -> Vec:
    """Compute the hyperbolic sine, in f64."""
    return signed(sinh_f64(x.extend()), x)


def cosh_f32(x: Vec) -> Vec:
    """Compute the hyperbolic cosine, in f64."""
    return cosh_f64(x.extend()).truncate()


# -------------------------------------------------------------------------------------------------
# erf: an odd polynomial up to 1; beyond it 1 - 2^q, a small power of another polynomial.


def power_of_two(x: Vec) -> Vec:
    """Compute 2^x, which is a normal number."""
    exponent = nearest(x)
    r = x - exponent.number
    near = fma(r, horner(r, EXP2_F32), 1.0) if x.elem == "float" else exp2_reduced_f64(r)
    return scale_normal(near, exponent)


def erf(x: Vec) -> Vec:
    """Return the error function."""
    name = MANGLED[x.elem]
    magnitude, one = absolute(x), ERF_ONE[name]
    near = fma(x, horner(x * x, ERF[name]), x)
    beyond = where(magnitude > one, constant(x, one), magnitude) - 1.0
    far = fma(power_of_two(beyond * horner(beyond, ERFC[name])), -ERFC_1, 1.0)
    return where(magnitude < 1.0, near, copysign(far, x))


FUNCTIONS = {
    "exp": LlvmFunction(1, {"f32": exp_f32, "f64": exp_f64}, {"f32": 1.1, "f64": 1.1}),
    "expm1": LlvmFunction(1, {"f32": expm1, "f64": expm1}, {"f32": 1.3, "f64": 1.3}),
    "exp2": LlvmFunction(1, {"f32": exp2_f32, "f64": exp2_f64}, {"f32": 1.1, "f64": 1.1}),
    "sinh": LlvmFunction(1, {"f32": sinh_f32, "f64": sinh_f64}, {"f32": 0.51, "f64": 1.9}),
    "cosh": LlvmFunction(1, {"f32": cosh_f32, "f64": cosh_f64}, {"f32": 0.51, "f64": 1.6}),
    "tanh": LlvmFunction(1, {"f32": tanh, "f64": tanh}, {"f32": 1.5, "f64": 1.6}),
    "erf": LlvmFunction(1, {"f32": erf, "f64": erf}, {"f32": 1.1, "f64": 1.2}),
}
