"""Rules of elementwise ops: arithmetic, math functions, comparisons, bits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...base.dtypes import AnyDType, bool_, f32, f64
from ...base.errors import Code
from ...base.shapes import ceil_div as static_ceil_div
from ...ir.attrs import Overflow, Predicate, Rounding
from ...ir.core import Value
from ...ir.ops.elementwise import ALL_BITS, MATH_OPS
from ...ir.types import TileType
from ..semantics.builder import SemanticBuilder
from ..semantics.operands import (
    DIRECTED,
    arithmetic_hint,
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
)
from ..semantics.pointers import moved
from ..semantics.promotion import is_extent, is_weak
from ..semantics.values import describe, is_pointer

# -------------------------------------------------------------------------------------------------
# Rules for arithmetic, its operators, and Python's min, max and abs.

Rule = Callable[..., Any]

# --- operators -------------------------------------------------------------------------------


def _either(name: str, verb: str) -> Rule:
    """Return the rule of an operator with one op on integers and another on floats."""

    def rule(em: SemanticBuilder, a: Any, b: Any) -> Value:
        left, right = arithmetic_pair(em, a, b, verb)
        return em.emit(name + _suffix(left), left, right)

    return rule


def _moving(name: str, verb: str) -> Rule:
    """Return the rule of `+` or `-`, which also move pointers by elements."""
    numbers = _either(name, verb)

    def rule(em: SemanticBuilder, a: Any, b: Any) -> Value:
        if is_pointer(a):
            return moved(em, a, b, back=name == "sub")
        if is_pointer(b) and name == "add":
            return moved(em, b, a)
        result: Value = numbers(em, a, b)
        return result

    return rule


def _suffix(value: Value) -> str:
    return "i" if value.tile.dtype.is_int else "f"


def true_div(em: SemanticBuilder, a: Any, b: Any, *, precise: Any = False) -> Value:
    """Return the quotient of floats."""
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
    return em.emit("divf", left, right, rounding=_division(dtype, exact), **_all_bits(exact))


def _converted(a: Any, b: Any) -> str:
    left = repr(a) if is_weak(a) else "a.astype(tw.f32)"
    right = repr(b) if is_weak(b) else "b.astype(tw.f32)"
    return f"{left} / {right}"


def _division(dtype: AnyDType, exact: bool) -> Rounding:
    """Return the rounding of a division: only f32 has a faster, less accurate one."""
    return Rounding.FULL if dtype is f32 and not exact else Rounding.NEAREST_EVEN


def _operator_truediv(em: SemanticBuilder, a: Any, b: Any) -> Value:
    return true_div(em, a, b)


def floor_div(em: SemanticBuilder, a: Any, b: Any) -> Any:
    """Return the quotient rounded down."""
    if is_weak(a) and is_weak(b):
        return _static(em, lambda: a // b, a, b)
    return _floor_div(em, a, b)


def _floor_div(em: SemanticBuilder, a: Any, b: Any) -> Value:
    left, right = arithmetic_pair(em, a, b, "divide")
    if left.tile.dtype.is_int:
        return em.emit("divi", left, right, rounding=_down(left.tile.dtype))
    # Correctly rounded, so that a quotient that is a whole number stays one.
    return em.emit("floor", em.emit("divf", left, right, **_all_bits(True)))


def _down(dtype: AnyDType) -> Rounding:
    """Return the rounding mode of floor division: for unsigned integers that is toward zero."""
    return Rounding.NEG_INF if dtype.is_signed else Rounding.ZERO


def _mod(em: SemanticBuilder, a: Any, b: Any) -> Value:
    left, right = arithmetic_pair(em, a, b, "take the remainder of")
    if left.tile.dtype.is_int:
        return em.emit("remi", left, right, rounding=_down(left.tile.dtype))
    return _float_mod(em, left, right)


def _float_mod(em: SemanticBuilder, a: Value, b: Value) -> Value:
    """Compute Python's float remainder: it has the divisor's sign, also if it is 0."""
    dtype, shape = a.tile.dtype, a.tile.shape
    zero, minus_zero = em.constant(0.0, dtype, shape), em.constant(-0.0, dtype, shape)
    rest = em.emit("remf", a, b)
    negative = em.emit("cmpf", b, zero, predicate=Predicate.LT)
    below = em.emit("cmpf", rest, zero, predicate=Predicate.LT)
    moved = em.emit("select", em.emit("xori", negative, below), em.emit("addf", rest, b), rest)
    nothing = em.emit("cmpf", rest, zero, predicate=Predicate.EQ)
    return em.emit("select", nothing, em.emit("select", negative, minus_zero, zero), moved)


def _divmod(em: SemanticBuilder, a: Any, b: Any) -> tuple[Value, Value]:
    return _floor_div(em, a, b), _mod(em, a, b)


def _neg(em: SemanticBuilder, a: Any) -> Value:
    has_arithmetic(em, a, "negate")
    value = em.numbers(a)
    return em.emit("neg" + _suffix(value), value)


def _pos(em: SemanticBuilder, a: Any) -> Value:
    has_arithmetic(em, a, "take the sign of")
    return em.numbers(a)


# --- on integers and floats alike ------------------------------------------------------------


def absolute(em: SemanticBuilder, x: Any) -> Any:
    """Return the absolute value; constants stay constants."""
    if is_weak(x):
        return abs(x)
    has_arithmetic(em, x, "take the absolute value of")
    value = em.numbers(x)
    dtype = value.tile.dtype
    if dtype.is_int and not dtype.is_signed:
        return value
    return em.emit("abs" + _suffix(value), value)


def _extreme(name: str, choose: Callable[..., Any]) -> Rule:
    """Return the greater or the lesser, element by element; NaN wins."""

    def rule(em: SemanticBuilder, a: Any, b: Any) -> Any:
        if is_weak(a) and is_weak(b):
            return choose(a, b)
        left, right = arithmetic_pair(em, a, b, f"take the {name}imum of")
        return em.emit(name + _suffix(left), left, right)

    return rule


maximum, minimum = _extreme("max", max), _extreme("min", min)


def clamp(em: SemanticBuilder, x: Any, low: Any, high: Any) -> Any:
    """Return the nearest value from low to high."""
    return minimum(em, maximum(em, x, low), high)


def _of_scalars(name: str, elementwise: Rule) -> Rule:
    """Return the rule of Python's min or max of scalars; on a tile the meaning is ambiguous."""

    def rule(em: SemanticBuilder, a: Any, *rest: Any) -> Any:
        values = (a, *rest) if rest else parts(a)
        if not values:
            em.fail(Code.CALL, f"`{name}` needs a value", expected="at least one value", got="none")
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


