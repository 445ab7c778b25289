"""Merges the values of one name from several paths, at the end of branches and loops (SSA phi).

Values are trees, and only leaves are joined. A leaf that is the same static object on all paths
stays static; numbers become dynamic; tensors must agree.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..base.dtypes import DTypeMeta
from ..base.errors import Code
from ..ir.core import Value
from ..ir.types import TileType
from . import promote
from .describe import describe
from .emit import Emitter
from .trees import children
from .values import OwnedIndex


def same_structure(a: Any, b: Any) -> bool:
    """Whether two values have the same tree."""
    x, y = children(a), children(b)
    if x is None or y is None:
        return x is None and y is None
    if _kind(a) is not _kind(b) or len(x) != len(y):
        return False
    return all(same_structure(p, q) for p, q in zip(x, y, strict=True))


def _kind(x: Any) -> type:
    """The class of a structured value; an index that is carried on is no more than a tuple."""
    return tuple if isinstance(x, OwnedIndex) else type(x)


def is_number(x: Any) -> bool:
    """Whether x is a static number, which may become dynamic."""
    return isinstance(x, bool | int | float) or (
        isinstance(type(x), DTypeMeta) and not isinstance(x, type)
    )


def same_static(a: Any, b: Any) -> bool:
    """Whether two static leaves are the same."""
    if a is b:
        return True
    if isinstance(a, Value) or isinstance(b, Value) or type(a) is not type(b):
        return False
    return (is_number(a) and repr(a) == repr(b)) or (isinstance(a, str) and a == b)


@dataclass(frozen=True, slots=True)
class Conflict:
    """Two leaves that cannot be brought together, in the user's words."""

    code: Code
    first: str
    second: str


def merge_type(a: Any, b: Any) -> TileType | Conflict | None:
    """The type of a leaf that is `a` on one path and `b` on another; None: the same static."""
    if same_static(a, b):
        return None
    if not _joinable(a) or not _joinable(b):
        return Conflict(Code.SELECT, _say(a), _say(b))
    if isinstance(a, TileType | Value) and isinstance(b, TileType | Value):
        x, y = _type(a), _type(b)
        return x if x == y else Conflict(Code.BRANCH_TYPE, _say(a), _say(b))
    if isinstance(a, TileType | Value):
        return _with_number(_type(a), b) or Conflict(Code.BRANCH_TYPE, _say(a), describe(b))
    if isinstance(b, TileType | Value):
        return _with_number(_type(b), a) or Conflict(Code.BRANCH_TYPE, describe(a), _say(b))
    return _of_numbers(a, b)


def _of_numbers(a: Any, b: Any) -> TileType | Conflict:
    """Two static numbers: of one type, or an int that becomes a float."""
    x, y = promote.natural_dtype(a), promote.natural_dtype(b)
    if x is y:
        return TileType(x)
    weak = promote.is_weak(a) and promote.is_weak(b) and x.kind in "if" and y.kind in "if"
    both = x if x.is_float else y
    return TileType(both) if weak else Conflict(Code.BRANCH_TYPE, describe(a), describe(b))


def _with_number(tile: TileType, number: Any) -> TileType | None:
    """A typed scalar absorbs a Python number of its kind."""
    if tile.rank or tile.is_pointer or not promote.is_weak(number):
        return None
    dtype, own = tile.dtype, promote.natural_dtype(number)
    fits = (
        dtype.kind == own.kind
        or (dtype.is_float and own.kind == "i")
        or (dtype.kind == "u" and own.kind == "i")
    )
    return tile if fits else None


def _joinable(x: Any) -> bool:
    return (
        isinstance(x, TileType)
        or is_number(x)
        or (isinstance(x, Value) and isinstance(x.type, TileType))
    )


def _type(x: TileType | Value) -> TileType:
    return x if isinstance(x, TileType) else x.tile


def _say(x: Any) -> str:
    return describe(Value(x) if isinstance(x, TileType) else x)


def coerce(em: Emitter, leaf: Any, type_: TileType) -> Value:
    """A leaf as a Value of the joined type, emitted at the end of its path."""
    if isinstance(leaf, Value):
        return leaf
    return em.number(leaf, type_.dtype)
