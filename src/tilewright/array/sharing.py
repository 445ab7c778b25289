"""How the result of a shared op is kept and handed out: tensors as `Arc`, each user an owner."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import methodcaller
from types import MappingProxyType
from typing import Any

from .arc import Arc
from .tensor import Tensor


def share(value: object) -> Any:
    """A result to be kept for several users; a tensor becomes an Arc, also inside a tuple."""
    way = _KEEPING.get(type(value))
    return value if way is None else way(value)


def another_owner(value: object) -> Any:
    """A kept result for one more user."""
    way = _HANDING_OUT.get(type(value))
    return value if way is None else way(value)


_KEEPING: Mapping[type, Callable[[Any], Any]] = MappingProxyType(
    {tuple: lambda results: tuple(map(share, results)), Tensor: Arc}
)
_HANDING_OUT: Mapping[type, Callable[[Any], Any]] = MappingProxyType(
    {tuple: lambda results: tuple(map(another_owner, results)), Arc: methodcaller("clone")}
)
