"""Elementwise ops: arithmetic with directed rounding, functions, comparisons, bits, conversions."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ....analysis.needed_precision import form_of, note_of
from ....base.dtypes import AnyDType, bf16, f16, f32, f64, int_range
from ....ir.attrs import Predicate, Rounding
from ....ir.core import Op
from ....ir.ops.elementwise import MATH_OPS
from ...llvm.builder import Vec, absolute, constant, fma, where
from .emitter import Compute, LlvmEmitter, bits_of, register_type

# -------------------------------------------------------------------------------------------------
# Float ops on every float type: f16 and bf16 are widened, computed, and rounded once.

NARROW = (f16, bf16)


def widened(
    emitter: LlvmEmitter,
    op: Op,
    args: Sequence[Vec],
    compute: Callable[..., Vec],
    to: AnyDType = f32,
) -> Vec:
    """Compute in f32 (or `to`) for types without arithmetic."""
    dtype = op.operands[0].tile.dtype
    if dtype not in NARROW:
        return compute(*args)
    wide = [emitter.convert(x, dtype, to) for x in args]
    result = compute(*wide)
    return emitter.convert(result, to, dtype)


def simple(compute: Callable[..., Vec]) -> Compute:
    """Return an op that is one expression of floats."""

    def emit(emitter: LlvmEmitter, op: Op, args: Sequence[Vec]) -> Vec:
        return widened(emitter, op, args, compute)

    return emit


def intrinsic(name: str) -> Callable[..., Vec]:
    """Return an intrinsic of LLVM, on operands of one type."""

    def compute(first: Vec, *others: Vec) -> Vec:
        return first.intrinsic(name, *others)

    return compute


def library(name: str) -> Compute:
    """Return an op that is a function of the math library."""

    def emit(emitter: LlvmEmitter, op: Op, args: Sequence[Vec]) -> Vec:
        def compute(*wide: Vec) -> Vec:
            kind = "f64" if wide[0].elem == "double" else "f32"
            return emitter.call(emitter.library.use(name, kind, wide[0].lanes), wide[0].elem, wide)

        return widened(emitter, op, args, compute)

    return emit


def by_need(exact: Compute) -> Compute:
    """Return an op in the approximate form that the target has for it, where that is enough."""

    def emit(emitter: LlvmEmitter, op: Op, args: Sequence[Vec]) -> Vec:
        form = form_of(emitter.forms, op)
        if form is None:
            return exact(emitter, op, args)
        emitter.notes[note_of(op, form)] = None
        return widened(emitter, op, args, form.write)

    return emit


def wide_type(dtype: AnyDType) -> AnyDType:
    """Return the type a float is computed in."""
    return f64 if dtype is f64 else f32


# -------------------------------------------------------------------------------------------------
# Directed rounding: round to nearest, find the side of the exact result, step by one ulp.
#
# f32 products, quotients and roots are compared exactly in f64. In f64 the error is found by
# error-free transformations (TwoSum, fma); operands are first scaled by powers of two, so that the
# remainder neither overflows nor underflows.

LARGEST = {
    "float": float.fromhex("0x1.fffffep127"),
    "double": float.fromhex("0x1.fffffffffffffp1023"),
}
SMALLEST_BITS = 1
FAR, STEP = 300, 600
"""Operands beyond 2^FAR (or below 2^-FAR) are scaled by 2^-STEP (or 2^STEP)."""

UP, DOWN = Rounding.POS_INF, Rounding.NEG_INF
DIRECTED = (Rounding.ZERO, UP, DOWN)


def add(mode: Rounding, a: Vec, b: Vec) -> Vec:
    """Compute a + b; the rounding error of a sum is itself a float (TwoSum)."""
    total = a + b
    a_larger = absolute(a) > absolute(b)
    large, small = where(a_larger, a, b), where(a_larger, b, a)
    error = small - (total - large)
    result = adjust(mode, total, error > 0.0, error < 0.0, finite(a) & finite(b))
    if mode is not DOWN:
        return result
    # An exact zero is -0 when rounding down, unless both operands are +0.
    bits = a.bits() | b.bits()
    negative = total.eq(0.0) & bits.ne(0)
    return where(negative, constant(result, -0.0), result)


def subtract(mode: Rounding, a: Vec, b: Vec) -> Vec:
    """Compute a - b."""
    return add(mode, a, -b)


def multiply(mode: Rounding, a: Vec, b: Vec) -> Vec:
    """Compute a * b."""
    product = a * b
    ok = finite(a) & finite(b)
    if a.elem == "float":
        exact, rounded = a.extend() * b.extend(), product.extend()
        return adjust(mode, product, exact > rounded, exact < rounded, ok)
    (near_a, power_a), (near_b, power_b) = centred(a), centred(b)
    error = fma(near_a, near_b, -shifted(product, power_a + power_b))
    return adjust(mode, product, error > 0.0, error < 0.0, ok)


def divide(mode: Rounding, a: Vec, b: Vec) -> Vec:
    """Compute a / b."""
    quotient = a / b
    ok = finite(a) & finite(b) & b.ne(0.0)
    if a.elem == "float":
        wide_a, back = a.extend(), quotient.extend() * b.extend()
        above, below = wide_a > back, wide_a < back
    else:
        (near_a, power_a), (near_b, power_b) = centred(a), centred(b)
        error = fma(-shifted(quotient, power_a - power_b), near_b, near_a)
        above, below = error > 0.0, error < 0.0
    negative = b < 0.0
    return adjust(mode, quotient, where(negative, below, above), where(negative, above, below), ok)


def square_root(mode: Rounding, a: Vec) -> Vec:
    """Return the square root of a."""
    root = a.intrinsic("sqrt")
    if a.elem == "float":
        wide, back = a.extend(), root.extend() * root.extend()
        return adjust(mode, root, wide > back, wide < back, finite(a))
    tiny = absolute(a) < 2.0**-FAR
    near = where(tiny, a * 2.0**STEP, a)
    near_root = where(tiny, root * 2.0 ** (STEP // 2), root)
    error = fma(-near_root, near_root, near)
    return adjust(mode, root, error > 0.0, error < 0.0, finite(a))


def adjust(mode: Rounding, nearest: Vec, above: Vec, below: Vec, finite_operands: Vec) -> Vec:
    """Move a rounded result to the neighbour where the exact one lies beyond it.

    `above` and `below` say on which side of `nearest` the exact result lies. An infinity from
    finite operands is an overflow, which the modes that round towards zero there must not give.
    """
    up, down = next_up(nearest), next_down(nearest)
    largest = LARGEST[nearest.elem]
    overflow = absolute(nearest).eq(float("inf")) & finite_operands
    positive, negative = nearest > 0.0, nearest < 0.0
    if mode is UP:
        moved = where(above, up, nearest)
        return where(overflow & negative, constant(nearest, -largest), moved)
    if mode is DOWN:
        moved = where(below, down, nearest)
        return where(overflow & positive, constant(nearest, largest), moved)
    moved = where(positive & below, down, where(negative & above, up, nearest))
    bound = where(positive, constant(nearest, largest), -largest)
    return where(overflow, bound, moved)


def next_up(x: Vec) -> Vec:
    """Return the next greater float (of finite ones)."""
    bits = x.bits()
    stepped = where(x > 0.0, bits + 1, bits - 1)
    return where(x.eq(0.0), constant(bits, SMALLEST_BITS), stepped).as_float()


def next_down(x: Vec) -> Vec:
    """Return the next lesser float."""
    return -next_up(-x)


def finite(x: Vec) -> Vec:
    """Return a mask of the elements that are neither infinite nor NaN."""
    return absolute(x) < float("inf")


def centred(x: Vec) -> tuple[Vec, Vec]:
    """Return x scaled towards 1, and the number of STEPs: -1, 0 or 1."""
    size = absolute(x)
    small, large = size < 2.0**-FAR, size > 2.0**FAR
    scaled = where(small, x * 2.0**STEP, where(large, x * 2.0**-STEP, x))
    bits = x.bits()
    power = where(small, constant(bits, 1), where(large, constant(bits, -1), constant(bits, 0)))
    return scaled, power


def shifted(x: Vec, power: Vec) -> Vec:
    """Return x times 2^(STEP * power), for powers from -2 to 2."""
    once = where(power > 0, constant(x, 2.0**STEP), constant(x, 2.0**-STEP))
    x = where(power.eq(0), x, x * once)
    twice = (power > 1) | (power < -1)
    return where(twice, x * once, x)


# -------------------------------------------------------------------------------------------------
# Arithmetic: floats in the given rounding, integers total (they wrap, x / 0 = 0, MIN / -1 = MIN).

SIGN_BIT = -0x8000


def rounded(nearest: Callable[..., Vec], directed: Callable[..., Vec]) -> Compute:
    """Return the emitter of an op with any direction of rounding."""

    def emit(emitter: LlvmEmitter, op: Op, args: Sequence[Vec]) -> Vec:
        mode = op.attrs["rounding"]
        if mode in DIRECTED:
            return widened(emitter, op, args, lambda *wide: directed(mode, *wide))
        return widened(emitter, op, args, nearest)

    return emit


def _fma(emitter: LlvmEmitter, op: Op, args: Sequence[Vec]) -> Vec:
    return widened(emitter, op, args, fma, to=f64)


def _sign(wide: Callable[[Vec], Vec], narrow: Callable[[Vec], Vec]) -> Compute:
    """Return an op on the sign alone, which 16-bit floats have in their highest bit."""

    def emit(emitter: LlvmEmitter, op: Op, args: Sequence[Vec]) -> Vec:
        return (narrow if op.result.tile.dtype in NARROW else wide)(*args)

    return emit


def _extreme(name: str) -> Compute:
    def emit(emitter: LlvmEmitter, op: Op, args: Sequence[Vec]) -> Vec:
        # `maximum` gives NaN if there is one, `maximumnum` the other operand.
        word = name if op.attrs["nan"] else f"{name}num"
        return widened(emitter, op, args, intrinsic(word))

    return emit


def plain(compute: Callable[..., Vec]) -> Compute:
    """Return an op on integers that is one expression."""

    def emit(emitter: LlvmEmitter, op: Op, args: Sequence[Vec]) -> Vec:
        return compute(*args)

    return emit


def by_sign(signed: str, unsigned: str) -> Compute:
    """Return an intrinsic on integers that depends on their signedness."""

    def emit(emitter: LlvmEmitter, op: Op, args: Sequence[Vec]) -> Vec:
        word = signed if op.operands[0].tile.dtype.is_signed else unsigned
        return args[0].intrinsic(word, args[1])

    return emit


def _safe_divisor(op: Op, a: Vec, b: Vec) -> Vec:
    """Return the divisor, but 1 where the division would trap; both are numbers for sure."""
    dtype = op.operands[0].tile.dtype
    bad = b.eq(0)
    if dtype.is_signed:
        bad = bad | (a.eq(int_range(dtype)[0]) & b.eq(-1))
    return where(bad, constant(b, 1), b)


def _quotient_and_rest(op: Op, a: Vec, b: Vec) -> tuple[Vec, Vec]:
    """Return the truncated quotient and the remainder, by a divisor that cannot trap."""
    safe = _safe_divisor(op, a, b)
    quotient = a.binary("sdiv" if op.operands[0].tile.dtype.is_signed else "udiv", safe)
    return quotient, a - quotient * safe


def _divi(emitter: LlvmEmitter, op: Op, args: Sequence[Vec]) -> Vec:
    a, b = (x.frozen() for x in args)
    quotient, rest = _quotient_and_rest(op, a, b)
    if (mode := op.attrs["rounding"]) is not Rounding.ZERO:
        signed = op.operands[0].tile.dtype.is_signed
        opposite = (rest ^ b) < 0 if signed else rest.ne(rest)
        if mode is Rounding.NEG_INF:
            quotient = where(rest.ne(0) & opposite, quotient - 1, quotient)
        else:
            same = opposite ^ 1
            quotient = where(rest.ne(0) & same, quotient + 1, quotient)
    return where(b.eq(0), constant(quotient, 0), quotient)


def _remi(emitter: LlvmEmitter, op: Op, args: Sequence[Vec]) -> Vec:
    a, b = (x.frozen() for x in args)
    _, rest = _quotient_and_rest(op, a, b)
    if op.attrs["rounding"] is Rounding.NEG_INF and op.operands[0].tile.dtype.is_signed:
        rest = where(rest.ne(0) & ((rest ^ b) < 0), rest + b, rest)
    return where(b.eq(0), a, rest)


def _mulhi(emitter: LlvmEmitter, op: Op, args: Sequence[Vec]) -> Vec:
    a, b = args
    bits = op.operands[0].tile.dtype.bits
    if bits == 64:
        return _mulhi_64(a, b)
    wide = f"i{2 * bits}"
    product = a.cast("zext", wide) * b.cast("zext", wide)
    return product.lshr(bits).cast("trunc", f"i{bits}")


def _mulhi_64(a: Vec, b: Vec) -> Vec:
    """Compute the high half by 32-bit halves: 128-bit products are calls on some machines."""
    low = 0xFFFFFFFF
    a_low, a_high, b_low, b_high = a & low, a.lshr(32), b & low, b.lshr(32)
    first = a_low * b_low
    middle = a_high * b_low + first.lshr(32)
    other = a_low * b_high + (middle & low)
    return a_high * b_high + middle.lshr(32) + other.lshr(32)


def _absi(emitter: LlvmEmitter, op: Op, args: Sequence[Vec]) -> Vec:
    (a,) = args
    if not op.operands[0].tile.dtype.is_signed:
        return a
    return where(a < 0, -a, a)


ARITHMETIC_TABLE: dict[str, Compute] = {
    "addf": rounded(Vec.__add__, add),
    "subf": rounded(Vec.__sub__, subtract),
    "mulf": rounded(Vec.__mul__, multiply),
    "divf": by_need(rounded(Vec.__truediv__, divide)),
    "fma": _fma,
    "remf": library("remf"),
    "negf": _sign(Vec.__neg__, lambda bits: bits ^ SIGN_BIT),
    "absf": _sign(absolute, lambda bits: bits & ~SIGN_BIT),
    "maxf": _extreme("maximum"),
    "minf": _extreme("minimum"),
    "addi": plain(Vec.__add__),
    "subi": plain(Vec.__sub__),
    "muli": plain(Vec.__mul__),
    "divi": _divi,
    "remi": _remi,
    "mulhi": _mulhi,
    "negi": plain(Vec.__neg__),
    "absi": _absi,
    "maxi": by_sign("smax", "umax"),
    "mini": by_sign("smin", "umin"),
}


# -------------------------------------------------------------------------------------------------
# Elementary functions: the polynomials of `backend.libm`, and CPU instructions.

MATH_TABLE: dict[str, Compute] = {
    **{op.name: by_need(library(op.name)) for op in MATH_OPS},
    "ceil": simple(intrinsic("ceil")),
    "floor": simple(intrinsic("floor")),
    "round": simple(intrinsic("roundeven")),
    "sqrt": rounded(intrinsic("sqrt"), square_root),
}


# -------------------------------------------------------------------------------------------------
# Comparisons, by the signedness of integers and with a given result for NaN, and selection.


def _cmpi(emitter: LlvmEmitter, op: Op, args: Sequence[Vec]) -> Vec:
    a, b = args
    predicate = Predicate(op.attrs["predicate"])
    sign = "s" if op.operands[0].tile.dtype.is_signed else "u"
    word = predicate if predicate in (Predicate.EQ, Predicate.NE) else sign + predicate
    return a.compare("", word, b)


def _cmpf(emitter: LlvmEmitter, op: Op, args: Sequence[Vec]) -> Vec:
    dtype = op.operands[0].tile.dtype
    a, b = args
    if dtype in NARROW:
        a, b = (emitter.convert(x, dtype, wide_type(dtype)) for x in args)
    word = ("u" if op.attrs["unordered"] else "o") + Predicate(op.attrs["predicate"])
    return a.compare(word, "", b)


def _select(emitter: LlvmEmitter, op: Op, args: Sequence[Vec]) -> Vec:
    cond, a, b = args
    return where(cond, a, b)


COMPARISON_TABLE: dict[str, Compute] = {"cmpi": _cmpi, "cmpf": _cmpf, "select": _select}


# -------------------------------------------------------------------------------------------------
# Bitwise ops; shifts by the width or more are 0, or the sign.
#
# Such shifts are poison in LLVM, which must not spread: the result is frozen.


def _is_small(by: Vec, bits: int) -> bool:
    """Return whether an amount is a constant below the width."""
    digits = by.name.removeprefix(f"splat ({by.elem} ").removesuffix(")")
    return digits.isdigit() and int(digits) < bits


def _shli(emitter: LlvmEmitter, op: Op, args: Sequence[Vec]) -> Vec:
    a, by = args
    bits = op.result.tile.dtype.bits
    if _is_small(by, bits):
        return a << by
    inside = by.compare("", "ult", bits)
    return where(inside, (a << by).frozen(), constant(a, 0))


def _shri(emitter: LlvmEmitter, op: Op, args: Sequence[Vec]) -> Vec:
    a, by = args
    dtype = op.result.tile.dtype
    if _is_small(by, dtype.bits):
        return a.ashr(by) if dtype.is_signed else a.lshr(by)
    inside = by.compare("", "ult", dtype.bits)
    if dtype.is_signed:
        return a.ashr(where(inside, by, dtype.bits - 1))
    return where(inside, a.lshr(by).frozen(), constant(a, 0))


def _not(a: Vec) -> Vec:
    return a ^ -1


BITWISE_TABLE: dict[str, Compute] = {
    "andi": plain(Vec.__and__),
    "ori": plain(Vec.__or__),
    "xori": plain(Vec.__xor__),
    "noti": plain(_not),
    "shli": _shli,
    "shri": _shri,
}


# -------------------------------------------------------------------------------------------------
# Conversions between element types: rounded once, saturating to integers, never a library call.


def _to_float(emitter: LlvmEmitter, op: Op, args: Sequence[Vec]) -> Vec:
    return emitter.convert(args[0], op.operands[0].tile.dtype, op.attrs["to"])


def _ftoi(emitter: LlvmEmitter, op: Op, args: Sequence[Vec]) -> Vec:
    dtype: AnyDType = op.operands[0].tile.dtype
    return saturated(emitter.convert(args[0], dtype, wide_type(dtype)), op.attrs["to"])


def saturated(x: Vec, to: AnyDType) -> Vec:
    """Return a float as an integer: towards zero, the nearest bound outside, 0 for NaN.

    Both bounds are (one past) powers of two, so they are exact; what is converted is always inside,
    because a conversion instruction has no defined result outside.
    """
    low, high = int_range(to)
    too_high = x >= float(high + 1)
    x = where(x < float(low), constant(x, float(low)), x)
    inside = where(too_high, constant(x, 0.0), x)
    inside = where(inside.is_nan(), constant(x, 0.0), inside)
    wide = f"i{max(to.bits, 32)}"
    signed = to.is_signed or to.bits < 32
    result = inside.cast("fptosi" if signed else "fptoui", wide)
    if to.bits < 32:
        result = result.cast("trunc", f"i{to.bits}")
    return where(too_high, constant(result, bits_of(to, high)), result)


def _exti(emitter: LlvmEmitter, op: Op, args: Sequence[Vec]) -> Vec:
    word = "sext" if op.operands[0].tile.dtype.is_signed else "zext"
    return args[0].cast(word, register_type(op.attrs["to"]))


def _trunci(emitter: LlvmEmitter, op: Op, args: Sequence[Vec]) -> Vec:
    return args[0].cast("trunc", register_type(op.attrs["to"]))


def _bitcast(emitter: LlvmEmitter, op: Op, args: Sequence[Vec]) -> Vec:
    kind = register_type(op.attrs["to"])
    return args[0] if args[0].elem == kind else args[0].cast("bitcast", kind)


def _unpack(emitter: LlvmEmitter, op: Op, args: Sequence[Vec]) -> Vec:
    """Return one half of a byte; the arguments are the byte and the number of the half."""
    byte, side = args
    return byte.lshr(side << 2) & 15


def _pack(emitter: LlvmEmitter, op: Op, args: Sequence[Vec]) -> Vec:
    low, high = args
    return (low & 15) | (high << 4)


CONVERSION_TABLE: dict[str, Compute] = {
    "ftof": _to_float,
    "ftoi": _ftoi,
    "itof": _to_float,
    "exti": _exti,
    "trunci": _trunci,
    "bitcast": _bitcast,
    "unpack": _unpack,
    "pack": _pack,
}

TABLE: dict[str, Compute] = {
    **ARITHMETIC_TABLE, **MATH_TABLE, **COMPARISON_TABLE, **BITWISE_TABLE, **CONVERSION_TABLE,
}  # fmt: skip
