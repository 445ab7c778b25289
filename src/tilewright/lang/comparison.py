"""Named comparisons, and selection between two values."""

from __future__ import annotations

from typing import Any, overload

from ..base.dtypes import bool_
from .enums import Predicate
from .marker import declared
from .tile import E, Number, Tile


@declared
def cmpi(a: Tile[Any] | int, b: Tile[Any] | int, predicate: Predicate) -> Tile[bool_]:
    """Compare integers by their signedness, or booleans for equality."""
    ...


@declared
def cmpf(a: Number, b: Number, predicate: Predicate, *, unordered: bool = False) -> Tile[bool_]:
    """Compare floats; if one is NaN the result is `unordered`."""
    ...


@declared
def eq_tile(a: Number, b: Number) -> Tile[bool_]:
    """Compare elements for equality, as `==` does."""
    ...


@declared
def ne_tile(a: Number, b: Number) -> Tile[bool_]:
    """Compare elements for inequality, as `!=` does: NaN is unequal to everything."""
    ...


@declared
def gt_tile(a: Number, b: Number) -> Tile[bool_]:
    """Compare elements, as `>` does."""
    ...


@declared
def ge_tile(a: Number, b: Number) -> Tile[bool_]:
    """Compare elements, as `>=` does."""
    ...


@declared
def lt_tile(a: Number, b: Number) -> Tile[bool_]:
    """Compare elements, as `<` does."""
    ...


@declared
def le_tile(a: Number, b: Number) -> Tile[bool_]:
    """Compare elements, as `<=` does."""
    ...


@overload
def where(cond: Tile[bool_] | bool, a: Tile[E], b: Tile[E] | float) -> Tile[E]: ...
@overload
def where(cond: Tile[bool_] | bool, a: float, b: Tile[E]) -> Tile[E]: ...
@overload
def where(cond: Tile[bool_] | bool, a: Tile[Any], b: Tile[Any]) -> Tile[Any]: ...
@overload
def where(cond: Tile[bool_] | bool, a: float, b: float) -> Tile[Any]: ...
@declared
def where(cond: Tile[bool_] | bool, a: Number, b: Number) -> Tile[Any]:
    """Select `a` where `cond` holds and `b` elsewhere; all three broadcast."""
    ...


@overload
def select(cond: Tile[bool_] | bool, a: Tile[E], b: Tile[E] | float) -> Tile[E]: ...
@overload
def select(cond: Tile[bool_] | bool, a: float, b: Tile[E]) -> Tile[E]: ...
@overload
def select(cond: Tile[bool_] | bool, a: Tile[Any], b: Tile[Any]) -> Tile[Any]: ...
@overload
def select(cond: Tile[bool_] | bool, a: float, b: float) -> Tile[Any]: ...
@declared
def select(cond: Tile[bool_] | bool, a: Number, b: Number) -> Tile[Any]:
    """Select `a` where `cond` holds and `b` elsewhere; the same as `where`."""
    ...
