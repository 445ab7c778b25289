"""Logarithms, powers and remainders: log, log1p, log2, pow, rsqrt, cbrt, remf."""

from __future__ import annotations

from ...base.polynomials import LN2, LOG_F32, LOG_F64
from ..llvm.builder import (
    BIAS,
    FRACTION_BITS,
    MANGLED,
    LlvmFunction,
    Vec,
    absolute,
    any_lane,
    constant,
    copysign,
    float_of,
    floor,
    fma,
    horner,
    power_of_two,
    repeat,
    where,
)
from .exponential import clamp, exp2_reduced_f64, nearest, scale

# -------------------------------------------------------------------------------------------------
# log, log1p, log2: x = 2^e m with m in [sqrt(1/2), sqrt(2)), a polynomial for log m, e added.
#
# log(1 + f) is f plus a small correction, so that its rounding errors hardly count near x = 1.

SQRT_HALF = 0.7071067811865476
LOG2E_PARTS = {"float": (1.4426950216293335, 1.925963033500011e-08),
               "double": (1.4426950408889634, 2.0355273740931033e-17)}  # fmt: skip
"""1 / ln 2 as a sum of two floats."""


def split(x: Vec) -> tuple[Vec, Vec]:
    """Return the exponent e (as a float) and f = m - 1 of a positive finite x = 2^e m."""
    fraction = FRACTION_BITS[x.elem]
    tiny = x < 2.0 ** (1 - BIAS[x.elem])
    bits = where(tiny, x * 2.0**fraction, x).bits()
    exponent = (bits - constant(x, SQRT_HALF).bits()).ashr(fraction)
    m = (bits - (exponent << fraction)).as_float()
    exponent = where(tiny, exponent - fraction, exponent)
    return float_of(exponent), m - 1.0


def correction_f32(f: Vec) -> Vec:
    """Compute log(1 + f) - f."""
    square = f * f
    return fma(square * f, horner(f, LOG_F32), square * -0.5)


def correction_f64(f: Vec) -> Vec:
    """Compute log(1 + f) - f, by 2 atanh(s) with s = f / (2 + f)."""
    s = f / (f + 2.0)
    square = s * s
    half = f * f * 0.5
    return fma(s, fma(square, horner(square, LOG_F64), half), -half)


CORRECTION = {"float": correction_f32, "double": correction_f64}


def with_special_cases(x: Vec, result: Vec) -> Vec:
    """Select minus infinity at 0, infinity at infinity, NaN below 0 and for NaN."""
    result = where(x.eq(float("inf")), x, result)
    result = where(x.eq(0.0), constant(x, float("-inf")), result)
    return where(x.compare("ult", "ult", 0.0), constant(x, float("nan")), result)


def log_positive(x: Vec, more: Vec | None = None) -> Vec:
    """Return the natural logarithm of a positive finite number; `more` is a small summand."""
    high, low = LN2[MANGLED[x.elem]]
    e, f = split(x)
    correction = CORRECTION[x.elem](f)
    return fma(e, high, f + fma(e, low, correction if more is None else correction + more))


def log2_positive(x: Vec) -> Vec:
    """Return the logarithm to base 2 of a positive finite number; exact for powers of two."""
    high, low = LOG2E_PARTS[x.elem]
    e, f = split(x)
    return e + fma(f, high, fma(f, low, CORRECTION[x.elem](f) * high))


def log(x: Vec) -> Vec:
    """Return the natural logarithm."""
    return with_special_cases(x, log_positive(x))


def log1p(x: Vec) -> Vec:
    """Compute log(1 + x); the rounding error of the sum is added divided by the sum."""
    total = x + 1.0
    added = total - 1.0
    rest = (1.0 - (total - added)) + (x - added)
    result = with_special_cases(total, log_positive(total, rest / total))
    # Adding up loses the sign of zero.
    return where(x.eq(0.0), x, result)


def log2(x: Vec) -> Vec:
    """Return the logarithm to base 2."""
    return with_special_cases(x, log2_positive(x))


# -------------------------------------------------------------------------------------------------
# pow and rsqrt: |x|^y = 2^(y log2 |x|), with the f64 logarithm in double-double arithmetic.

THIRD = (0.3333333333333333, 1.850371707708594e-17)
POW_LOG = (
    0.2, 0.14285714285714188, 0.11111111111145533, 0.0909090908458797, 0.07692308380108288,
    0.06666620027115437, 0.05884343049642823, 0.052113438935060936, 0.05507455214195166,
)  # fmt: skip
"""(atanh(s) / s - 1 - s^2 / 3) / s^4, in s^2."""
LIMIT = 1100.0
"""2 to this power overflows f64, to its negative underflows."""

