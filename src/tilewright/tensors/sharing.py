"""How the result of a shared op is kept and handed out: tensors as `Arc`, each user an owner."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import methodcaller
from types import MappingProxyType
from typing import Any

from ..base.errors import BorrowError
from .arc import Arc
from .tensor import Tensor


def share(value: object, lent: Sequence[object]) -> Any:
    """Return a result to be kept for several users; a tensor becomes an Arc if it can, also in a
    tuple.

    What was only lent to the op stays as it is: its owner would lose it.
    """
    if any(value is each for each in lent):
        return value
    way = _KEEPING.get(type(value))
    return value if way is None else way(value, lent)


def another_owner(value: object) -> Any:
    """Return a kept result for one more user."""
    way = _HANDING_OUT.get(type(value))
    return value if way is None else way(value)


def _all_shared(results: tuple[Any, ...], lent: Sequence[object]) -> tuple[Any, ...]:
    return tuple([share(result, lent) for result in results])


def _as_arc(tensor: Tensor[Any], lent: Sequence[object]) -> Arc[Any] | Tensor[Any]:
    """Return a tensor as an Arc; a view or another borrow is shared unchanged."""
    try:
        return Arc(tensor)
    except BorrowError:
        return tensor


_KEEPING: Mapping[type, Callable[[Any, Sequence[object]], Any]] = MappingProxyType(
    {tuple: _all_shared, Tensor: _as_arc}
)
_HANDING_OUT: Mapping[type, Callable[[Any], Any]] = MappingProxyType(
    {tuple: lambda results: tuple(map(another_owner, results)), Arc: methodcaller("clone")}
)
