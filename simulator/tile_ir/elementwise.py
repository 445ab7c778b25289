"""Elementwise instructions: integers, floats, approximations of the hardware, conversions.

The interpreter computes functions exactly and rounds once. A test that wants to know what a kernel
makes of the errors of a GPU asks for them: `with errors(+1):` makes each approximate result as much
larger as it can be, `errors(-1)` smaller, and `errors(0)` one or the other by its bits.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from fractions import Fraction

import numpy as np

from tilewright.backend.tileir.bytecode.enums import (
    ComparisonCode,
    NanOrdering,
    OverflowCode,
    RoundingCode,
    Signedness,
)
from tilewright.backend.tileir.bytecode.program import Instr
from tilewright.backend.tileir.bytecode.types import F4E2M1FN, F32, F64, I1, TF32, ScalarType

from .machine import BlockFrame, Results, Rule, number_of
from .values import (
    DIRECTED,
    ELEMENTS,
    Array,
    UndefinedError,
    directed,
    flushed,
    fma,
    integers,
    narrow,
    sign_of,
    sign_of_quotient,
    sign_of_root,
    signed,
    tile_kind,
    unsigned,
)

# --- approximations of the hardware, with the greatest errors that NVIDIA documents for them ---

ULPS_2 = 2.0**-22
"""Two ulp of f32, relative to numbers just above a power of two."""
LARGEST_DIVISOR = 2.0**126
"""Beyond it an approximate reciprocal is 0."""
RELATIVE: Mapping[str, float] = {
    "exp": ULPS_2,
    "exp2": ULPS_2,
    "tanh": ULPS_2,
    "rsqrt": 2.0**-22.4,
    "log": ULPS_2, "log2": ULPS_2, "sin": ULPS_2, "cos": ULPS_2,
    "tan": 2.0**-21.4, "sinh": 2.0**-21.4, "cosh": 2.0**-21.7,
    "pow": 2.0**-21.7, "atan2": ULPS_2,
}  # fmt: skip
"""The greatest relative errors of functions that are no single instruction, or exact."""
BY_MODE: Mapping[tuple[str, RoundingCode], float] = {
    ("tanh", RoundingCode.APPROX): 2.0**-11,
    ("exp", RoundingCode.APPROX): 2.0**-17,
    ("sqrt", RoundingCode.APPROX): 2.0**-23,
    ("divf", RoundingCode.APPROX): ULPS_2,
    ("divf", RoundingCode.FULL): ULPS_2,
}
"""Those of modes that a function can be asked for."""


class _Direction:
    """Where errors go; None leaves results as exact as they can be."""

    now: int | None = None


@contextmanager
def errors(direction: int) -> Generator[None]:
    """Set the errors of approximations to their bounds: up (1), down (-1), or by their bits (0)."""
    before, _Direction.now = _Direction.now, direction
    try:
        yield
    finally:
        _Direction.now = before


def worst(instr: Instr, made: Array, arrays: Sequence[Array]) -> Array:
    """Return a result of f32 with the largest documented error of a GPU, if requested."""
    direction = _Direction.now
    if direction is None or tile_kind(instr.result.kind).scalar is not F32:
        return made
    mode = _approximate_mode(instr)
    error = BY_MODE.get((instr.op.name, mode), RELATIVE.get(instr.op.name, 0.0))
    signs = _by_bits(made) if direction == 0 else direction
    wide = made.astype(np.float64)
    with np.errstate(all="ignore"):
        moved = np.where(np.isfinite(wide), wide * (1 + signs * error), wide)
        if instr.op.name == "divf" and mode is RoundingCode.APPROX:
            moved = np.where(np.abs(arrays[1]) > LARGEST_DIVISOR, arrays[0] * 0.0, moved)
        return moved.astype(made.dtype)


def _approximate_mode(instr: Instr) -> RoundingCode:
    has_mode = any(f.name == "rounding_mode" for f in instr.op.fields)
    return RoundingCode(number_of(instr, "rounding_mode")) if has_mode else RoundingCode.FULL


def _by_bits(made: Array) -> Array:
    """Return 1 or -1 for each number, as good as drawn (Fibonacci hashing)."""
    hashed = np.ascontiguousarray(made).view(np.uint32) * np.uint32(2654435769)
    return np.where(hashed >> np.uint32(31), 1, -1)


# -------------------------------------------------------------------------------------------------
# Integer arithmetic, bits, shifts, comparisons; promises that do not hold are reported.

Binary = Callable[[Array, Array], Array]

COMPARISONS: dict[ComparisonCode, Binary] = {
    ComparisonCode.EQUAL: np.equal, ComparisonCode.NOT_EQUAL: np.not_equal,
    ComparisonCode.LESS_THAN: np.less, ComparisonCode.LESS_THAN_OR_EQUAL: np.less_equal,
    ComparisonCode.GREATER_THAN: np.greater, ComparisonCode.GREATER_THAN_OR_EQUAL: np.greater_equal,
}  # fmt: skip


def elementwise(frame: BlockFrame, instr: Instr) -> list[Array]:
    """Return the operands of an instruction on elements: tiles of one shape."""
    found = frame.arrays(instr)
    if not frame.by_lanes and len({x.shape for x in found}) > 1:
        frame.fail(f"its operands have the shapes {[x.shape for x in found]}")
    return found


def scalar_of(instr: Instr) -> ScalarType:
    """Return the element type of the only result."""
    return tile_kind(instr.result.kind).scalar


def readings(instr: Instr, arrays: list[Array], name: str = "signedness") -> list[Array]:
    """Return operands as an instruction reads them: signed or unsigned."""
    read = signed if number_of(instr, name) == Signedness.SIGNED else unsigned
    return [read(x) for x in arrays]


# --- promises ------------------------------------------------------------------------------------


def _exact_integer(arrays: list[Array], *, is_signed: bool) -> list[Array]:
    """Return integers whose sums and products are exact: Python's own if they are wide."""
    read = [(signed if is_signed else unsigned)(x) for x in arrays]
    wide = any(x.dtype.itemsize > 4 for x in read)
    return [x.astype(object if wide else np.int64) for x in read]


