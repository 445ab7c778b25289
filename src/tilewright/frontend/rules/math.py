"""Rules for elementary functions, powers, and `**`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...base.dtypes import f32, f64
from ...base.errors import Code
from ...ir.attrs import Predicate, Rounding
from ...ir.core import Value
from ..describe import describe
from ..emit import Emitter
from ..operands import arithmetic_pair, float_pair, flush, has_arithmetic, one_float, rounding_for

Rule = Callable[..., Any]


def _apply(em: Emitter, name: str, operands: tuple[Value, ...], precise: Any) -> Value:
    """Emit a function; a precise one of f32 is computed in f64 and rounded once."""
    exact = em.static_bool(precise, "precise")
    dtype = operands[0].tile.dtype
    if not exact or dtype is not f32:
        return em.emit(name, *operands)
    wide = em.emit(name, *(em.cast(x, f64) for x in operands))
    return em.cast(wide, f32)


def _exact(name: str) -> Rule:
    """A function without rounding error."""

    def rule(em: Emitter, x: Any) -> Value:
        return em.emit(name, one_float(em, x, name))

    return rule


def round_half_even(em: Emitter, x: Any) -> Value:
    """The nearest whole number, the even one of two, with the sign of x."""
    value = one_float(em, x, "round")
    dtype, shape = value.tile.dtype, value.tile.shape
    half, one, zero = (em.constant(n, dtype, shape) for n in (0.5, 1.0, 0.0))
    below = em.emit("floor", value)
    # Between -1/2 and 0 this may be rounded down to 1/2; then -1 is odd, and 0 is taken as well.
    rest = em.emit("subf", value, below)
    halved = em.emit("mulf", below, half)
    odd = em.emit("cmpf", halved, em.emit("floor", halved), predicate=Predicate.NE)
    tie = em.emit("andi", em.emit("cmpf", rest, half, predicate=Predicate.EQ), odd)
    up = em.emit("ori", em.emit("cmpf", rest, half, predicate=Predicate.GT), tie)
    whole = em.emit("select", up, em.emit("addf", below, one), below)
    is_zero = em.emit("cmpf", whole, zero, predicate=Predicate.EQ)
    return em.emit("select", is_zero, em.emit("mulf", value, zero), whole)


def _builtin_round(em: Emitter, number: Any, ndigits: Any = None) -> Value:
    if ndigits is not None:
        em.fail(
            Code.CALL,
            "`round` rounds to whole numbers in kernels",
            expected="round(x)",
            got=f"ndigits={describe(ndigits)}",
            hint="scale it: round(x * 100.0) / 100.0",
        )
    return round_half_even(em, number)


def _function(name: str) -> Rule:
    def rule(em: Emitter, x: Any, *, precise: Any = False) -> Value:
        return _apply(em, name, (one_float(em, x, name),), precise)

    return rule


def _flushing(name: str) -> Rule:
    """A function that may flush subnormals of f32."""

    def rule(em: Emitter, x: Any, *, precise: Any = False, ftz: Any = False) -> Value:
        value = one_float(em, x, name)
        if not flush(em, ftz, value.tile.dtype, name):
            return _apply(em, name, (value,), precise)
        _one_of(em, name, precise=precise, ftz=True)
        return em.emit(name, value, ftz=True)

    return rule


def sqrt(
    em: Emitter, x: Any, *, precise: Any = False, rounding: Any = None, ftz: Any = False
) -> Value:
    """The square root."""
    value = one_float(em, x, "sqrt")
    dtype = value.tile.dtype
    exact, flushed = em.static_bool(precise, "precise"), flush(em, ftz, dtype, "sqrt")
    if rounding is not None:
        _one_of(em, "sqrt", precise=precise, rounding=rounding)
        mode = rounding_for(em, rounding, dtype, "sqrt", (Rounding.APPROX,))
    else:
        # Only f32 has a faster square root that is not rounded correctly.
        mode = Rounding.APPROX if dtype is f32 and not exact else Rounding.NEAREST_EVEN
    return em.emit("sqrt", value, rounding=mode, ftz=flushed)


def _one_of(em: Emitter, name: str, *, precise: Any, **other: Any) -> None:
    """Refuse `precise` beside an argument that says something else about precision."""
    if em.static_bool(precise, "precise"):
        (word,) = other
        em.fail(
            Code.CALL,
            f"`{name}` takes precise or {word}, not both",
            expected="one of them",
            got=f"precise=True and {word}={other[word]}",
        )


def _two(name: str) -> Rule:
    def rule(em: Emitter, a: Any, b: Any, *, precise: Any = False) -> Value:
        return _apply(em, name, float_pair(em, a, b, name), precise)

    return rule


# --- ** --------------------------------------------------------------------------------------

PRODUCTS = range(-2, 5)
"""Powers of floats that products give within 2 ulp: x ** -2 to x ** 4."""


def power(em: Emitter, a: Any, b: Any) -> Value:
    """a ** b: products where the exponent is a small constant, else `pow`."""
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
            hint="convert: a.astype(tilewright.f32) ** b; a power of two is 1 << b",
        )
    return em.emit("pow", left, right)


def _int_power(em: Emitter, base: Value, exponent: int) -> Value:
    if exponent < 0:
        em.fail(
            Code.LITERAL,
            f"an integer to the power {exponent} is no integer",
            expected="0 or more",
            got=str(exponent),
            hint="convert: x.astype(tilewright.f32)",
        )
    return _product(em, "muli", base, exponent)


def _float_power(em: Emitter, base: Value, exponent: int) -> Value:
    if exponent < 0:
        # The reciprocal first: a square might overflow where the result does not.
        one = em.constant(1.0, base.tile.dtype, base.tile.shape)
        base = em.emit("divf", one, base)
    return _product(em, "mulf", base, abs(exponent))


def _product(em: Emitter, multiply: str, base: Value, exponent: int) -> Value:
    """Square and multiply."""
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


def _builtin_pow(em: Emitter, base: Any, exp: Any) -> Value:
    return power(em, base, exp)


FUNCTIONS = (
    "sin", "cos", "tan", "sinh", "cosh", "tanh", "exp", "expm1", "log", "log1p", "log2", "erf",
)  # fmt: skip

RULES: dict[str, Rule] = {
    **{name: _function(name) for name in FUNCTIONS},
    "ceil": _exact("ceil"),
    "floor": _exact("floor"),
    "round": round_half_even,
    "builtins.round": _builtin_round,
    "exp2": _flushing("exp2"),
    "rsqrt": _flushing("rsqrt"),
    "sqrt": sqrt,
    "pow": _two("pow"),
    "atan2": _two("atan2"),
    "operator.pow": power,
    "builtins.pow": _builtin_pow,
}

PROPERTIES: frozenset[str] = frozenset()
