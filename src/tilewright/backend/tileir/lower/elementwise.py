"""Elementwise ops: arithmetic, functions, comparisons, bits; guarded where Tile IR is undefined."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ....analysis.needed_precision import form_of
from ....base.dtypes import bf16, f32, int_range
from ....ir.attrs import Overflow, Predicate, Rounding
from ....ir.core import Op, Value
from ....ir.ops.layout import BROADCAST, RESHAPE
from ....ir.ops.memory import EXTENT
from ..bytecode import enums
from ..bytecode.enums import ComparisonCode, NanOrdering, RoundingCode, Signedness
from ..bytecode.program import Val
from ..bytecode.types import F4E2M1FN, F32, I1, TileValueType
from .emitter import Rule, TileEmitter, tile
from .math_expansion import COMPOSED, FORMS, approximated, in_f64, power_of_two

# -------------------------------------------------------------------------------------------------
# Division of rows by one divisor each: multiplication by its reciprocal, computed once.

LARGE = 2.0**64
LEAST = 4
"""The least number of elements that share a divisor which is not a scalar."""


def shared_divisor(em: TileEmitter, op: Op) -> Val | None:
    """Return the scalar divisor of an f32 division before it was broadcast, or None.

    A single number is known early, so that its reciprocal is worth it for any tile.
    """
    if tile(em.get(op.one("lhs"))).elem != F32:
        return None
    divisor, source = op.one("rhs"), op.one("rhs")
    while (maker := em.nesting.definer(source)) is not None and maker.is_a(*REPEATED):
        source = maker.operands[0]
        divisor = source if maker.is_a(BROADCAST) and divisor is op.one("rhs") else divisor
    if not source.tile.shape:
        return em.get(source)
    return em.get(divisor) if divisor.tile.size * LEAST <= op.result.tile.size else None


REPEATED = (BROADCAST, RESHAPE)
"""Ops that only lay out a divisor."""


def multiplied(em: TileEmitter, number: Val, divisor: Val) -> Val:
    """Compute a quotient within 1.5 ulp by two factors, each within the range of f32.

    The reciprocal of what is very large or very small would. Its divisor is therefore scaled by a
    power of two, and so is the number, before it is multiplied: where that overflows, or loses
    bits, the quotient does as well.
    """
    kind = tile(divisor)
    size = em.same("absf", divisor)
    small = _ask(em, ComparisonCode.LESS_THAN, size, em.number(1 / LARGE, kind))
    large = _ask(em, ComparisonCode.GREATER_THAN, size, em.number(LARGE, kind))
    scale = em.one("select", kind, small, em.number(LARGE, kind), em.number(1.0, kind))
    scale = em.one("select", kind, large, em.number(1 / LARGE, kind), scale)
    reciprocal = _reciprocal(em, _rounded(em, "mulf", divisor, scale))
    scaled = _rounded(em, "mulf", number, _repeated(em, scale, number))
    return _rounded(em, "mulf", scaled, _repeated(em, reciprocal, number))


def _reciprocal(em: TileEmitter, value: Val) -> Val:
    """Return the reciprocal of a number of medium size: the hardware's, refined by Newton's method.

    Of 0 and infinity it cannot be made better.
    """
    kind = tile(value)
    one = em.number(1.0, kind)
    near = em.same("divf", one, value, rounding_mode=RoundingCode.FULL, flush_to_zero=False)
    left = _rounded(em, "fma", em.same("negf", value), near, one)
    better = _rounded(em, "fma", near, left, near)
    return em.one("select", kind, _ask(em, ComparisonCode.EQUAL, left, left), better, near)


def _repeated(em: TileEmitter, value: Val, like: Val) -> Val:
    if not tile(value).shape:
        return em.spread(value, tile(like).shape)
    return em.one("broadcast", like.kind, value)


def _ask(em: TileEmitter, predicate: ComparisonCode, a: Val, b: Val) -> Val:
    kind = tile(a).of(I1)
    return em.one(
        "cmpf", kind, a, b, comparison_predicate=predicate, comparison_ordering=NanOrdering.ORDERED
    )


def _rounded(em: TileEmitter, name: str, *operands: Val) -> Val:
    return em.same(name, *operands, rounding_mode=RoundingCode.NEAREST_EVEN, flush_to_zero=False)


# -------------------------------------------------------------------------------------------------
# Arithmetic: floats one to one; integer division is guarded where Tile IR is undefined.

ROUNDINGS: dict[Rounding, enums.RoundingCode] = {
    Rounding.NEAREST_EVEN: enums.RoundingCode.NEAREST_EVEN,
    Rounding.ZERO: enums.RoundingCode.ZERO,
    Rounding.NEG_INF: enums.RoundingCode.NEGATIVE_INF,
    Rounding.POS_INF: enums.RoundingCode.POSITIVE_INF,
    Rounding.APPROX: enums.RoundingCode.APPROX,
    Rounding.FULL: enums.RoundingCode.FULL,
}
OVERFLOWS: dict[Overflow, enums.OverflowCode] = {
    Overflow.NONE: enums.OverflowCode.NONE,
    Overflow.NO_SIGNED_WRAP: enums.OverflowCode.NO_SIGNED_WRAP,
    Overflow.NO_UNSIGNED_WRAP: enums.OverflowCode.NO_UNSIGNED_WRAP,
    Overflow.NO_WRAP: enums.OverflowCode.NO_WRAP,
}


def rounded(em: TileEmitter, op: Op) -> Sequence[Val]:
    """Return the lowering of a float op with a rounding mode."""
    attrs: dict[str, Any] = {"rounding_mode": ROUNDINGS[op.attrs["rounding"]]}
    return (em.same(op.name, *em.all(op), flush_to_zero=op.attrs["ftz"], **attrs),)


def _divf(em: TileEmitter, op: Op) -> Sequence[Val]:
    form = form_of(FORMS, op)
    if form is None and op.attrs["rounding"] not in (Rounding.APPROX, Rounding.FULL):
        return rounded(em, op)
    divisor = shared_divisor(em, op)
    if divisor is not None:
        return (multiplied(em, em.get(op.one("lhs")), divisor),)
    if form is not None:
        return (approximated(em, op, form),)
    # The approximate division gives NaN for inf / 2e38, and the full one 2.02 ulp now and then.
    nearest, ftz = ROUNDINGS[Rounding.NEAREST_EVEN], op.attrs["ftz"]
    return (em.same("divf", *em.all(op), flush_to_zero=ftz, rounding_mode=nearest),)


def _fma(em: TileEmitter, op: Op) -> Sequence[Val]:
    # Tile IR computes that of bf16 in f32, so that ties are rounded twice.
    return (in_f64(em, "fma", em.all(op)),) if op.result.tile.dtype is bf16 else rounded(em, op)


def plain(em: TileEmitter, op: Op) -> Sequence[Val]:
    """Lower an op that is the same in both, without attributes."""
    return (em.same(op.name, *em.all(op)),)


def renamed(name: str) -> Rule:
    """Return an op that Tile IR has under another name."""

    def rule(em: TileEmitter, op: Op) -> Sequence[Val]:
        return (em.same(name, *em.all(op)),)

    return rule


def _extreme(em: TileEmitter, op: Op) -> Sequence[Val]:
    nan, ftz = op.attrs["nan"], op.attrs["ftz"]
    return (em.same(op.name, *em.all(op), propagate_nan=nan, flush_to_zero=ftz),)


def wrapping(em: TileEmitter, op: Op) -> Sequence[Val]:
    """Return an integer op that may promise not to overflow."""
    return (em.same(op.name, *em.all(op), overflow=OVERFLOWS[op.attrs["overflow"]]),)


def signed(em: TileEmitter, op: Op) -> Sequence[Val]:
    """Return an integer op that depends on the sign."""
    return (em.same(op.name, *em.all(op), signedness=is_signed(op.operands[0])),)


def is_signed(value: Value) -> bool:
    """Return whether a tile holds signed integers."""
    return value.tile.dtype.is_signed


def _absi(em: TileEmitter, op: Op) -> Sequence[Val]:
    (arg,) = em.all(op)
    return (em.same("absi", arg) if is_signed(op.one("arg")) else arg,)


# --- division ------------------------------------------------------------------------------------


def _divisor(em: TileEmitter, op: Op) -> tuple[Val, Val | None]:
    """Return a divisor without undefined behaviour, and the mask of zero divisors (None: none).

    Dividing by 1 instead of -1 gives MIN for MIN / -1, and 0 for the remainder.
    """
    lhs, rhs = op.operands
    a, b = em.ranges.of(lhs), em.ranges.of(rhs)
    given = em.get(rhs)
    kind = tile(given)
    one = None
    zero = None
    if b.low <= 0 <= b.high:
        zero = em.compare(ComparisonCode.EQUAL, given, em.number(0, kind))
    wrong = zero
    least = int_range(lhs.tile.dtype)[0]
    if is_signed(lhs) and a.low == least and b.low <= -1 <= b.high:
        overflows = em.one(
            "andi", kind.of(I1),
            em.compare(ComparisonCode.EQUAL, em.get(lhs), em.number(least, kind)),
            em.compare(ComparisonCode.EQUAL, given, em.number(-1, kind)),
        )  # fmt: skip
        wrong = overflows if zero is None else em.same("ori", zero, overflows)
    if wrong is None:
        return given, None
    one = em.number(1, kind)
    return em.one("select", kind, wrong, one, given), zero


def _divi(em: TileEmitter, op: Op) -> Sequence[Val]:
    divisor, zero = _divisor(em, op)
    lhs = em.get(op.one("lhs"))
    rounding = ROUNDINGS[op.attrs["rounding"]]
    quotient = em.same("divi", lhs, divisor, signedness=is_signed(op.one("lhs")), rounding=rounding)
    if zero is None:
        return (quotient,)
    return (em.one("select", lhs.kind, zero, em.number(0, tile(lhs)), quotient),)


def _remi(em: TileEmitter, op: Op) -> Sequence[Val]:
    assert op.attrs["rounding"] is Rounding.ZERO, "other remainders are desugared"
    divisor, zero = _divisor(em, op)
    lhs = em.get(op.one("lhs"))
    rest = em.same("remi", lhs, divisor, signedness=is_signed(op.one("lhs")))
    return (rest if zero is None else em.one("select", lhs.kind, zero, lhs, rest),)


# -------------------------------------------------------------------------------------------------
# Functions of floats: one to one, except exponentials and functions that Tile IR lacks.


def _how(em: TileEmitter, op: Op) -> Sequence[Val]:
    """Lower a function that has a choice between two roundings."""
    return (em.same(op.name, *em.all(op), rounding_mode=ROUNDINGS[op.attrs["rounding"]]),)


def _flushing(em: TileEmitter, op: Op) -> Sequence[Val]:
    return (em.same(op.name, *em.all(op), flush_to_zero=op.attrs["ftz"]),)


def _exp2(em: TileEmitter, op: Op) -> Sequence[Val]:
    (arg,) = em.all(op)
    if op.operands[0].tile.dtype is not f32:
        return (em.same("exp2", arg),)
    return (power_of_two(em, arg),)


def _rough(em: TileEmitter, op: Op) -> Sequence[Val]:
    """Return a function that is more than 2 ulp off in f32."""
    if op.result.tile.dtype is f32:
        return (in_f64(em, op.name, em.all(op)),)
    return plain(em, op)


def _by_need(exact: Rule) -> Rule:
    """Return a rule that uses the fastest form with the needed bits."""

    def rule(em: TileEmitter, op: Op) -> Sequence[Val]:
        form = form_of(FORMS, op)
        return exact(em, op) if form is None else (approximated(em, op, form),)

    return rule


EXACT_RULES: dict[str, Rule] = {
    **dict.fromkeys(("ceil", "floor", "sin", "cos", "log", "log2", "pow", "atan2"), plain),
    **dict.fromkeys(("tan", "sinh", "cosh"), _rough),
    **dict.fromkeys(("exp", "tanh"), _how),
    "exp2": _exp2,
    "rsqrt": _flushing,
    "sqrt": rounded,
    **COMPOSED,
}


# -------------------------------------------------------------------------------------------------
# Comparisons and selection.

PREDICATES: dict[Predicate, ComparisonCode] = {
    Predicate.EQ: ComparisonCode.EQUAL, Predicate.NE: ComparisonCode.NOT_EQUAL,
    Predicate.LT: ComparisonCode.LESS_THAN, Predicate.LE: ComparisonCode.LESS_THAN_OR_EQUAL,
    Predicate.GT: ComparisonCode.GREATER_THAN, Predicate.GE: ComparisonCode.GREATER_THAN_OR_EQUAL,
}  # fmt: skip


def _cmpi(em: TileEmitter, op: Op) -> Sequence[Val]:
    lhs, rhs = em.all(op)
    if _lies_inside(em, op):
        return (em.number(True, tile(lhs).of(I1)),)
    predicate = PREDICATES[op.attrs["predicate"]]
    return (em.compare(predicate, lhs, rhs, signed=is_signed(op.one("lhs"))),)


def _lies_inside(em: TileEmitter, op: Op) -> bool:
    """Return whether an index is compared with an extent that is known to be larger on this way."""
    if not em.least or op.attrs["predicate"] is not Predicate.LT:
        return False
    maker = em.nesting.definer(op.one("rhs"))
    while maker is not None and maker.is_a(BROADCAST, RESHAPE):
        maker = em.nesting.definer(maker.operands[0])
    if maker is None or not maker.is_a(EXTENT):
        return False
    least = em.least.get((maker.one("tensor"), maker.attrs["axis"]), 0)
    return em.ranges.of(op.one("lhs")).high < least


def _cmpf(em: TileEmitter, op: Op) -> Sequence[Val]:
    lhs, rhs = em.all(op)
    predicate = PREDICATES[op.attrs["predicate"]]
    ordering = NanOrdering.UNORDERED if op.attrs["unordered"] else NanOrdering.ORDERED
    return (
        em.one(
            "cmpf", tile(lhs).of(I1), lhs, rhs,
            comparison_predicate=predicate, comparison_ordering=ordering,
        ),
    )  # fmt: skip


def _select(em: TileEmitter, op: Op) -> Sequence[Val]:
    cond, a, b = em.all(op)
    if tile(a).elem == F4E2M1FN:
        return (_select_wide(em, cond, a, b, tile(a)),)
    return (em.one("select", a.kind, cond, a, b),)


def _select_wide(em: TileEmitter, cond: Val, a: Val, b: Val, kind: TileValueType) -> Val:
    """Select as wider floats, which hold every f4: Tile IR does not select f4."""
    wide = [em.one("ftof", kind.of(F32), v) for v in (a, b)]
    return em.one("ftof", kind, em.one("select", kind.of(F32), cond, *wide))


# -------------------------------------------------------------------------------------------------
# Bitwise ops; shift amounts are reduced below the width first, as Tile IR leaves others open.


def _noti(em: TileEmitter, op: Op) -> Sequence[Val]:
    (arg,) = em.all(op)
    return (em.same("xori", arg, em.number(-1, tile(arg))),)


def _fits(em: TileEmitter, op: Op) -> bool:
    """Return whether the amount provably is below the width."""
    amount = em.ranges.of(op.one("rhs"))
    return amount.low >= 0 and amount.high < op.result.tile.dtype.bits


def _small(em: TileEmitter, amount: Val, width: int) -> Val:
    """Return the amount, at most one below the width; read as unsigned."""
    return em.same(
        "mini", amount, em.number(width - 1, tile(amount)), signedness=Signedness.UNSIGNED
    )


def _or_zero(em: TileEmitter, amount: Val, width: int, shifted: Val) -> Val:
    """Select the shifted value, or 0 where the amount is the width or more."""
    kind = tile(shifted)
    inside = em.compare(ComparisonCode.LESS_THAN, amount, em.number(width, kind), signed=False)
    return em.one("select", kind, inside, shifted, em.number(0, kind))


def _shli(em: TileEmitter, op: Op) -> Sequence[Val]:
    lhs, amount = em.all(op)
    overflow = OVERFLOWS[op.attrs["overflow"]]
    if _fits(em, op):
        return (em.same("shli", lhs, amount, overflow=overflow),)
    width = op.result.tile.dtype.bits
    shifted = em.same("shli", lhs, _small(em, amount, width))
    return (_or_zero(em, amount, width, shifted),)


def _shri(em: TileEmitter, op: Op) -> Sequence[Val]:
    lhs, amount = em.all(op)
    signed, width = is_signed(op.one("lhs")), op.result.tile.dtype.bits
    if _fits(em, op):
        return (em.same("shri", lhs, amount, signedness=signed),)
    shifted = em.same("shri", lhs, _small(em, amount, width), signedness=signed)
    return (shifted if signed else _or_zero(em, amount, width, shifted),)


RULES: dict[str, Rule] = {
    **dict.fromkeys(("addf", "subf", "mulf"), rounded),
    "fma": _fma,
    "divf": _divf,
    **dict.fromkeys(("remf", "negf", "absf"), plain),
    **dict.fromkeys(("maxf", "minf"), _extreme),
    **dict.fromkeys(("addi", "subi", "muli", "negi"), wrapping),
    **dict.fromkeys(("maxi", "mini"), signed),
    "divi": _divi,
    "remi": _remi,
    "mulhi": renamed("mulhii"),
    "absi": _absi,
    **{name: _by_need(rule) for name, rule in EXACT_RULES.items()},
    "cmpi": _cmpi,
    "cmpf": _cmpf,
    "select": _select,
    **dict.fromkeys(("andi", "ori", "xori"), plain),
    "noti": _noti,
    "shli": _shli,
    "shri": _shri,
}