def ceil_div(em: SemanticBuilder, a: Any, b: Any) -> Any:
    """Return the quotient of integers rounded up; constants stay constants."""
    if type(a) is int and type(b) is int:
        return _static(em, lambda: static_ceil_div(a, b), a, b)
    left, right = int_pair(em, a, b, "ceil_div")
    return em.emit("divi", left, right, rounding=Rounding.POS_INF)


def _static(em: SemanticBuilder, compute: Callable[[], Any], a: Any, b: Any) -> Any:
    try:
        return compute()
    except ZeroDivisionError:
        em.fail(Code.LITERAL, "division by zero", expected="a divisor", got=f"{a!r} by {b!r}")


# --- integers --------------------------------------------------------------------------------


def _wrapping(name: str) -> Rule:
    def rule(em: SemanticBuilder, a: Any, b: Any, *, overflow: Any = Overflow.NONE) -> Value:
        left, right = int_pair(em, a, b, name)
        return em.emit(name, left, right, overflow=word(em, overflow, Overflow, "overflow"))

    return rule


def _ints(name: str, op: str | None = None) -> Rule:
    def rule(em: SemanticBuilder, a: Any, b: Any) -> Value:
        return em.emit(op or name, *int_pair(em, a, b, name))

    return rule


def divi(em: SemanticBuilder, a: Any, b: Any, *, rounding: Any = Rounding.ZERO) -> Value:
    """Divide integers with the given rounding."""
    left, right = int_pair(em, a, b, "divi")
    mode = word(em, rounding, Rounding, "rounding", DIRECTED)
    if mode is Rounding.NEG_INF:
        mode = _down(left.tile.dtype)
    return em.emit("divi", left, right, rounding=mode)


