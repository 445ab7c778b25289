"""pow and rsqrt: |x|^y = 2^(y log2 |x|), the logarithm of f64 kept as a sum of two floats."""

from __future__ import annotations

from .exponential import clamp, exp2_reduced_f64
from .logarithm import LOG2E_PARTS, log2_positive, split
from .scaling import nearest, scale
from .text import Function, Value, absolute, constant, floor, fma, horner, where

THIRD = (0.3333333333333333, 1.850371707708594e-17)
POW_LOG = (
    0.2, 0.14285714285714188, 0.11111111111145533, 0.0909090908458797, 0.07692308380108288,
    0.06666620027115437, 0.05884343049642823, 0.052113438935060936, 0.05507455214195166,
)  # fmt: skip
"""(atanh(s) / s - 1 - s^2 / 3) / s^4, in s^2."""
LIMIT = 1100.0
"""2 to this power overflows f64, to its negative underflows."""

Pair = tuple[Value, Value]
"""An unevaluated sum: a float and a much smaller one."""


def add_ordered(large: Value, small: Value) -> Pair:
    """The sum and its rounding error, where large is 0 or not below small in magnitude."""
    total = large + small
    return total, small - (total - large)


def multiply(a: Value, b: Value | float) -> Pair:
    """The product and its rounding error."""
    product = a * b
    return product, fma(a, b, -product)


def multiply_pair(a: Pair, high: Value | float, low: Value | float) -> Pair:
    """The product of two pairs, to about twice the precision of a float."""
    product, error = multiply(a[0], high)
    return product, fma(a[0], low, fma(a[1], high, error))


def atanh_argument(f: Value) -> Pair:
    """f / (2 + f)."""
    m = f + 1.0
    below = m + 1.0
    rest = m - (below - 1.0)
    quotient = f / below
    return quotient, fma(-quotient, rest, fma(-quotient, below, f)) / below


def log2_pair(x: Value) -> Pair:
    """The logarithm to base 2 of a positive finite number, to 64 bits."""
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


def log2_single(x: Value) -> Pair:
    """The same to 52 bits, which is plenty for f32."""
    return log2_positive(x), constant(x, 0.0)


def exp2_pair(high: Value, low: Value) -> Value:
    """2^(high + low); NaN stays."""
    low = where(absolute(high) < LIMIT, low, 0.0)
    high = clamp(high, -LIMIT, LIMIT)
    exponent = nearest(high)
    return scale(exp2_reduced_f64(high - exponent.number, low), exponent)


def power_of_magnitude(x: Value, y: Value, log2: Pair) -> Value:
    """|x|^y from the logarithm of |x|, which need not be right where |x| is 0, infinite or NaN."""
    regular = (x > 0.0) & (x < float("inf"))
    extreme = where(x.eq(0.0), constant(x, float("-inf")), x)
    high = where(regular, log2[0], extreme)
    low = where(regular, log2[1], 0.0)
    product = y * high
    result = exp2_pair(product, fma(y, high, -product) + y * low)
    infinite_power_of_one = x.eq(1.0) & absolute(y).eq(float("inf"))
    return where(infinite_power_of_one, constant(x, 1.0), result)


def with_sign(x: Value, y: Value, result: Value) -> Value:
    """The sign for odd powers of negative numbers; NaN for powers that are no integers."""
    integral = floor(y).eq(y)
    odd = integral & floor(y * 0.5).ne(y * 0.5)
    sign = where(odd, x.bits() & constant(x, -0.0).bits(), 0)
    result = (result.bits() ^ sign).as_float()
    undefined = (x < 0.0) & (x > float("-inf")) & floor(y).ne(y)
    result = where(undefined, constant(x, float("nan")), result)
    return where(x.eq(1.0) | y.eq(0.0), constant(x, 1.0), result)


def pow_f64(x: Value, y: Value) -> Value:
    """x to the power y, with the special cases of C."""
    magnitude = absolute(x)
    return with_sign(x, y, power_of_magnitude(magnitude, y, log2_pair(magnitude)))


def pow_f32(x: Value, y: Value) -> Value:
    """x to the power y, computed in f64."""
    x, y = x.extend(), y.extend()
    magnitude = absolute(x)
    result = power_of_magnitude(magnitude, y, log2_single(magnitude))
    return with_sign(x, y, result).truncate()


def rsqrt(x: Value) -> Value:
    """1 / sqrt(x), by two correctly rounded instructions."""
    return 1.0 / x.intrinsic("sqrt")


FUNCTIONS = {
    "pow": Function(2, {"f32": pow_f32, "f64": pow_f64}, {"f32": 0.51, "f64": 1.8}),
    "rsqrt": Function(1, {"f32": rsqrt, "f64": rsqrt}, {"f32": 1.6, "f64": 1.6}),
}
