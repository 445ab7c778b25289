"""Rules for comparisons and for choosing between two values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...base.dtypes import bool_
from ...base.errors import Code
from ...ir.attrs import Predicate
from ...ir.core import Value
from ...ir.types import TileType
from ..describe import describe
from ..emit import Emitter
from ..operands import arithmetic_hint, float_pair, word

Rule = Callable[..., Any]

SYMBOLS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}


def _compare(name: str) -> Rule:
    """A comparison operator: with a NaN only `!=` is true."""
    predicate = Predicate(name)

    def rule(em: Emitter, a: Any, b: Any) -> Value:
        _comparable(em, a, predicate)
        _comparable(em, b, predicate)
        left, right = em.pair(a, b, "compare")
        _comparable(em, left, predicate)
        if left.tile.dtype.is_float:
            unordered = predicate is Predicate.NE
            return em.emit("cmpf", left, right, predicate=predicate, unordered=unordered)
        return em.emit("cmpi", left, right, predicate=predicate)

    return rule


def _comparable(em: Emitter, x: Any, predicate: Predicate) -> None:
    """Refuse small floats, and asking which of two booleans is greater."""
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


def cmpi(em: Emitter, a: Any, b: Any, predicate: Any) -> Value:
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


def cmpf(em: Emitter, a: Any, b: Any, predicate: Any, *, unordered: Any = False) -> Value:
    """Compare floats; `unordered` is the answer where one is NaN."""
    asked = word(em, predicate, Predicate, "predicate")
    left, right = float_pair(em, a, b, "cmpf")
    with_nan = em.static_bool(unordered, "unordered")
    return em.emit("cmpf", left, right, predicate=asked, unordered=with_nan)


def where(em: Emitter, cond: Any, a: Any, b: Any) -> Value:
    """a where cond, else b; all three broadcast."""
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


RULES: dict[str, Rule] = {
    **{f"operator.{name}": _compare(name) for name in SYMBOLS},
    **{f"{name}_tile": _compare(name) for name in SYMBOLS},
    "cmpi": cmpi,
    "cmpf": cmpf,
    "where": where,
    "select": where,
}

PROPERTIES: frozenset[str] = frozenset()