def negi(em: SemanticBuilder, x: Any, *, overflow: Any = Overflow.NONE) -> Value:
    """Return the negative of integers, wrapping."""
    value = one_int(em, x, "negi")
    return em.emit("negi", value, overflow=word(em, overflow, Overflow, "overflow"))


def absi(em: SemanticBuilder, x: Any) -> Value:
    """Return the absolute value of integers."""
    return em.emit("absi", one_int(em, x, "absi"))


# --- floats ----------------------------------------------------------------------------------


def _rounded(name: str, extra: tuple[Rounding, ...] = ()) -> Rule:
    def rule(
        em: SemanticBuilder,
        a: Any,
        b: Any,
        *,
        rounding: Any = Rounding.NEAREST_EVEN,
        ftz: Any = False,
    ) -> Value:
        left, right = float_pair(em, a, b, name)
        dtype = left.tile.dtype
        mode = rounding_for(em, rounding, dtype, name, extra)
        return em.emit(name, left, right, rounding=mode, ftz=flush(em, ftz, dtype, name))

    return rule


def fma(
    em: SemanticBuilder,
    a: Any,
    b: Any,
    c: Any,
    *,
    rounding: Any = Rounding.NEAREST_EVEN,
    ftz: Any = False,
) -> Value:
    """Compute a * b + c, rounded once."""
    x, y, z = three(em, a, b, c, "use `fma` on")
    dtype = one_float(em, x, "fma").tile.dtype
    mode = word(em, rounding, Rounding, "rounding of `fma`", (Rounding.NEAREST_EVEN,))
    return em.emit("fma", x, y, z, rounding=mode, ftz=flush(em, ftz, dtype, "fma"))


def remf(em: SemanticBuilder, a: Any, b: Any) -> Value:
    """Return the remainder of floats with the sign of a."""
    return em.emit("remf", *float_pair(em, a, b, "remf"))


def _float_extreme(name: str) -> Rule:
    def rule(em: SemanticBuilder, a: Any, b: Any, *, nan: Any = True, ftz: Any = False) -> Value:
        left, right = float_pair(em, a, b, name)
        flushed = flush(em, ftz, left.tile.dtype, name)
        return em.emit(name, left, right, nan=em.static_bool(nan, "nan"), ftz=flushed)

    return rule


def _float_unary(name: str) -> Rule:
    def rule(em: SemanticBuilder, x: Any) -> Value:
        return em.emit(name, one_float(em, x, name))

    return rule


# -------------------------------------------------------------------------------------------------
# Rules for elementary functions, powers, and `**`.


def _apply(em: SemanticBuilder, name: str, operands: tuple[Value, ...], precise: Any) -> Value:
    """Emit a function; a precise one of f32 is computed in f64 and rounded once."""
    exact = em.static_bool(precise, "precise")
    dtype = operands[0].tile.dtype
    if not exact or dtype is not f32:
        return em.emit(name, *operands, **_all_bits(exact))
    wide = em.emit(name, *(em.cast(x, f64) for x in operands))
    return em.cast(wide, f32)


def _all_bits(exact: bool) -> dict[str, int]:
    """Return the attributes of a function that must not be approximated, if it must not."""
    return {"bits": ALL_BITS} if exact else {}


def _exact(name: str) -> Rule:
    """Return a function without rounding error."""

    def rule(em: SemanticBuilder, x: Any) -> Value:
        return em.emit(name, one_float(em, x, name))

    return rule


