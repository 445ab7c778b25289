"""The outside values that a kernel reads, recorded so that launches can detect a change.

A name is watched where it is read: a global, a cell, an attribute of a module, a class, an object.
So are the answers of outside Python code about such an object: its length, its truth, its items. Of
a function that a kernel calls, the code and the used defaults are watched.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType, MethodType
from typing import Any

from ..semantics.trees import children

GONE = (LookupError, ValueError, AttributeError)
"""What reading a name raises that means nothing any more: it was deleted, its cell is empty."""


@dataclass(frozen=True, slots=True)
class Captured:
    """A name read from outside the kernel, and what it was: re-checked before each launch."""

    read: Callable[[], Any]
    value: Any
    name: str

    def changed(self) -> bool:
        """Return whether the name means something else by now, or nothing."""
        try:
            now = self.read()
        except GONE:
            return True
        return now is not self.value and not same(now, self.value)


def same(a: Any, b: Any) -> bool:
    """Return whether two constants mean the same: 1, 1.0 and True do not, nor do 0.0 and -0.0."""
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    parts = children(a)
    if parts is not None:
        others = children(b) or []
        return len(parts) == len(others) and all(map(same, parts, others))
    if isinstance(a, int | float | str):
        return bool(a == b) and repr(a) == repr(b)
    # Others mean the same if they say so, and look alike: fractions, dates.
    return (a == b) is True and repr(a) == repr(b)


class Absent:
    """The value of a name that a namespace does not have."""


def there_or_absent(namespace: Mapping[str, Any], name: str) -> Any:
    """Return the value of a name in a namespace, or `Absent`."""
    return namespace.get(name, Absent)


MUTABLE = (list, dict, set, deque, bytearray, MappingProxyType)


def frozen(x: Any) -> Any:
    """Return the present contents of an outside value as tuples: a list may change later."""
    if isinstance(x, dict | MappingProxyType):
        return tuple((key, frozen(value)) for key, value in x.items())
    if isinstance(x, set):
        return tuple(sorted(map(repr, x)))
    parts = x if isinstance(x, list | tuple | deque | bytearray) else children(x)
    return x if parts is None else tuple(map(frozen, parts))


def may_change(x: Any) -> bool:
    """Return whether what a value holds may change while it stays the same object."""
    return isinstance(x, MUTABLE) or any(map(may_change, children(x) or ()))


IMMUTABLE = (int, float, complex, bool, str, bytes, tuple, range, slice, type(None))
"""Classes of which objects have attributes that never change."""
HEAP_TYPE = 1 << 9
"""The flag of classes that Python code has made."""
PACKAGE = __name__.partition(".")[0]


def is_settled(x: Any) -> bool:
    """Return whether what operators and functions make of a value depends on nothing but the value.

    Classes written in Python have methods, and objects of theirs have attributes that may change.
    What is in lists and dicts is watched where they are captured.
    """
    if isinstance(x, tuple | list | dict | set):
        return not is_written(type(x)) and all(map(is_settled, x))
    return isinstance(x, Enum | type) or not is_written(type(x))


def is_written(cls: type) -> bool:
    """Return whether a class is written in Python and is not part of this package."""
    return bool(cls.__flags__ & HEAP_TYPE) and cls.__module__.partition(".")[0] != PACKAGE


def part_of_method(owner: Any, name: str, part: str) -> Any:
    """Return the function or the object of a method: each read makes a new method object."""
    method = getattr(owner, name)
    return getattr(method, part) if isinstance(method, MethodType) else method
