"""Conversions between float types, and from integers to them, each rounded once to nearest even.

f16 and bf16 values are their bits in i16, f8 and f4 in i8, tf32 is held as a float. Overflow,
infinities and NaN go where ml_dtypes sends them; unlike ml_dtypes, f64 does not round through f32.
f16 uses the conversion instructions that x86-64 (F16C) and AArch64 have.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ..llvm.builder import Vec, absolute, constant, copysign, where

ELEMENT = {
    "f64": "double", "f32": "float", "tf32": "float", "f16": "i16", "bf16": "i16",
    "f8e4m3fn": "i8", "f8e5m2": "i8", "f8e8m0fnu": "i8", "f4e2m1fn": "i8",
    "bool": "i1", "i8": "i8", "i16": "i16", "i32": "i32", "i64": "i64",
    "u8": "i8", "u16": "i16", "u32": "i32", "u64": "i64",
}  # fmt: skip
"""The LLVM type of one element of each type that can be converted."""
ABSOLUTE = 0x7FFFFFFF
INFINITE = 0x7F800000


@dataclass(frozen=True, slots=True)
class Small:
    """A sign, a few exponent and fraction bits; what is beyond `largest` becomes `overflow`.

    A type without NaN has zero instead.
    """

    fraction: int
    bias: int
    sign: int
    largest: int
    overflow: int
    nan: int | None

    @property
    def min_normal(self) -> int:
        """The bits, as f32, of the least normal number."""
        return (127 + 1 - self.bias) << 23

    @property
    def last_place(self) -> float:
        """The spacing of subnormal numbers."""
        return 2.0 ** (1 - self.bias - self.fraction)


SMALL = {
    "f8e4m3fn": Small(fraction=3, bias=7, sign=7, largest=0x7E, overflow=0x7F, nan=0x7F),
    "f8e5m2": Small(fraction=2, bias=15, sign=7, largest=0x7B, overflow=0x7C, nan=0x7E),
    "f4e2m1fn": Small(fraction=1, bias=1, sign=3, largest=0x7, overflow=0x7, nan=None),
}  # fmt: skip


def drop_bits(bits: Vec, count: int) -> Vec:
    """Add the rounding term, so that cutting off the lowest bits rounds to nearest even."""
    return bits + (bits.lshr(count) & 1) + ((1 << count - 1) - 1)


def f32_to_bf16(x: Vec) -> Vec:
    """Round; NaN keeps its sign only."""
    bits = x.bits()
    high = where(x.is_nan(), (bits.lshr(16) & 0x8000) | 0x7FC0, drop_bits(bits, 16).lshr(16))
    return high.cast("trunc", "i16")


def f32_to_f16(x: Vec) -> Vec:
    """Convert by instruction."""
    return x.cast("fptrunc", "half").cast("bitcast", "i16")


def f32_to_tf32(x: Vec) -> Vec:
    """Round to 10 fraction bits; infinity and NaN stay."""
    bits = x.bits()
    rounded = drop_bits(bits, 13) & ~0x1FFF
    return where((bits & INFINITE).eq(INFINITE), bits, rounded).as_float()


def f32_to_small(small: Small) -> Callable[[Vec], Vec]:
    """Round to a float of few bits."""

    def write(x: Vec) -> Vec:
        bits = x.bits()
        magnitude = bits & ABSOLUTE
        cut = 23 - small.fraction
        normal = drop_bits(magnitude, cut).lshr(cut) - ((127 - small.bias) << small.fraction)
        # Adding a number whose last place is that of the result lets the hardware round.
        magic = constant(x, small.last_place * 2.0**23)
        subnormal = (absolute(x) + magic).bits() - magic.bits()
        code = where(magnitude < small.min_normal, subnormal, normal)
        code = where(code > small.largest, constant(code, small.overflow), code)
        if small.nan is not None:
            code = where(x.is_nan(), constant(code, small.nan), code)
        code = code ^ (bits.lshr(31) << small.sign)
        if small.nan is None:
            code = where(x.is_nan(), constant(code, 0), code)
        return code.cast("trunc", "i8")

    return write


def f32_to_f8e8m0fnu(x: Vec) -> Vec:
    """Return the nearest power of two, the greater at a tie; NaN for all that is not positive."""
    bits = x.bits()
    code = (bits + 0x400000).lshr(23)
    # All between the two least powers goes to the greater, as ml_dtypes has it.
    code = where(bits < 0x800000, (bits + 0x3FFFFF).lshr(23), code)
    code = where(bits > 0, code, 0xFF)
    return where(code > 0xFF, constant(code, 0xFF), code).cast("trunc", "i8")


def f64_to_f32_odd(x: Vec) -> Vec:
    """Round to odd: what is not exact gets an odd last bit, so that a second rounding is right."""
    nearest = x.truncate()
    back = nearest.extend()
    away = absolute(back) > absolute(x)
    bits = nearest.bits()
    odd = where(away, bits - 1, bits) | 1
    inexact = back.compare("one", "ne", x)
    return where(inexact, odd, bits).as_float()


def bf16_to_f32(x: Vec) -> Vec:
    """Convert exactly."""
    return (x.cast("zext", "i32") << 16).as_float()


def f16_to_f32(x: Vec) -> Vec:
    """Convert exactly, by instruction."""
    return x.cast("bitcast", "half").cast("fpext", "float")


def small_to_f32(small: Small) -> Callable[[Vec], Vec]:
    """Return the exact conversion: the bits moved into an f16 of another exponent bias."""

    def write(x: Vec) -> Vec:
        code = x.cast("zext", "i16")
        magnitude = (code & ((1 << small.sign) - 1)) << (10 - small.fraction)
        sign = code.lshr(small.sign) << 15
        value = f16_to_f32(magnitude | sign) * 2.0 ** (15 - small.bias)
        if small.overflow != 0x7F:
            return value
        nan = (code & 0x7F).eq(0x7F)
        return where(nan, copysign(constant(value, float("nan")), value), value)

    return write


def f8e8m0fnu_to_f32(x: Vec) -> Vec:
    """Convert exactly; the least value is subnormal."""
    code = x.cast("zext", "i32")
    bits = where(code.eq(0), constant(code, 0x400000), code << 23)
    return where(code.eq(0xFF), constant(code, 0x7FC00000), bits).as_float()


def same(x: Vec) -> Vec:
    """Return the value unchanged."""
    return x


def from_int(name: str) -> Callable[[Vec], Vec]:
    """Return integers of up to 32 bits (and bool) to f64, exactly."""
    cast = "sitofp" if name.startswith("i") else "uitofp"
    return lambda x: x.cast(cast, "double")


def from_wide_int(name: str) -> Callable[[Vec], Vec]:
    """Return the conversion of 64-bit integers to f64, rounded to odd."""

    def write(x: Vec) -> Vec:
        # The lowest 11 bits of a large integer lie below the last place: they leave a mark only.
        marked = (x & ~0x7FF) | (((x & 0x7FF) + 0x7FF) & 0x800)
        shifted, limit = (x + (1 << 53), 1 << 54) if name == "i64" else (x, 1 << 53)
        exact = shifted.compare("", "ult", limit)
        return from_int(name)(where(exact, x, marked))

    return write


Writer = Callable[[Vec], Vec]

FROM_F32: dict[str, Writer] = {
    "f16": f32_to_f16, "bf16": f32_to_bf16, "f8e8m0fnu": f32_to_f8e8m0fnu, "tf32": f32_to_tf32,
    **{name: f32_to_small(SMALL[name]) for name in SMALL},
}  # fmt: skip
TO_F32: dict[str, Writer] = {
    "f16": f16_to_f32, "bf16": bf16_to_f32, "f8e8m0fnu": f8e8m0fnu_to_f32, "f32": same,
    "tf32": same, **{name: small_to_f32(SMALL[name]) for name in SMALL},
}  # fmt: skip
FLOATS = ("f64", *TO_F32)
"""The types a conversion can give."""
TO_F64: dict[str, Writer] = {
    "f64": same, "i64": from_wide_int("i64"), "u64": from_wide_int("u64"),
    **{name: from_int(name) for name in ("bool", "i8", "i16", "i32", "u8", "u16", "u32")},
}  # fmt: skip
"""Exact, or rounded to odd."""
DIRECT: dict[tuple[str, str], Writer] = {
    ("f64", "f32"): Vec.truncate,
    **{(name, "f32"): lambda x: x.cast("sitofp", "float") for name in ("i8", "i16", "i32", "i64")},
    **{(name, "f32"): lambda x: x.cast("uitofp", "float")
       for name in ("bool", "u8", "u16", "u32", "u64")},
    ("i64", "f64"): from_int("i64"), ("u64", "f64"): from_int("u64"),
}  # fmt: skip
"""What one instruction rounds right."""


def converter(source: str, target: str) -> Writer:
    """Return a function that emits a conversion, composed from the tables."""
    if (source, target) in DIRECT:
        return DIRECT[source, target]
    if source == target:
        return same
    if source in TO_F32:
        if target == "f64":
            return lambda x: TO_F32[source](x).extend()
        if target == "f32":
            return TO_F32[source]
        return lambda x: FROM_F32[target](TO_F32[source](x))
    if target == "f64":
        return TO_F64[source]
    return lambda x: FROM_F32[target](f64_to_f32_odd(TO_F64[source](x)))