def _check_promises(instr: Instr, arrays: list[Array], exact: Callable[..., Array]) -> None:
    """Report an exact result that does not fit, where the instruction promises that it does."""
    promised, width = number_of(instr, "overflow"), scalar_of(instr).width
    if promised & OverflowCode.NO_SIGNED_WRAP:
        made = np.asarray(exact(*_exact_integer(arrays, is_signed=True)))
        _check_range(made, -(1 << width - 1), (1 << width - 1) - 1, "signed")
    if promised & OverflowCode.NO_UNSIGNED_WRAP:
        made = np.asarray(exact(*_exact_integer(arrays, is_signed=False)))
        _check_range(made, 0, (1 << width) - 1, "unsigned")


def _check_range(made: Array, low: int, high: int, what: str) -> None:
    outside = (made < low) | (made > high)
    if np.any(outside):
        wrong = made[outside].reshape(-1)[0]
        raise UndefinedError(f"{wrong} wraps around, which was promised not to happen ({what})")


def _shifted(a: Array, b: Array) -> Array:
    """Compute a * 2**b, exactly."""
    return np.asarray(a.astype(object) * (np.asarray(2).astype(object) ** b.astype(object)))


def _wrapping(native: Callable[..., Array], exact: Callable[..., Array] | None = None) -> Rule:
    """Return an instruction that wraps around unless it promises not to."""

    def rule(frame: BlockFrame, instr: Instr) -> Results:
        arrays = elementwise(frame, instr)
        if number_of(instr, "overflow"):
            _check_promises(instr, arrays, exact or native)
        made = np.asarray(native(*(unsigned(x) for x in arrays)))
        return (integers(made, scalar_of(instr)),)

    return rule


# --- division and shifts -------------------------------------------------------------------------


def _check_division(a: Array, b: Array) -> None:
    if np.any(b == 0):
        raise UndefinedError("an integer is divided by zero")
    if np.issubdtype(a.dtype, np.signedinteger) and np.any(
        (a == np.iinfo(a.dtype).min) & (b == -1)
    ):
        raise UndefinedError("the least integer is divided by -1")


