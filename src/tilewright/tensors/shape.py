"""Shapes as users write them: an int or a sequence of ints, checked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, SupportsIndex, TypeAlias

from .._core import is_shape
from ..base.errors import ShapeError
from ..base.messages import number_text
from ..base.shapes import Shape, size

ShapeLike: TypeAlias = SupportsIndex | Sequence[SupportsIndex]
"""What is taken as a shape: `8`, `(8, 4)`, `[8, 4]`."""

MAX_RANK = 8
MAX_EXTENT = (1 << 63) - 1
"""What 64 bits hold, as all sizes are kept."""


def as_shape(shape: ShapeLike, what: str = "shape", least: int = 0) -> Shape:
    """Return a shape as a tuple of ints, none of them below `least`."""
    plain: Any = shape
    if is_shape(plain, least, MAX_RANK):
        return plain  # type: ignore[no-any-return]
    given: Sequence[SupportsIndex] = (shape,) if isinstance(shape, int) else _sequence(shape)
    try:
        dims = tuple([n.__index__() for n in given])
    except (AttributeError, TypeError):
        raise TypeError(f"{what} must be an int or a sequence of ints, got {shape!r}") from None
    if dims and max(dims) > MAX_EXTENT:
        raise ShapeError(
            f"{what} has an extent that is too large",
            expected=f"at most {MAX_EXTENT}",
            got=_shown(dims),
        )
    if dims and min(dims) < least:
        words = "negative extents" if least == 0 else f"extents below {least}"
        raise ShapeError(f"{what} has {words}", got=_shown(dims))
    if len(dims) > MAX_RANK:
        raise ShapeError(
            f"{what} has {len(dims)} axes", expected=f"at most {MAX_RANK}", got=str(dims)
        )
    return dims


def one_shape(given: tuple[ShapeLike, ...]) -> ShapeLike:
    """Return the shape that a method was given: as one argument, or as an argument per axis."""
    extents: Any = given
    return given[0] if len(given) == 1 else extents


def _sequence(shape: ShapeLike) -> Sequence[SupportsIndex]:
    # Sequence is an abstract class, which takes long to tell; most shapes are tuples.
    return shape if isinstance(shape, (tuple, Sequence)) else (shape,)


def _shown(dims: Shape) -> str:
    """Return a shape as Python writes it, however long its numbers are."""
    text = ", ".join(map(number_text, dims))
    return f"({text},)" if len(dims) == 1 else f"({text})"


def fill_in(shape: ShapeLike, elements: int) -> Shape:
    """Return the new shape of a reshape; one -1 stands for the remaining extent."""
    dims = as_shape(shape, least=-1)
    if dims.count(-1) == 1:
        rest = size([n for n in dims if n != -1])
        if rest and elements % rest == 0:
            dims = tuple(elements // rest if n == -1 else n for n in dims)
    if -1 in dims or size(dims) != elements:
        raise ShapeError(
            f"{elements} elements cannot have the shape {dims}",
            expected=f"a shape of {elements} elements",
            got=f"{dims}, which has {size(dims)}" if -1 not in dims else str(dims),
        )
    return dims
