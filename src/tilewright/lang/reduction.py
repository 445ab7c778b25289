"""Reductions and scans along axes of a tile.

Sums, products and scans of f16 and bf16 accumulate in f32 and round once; integers wrap. The order
in which elements are combined is not specified. `axis` may count from the end; None, or leaving it
out, reduces all axes to a scalar, a tuple several.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias, overload

from ..base.dtypes import bool_, i32
from .marker import declared
from .tile import Axis, E, Tile

Scalar: TypeAlias = Tile[Any]
"""What a combiner gets and gives: one element."""


@declared
def reduce_sum(tile: Tile[E], axis: Axis = None, keepdims: bool = False) -> Tile[E]:
    """Sum along an axis; booleans are counted, in i32."""
    ...


@declared
def reduce_prod(tile: Tile[E], axis: Axis = None, keepdims: bool = False) -> Tile[E]:
    """Return the product along an axis."""
    ...


@declared
def reduce_max(tile: Tile[E], axis: Axis = None, keepdims: bool = False) -> Tile[E]:
    """Return the maximum along an axis; a NaN wins, as in NumPy."""
    ...


@declared
def reduce_min(tile: Tile[E], axis: Axis = None, keepdims: bool = False) -> Tile[E]:
    """Return the minimum along an axis; a NaN wins, as in NumPy."""
    ...


@declared
def argmax(tile: Tile[Any], axis: int | None = None, keepdims: bool = False) -> Tile[i32]:
    """Return the index of the maximum along an axis: the first of equals, the first NaN."""
    ...


@declared
def argmin(tile: Tile[Any], axis: int | None = None, keepdims: bool = False) -> Tile[i32]:
    """Return the index of the minimum along an axis: the first of equals, the first NaN."""
    ...


@declared
def any(tile: Tile[object], axis: Axis = None, keepdims: bool = False) -> Tile[bool_]:
    """Return whether any element along an axis is true, or not 0."""
    ...


@declared
def all(tile: Tile[object], axis: Axis = None, keepdims: bool = False) -> Tile[bool_]:
    """Return whether every element along an axis is true, or not 0."""
    ...


@overload
def reduce(
    tile: Tile[E],
    axis: int,
    identity: float,
    combiner: Callable[[Scalar, Scalar], Scalar],
    keepdims: bool = False,
) -> Tile[E]: ...
@overload
def reduce(
    tile: tuple[Tile[Any], Tile[Any]],
    axis: int,
    identity: tuple[float, float],
    combiner: Callable[[Scalar, Scalar, Scalar, Scalar], tuple[Scalar, Scalar]],
    keepdims: bool = False,
) -> tuple[Tile[Any], Tile[Any]]: ...
@overload
def reduce(
    tile: tuple[Tile[Any], ...],
    axis: int,
    identity: tuple[float, ...],
    combiner: Callable[..., tuple[Scalar, ...]],
    keepdims: bool = False,
) -> tuple[Tile[Any], ...]: ...
@declared
def reduce(
    tile: Tile[Any] | tuple[Tile[Any], ...],
    axis: int,
    identity: float | tuple[float, ...],
    combiner: Callable[..., Any],
    keepdims: bool = False,
) -> Tile[Any] | tuple[Tile[Any], ...]:
    """Combine elements along an axis with a custom function: `lambda a, b: a + b`.

    The combiner must be associative and commutative, for the order in which elements meet is not
    specified, and `identity` neutral for it. Several tiles of one shape are reduced together: the
    combiner takes the elements of one part, then those of the other,
    `lambda a0, a1, b0, b1: ...`, and gives a tuple.
    """
    ...


@declared
def scan_sum(tile: Tile[E], axis: int = 0, reverse: bool = False) -> Tile[E]:
    """Return all partial sums along an axis; `reverse` starts at the end."""
    ...


@declared
def cumsum(tile: Tile[E], axis: int = 0, reverse: bool = False) -> Tile[E]:
    """Return all partial sums along an axis; the same as `scan_sum`."""
    ...


@overload
def scan(
    tile: Tile[E],
    axis: int,
    identity: float,
    combiner: Callable[[Scalar, Scalar], Scalar],
    reverse: bool = False,
) -> Tile[E]: ...
@overload
def scan(
    tile: tuple[Tile[Any], Tile[Any]],
    axis: int,
    identity: tuple[float, float],
    combiner: Callable[[Scalar, Scalar, Scalar, Scalar], tuple[Scalar, Scalar]],
    reverse: bool = False,
) -> tuple[Tile[Any], Tile[Any]]: ...
@overload
def scan(
    tile: tuple[Tile[Any], ...],
    axis: int,
    identity: tuple[float, ...],
    combiner: Callable[..., tuple[Scalar, ...]],
    reverse: bool = False,
) -> tuple[Tile[Any], ...]: ...
@declared
def scan(
    tile: Tile[Any] | tuple[Tile[Any], ...],
    axis: int,
    identity: float | tuple[float, ...],
    combiner: Callable[..., Any],
    reverse: bool = False,
) -> Tile[Any] | tuple[Tile[Any], ...]:
    """Return all partial results along an axis, each including its own element.

    The combiner takes what came before, then the next element; see `reduce`.
    """
    ...