def _builtin_round(em: SemanticBuilder, number: Any, ndigits: Any = None) -> Value:
    if ndigits is not None:
        em.fail(
            Code.CALL,
            "`round` rounds to whole numbers in kernels",
            expected="round(x)",
            got=f"ndigits={describe(ndigits)}",
            hint="scale it: round(x * 100.0) / 100.0",
        )
    return em.emit("round", one_float(em, number, "round"))


def _function(name: str) -> Rule:
    def rule(em: SemanticBuilder, x: Any, *, precise: Any = False) -> Value:
        return _apply(em, name, (one_float(em, x, name),), precise)

    return rule


def _flushing(name: str) -> Rule:
    """Return a function that may flush subnormals of f32."""

    def rule(em: SemanticBuilder, x: Any, *, precise: Any = False, ftz: Any = False) -> Value:
        value = one_float(em, x, name)
        if not flush(em, ftz, value.tile.dtype, name):
            return _apply(em, name, (value,), precise)
        _one_of(em, name, precise=precise, ftz=True)
        return em.emit(name, value, ftz=True)

    return rule


def sqrt(
    em: SemanticBuilder, x: Any, *, precise: Any = False, rounding: Any = None, ftz: Any = False
) -> Value:
    """Return the square root."""
    value = one_float(em, x, "sqrt")
    dtype = value.tile.dtype
    exact, flushed = em.static_bool(precise, "precise"), flush(em, ftz, dtype, "sqrt")
    if rounding is not None:
        _one_of(em, "sqrt", precise=precise, rounding=rounding)
        mode = rounding_for(em, rounding, dtype, "sqrt", (Rounding.APPROX,))
    else:
        # Only f32 has a faster square root that is not rounded correctly.
        mode = Rounding.APPROX if dtype is f32 and not exact else Rounding.NEAREST_EVEN
    return em.emit("sqrt", value, rounding=mode, ftz=flushed, **_all_bits(exact))


def _one_of(em: SemanticBuilder, name: str, *, precise: Any, **other: Any) -> None:
    """Reject `precise` beside an argument that says something else about precision."""
    if em.static_bool(precise, "precise"):
        (word,) = other
        em.fail(
            Code.CALL,
            f"`{name}` takes precise or {word}, not both",
            expected="one of them",
            got=f"precise=True and {word}={other[word]}",
        )


def _two(name: str) -> Rule:
    def rule(em: SemanticBuilder, a: Any, b: Any, *, precise: Any = False) -> Value:
        return _apply(em, name, float_pair(em, a, b, name), precise)

    return rule


# --- ** --------------------------------------------------------------------------------------

PRODUCTS = range(-2, 5)
"""Powers of floats that products give within 2 ulp: x ** -2 to x ** 4."""


def power(em: SemanticBuilder, a: Any, b: Any) -> Value:
    """Compute a ** b: products if the exponent is a small constant, else `pow`."""
    for x in (a, b):
        has_arithmetic(em, x, "raise to a power")
    if type(b) is int and isinstance(a, Value):
        dtype = em.numbers(a).tile.dtype
        if dtype.is_int:
            return _int_power(em, a, b)
        if b in PRODUCTS:
            return _float_power(em, a, b)
    left, right = arithmetic_pair(em, a, b, "raise to a power")
    if left.tile.dtype.is_int:
        em.fail(
            Code.DTYPE,
            "an integer power needs a constant exponent",
            expected="a constant exponent, or floats",
            got=f"{describe(left)} ** {describe(right)}",
            hint="convert: a.astype(tw.f32) ** b; a power of two is 1 << b",
        )
    return em.emit("pow", left, right)


def _int_power(em: SemanticBuilder, base: Value, exponent: int) -> Value:
    if exponent < 0:
        em.fail(
            Code.LITERAL,
            f"an integer to the power {exponent} is no integer",
            expected="0 or more",
            got=str(exponent),
            hint="convert: x.astype(tw.f32)",
        )
    return _product(em, "muli", base, exponent)


