"""Rounds Python numbers to any float type, by exact fractions and the numbers of its format."""

from __future__ import annotations

from fractions import Fraction
from math import copysign, frexp, inf, isfinite, isnan, nan

from tilewright.base.dtypes import AnyDType, bf16, f4e2m1fn, f8e4m3fn, f8e5m2, f16, f32, f64, tf32

FORMATS: dict[AnyDType, tuple[int, int, float, float]] = {
    f16: (10, -14, 65504.0, inf), bf16: (7, -126, (2 - 2.0**-7) * 2.0**127, inf),
    f32: (23, -126, (2 - 2.0**-23) * 2.0**127, inf),
    f64: (52, -1022, (2 - 2.0**-52) * 2.0**1023, inf),
    tf32: (10, -126, (2 - 2.0**-10) * 2.0**127, inf),
    f8e4m3fn: (3, -6, 448.0, nan), f8e5m2: (2, -14, 57344.0, inf), f4e2m1fn: (1, 0, 6.0, 6.0),
}  # fmt: skip
"""Bits of the fraction, least exponent of a normal number, greatest number, what lies beyond."""


def rounded(number: float, dtype: AnyDType) -> float:
    """A Python number in a float type: the nearest value, ties to even."""
    bits, least, greatest, beyond = FORMATS[dtype]
    sign = copysign(1, number)
    if not isfinite(number):
        return nan if isnan(number) else copysign(beyond, sign)
    exact = abs(Fraction(number))
    _, exponent = frexp(float(exact))
    if exact and Fraction(2) ** (exponent - 1) > exact:  # float() rounded up to a power of two
        exponent -= 1
    step = Fraction(2) ** (max(exponent - 1, least) - bits)
    near = round(exact / step) * step  # Python rounds halves to even
    return copysign(float(near) if near <= Fraction(greatest) else beyond, sign)