Pair = tuple[Vec, Vec]
"""An unevaluated sum: a float and a much smaller one."""


def add_ordered(large: Vec, small: Vec) -> Pair:
    """Return the sum and its rounding error, where large is 0 or not below small in magnitude."""
    total = large + small
    return total, small - (total - large)


def multiply(a: Vec, b: Vec | float) -> Pair:
    """Return the product and its rounding error."""
    product = a * b
    return product, fma(a, b, -product)


def multiply_pair(a: Pair, high: Vec | float, low: Vec | float) -> Pair:
    """Return the product of two pairs, to about twice the precision of a float."""
    product, error = multiply(a[0], high)
    return product, fma(a[0], low, fma(a[1], high, error))


def atanh_argument(f: Vec) -> Pair:
    """Compute f / (2 + f)."""
    m = f + 1.0
    below = m + 1.0
    rest = m - (below - 1.0)
    quotient = f / below
    return quotient, fma(-quotient, rest, fma(-quotient, below, f)) / below


def log2_pair(x: Vec) -> Pair:
    """Return the logarithm to base 2 of a positive finite number, to 64 bits."""
    e, f = split(x)
    s = atanh_argument(f)
    square = multiply_pair(s, *s)
    high = square[0]
    # atanh(s) = s + s (s^2 / 3 + s^4 P(s^2)): only the last term is small enough for one float.
    third, third_low = multiply_pair(square, *THIRD)
    series, low = add_ordered(third, high * high * horner(high, POW_LOG))
    product, rest = multiply_pair(s, series, low + third_low)
    atanh, low = add_ordered(s[0], product)
    half = multiply_pair((atanh, low + (rest + s[1])), *LOG2E_PARTS["double"])
    total, low = add_ordered(e, half[0] + half[0])
    return total, low + (half[1] + half[1])


def log2_single(x: Vec) -> Pair:
    """Compute log2 of an f32 to 52 bits."""
    return log2_positive(x), constant(x, 0.0)


def exp2_pair(high: Vec, low: Vec) -> Vec:
    """Compute 2^(high + low); NaN stays."""
    low = where(absolute(high) < LIMIT, low, 0.0)
    high = clamp(high, -LIMIT, LIMIT)
    exponent = nearest(high)
    return scale(exp2_reduced_f64(high - exponent.number, low), exponent)


def power_of_magnitude(x: Vec, y: Vec, log2: Pair) -> Vec:
    """Compute |x|^y from the logarithm of |x|, which may be wrong for 0, infinity and NaN."""
    regular = (x > 0.0) & (x < float("inf"))
    extreme = where(x.eq(0.0), constant(x, float("-inf")), x)
    high = where(regular, log2[0], extreme)
    low = where(regular, log2[1], 0.0)
    product = y * high
    result = exp2_pair(product, fma(y, high, -product) + y * low)
    infinite_power_of_one = x.eq(1.0) & absolute(y).eq(float("inf"))
    return where(infinite_power_of_one, constant(x, 1.0), result)


def with_sign(x: Vec, y: Vec, result: Vec) -> Vec:
    """Return the sign for odd powers of negative numbers; NaN for powers that are no integers."""
    integral = floor(y).eq(y)
    odd = integral & floor(y * 0.5).ne(y * 0.5)
    sign = where(odd, x.bits() & constant(x, -0.0).bits(), 0)
    result = (result.bits() ^ sign).as_float()
    undefined = (x < 0.0) & (x > float("-inf")) & floor(y).ne(y)
    result = where(undefined, constant(x, float("nan")), result)
    return where(x.eq(1.0) | y.eq(0.0), constant(x, 1.0), result)


def pow_f64(x: Vec, y: Vec) -> Vec:
    """Compute x to the power y, with the special cases of C."""
    magnitude = absolute(x)
    return with_sign(x, y, power_of_magnitude(magnitude, y, log2_pair(magnitude)))


def pow_f32(x: Vec, y: Vec) -> Vec:
    """Compute x to the power y, in f64."""
    x, y = x.extend(), y.extend()
    magnitude = absolute(x)
    result = power_of_magnitude(magnitude, y, log2_single(magnitude))
    return with_sign(x, y, result).truncate()


def rsqrt(x: Vec) -> Vec:
    """Compute 1 / sqrt(x), by two correctly rounded instructions."""
    return 1.0 / x.intrinsic("sqrt")