def _float_power(em: SemanticBuilder, base: Value, exponent: int) -> Value:
    if exponent < 0:
        # The reciprocal first: a square might overflow where the result does not.
        one = em.constant(1.0, base.tile.dtype, base.tile.shape)
        base = em.emit("divf", one, base)
    return _product(em, "mulf", base, abs(exponent))


def _product(em: SemanticBuilder, multiply: str, base: Value, exponent: int) -> Value:
    """Compute a power by repeated squaring."""
    if exponent == 0:
        dtype = base.tile.dtype
        return em.constant(1.0 if dtype.is_float else 1, dtype, base.tile.shape)
    result = None
    while exponent:
        if exponent & 1:
            result = base if result is None else em.emit(multiply, result, base)
        exponent >>= 1
        base = em.emit(multiply, base, base) if exponent else base
    assert result is not None
    return result


def _builtin_pow(em: SemanticBuilder, base: Any, exp: Any) -> Value:
    return power(em, base, exp)


# -------------------------------------------------------------------------------------------------
# Rules for comparisons and selection.

SYMBOLS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}


def _compare(name: str) -> Rule:
    """Return a comparison operator: with a NaN only `!=` is true."""
    predicate = Predicate(name)

    def rule(em: SemanticBuilder, a: Any, b: Any) -> Value:
        _comparable(em, a, predicate)
        _comparable(em, b, predicate)
        left, right = em.pair(a, b, "compare")
        _comparable(em, left, predicate)
        if left.tile.dtype.is_float:
            unordered = predicate is Predicate.NE
            return em.emit("cmpf", left, right, predicate=predicate, unordered=unordered)
        return em.emit("cmpi", left, right, predicate=predicate)

    return rule


def _comparable(em: SemanticBuilder, x: Any, predicate: Predicate) -> None:
    """Reject small floats, and asking which of two booleans is greater."""
    if not (isinstance(x, Value) and isinstance(x.type, TileType)) or x.type.is_pointer:
        return
    dtype = x.type.dtype
    if dtype.has_arithmetic or (dtype.is_bool and predicate in (Predicate.EQ, Predicate.NE)):
        return
    em.fail(
        Code.DTYPE,
        f"`{SYMBOLS[predicate]}` does not compare {dtype.name}",
        expected="integers, f16, bf16, f32 or f64",
        got=describe(x),
        hint=arithmetic_hint(dtype),
    )


def cmpi(em: SemanticBuilder, a: Any, b: Any, predicate: Any) -> Value:
    """Compare integers or booleans."""
    asked = word(em, predicate, Predicate, "predicate")
    left, right = em.pair(a, b, "compare")
    _comparable(em, left, asked)
    if left.tile.dtype.is_float:
        em.fail(
            Code.DTYPE,
            "`cmpi` compares integers",
            expected="integers or bool",
            got=describe(left),
            hint="use cmpf, or an operator",
        )
    return em.emit("cmpi", left, right, predicate=asked)


def cmpf(em: SemanticBuilder, a: Any, b: Any, predicate: Any, *, unordered: Any = False) -> Value:
    """Compare floats; `unordered` is the answer where one is NaN."""
    asked = word(em, predicate, Predicate, "predicate")
    left, right = float_pair(em, a, b, "cmpf")
    with_nan = em.static_bool(unordered, "unordered")
    return em.emit("cmpf", left, right, predicate=asked, unordered=with_nan)


def where(em: SemanticBuilder, cond: Any, a: Any, b: Any) -> Value:
    """Select a where cond holds, else b; all three broadcast."""
    mask = em.tile(cond, what="condition")
    if mask.tile.elem is not bool_:
        em.fail(
            Code.TYPE,
            "the condition must be bool",
            expected="a bool tile or scalar",
            got=describe(mask),
            hint="compare: x != 0",
        )
    left, right = em.pair(a, b, "choose between")
    of_mask, of_choices = mask.tile.shape, left.tile.shape
    problem = f"a condition of shape {of_mask} does not fit choices of {of_choices}"
    shape = em.common_shape(of_mask, of_choices, problem)
    chosen = (em.broadcast_to(v, shape) for v in (mask, left, right))
    return em.emit("select", *chosen)


