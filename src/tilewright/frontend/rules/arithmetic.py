"""Rules for arithmetic, its operators, and min, max, abs of Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...base.dtypes import AnyDType, f32
from ...base.errors import Code
from ...base.shapes import ceil_div as static_ceil_div
from ...ir.attrs import Overflow, Predicate, Rounding
from ...ir.core import Value
from ..describe import describe
from ..emit import Emitter
from ..operands import (
    DIRECTED,
    arithmetic_pair,
    as_floats,
    float_pair,
    flush,
    has_arithmetic,
    int_pair,
    one_float,
    one_int,
    parts,
    rounding_for,
    three,
    word,
)  # fmt: skip
from ..pointers import is_pointer, moved
from ..promote import is_extent, is_weak

Rule = Callable[..., Any]

# --- operators -------------------------------------------------------------------------------


def _either(name: str, verb: str) -> Rule:
    """An operator that is one op on integers and its twin on floats."""

    def rule(em: Emitter, a: Any, b: Any) -> Value:
        left, right = arithmetic_pair(em, a, b, verb)
        return em.emit(name + _suffix(left), left, right)

    return rule


def _moving(name: str, verb: str) -> Rule:
    """`+` and `-`: also of pointers, which move by elements."""
    numbers = _either(name, verb)

    def rule(em: Emitter, a: Any, b: Any) -> Value:
        if is_pointer(a):
            return moved(em, a, b, back=name == "sub")
        if is_pointer(b) and name == "add":
            return moved(em, b, a)
        result: Value = numbers(em, a, b)
        return result

    return rule


def _suffix(value: Value) -> str:
    return "i" if value.tile.dtype.is_int else "f"


def true_div(em: Emitter, a: Any, b: Any, *, precise: Any = False) -> Value:
    """The quotient of floats."""
    exact = em.static_bool(precise, "precise")
    x, y = as_floats((a, b))
    if all(is_extent(em, n) or type(n) is int for n in (x, y)):
        x, y = (em.cast(em.tile(n), f32) for n in (x, y))  # as of Python ints
    left, right = arithmetic_pair(em, x, y, "divide")
    dtype = left.tile.dtype
    if dtype.is_int:
        em.fail(
            Code.DTYPE,
            f"`/` divides floats, not {dtype.name}",
            expected="f16, bf16, f32 or f64",
            got=f"{describe(a)} and {describe(b)}",
            hint=f"use // to round down, or convert: {_converted(a, b)}",
        )
    return em.emit("divf", left, right, rounding=_division(dtype, exact))


def _converted(a: Any, b: Any) -> str:
    left = repr(a) if is_weak(a) else "a.astype(tilewright.f32)"
    right = repr(b) if is_weak(b) else "b.astype(tilewright.f32)"
    return f"{left} / {right}"


def _division(dtype: AnyDType, exact: bool) -> Rounding:
    """Only f32 has a faster division that is not rounded correctly."""
    return Rounding.FULL if dtype is f32 and not exact else Rounding.NEAREST_EVEN


def _operator_truediv(em: Emitter, a: Any, b: Any) -> Value:
    return true_div(em, a, b)


def floor_div(em: Emitter, a: Any, b: Any) -> Any:
    """The quotient rounded down."""
    if is_weak(a) and is_weak(b):
        return _static(em, lambda: a // b, a, b)
    return _floor_div(em, a, b)


def _floor_div(em: Emitter, a: Any, b: Any) -> Value:
    left, right = arithmetic_pair(em, a, b, "divide")
    if left.tile.dtype.is_int:
        return em.emit("divi", left, right, rounding=_down(left.tile.dtype))
    # Correctly rounded, so that a quotient that is a whole number stays one.
    return em.emit("floor", em.emit("divf", left, right))


def _down(dtype: AnyDType) -> Rounding:
    """How to floor: for unsigned numbers that is toward zero."""
    return Rounding.NEG_INF if dtype.is_signed else Rounding.ZERO


def _mod(em: Emitter, a: Any, b: Any) -> Value:
    left, right = arithmetic_pair(em, a, b, "take the remainder of")
    if left.tile.dtype.is_int:
        return em.emit("remi", left, right, rounding=_down(left.tile.dtype))
    return _float_mod(em, left, right)


def _float_mod(em: Emitter, a: Value, b: Value) -> Value:
    """Python's float remainder: the divisor's sign, also where the remainder is 0."""
    dtype, shape = a.tile.dtype, a.tile.shape
    zero, minus_zero = em.constant(0.0, dtype, shape), em.constant(-0.0, dtype, shape)
    rest = em.emit("remf", a, b)
    negative = em.emit("cmpf", b, zero, predicate=Predicate.LT)
    below = em.emit("cmpf", rest, zero, predicate=Predicate.LT)
    moved = em.emit("select", em.emit("xori", negative, below), em.emit("addf", rest, b), rest)
    nothing = em.emit("cmpf", rest, zero, predicate=Predicate.EQ)
    return em.emit("select", nothing, em.emit("select", negative, minus_zero, zero), moved)


def _divmod(em: Emitter, a: Any, b: Any) -> tuple[Value, Value]:
    return _floor_div(em, a, b), _mod(em, a, b)


def _neg(em: Emitter, a: Any) -> Value:
    has_arithmetic(em, a, "negate")
    value = em.numbers(a)
    return em.emit("neg" + _suffix(value), value)


def _pos(em: Emitter, a: Any) -> Value:
    has_arithmetic(em, a, "take the sign of")
    return em.numbers(a)


# --- on integers and floats alike ------------------------------------------------------------


def absolute(em: Emitter, x: Any) -> Any:
    """The absolute value; constants stay constants."""
    if is_weak(x):
        return abs(x)
    has_arithmetic(em, x, "take the absolute value of")
    value = em.numbers(x)
    dtype = value.tile.dtype
    if dtype.is_int and not dtype.is_signed:
        return value
    return em.emit("abs" + _suffix(value), value)


def _extreme(name: str, choose: Callable[..., Any]) -> Rule:
    """The greater or the lesser, element by element; NaN wins."""

    def rule(em: Emitter, a: Any, b: Any) -> Any:
        if is_weak(a) and is_weak(b):
            return choose(a, b)
        left, right = arithmetic_pair(em, a, b, f"take the {name}imum of")
        return em.emit(name + _suffix(left), left, right)

    return rule


maximum, minimum = _extreme("max", max), _extreme("min", min)


def clamp(em: Emitter, x: Any, low: Any, high: Any) -> Any:
    """The nearest value from low to high."""
    return minimum(em, maximum(em, x, low), high)


def _of_scalars(name: str, elementwise: Rule) -> Rule:
    """min and max of Python: of scalars only, since on a tile people mean two other things."""

    def rule(em: Emitter, a: Any, *rest: Any) -> Any:
        values = (a, *rest) if rest else parts(a)
        if not values:
            em.fail(Code.CALL, f"`{name}` of nothing", expected="at least one value", got="none")
        for x in values:
            if isinstance(x, Value) and x.tile.rank:
                em.fail(
                    Code.TYPE,
                    f"`{name}` takes scalars",
                    expected="numbers and scalars",
                    got=describe(x),
                    hint=f"use tl.{name}imum(a, b) on elements, or tl.reduce_{name}(x, axis)",
                )
        result = values[0]
        for x in values[1:]:
            result = elementwise(em, result, x)
        return result

    return rule


scalar_max, scalar_min = _of_scalars("max", maximum), _of_scalars("min", minimum)


def ceil_div(em: Emitter, a: Any, b: Any) -> Any:
    """The quotient of integers rounded up; constants stay constants."""
    if type(a) is int and type(b) is int:
        return _static(em, lambda: static_ceil_div(a, b), a, b)
    left, right = int_pair(em, a, b, "ceil_div")
    return em.emit("divi", left, right, rounding=Rounding.POS_INF)


def _static(em: Emitter, compute: Callable[[], Any], a: Any, b: Any) -> Any:
    try:
        return compute()
    except ZeroDivisionError:
        em.fail(Code.LITERAL, "division by zero", expected="a divisor", got=f"{a!r} by {b!r}")


# --- integers --------------------------------------------------------------------------------


def _wrapping(name: str) -> Rule:
    def rule(em: Emitter, a: Any, b: Any, *, overflow: Any = Overflow.NONE) -> Value:
        left, right = int_pair(em, a, b, name)
        return em.emit(name, left, right, overflow=word(em, overflow, Overflow, "overflow"))

    return rule


def _ints(name: str, op: str | None = None) -> Rule:
    def rule(em: Emitter, a: Any, b: Any) -> Value:
        return em.emit(op or name, *int_pair(em, a, b, name))

    return rule


def divi(em: Emitter, a: Any, b: Any, *, rounding: Any = Rounding.ZERO) -> Value:
    """The quotient of integers, rounded as asked."""
    left, right = int_pair(em, a, b, "divi")
    mode = word(em, rounding, Rounding, "rounding", DIRECTED)
    if mode is Rounding.NEG_INF:
        mode = _down(left.tile.dtype)
    return em.emit("divi", left, right, rounding=mode)


def negi(em: Emitter, x: Any, *, overflow: Any = Overflow.NONE) -> Value:
    """The negative of integers, wrapping."""
    value = one_int(em, x, "negi")
    return em.emit("negi", value, overflow=word(em, overflow, Overflow, "overflow"))


def absi(em: Emitter, x: Any) -> Value:
    """The absolute value of integers."""
    return em.emit("absi", one_int(em, x, "absi"))


# --- floats ----------------------------------------------------------------------------------


def _rounded(name: str, extra: tuple[Rounding, ...] = ()) -> Rule:
    def rule(
        em: Emitter, a: Any, b: Any, *, rounding: Any = Rounding.NEAREST_EVEN, ftz: Any = False
    ) -> Value:
        left, right = float_pair(em, a, b, name)
        dtype = left.tile.dtype
        mode = rounding_for(em, rounding, dtype, name, extra)
        return em.emit(name, left, right, rounding=mode, ftz=flush(em, ftz, dtype, name))

    return rule


def fma(
    em: Emitter, a: Any, b: Any, c: Any, *, rounding: Any = Rounding.NEAREST_EVEN, ftz: Any = False
) -> Value:
    """a * b + c, rounded once."""
    x, y, z = three(em, a, b, c, "use `fma` on")
    dtype = one_float(em, x, "fma").tile.dtype
    mode = word(em, rounding, Rounding, "rounding of `fma`", (Rounding.NEAREST_EVEN,))
    return em.emit("fma", x, y, z, rounding=mode, ftz=flush(em, ftz, dtype, "fma"))


def remf(em: Emitter, a: Any, b: Any) -> Value:
    """The remainder of floats with the sign of a."""
    return em.emit("remf", *float_pair(em, a, b, "remf"))


def _float_extreme(name: str) -> Rule:
    def rule(em: Emitter, a: Any, b: Any, *, nan: Any = True, ftz: Any = False) -> Value:
        left, right = float_pair(em, a, b, name)
        flushed = flush(em, ftz, left.tile.dtype, name)
        return em.emit(name, left, right, nan=em.static_bool(nan, "nan"), ftz=flushed)

    return rule


def _float_unary(name: str) -> Rule:
    def rule(em: Emitter, x: Any) -> Value:
        return em.emit(name, one_float(em, x, name))

    return rule


RULES: dict[str, Rule] = {
    "operator.add": _moving("add", "add"),
    "operator.sub": _moving("sub", "subtract"),
    "operator.mul": _either("mul", "multiply"),
    "operator.truediv": _operator_truediv,
    "operator.floordiv": _floor_div,
    "operator.mod": _mod,
    "operator.neg": _neg,
    "operator.pos": _pos,
    "builtins.divmod": _divmod,
    "builtins.abs": absolute,
    "builtins.min": scalar_min,
    "builtins.max": scalar_max,
    "true_div": true_div,
    "floor_div": floor_div,
    "ceil_div": ceil_div,
    "abs": absolute,
    "maximum": maximum,
    "minimum": minimum,
    "max_tile": maximum,
    "min_tile": minimum,
    "max": scalar_max,
    "min": scalar_min,
    "clamp": clamp,
    "addi": _wrapping("addi"),
    "subi": _wrapping("subi"),
    "muli": _wrapping("muli"),
    "divi": divi,
    "remi": _ints("remi"),
    "negi": negi,
    "absi": absi,
    "mulhii": _ints("mulhii", "mulhi"),
    "maxi": _ints("maxi"),
    "mini": _ints("mini"),
    "addf": _rounded("addf"),
    "subf": _rounded("subf"),
    "mulf": _rounded("mulf"),
    "divf": _rounded("divf", (Rounding.APPROX, Rounding.FULL)),
    "remf": remf,
    "fma": fma,
    "negf": _float_unary("negf"),
    "absf": _float_unary("absf"),
    "maxf": _float_extreme("maxf"),
    "minf": _float_extreme("minf"),
}

PROPERTIES: frozenset[str] = frozenset()
