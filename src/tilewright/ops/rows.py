"""Operations along an axis: arrays as rows, and the tiles of kernels that see whole rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NamedTuple

from ..base.shapes import FULL, Shape, next_power_of_2
from ..functions.describing import Outputs
from ..functions.function import Function
from ..functions.wrapping import OfArrays
from .calling import axes_of, permuted, remembered, reshaped
from .elementwise import ELEMENTS

MOST_ROWS = 16
"""Rows of a tile, at most."""
LONGEST = 16384
"""Elements of a row that a block holds at once; longer rows are visited in parts."""
PART = 4096
"""Elements of a part of a long row."""


class Rows(NamedTuple):
    """An array seen as rows: the axis is the last one of two."""

    array: Any
    rows: int
    length: int
    restore: Callable[..., Any]
    """Returns a result of the same rows in the shape of the input; a second argument is the length
    of its rows, if that differs.
    """
    reduced: Callable[[Any, bool], Any]
    """Returns one result for each row in the shape of the input without the axis, or with 1 there.
    """


def rows_of(
    name: str, x: Any, axis: int | Sequence[int] | None, dim: int | Sequence[int] | None = None
) -> Rows:
    """Return an array as rows along an axis, or several; None stands for all.

    `dim` is PyTorch's name for the axis.
    """
    shape = tuple(x.shape)
    chosen = axis if dim is None else dim
    if isinstance(chosen, int) and len(shape) > 1 and chosen in (-1, len(shape) - 1):
        return _last_rows(x, shape)
    axes = axes_of(name, len(shape), chosen)
    others = [i for i in range(len(shape)) if i not in axes]
    order = (*others, *axes)
    moved = tuple(shape[i] for i in order)
    back = tuple(order.index(i) for i in range(len(order)))
    count, length = (math.prod([shape[i] for i in which]) for which in (others, axes))

    def restore(result: Any, new: int | None = None) -> Any:
        kept = moved if new is None else (*moved[: len(others)], *((new,) if shape else ()))
        return permuted(reshaped(result, kept), back)

    def reduced(result: Any, keepdims: bool) -> Any:
        kept = tuple(1 if i in axes else n for i, n in enumerate(shape))
        return reshaped(result, kept if keepdims else tuple(shape[i] for i in others))

    return Rows(reshaped(permuted(x, order), (count, length)), count, length, restore, reduced)


def _last_rows(x: Any, shape: Shape) -> Rows:
    """Return an array as rows along its last axis."""
    lead, length = shape[:-1], shape[-1]
    count = math.prod(lead)

    def restore(result: Any, new: int | None = None) -> Any:
        known = shape if new is None else (*lead, new)
        return result if len(shape) == 2 else reshaped(result, known)

    def reduced(result: Any, keepdims: bool) -> Any:
        return reshaped(result, (*lead, 1) if keepdims else lead)

    array = x if len(shape) == 2 else reshaped(x, (count, length))
    return Rows(array, count, length, restore, reduced)


def columns_of(shape: Shape, axes: Shape) -> tuple[int, int, int] | None:
    """Return an array's shape as (outer, length, width), where adjacent axes before the last are
    the middle one; None: they are not.
    """
    if not axes or axes[-1] >= len(shape) - 1 or axes[-1] - axes[0] + 1 != len(axes):
        return None
    parts = shape[: axes[0]], [shape[i] for i in axes], shape[axes[-1] + 1 :]
    outer, length, width = map(math.prod, parts)
    return (outer, length, width) if length and width > 1 else None


def rows_in_tile(length: int) -> int:
    """Return how many rows of a length a tile has."""
    return max(1, min(MOST_ROWS, ELEMENTS // next_power_of_2(length)))


def part_of(length: int) -> int:
    """Return how much of a row a block holds at once: all of it, unless it is long."""
    whole = next_power_of_2(length)
    return whole if whole <= LONGEST else PART


def row_tiles(names: Sequence[str], count: int) -> dict[str, Shape]:
    """Return tiles of whole rows for some outputs; those called `row_...` have one column."""
    return {name: (count, 1 if name.startswith("row_") else FULL) for name in names}


Make = Callable[[int, int], Function]


def by_length(make: Make) -> Callable[[int], Function]:
    """Return what finds the function for rows of a length.

    `make` makes it for a number of rows in a tile, and the part of a row that is held at once.
    """
    made = cache(make)

    @remembered
    def find(length: int) -> Function:
        return made(rows_in_tile(length), part_of(length))

    return find


def row_function(
    kernel: Any,
    count: int,
    outputs: Outputs,
    *,
    backward: OfArrays | None = None,
    **constants: Any,
) -> Function:
    """Return the function of a kernel over rows."""
    names = [p.name for p in kernel.source.parameters if p.kind == "output"]
    return Function(
        kernel,
        outputs=outputs,
        tiles=row_tiles(names, count),
        constants=constants,
        backward=backward,
    )
