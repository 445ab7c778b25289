"""What rules of elementwise ops share: which operands have arithmetic, and attribute arguments."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Any, TypeVar, cast

from ..base.dtypes import AnyDType, f32, f64, i32
from ..base.errors import Code
from ..ir.attrs import Rounding
from ..ir.core import Value
from ..ir.types import TileType
from .describe import describe
from .emit import Emitter
from .promote import is_weak

Word = TypeVar("Word", bound=StrEnum)

DIRECTED = (Rounding.ZERO, Rounding.NEG_INF, Rounding.POS_INF)
NEAREST = (Rounding.NEAREST_EVEN,)


def has_arithmetic(em: Emitter, x: Any, verb: str, beside: Any = None) -> None:
    """Refuse a tile whose elements have no arithmetic, and say how to get some.

    `beside` is the other operand, if there is one: its elements are the ones to convert to.
    """
    if not (isinstance(x, Value) and isinstance(x.type, TileType)):
        return
    if x.type.is_pointer:
        em.fail(
            Code.TYPE,
            f"cannot {verb} pointers",
            expected="numbers",
            got=describe(x),
            hint="move pointers with p.offset(n)",
        )
    dtype = x.type.dtype
    if not dtype.has_arithmetic:
        em.fail(
            Code.DTYPE,
            f"cannot {verb} {dtype.name}: it has no arithmetic",
            expected="integers, f16, bf16, f32 or f64",
            got=describe(x),
            hint=arithmetic_hint(dtype, _elements_of(beside)),
        )


def _elements_of(x: Any) -> AnyDType:
    """The elements of an operand that have arithmetic, or the plainest ones."""
    if isinstance(x, Value) and isinstance(x.type, TileType) and not x.type.is_pointer:
        return x.type.dtype if x.type.dtype.has_arithmetic else i32
    return f32 if isinstance(x, float) else i32


def arithmetic_hint(dtype: AnyDType, wanted: AnyDType = i32) -> str:
    """How to turn elements without arithmetic into some that have it."""
    if dtype.is_bool:
        return f"convert it: x.astype(tilewright.{wanted.__name__}); for logic use &, |, ^ and ~"
    if dtype.is_float:
        return "convert it: x.astype(tilewright.f32)"
    return "unpack and convert: x.unpack().astype(tilewright.f32)"


def arithmetic_pair(em: Emitter, a: Any, b: Any, verb: str) -> tuple[Value, Value]:
    """Two operands of one shape and one dtype that has arithmetic."""
    # Before they are paired: a bool and a 1 should not be told that 1 is no bool.
    has_arithmetic(em, a, verb, beside=b)
    has_arithmetic(em, b, verb, beside=a)
    left, right = em.pair(a, b, verb)
    has_arithmetic(em, left, verb)
    return left, right


def int_pair(em: Emitter, a: Any, b: Any, name: str) -> tuple[Value, Value]:
    """Two integer operands of one type."""
    left, right = arithmetic_pair(em, a, b, f"use `{name}` on")
    _need_kind(em, left, name, ints=True)
    return left, right


def float_pair(em: Emitter, a: Any, b: Any, name: str) -> tuple[Value, Value]:
    """Two float operands of one type; Python ints count as floats."""
    x, y = as_floats((a, b))
    left, right = arithmetic_pair(em, x, y, f"use `{name}` on")
    _need_kind(em, left, name, ints=False)
    return left, right


def one_int(em: Emitter, x: Any, name: str) -> Value:
    """One integer operand."""
    has_arithmetic(em, x, f"use `{name}` on")
    value = em.numbers(x)
    _need_kind(em, value, name, ints=True)
    return value


def one_float(em: Emitter, x: Any, name: str) -> Value:
    """One float operand; a Python int counts as a float."""
    has_arithmetic(em, x, f"use `{name}` on")
    value = em.numbers(*as_floats((x,)))
    _need_kind(em, value, name, ints=False)
    return value


def as_floats(operands: Sequence[Any]) -> Sequence[Any]:
    """Python ints as floats where there is nothing but weak numbers to decide the type."""
    if all(is_weak(x) for x in operands):
        return [float(x) if type(x) is int else x for x in operands]
    return operands


def parts(x: Any) -> tuple[Any, ...]:
    """The items of a tuple or list; anything else is the only item."""
    return tuple(cast("Sequence[Any]", x)) if isinstance(x, tuple | list) else (x,)


def _need_kind(em: Emitter, value: Value, name: str, *, ints: bool) -> None:
    dtype = value.tile.dtype
    if dtype.is_int != ints:
        em.fail(
            Code.DTYPE,
            f"`{name}` takes {'integers' if ints else 'floats'}",
            expected="i8 to i64 or u8 to u64" if ints else "f16, bf16, f32 or f64",
            got=describe(value),
            hint=f"convert it: x.astype(tilewright.{'i32' if ints else 'f32'})",
        )


def three(em: Emitter, a: Any, b: Any, c: Any, verb: str) -> tuple[Value, Value, Value]:
    """Three operands brought to one dtype and one shape."""
    for x in (a, b, c):
        has_arithmetic(em, x, verb)
    operands = as_floats((a, b, c))
    # Typed operands first: they decide the dtype, Python numbers follow.
    order = sorted(range(3), key=lambda k: is_weak(operands[k]))
    x, y, z = (operands[k] for k in order)
    x, y = em.pair(x, y, verb)
    x, z = em.pair(x, z, verb)
    y, z = em.pair(y, z, verb)
    found = dict(zip(order, (x, y, z), strict=True))
    return found[0], found[1], found[2]


def word(em: Emitter, x: Any, kind: type[Word], what: str, allowed: Sequence[Word] = ()) -> Word:
    """One of a closed set of words, or its text."""
    choices = allowed or tuple(kind)
    for choice in choices:
        if x == choice:
            return choice
    em.fail(
        Code.TYPE,
        f"{what} must be one of {kind.__name__}",
        expected=", ".join(f"tl.{kind.__name__}.{w.name}" for w in choices),
        got=f"tl.{kind.__name__}.{x.name}" if isinstance(x, kind) else describe(x),
    )


def rounding_for(
    em: Emitter, x: Any, dtype: AnyDType, name: str, extra: Sequence[Rounding] = ()
) -> Rounding:
    """A rounding mode; the directed ones and `extra` exist for f32, the directed ones for f64."""
    mode = word(em, x, Rounding, "rounding", (*NEAREST, *DIRECTED, *extra))
    fits = mode in NEAREST or dtype is f32 or (dtype is f64 and mode in DIRECTED)
    if not fits:
        em.fail(
            Code.DTYPE,
            f"`{name}` on {dtype.name} rounds to nearest even only",
            expected="f32 or f64" if mode in DIRECTED else "f32",
            got=f"{dtype.name} with rounding {mode.value}",
            hint=f"compute in f32: tl.{name}(x.astype(tilewright.f32), ..., rounding=...)",
        )
    return mode


def flush(em: Emitter, x: Any, dtype: AnyDType, name: str) -> bool:
    """Whether subnormals may be flushed to zero; only f32 has the choice."""
    ftz = em.static_bool(x, "ftz")
    if ftz and dtype is not f32:
        em.fail(
            Code.DTYPE,
            f"`{name}` flushes subnormals only of f32",
            expected="f32",
            got=dtype.name,
            hint="leave ftz out",
        )
    return ftz
