"""Arithmetic: floats rounded as asked, integers total (they wrap, x / 0 = 0, MIN / -1 = MIN)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ....base.dtypes import f64, int_range
from ....ir.attrs import Rounding
from ....ir.core import Op
from ..functions.text import Value as Vec
from ..functions.text import absolute, constant, fma, where
from . import rounding
from .emitter import Compute, Emitter
from .floats import NARROW, intrinsic, library, widened

SIGN_BIT = -0x8000


def rounded(nearest: Callable[..., Vec], directed: Callable[..., Vec]) -> Compute:
    """An op that can round in every direction."""

    def emit(emitter: Emitter, op: Op, args: Sequence[Vec]) -> Vec:
        mode = op.attrs["rounding"]
        if mode in rounding.DIRECTED:
            return widened(emitter, op, args, lambda *wide: directed(mode, *wide))
        return widened(emitter, op, args, nearest)

    return emit


def _fma(emitter: Emitter, op: Op, args: Sequence[Vec]) -> Vec:
    return widened(emitter, op, args, fma, to=f64)


def _sign(wide: Callable[[Vec], Vec], narrow: Callable[[Vec], Vec]) -> Compute:
    """An op on the sign alone, which 16-bit floats have in their highest bit."""

    def emit(emitter: Emitter, op: Op, args: Sequence[Vec]) -> Vec:
        return (narrow if op.result.tile.dtype in NARROW else wide)(*args)

    return emit


def _extreme(name: str) -> Compute:
    def emit(emitter: Emitter, op: Op, args: Sequence[Vec]) -> Vec:
        # `maximum` gives NaN if there is one, `maximumnum` the other operand.
        word = name if op.attrs["nan"] else f"{name}num"
        return widened(emitter, op, args, intrinsic(word))

    return emit


def plain(compute: Callable[..., Vec]) -> Compute:
    """An op on integers that is one expression."""

    def emit(emitter: Emitter, op: Op, args: Sequence[Vec]) -> Vec:
        return compute(*args)

    return emit


def by_sign(signed: str, unsigned: str) -> Compute:
    """An intrinsic on integers that depends on their signedness."""

    def emit(emitter: Emitter, op: Op, args: Sequence[Vec]) -> Vec:
        word = signed if op.operands[0].tile.dtype.is_signed else unsigned
        return args[0].intrinsic(word, args[1])

    return emit


def _safe_divisor(op: Op, a: Vec, b: Vec) -> Vec:
    """The divisor, but 1 where the division would trap; both are numbers for sure."""
    dtype = op.operands[0].tile.dtype
    bad = b.eq(0)
    if dtype.is_signed:
        bad = bad | (a.eq(int_range(dtype)[0]) & b.eq(-1))
    return where(bad, constant(b, 1), b)


def _quotient_and_rest(op: Op, a: Vec, b: Vec) -> tuple[Vec, Vec]:
    """Both, truncated, by a divisor that cannot trap."""
    safe = _safe_divisor(op, a, b)
    quotient = a.binary("sdiv" if op.operands[0].tile.dtype.is_signed else "udiv", safe)
    return quotient, a - quotient * safe


def _divi(emitter: Emitter, op: Op, args: Sequence[Vec]) -> Vec:
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


def _remi(emitter: Emitter, op: Op, args: Sequence[Vec]) -> Vec:
    a, b = (x.frozen() for x in args)
    _, rest = _quotient_and_rest(op, a, b)
    if op.attrs["rounding"] is Rounding.NEG_INF and op.operands[0].tile.dtype.is_signed:
        rest = where(rest.ne(0) & ((rest ^ b) < 0), rest + b, rest)
    return where(b.eq(0), a, rest)


def _mulhi(emitter: Emitter, op: Op, args: Sequence[Vec]) -> Vec:
    a, b = args
    bits = op.operands[0].tile.dtype.bits
    if bits == 64:
        return _mulhi_64(a, b)
    wide = f"i{2 * bits}"
    product = a.cast("zext", wide) * b.cast("zext", wide)
    return product.lshr(bits).cast("trunc", f"i{bits}")


def _mulhi_64(a: Vec, b: Vec) -> Vec:
    """By halves: 128-bit products are calls on some machines."""
    low = 0xFFFFFFFF
    a_low, a_high, b_low, b_high = a & low, a.lshr(32), b & low, b.lshr(32)
    first = a_low * b_low
    middle = a_high * b_low + first.lshr(32)
    other = a_low * b_high + (middle & low)
    return a_high * b_high + middle.lshr(32) + other.lshr(32)


def _absi(emitter: Emitter, op: Op, args: Sequence[Vec]) -> Vec:
    (a,) = args
    if not op.operands[0].tile.dtype.is_signed:
        return a
    return where(a < 0, -a, a)


TABLE: dict[str, Compute] = {
    "addf": rounded(Vec.__add__, rounding.add),
    "subf": rounded(Vec.__sub__, rounding.subtract),
    "mulf": rounded(Vec.__mul__, rounding.multiply),
    "divf": rounded(Vec.__truediv__, rounding.divide),
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