# -------------------------------------------------------------------------------------------------
# Rules for bitwise and logical operations.


def _bits(em: SemanticBuilder, value: Value, verb: str, *, logic: bool) -> Value:
    """Reject operands that are neither integers nor, for logic, booleans."""
    dtype = value.tile.dtype
    if dtype.is_int or (logic and dtype.is_bool):
        return value
    em.fail(
        Code.DTYPE,
        f"cannot {verb} {dtype.name}",
        expected="integers or bool" if logic else "integers",
        got=describe(value),
        hint=_hint(dtype),
    )


def _hint(dtype: AnyDType) -> str:
    if dtype.is_float:
        return "read its bits as an integer: tl.bitcast(x, ...), or convert: x.astype(...)"
    if dtype.is_bool:
        return "convert it: x.astype(tw.i32)"
    return "read the bytes: tl.bitcast(x, tw.u8)"


def _logic(name: str, verb: str) -> Rule:
    """Return the rule of `&`, `|` or `^`."""

    def rule(em: SemanticBuilder, a: Any, b: Any) -> Value:
        for x in (a, b):
            if isinstance(x, Value):
                _bits(em, em.numbers(x), verb, logic=True)
        left, right = em.pair(a, b, verb)
        return em.emit(name, _bits(em, left, verb, logic=True), right)

    return rule


def noti(em: SemanticBuilder, x: Any) -> Value:
    """Invert all bits; negate booleans."""
    return em.emit("noti", _bits(em, em.numbers(x), "invert", logic=True))


def _invert(em: SemanticBuilder, a: Any) -> Value:
    return noti(em, a)


def _shifted(em: SemanticBuilder, a: Any, b: Any) -> tuple[Value, Value]:
    for x in (a, b):
        if isinstance(x, Value):
            _bits(em, em.numbers(x), "shift", logic=False)
    if isinstance(b, int) and b < 0:
        em.fail(
            Code.LITERAL,
            f"cannot shift by {b}",
            expected="0 or more",
            got=str(int(b)),
            hint="shift the other way",
        )
    left, right = em.pair(a, b, "shift")
    return _bits(em, left, "shift", logic=False), right


def shli(em: SemanticBuilder, a: Any, b: Any, *, overflow: Any = Overflow.NONE) -> Value:
    """Shift left."""
    left, right = _shifted(em, a, b)
    return em.emit("shli", left, right, overflow=word(em, overflow, Overflow, "overflow"))


def shri(em: SemanticBuilder, a: Any, b: Any) -> Value:
    """Shift right."""
    return em.emit("shri", *_shifted(em, a, b))


def _lshift(em: SemanticBuilder, a: Any, b: Any) -> Value:
    return shli(em, a, b)


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
    **{op.name: (_two if len(op.operands) == 2 else _function)(op.name) for op in MATH_OPS},
    "ceil": _exact("ceil"),
    "floor": _exact("floor"),
    "round": _exact("round"),
    "builtins.round": _builtin_round,
    "exp2": _flushing("exp2"),
    "rsqrt": _flushing("rsqrt"),
    "sqrt": sqrt,
    "operator.pow": power,
    "builtins.pow": _builtin_pow,
    **{f"operator.{name}": _compare(name) for name in SYMBOLS},
    **{f"{name}_tile": _compare(name) for name in SYMBOLS},
    "cmpi": cmpi,
    "cmpf": cmpf,
    "where": where,
    "select": where,
    "andi": _logic("andi", "combine the bits of"),
    "ori": _logic("ori", "combine the bits of"),
    "xori": _logic("xori", "combine the bits of"),
    "noti": noti,
    "shli": shli,
    "shri": shri,
    "operator.and_": _logic("andi", "combine with `&`"),
    "operator.or_": _logic("ori", "combine with `|`"),
    "operator.xor": _logic("xori", "combine with `^`"),
    "operator.invert": _invert,
    "operator.lshift": _lshift,
    "operator.rshift": shri,
}
