"""Rules of promises: hints for backends that use them; none changes a result.

They belong to the pointer family: a promise that is broken is as bad as a wrong address.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...base.errors import Code
from ...ir.core import Value
from ..describe import describe
from ..emit import Emitter
from ..values import OutputRef, TensorRef


def _promised(em: Emitter, value: Any, what: str) -> Any:
    em.require_unsafe(f"`{what}`")
    if not isinstance(value, Value | TensorRef | OutputRef | int):
        em.fail(
            Code.TYPE,
            f"`{what}` takes an integer, a tile, pointers or a tensor",
            got=describe(value),
        )
    return value


def _positive(em: Emitter, x: Any, what: str) -> int:
    number = em.static_int(x, what)
    if number < 1:
        em.fail(Code.CALL, f"{what} must be positive", expected="1 or more", got=str(number))
    return number


def _broken(em: Emitter, value: int, promise: str) -> None:
    em.fail(Code.ASSERTION, f"{value} is not {promise}, as promised")


def assume_div_by(em: Emitter, value: Any, divisor: Any) -> Any:
    """The value; it is promised to be a multiple."""
    promised, by = _promised(em, value, "assume_div_by"), _positive(em, divisor, "divisor")
    if isinstance(promised, int) and promised % by:
        _broken(em, promised, f"a multiple of {by}")
    return promised


def assume_div_by_every_along(em: Emitter, value: Any, divisor: Any, every: Any, axis: Any) -> Any:
    """The value; some of its elements are promised to be multiples."""
    promised = _promised(em, value, "assume_div_by_every_along")
    _positive(em, divisor, "divisor")
    _positive(em, every, "every")
    em.static_axis(axis, promised.tile.rank if isinstance(promised, Value) else 0)
    return promised


def assume_bounds(em: Emitter, value: Any, lower: Any, upper: Any) -> Any:
    """The value; it is promised to lie between bounds."""
    return assume_bounds_upper(em, assume_bounds_lower(em, value, lower), upper)


def assume_bounds_lower(em: Emitter, value: Any, lower: Any) -> Any:
    """The value; it is promised not to lie below."""
    promised, bound = _promised(em, value, "assume_bounds"), em.static_int(lower, "lower")
    if isinstance(promised, int) and promised < bound:
        _broken(em, promised, f"at least {bound}")
    return promised


def assume_bounds_upper(em: Emitter, value: Any, upper: Any) -> Any:
    """The value; it is promised not to lie above."""
    promised, bound = _promised(em, value, "assume_bounds"), em.static_int(upper, "upper")
    if isinstance(promised, int) and promised > bound:
        _broken(em, promised, f"at most {bound}")
    return promised


def assume_same_elements(em: Emitter, value: Any, groups: Any) -> Any:
    """The value; it is promised to be constant in groups."""
    promised = _promised(em, value, "assume_same_elements")
    shape = em.static_shape(groups, "groups")
    rank = promised.tile.rank if isinstance(promised, Value) else 0
    if len(shape) != rank:
        em.fail(Code.RANK, "one group extent per axis", expected=str(rank), got=str(shape))
    return promised


RULES: dict[str, Callable[..., Any]] = {
    "assume_div_by": assume_div_by,
    "assume_div_by_every_along": assume_div_by_every_along,
    "assume_bounds": assume_bounds,
    "assume_bounds_lower": assume_bounds_lower,
    "assume_bounds_upper": assume_bounds_upper,
    "assume_same_elements": assume_same_elements,
}
