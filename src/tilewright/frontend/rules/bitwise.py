"""Rules for bits of integers and the logic of booleans."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...base.dtypes import AnyDType
from ...base.errors import Code
from ...ir.attrs import Overflow
from ...ir.core import Value
from ..describe import describe
from ..emit import Emitter
from ..operands import word

Rule = Callable[..., Any]


def _bits(em: Emitter, value: Value, verb: str, *, logic: bool) -> Value:
    """Refuse what is neither an integer nor, where logic is meant, a boolean."""
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
        return "convert it: x.astype(tilewright.i32)"
    return "read the bytes: tl.bitcast(x, tilewright.u8)"


def _logic(name: str, verb: str) -> Rule:
    """`&`, `|` or `^`."""

    def rule(em: Emitter, a: Any, b: Any) -> Value:
        for x in (a, b):
            if isinstance(x, Value):
                _bits(em, em.numbers(x), verb, logic=True)
        left, right = em.pair(a, b, verb)
        return em.emit(name, _bits(em, left, verb, logic=True), right)

    return rule


def noti(em: Emitter, x: Any) -> Value:
    """All bits inverted; not, of booleans."""
    return em.emit("noti", _bits(em, em.numbers(x), "invert", logic=True))


def _invert(em: Emitter, a: Any) -> Value:
    return noti(em, a)


def _shifted(em: Emitter, a: Any, b: Any) -> tuple[Value, Value]:
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


def shli(em: Emitter, a: Any, b: Any, *, overflow: Any = Overflow.NONE) -> Value:
    """Shift left."""
    left, right = _shifted(em, a, b)
    return em.emit("shli", left, right, overflow=word(em, overflow, Overflow, "overflow"))


def shri(em: Emitter, a: Any, b: Any) -> Value:
    """Shift right."""
    return em.emit("shri", *_shifted(em, a, b))


def _lshift(em: Emitter, a: Any, b: Any) -> Value:
    return shli(em, a, b)


RULES: dict[str, Rule] = {
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

PROPERTIES: frozenset[str] = frozenset()