# -------------------------------------------------------------------------------------------------
# cbrt: a third of the bits is a guess within 4 %, Halley's iteration makes it exact to rounding,
# and a step of Newton with the exact residual rounds it almost correctly.

CBRT_SMALL = {"float": (2.0**-80, 48), "double": (2.0**-900, 150)}
"""Below the first number the residual may be subnormal: they are scaled by the power of two."""
CBRT_GUESS = {"float": 709958130, "double": 715094163 << 32}
"""Two thirds of the bits of 1, less what makes the largest error of the guess small."""
CBRT_HALLEY = {"float": 1, "double": 2}
"""Iterations of Halley, each of which triples the correct bits: from 4 to 15 or 45."""


def cbrt(x: Vec) -> Vec:
    """Compute the cube root."""
    magnitude = absolute(x)
    bound, exponent = CBRT_SMALL[x.elem]
    small = magnitude < bound
    a = where(small, magnitude * 2.0**exponent, magnitude)
    t = (a.bits().binary("udiv", 3) + CBRT_GUESS[x.elem]).as_float()
    for _ in range(CBRT_HALLEY[x.elem]):
        q = a / (t * t)
        t = t * ((t + (q + q)) / ((t + t) + q))
    square, error = multiply(t, t)
    residual = fma(-square, t, a) - error * t
    t = t + residual / (square * 3.0)
    t = copysign(where(small, t * 2.0 ** -(exponent // 3), t), x)
    regular = (magnitude > 0.0) & (magnitude < float("inf"))
    return where(regular, t, x)


# -------------------------------------------------------------------------------------------------
# remf: x - trunc(x / y) * y exactly, as C's fmod.
#
# If the quotient has few bits, trunc(x / y) is right or one too large, and a fused multiply-add
# returns the remainder without error. A larger quotient is subtracted in such pieces from the top.


def exponent_field(x: Vec) -> Vec:
    """Return the biased exponent of a number that is not negative."""
    return x.bits().lshr(FRACTION_BITS[x.elem])


def exponent_of(y: Vec) -> Vec:
    """Return the exponent, also of subnormal numbers, where it continues below 1."""
    fraction = FRACTION_BITS[y.elem]
    field = exponent_field(y)
    return where(field.eq(0), exponent_field(y * 2.0**fraction) - fraction, field)


def at_least_zero(n: Vec) -> Vec:
    """Return the integer, or 0 if it is negative."""
    return where(n > 0, n, 0)


def reduce_once(r: Vec, divisor: Vec) -> Vec:
    """Return r modulo the divisor, both not negative, if the quotient is exact in a float."""
    rest = fma(-floor(r / divisor), divisor, r)
    rest = where(rest < 0.0, rest + divisor, rest)
    return where(r < divisor, r, rest)


def remf(x: Vec, y: Vec) -> Vec:
    """Return the remainder with the sign of x; NaN if x is infinite or y is 0."""
    piece = FRACTION_BITS[x.elem]
    magnitude, divisor = absolute(x), absolute(y)
    excess = exponent_field(magnitude) - exponent_of(divisor) - piece

    def step(r: Vec, shift: Vec) -> tuple[Vec, tuple[Vec, Vec]]:
        half = shift.lshr(1)
        scaled = divisor * power_of_two(half) * power_of_two(shift - half)
        more = any_lane(shift > 0)
        return more, (reduce_once(r, scaled), at_least_zero(shift - piece))

    rest, _ = repeat((magnitude, at_least_zero(excess)), step)
    return copysign(where(magnitude < divisor, magnitude, rest), x)


FUNCTIONS = {
    "log": LlvmFunction(1, {"f32": log, "f64": log}, {"f32": 1.0, "f64": 1.0}),
    "log1p": LlvmFunction(1, {"f32": log1p, "f64": log1p}, {"f32": 1.0, "f64": 1.0}),
    "log2": LlvmFunction(1, {"f32": log2, "f64": log2}, {"f32": 1.1, "f64": 1.2}),
    "pow": LlvmFunction(2, {"f32": pow_f32, "f64": pow_f64}, {"f32": 0.51, "f64": 1.8}),
    "rsqrt": LlvmFunction(1, {"f32": rsqrt, "f64": rsqrt}, {"f32": 1.6, "f64": 1.6}),
    "cbrt": LlvmFunction(1, {"f32": cbrt, "f64": cbrt}, {"f32": 0.6, "f64": 0.6}),
    "remf": LlvmFunction(2, {"f32": remf, "f64": remf}, {"f32": 0.0, "f64": 0.0}),
}