def _divi(frame: BlockFrame, instr: Instr) -> Results:
    a, b = readings(instr, elementwise(frame, instr))
    _check_division(a, b)
    mode = number_of(instr, "rounding")
    floor = np.asarray(a // b)
    inexact = np.asarray(floor * b != a)
    if mode == RoundingCode.ZERO:
        floor = floor + (inexact & ((a < 0) != (b < 0)))
    elif mode == RoundingCode.POSITIVE_INF:
        floor = floor + inexact
    elif mode != RoundingCode.NEGATIVE_INF or number_of(instr, "signedness") != Signedness.SIGNED:
        frame.fail(f"quotients are not rounded by {RoundingCode(mode).name}")
    return (integers(np.asarray(floor), scalar_of(instr)),)


def _remi(frame: BlockFrame, instr: Instr) -> Results:
    a, b = readings(instr, elementwise(frame, instr))
    _check_division(a, b)
    return (integers(np.asarray(np.fmod(a, b)), scalar_of(instr)),)


def _amount(instr: Instr, amount: Array) -> Array:
    width = scalar_of(instr).width
    wide = unsigned(amount)
    if np.any(wide >= width):
        raise UndefinedError(f"{width} bits are shifted by {wide.max()}")
    return wide


def _shli(frame: BlockFrame, instr: Instr) -> Results:
    a, by = elementwise(frame, instr)
    amount = _amount(instr, by)
    if number_of(instr, "overflow"):
        _check_promises(instr, [a, by], _shifted)
    return (integers(np.asarray(unsigned(a) << amount), scalar_of(instr)),)


def _shri(frame: BlockFrame, instr: Instr) -> Results:
    a, by = elementwise(frame, instr)
    amount = _amount(instr, by)
    (read,) = readings(instr, [a])
    return (integers(np.asarray(read >> amount.astype(read.dtype)), scalar_of(instr)),)


def _mulhii(frame: BlockFrame, instr: Instr) -> Results:
    a, b = _exact_integer(elementwise(frame, instr), is_signed=False)
    width = scalar_of(instr).width
    high = np.asarray(a.astype(object) * b.astype(object) >> width)
    return (integers(high.astype(np.uint64), scalar_of(instr)),)


# --- the rest ------------------------------------------------------------------------------------


def _integer_extreme(native: Binary) -> Rule:
    def rule(frame: BlockFrame, instr: Instr) -> Results:
        made = native(*readings(instr, elementwise(frame, instr)))
        return (integers(np.asarray(made), scalar_of(instr)),)

    return rule


def _bitwise(native: Binary) -> Rule:
    def rule(frame: BlockFrame, instr: Instr) -> Results:
        return (np.asarray(native(*elementwise(frame, instr))),)

    return rule


def _absi(frame: BlockFrame, instr: Instr) -> Results:
    (a,) = elementwise(frame, instr)
    return (integers(np.asarray(np.abs(signed(a))), scalar_of(instr)),)


def _cmpi(frame: BlockFrame, instr: Instr) -> Results:
    compare = COMPARISONS[ComparisonCode(number_of(instr, "comparison_predicate"))]
    return (np.asarray(compare(*readings(instr, elementwise(frame, instr)))),)


def _exti(frame: BlockFrame, instr: Instr) -> Results:
    (source,) = elementwise(frame, instr)
    kind = scalar_of(instr)
    if tile_kind(instr.operands[0].kind).scalar.width >= kind.width:
        frame.fail(f"{instr.operands[0].kind} is not narrower than {kind}")
    (read,) = readings(instr, [source])
    return (integers(read, kind),)


def _trunci(frame: BlockFrame, instr: Instr) -> Results:
    arrays = elementwise(frame, instr)
    kind = scalar_of(instr)
    if tile_kind(instr.operands[0].kind).scalar.width <= kind.width:
        frame.fail(f"{instr.operands[0].kind} is not wider than {kind}")
    if number_of(instr, "overflow"):
        _check_promises(instr, arrays, np.asarray)
    return (integers(arrays[0], kind),)


# -------------------------------------------------------------------------------------------------
# Float arithmetic, functions and comparisons.
#
# Functions that hardware approximates are computed exactly here and rounded once, unless their
# errors are asked for (`approximations`).

Function = Callable[..., Array]
Sign = Callable[..., int]
FAST = (RoundingCode.APPROX, RoundingCode.FULL)
"""Modes of f32 that let hardware be off by some ulp."""


def _mode(frame: BlockFrame, instr: Instr, *others: RoundingCode) -> RoundingCode:
    """Return the rounding mode: nearest, directed, or an approximation of f32."""
    mode = RoundingCode(number_of(instr, "rounding_mode"))
    plain = mode is RoundingCode.NEAREST_EVEN or mode in DIRECTED
    if not plain and (mode not in others or scalar_of(instr) is not F32):
        frame.fail(f"{scalar_of(instr)} is not rounded by {mode.name}")
    return mode


def _flushing(frame: BlockFrame, instr: Instr) -> bool:
    flushes = bool(number_of(instr, "flush_to_zero"))
    if flushes and scalar_of(instr) is not F32:
        frame.fail(f"flush_to_zero with {scalar_of(instr)}")
    return flushes


def _rounded(native: Callable[..., Array], sign: Sign, *others: RoundingCode) -> Rule:
    """Return an instruction with a rounding mode and one result."""

    def rule(frame: BlockFrame, instr: Instr) -> Results:
        arrays, kind = elementwise(frame, instr), scalar_of(instr)
        mode, flushes = _mode(frame, instr, *others), _flushing(frame, instr)
        if flushes:
            arrays = [flushed(x) for x in arrays]
        made = np.asarray(native(*arrays)).astype(ELEMENTS[kind], copy=False)
        if mode in DIRECTED:
            made = directed(made, sign, arrays, mode)
            if instr.op.name in TERMS and mode is RoundingCode.NEGATIVE_INF:
                made = _negative_zeros(made, *TERMS[instr.op.name](*arrays))
        made = worst(instr, made, arrays)
        return (flushed(made) if flushes else made,)

    return rule


def _negative_zeros(made: Array, first: Array, second: Array) -> Array:
    """Return a mask of the exact zero sums that are -0: toward -inf, unless all terms are +0."""
    positive = ~(np.signbit(first) | np.signbit(second))
    is_exact = (first == -second) & ~positive
    return np.where((made == 0) & is_exact, -np.abs(made), made).astype(made.dtype)


def _added(a: Array, b: Array) -> tuple[Array, Array]:
    return a, b


def _subtracted(a: Array, b: Array) -> tuple[Array, Array]:
    return a, -b


def _multiplied(a: Array, b: Array, c: Array) -> tuple[Array, Array]:
    """Return a product that is too small for a float is not zero."""
    product = a * b
    return np.where((a != 0) & (b != 0) & (product == 0), np.nan, product), c


TERMS: dict[str, Callable[..., tuple[Array, Array]]] = {
    "addf": _added, "subf": _subtracted, "fma": _multiplied,
}  # fmt: skip
"""What an instruction adds up."""


def _fma(a: Array, b: Array, c: Array) -> Array:
    return fma(a, b, c, KINDS[a.dtype])


def _float_extreme(frame: BlockFrame, instr: Instr) -> Results:
    a, b = elementwise(frame, instr)
    flushes = _flushing(frame, instr)
    if flushes:
        a, b = flushed(a), flushed(b)
    is_max = instr.op.name == "maxf"
    made = np.where((a > b) == is_max, a, b)
    # Of two zeros the positive one is the larger.
    first = ~np.signbit(a) if is_max else np.signbit(a)
    made = np.where(a == b, np.where(first, a, b), made)
    nan = np.asarray(np.nan, a.dtype)
    if number_of(instr, "propagate_nan"):
        made = np.where(np.isnan(a) | np.isnan(b), nan, made)
    else:
        made = np.where(np.isnan(a), b, np.where(np.isnan(b), a, made))
    return (made.astype(a.dtype),)


# --- functions -----------------------------------------------------------------------------------


def _function(native: Function) -> Rule:
    """Return a function of floats: computed in f64, and rounded once."""

    def rule(frame: BlockFrame, instr: Instr) -> Results:
        arrays = elementwise(frame, instr)
        if instr.op.fields:
            _check_function(frame, instr)
        can_flush = any(f.name == "flush_to_zero" for f in instr.op.fields)
        flushes = can_flush and _flushing(frame, instr)
        if flushes:
            arrays = [flushed(x) for x in arrays]
        made = narrow(np.asarray(native(*(x.astype(np.float64) for x in arrays))), scalar_of(instr))
        made = worst(instr, made, arrays)
        return (flushed(made) if flushes else made,)

    return rule


def _check_function(frame: BlockFrame, instr: Instr) -> None:
    """Reject a rounding that a function does not have: it is rough, and in f32 rougher."""
    if not any(f.name == "rounding_mode" for f in instr.op.fields):
        return
    mode = RoundingCode(number_of(instr, "rounding_mode"))
    if mode is not RoundingCode.FULL and (
        mode is not RoundingCode.APPROX or scalar_of(instr) is not F32
    ):
        frame.fail(f"{scalar_of(instr)} is not rounded by {mode.name}")


def _remainder(frame: BlockFrame, instr: Instr) -> Results:
    a, b = elementwise(frame, instr)
    kind = scalar_of(instr)
    made = np.fmod(a.astype(np.float64), b.astype(np.float64))
    return (np.asarray(made).astype(ELEMENTS[kind]),)


def _exact_float(native: Function) -> Rule:
    """Return an instruction without rounding."""

    def rule(frame: BlockFrame, instr: Instr) -> Results:
        arrays = elementwise(frame, instr)
        return (np.asarray(native(*arrays)).astype(arrays[0].dtype, copy=False),)

    return rule


def _negf(a: Array) -> Array:
    return np.asarray(np.negative(a))


def _cmpf(frame: BlockFrame, instr: Instr) -> Results:
    a, b = elementwise(frame, instr)
    compare = COMPARISONS[ComparisonCode(number_of(instr, "comparison_predicate"))]
    held = np.asarray(compare(a, b))
    nan = np.isnan(a) | np.isnan(b)
    if number_of(instr, "comparison_ordering") == NanOrdering.ORDERED:
        return (held & ~nan,)
    return (held | nan,)


def _rsqrt(x: Array) -> Array:
    return np.asarray(1 / np.sqrt(x))


def _sum(a: Fraction, b: Fraction) -> Fraction:
    return a + b


def _difference(a: Fraction, b: Fraction) -> Fraction:
    return a - b


def _product(a: Fraction, b: Fraction) -> Fraction:
    return a * b


def _product_sum(a: Fraction, b: Fraction, c: Fraction) -> Fraction:
    return a * b + c


KINDS = {dtype: kind for kind, dtype in ELEMENTS.items() if kind is not TF32}
FUNCTIONS: dict[str, Function] = {
    "exp": np.exp, "exp2": np.exp2, "log": np.log, "log2": np.log2, "sin": np.sin, "cos": np.cos,
    "tan": np.tan, "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh,
    "rsqrt": _rsqrt, "pow": np.power, "atan2": np.arctan2,
}  # fmt: skip


# -------------------------------------------------------------------------------------------------
# Conversions between element types, and reinterpretation of bits.

STICKY = 12
"""Low bits of a 64-bit integer that one bit may stand for, when fewer than 42 are kept."""


def _source(instr: Instr) -> ScalarType:
    return tile_kind(instr.operands[0].kind).scalar


def _ftof(frame: BlockFrame, instr: Instr) -> Results:
    (source,) = elementwise(frame, instr)
    kind, mode = scalar_of(instr), RoundingCode(number_of(instr, "rounding_mode"))
    if _source(instr) == kind:
        frame.fail(f"from {kind} to {kind}")
    wide = source.astype(np.float64)
    nearest = narrow(wide, kind)
    if mode is RoundingCode.NEAREST_EVEN:
        return (nearest,)
    if mode not in DIRECTED or kind is TF32:
        frame.fail(f"floats are not rounded to {kind} by {mode.name}")
    return (directed(nearest, _side, [wide], mode),)


def _side(x: float, nearest: float) -> int:
    """Return whether a number lies above, below or on what it was rounded to."""
    return (x > nearest) - (x < nearest)


def _itof(frame: BlockFrame, instr: Instr) -> Results:
    (source,) = readings(instr, elementwise(frame, instr))
    kind = scalar_of(instr)
    if number_of(instr, "rounding_mode") != RoundingCode.NEAREST_EVEN:
        frame.fail("integers become the nearest float")
    if kind is F64:
        return (source.astype(np.float64),)
    return (narrow(_sticky(source).astype(np.float64), kind),)


def _sticky(source: Array) -> Array:
    """Return integers that f64 holds and that round like the given ones to narrow types."""
    if source.dtype.itemsize < 8:
        return source
    negative = source < 0
    bits = source.view(np.uint64)
    size = np.where(negative, ~bits + np.uint64(1), bits)
    low = np.uint64((1 << STICKY) - 1)
    short = (size & ~low) | (((size & low) != 0).astype(np.uint64) << np.uint64(STICKY - 1))
    kept = np.where(size >> np.uint64(53) != 0, short, size).astype(np.float64)
    return np.where(negative, -kept, kept)


def _ftoi(frame: BlockFrame, instr: Instr) -> Results:
    (source,) = elementwise(frame, instr)
    kind = scalar_of(instr)
    if number_of(instr, "rounding_mode") != RoundingCode.NEAREST_INT_TO_ZERO:
        frame.fail("floats become integers toward zero")
    is_signed = number_of(instr, "signedness") == Signedness.SIGNED
    low = -(1 << kind.width - 1) if is_signed else 0
    high = (1 << kind.width - 1 if is_signed else 1 << kind.width) - 1
    whole = np.trunc(source.astype(np.float64))
    # high + 1 is a power of two, so it is exact as a float.
    above, below, nan = whole >= float(high + 1), whole < float(low), np.isnan(whole)
    if not number_of(instr, "saturating") and np.any(above | below | nan):
        raise UndefinedError(f"{whole[above | below | nan].reshape(-1)[0]} does not fit {kind}")
    inside = np.where(above | below | nan, 0.0, whole)
    word = np.uint64 if not is_signed else np.int64
    made = inside.astype(word)
    made = np.where(above, np.array(high, word), np.where(below, np.array(low, word), made))
    return (integers(made, kind),)


def _bitcast(frame: BlockFrame, instr: Instr) -> Results:
    (source,) = elementwise(frame, instr)
    kind, given = scalar_of(instr), _source(instr)
    if kind.width != given.width or {kind, given} & {TF32, I1}:
        frame.fail(f"from {given} to {kind}")
    return (np.asarray(source).view(ELEMENTS[kind]),)


# --- packed pairs --------------------------------------------------------------------------------


def _bytes_of(array: Array, kind: ScalarType) -> Array:
    """Return the bytes of a flat tile; two f4 are one, the first in the low half."""
    if kind is not F4E2M1FN:
        return array.view(np.uint8)
    bits = array.view(np.uint8) & 0xF
    return bits[0::2] | bits[1::2] << 4


def _repacked(frame: BlockFrame, instr: Instr) -> Results:
    (source,) = frame.arrays(instr)
    kind = scalar_of(instr)
    data = _bytes_of(np.ascontiguousarray(source), _source(instr))
    if kind is F4E2M1FN:
        halves = np.stack([data & 0xF, data >> 4], axis=-1).reshape(-1)
        return (np.ascontiguousarray(halves).view(ELEMENTS[kind]),)
    return (data.view(ELEMENTS[kind]),)


RULES: dict[str, Rule] = {
    "addi": _wrapping(np.add),
    "subi": _wrapping(np.subtract),
    "muli": _wrapping(np.multiply),
    "negi": _wrapping(np.negative),
    "divi": _divi,
    "remi": _remi,
    "mulhii": _mulhii,
    "absi": _absi,
    "maxi": _integer_extreme(np.maximum),
    "mini": _integer_extreme(np.minimum),
    "andi": _bitwise(np.bitwise_and),
    "ori": _bitwise(np.bitwise_or),
    "xori": _bitwise(np.bitwise_xor),
    "shli": _shli,
    "shri": _shri,
    "cmpi": _cmpi,
    "exti": _exti,
    "trunci": _trunci,
    "addf": _rounded(np.add, sign_of(_sum)),
    "subf": _rounded(np.subtract, sign_of(_difference)),
    "mulf": _rounded(np.multiply, sign_of(_product)),
    "divf": _rounded(np.divide, sign_of_quotient, *FAST),
    "sqrt": _rounded(np.sqrt, sign_of_root, RoundingCode.APPROX),
    "fma": _rounded(_fma, sign_of(_product_sum)),
    "maxf": _float_extreme,
    "minf": _float_extreme,
    "remf": _remainder,
    "cmpf": _cmpf,
    "negf": _exact_float(_negf),
    "absf": _exact_float(np.abs),
    "ceil": _exact_float(np.ceil),
    "floor": _exact_float(np.floor),
    **{name: _function(native) for name, native in FUNCTIONS.items()},
    "ftof": _ftof,
    "itof": _itof,
    "ftoi": _ftoi,
    "bitcast": _bitcast,
    "pack": _repacked,
    "unpack": _repacked,
}
