"""Result rules shared by op declarations."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ...base.dtypes import AnyDType, bool_
from ..attrs import AtomicMode
from ..opdef import Rule, TypeRuleError
from ..types import PtrType, TensorType, TileType, Type, ViewType

Attrs = Mapping[str, Any]


def need(ok: bool, message: str, *about: object) -> None:
    """Reject with a message unless ok. What it is about takes the places of its `{}` only then:
    rules run for each op that is made, and types take longer to print than to compare."""
    if not ok:
        raise TypeRuleError(message.format(*about) if about else message)


def tile(t: Type) -> TileType:
    """Reject anything that is not a tile."""
    if not isinstance(t, TileType):
        raise TypeRuleError(f"expected a tile, got {t}")
    return t


def view(t: Type) -> ViewType:
    """Reject anything that is not a view."""
    if not isinstance(t, ViewType):
        raise TypeRuleError(f"expected a view, got {t}")
    return t


def tensor(t: Type) -> TensorType:
    """Reject anything that is not a tensor."""
    if not isinstance(t, TensorType):
        raise TypeRuleError(f"expected a tensor, got {t}")
    return t


def number(t: Type) -> TileType:
    """Reject anything that is not a tile of numbers."""
    result = tile(t)
    need(not result.is_pointer, "expected numbers, got {}", t)
    return result


def is_float(d: AnyDType) -> bool:
    """Return whether elements are floats with arithmetic."""
    return d.is_float and d.has_arithmetic


def is_int(d: AnyDType) -> bool:
    """Return whether elements are integers."""
    return d.is_int


def is_bits(d: AnyDType) -> bool:
    """Return whether elements are integers or booleans."""
    return d.is_int or d.is_bool


def same(accepts: Callable[[AnyDType], bool]) -> Rule:
    """Require operands of one accepted type; return it as the type of the result."""

    def rule(types: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
        first = number(types[0])
        need(accepts(first.dtype), "elements of {} are not accepted", first)
        if any(t != first for t in types):
            raise TypeRuleError(f"operands differ: {', '.join(map(str, types))}")
        return (first,)

    return rule


def compare(accepts: Callable[[AnyDType], bool]) -> Rule:
    """Require two operands of one type; return booleans of the same shape."""
    base = same(accepts)

    def rule(types: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
        return (tile(base(types, attrs)[0]).with_elem(bool_),)

    return rule


def convert(source: Callable[[AnyDType], bool], target: Callable[[AnyDType], bool]) -> Rule:
    """Require one operand; return its shape with element type `to`."""

    def rule(types: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
        arg, to = number(types[0]), attrs["to"]
        need(source(arg.dtype), "cannot convert from {}", arg)
        need(target(to), "cannot convert to {}", to)
        return (arg.with_elem(to),)

    return rule


def combines(mode: AtomicMode, d: AnyDType) -> None:
    """Reject elements that an atomic of this mode has no meaning for."""
    if mode in (AtomicMode.AND, AtomicMode.OR, AtomicMode.XOR):
        need(is_bits(d), "atomic {} takes integers and booleans, got {}", mode, d.name)
    elif mode != AtomicMode.XCHG:
        need(d.has_arithmetic, "atomic {} takes numbers with arithmetic, got {}", mode, d.name)


def none(types: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
    """Return no results."""
    return ()


def scalar(t: Type, dtype: AnyDType) -> None:
    """Reject anything that is not a scalar of this dtype."""
    need(t == TileType(dtype), "expected a scalar {}, got {}", dtype.name, t)


def pointer(t: Type) -> PtrType:
    """Return the pointer type of a tile of pointers."""
    elem = tile(t).elem
    if not isinstance(elem, PtrType):
        raise TypeRuleError(f"expected pointers, got {t}")
    return elem
