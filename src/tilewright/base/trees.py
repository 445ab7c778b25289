"""Values as trees: tuples, lists, NamedTuples and frozen dataclasses have parts, leaves none."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, TypeGuard

# -------------------------------------------------------------------------------------------------
# Leaves.


class Leaf:
    """A value of the compiler's own: it may be a frozen dataclass, but shows no parts."""

    __slots__ = ()


# -------------------------------------------------------------------------------------------------
# Parts of values.


def _kind(x: object) -> Any:
    """Return the type of a value, of which nothing is known here."""
    return type(x)


def is_record(x: Any) -> bool:
    """Return whether x is an instance of a frozen dataclass of the user's."""
    params = getattr(_kind(x), "__dataclass_params__", None)
    return params is not None and params.frozen and not isinstance(x, Leaf)


def is_tuple(x: object) -> TypeGuard[tuple[object, ...]]:
    """Return whether x is a tuple, of whatever types."""
    return isinstance(x, tuple)


def part_names(x: Any) -> Sequence[str]:
    """Return the names of the parts of a NamedTuple or a frozen dataclass."""
    if issubclass(_kind(x), tuple):
        return getattr(x, "_fields", ())
    return [f.name for f in dataclasses.fields(x)]


def children(x: Any) -> list[Any] | None:
    """Return the parts of a structured value, or None for a leaf."""
    if issubclass(_kind(x), tuple | list):
        return list(x)
    if is_record(x):
        return [getattr(x, f.name) for f in dataclasses.fields(x)]
    return None


def rebuild(like: Any, parts: Sequence[Any]) -> Any:
    """Return a structured value like this one with other parts."""
    kind = _kind(like)
    if issubclass(kind, tuple):
        return _kind(like)(*parts) if hasattr(like, "_fields") else tuple(parts)
    if issubclass(kind, list):
        return list(parts)
    names = [f.name for f in dataclasses.fields(like)]
    return dataclasses.replace(like, **dict(zip(names, parts, strict=True)))


def leaves(x: Any) -> list[Any]:
    """Return all leaves of a value, left to right."""
    parts = children(x)
    return [x] if parts is None else [leaf for part in parts for leaf in leaves(part)]


def replace_leaves(x: Any, values: list[Any]) -> Any:
    """Rebuild a tree with leaves taken from `values`, which is used up from the front."""
    parts = children(x)
    if parts is None:
        return values.pop(0)
    return rebuild(x, [replace_leaves(part, values) for part in parts])
