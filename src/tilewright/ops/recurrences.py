"""Linear recurrences along an axis: y[i] = x[i] + decay[i] * y[i - 1], with all derivatives.

A block visits the parts of its rows in order, and carries the last element.
"""

from __future__ import annotations

from functools import cache, partial
from typing import Any

from ..functions.function import Function
from ..lang import Const, Tensor, TensorMut, arange, block_id, full, reduce_sum, scan, where, zeros
from ..launch import entry
from .calling import axis_of, float_operation, refuse_other_shape, refuse_other_types
from .elementwise import tiles_of
from .rows import by_length, row_function, rows_of
from .tiles import rounded, sum_type, widened


def _steps(decay: Any, total: Any, factor: Any, term: Any) -> tuple[Any, Any]:
    """Combine two steps s -> decay * s + total."""
    return decay * factor, total * factor + term


def recurrence(factors: Any, terms: Any, carry: Any, backwards: bool) -> Any:
    """Return s[k] = terms[k] + factors[k] * s[k - 1] of rows, before which s is `carry`.

    Backwards, s[k + 1] takes the place of s[k - 1], and the carry is behind the rows.
    """
    decay, total = scan((factors, terms), 1, (1.0, 0.0), _steps, reverse=backwards)
    return total + decay * carry


def column_of(tile: Any, number: Any) -> Any:
    """Return one column of a tile of rows."""
    chosen = where((arange(tile.shape[1]) == number)[None, :], tile, zeros((1, 1), tile.dtype))
    return reduce_sum(chosen, 1, keepdims=True).astype(tile.dtype)


@entry
def recur_rows(
    y: TensorMut, x: Tensor, decay: Tensor, *, PART: Const[int], REVERSE: Const[bool]
) -> None:
    """Compute y[k] = x[k] + decay[k] * y[k - 1] of whole rows, or of y[k + 1]."""
    assert y.shape[1] >= x.shape[1]
    i, rows = block_id(0), y.shape[0]
    terms, factors = x.partition((rows, PART)), decay.partition((rows, PART), padding=1)
    out = y.partition_mut((rows, PART))
    carry = zeros((rows, 1), sum_type(x.dtype))
    for j in range(terms.num_tiles(1)):
        k = terms.num_tiles(1) - 1 - j if REVERSE else j
        given = widened(factors.load((i, k))), widened(terms.load((i, k)))
        sums = recurrence(*given, carry, REVERSE)
        out.store(rounded(sums, y), (0, k))
        carry = column_of(sums, 0 if REVERSE else PART - 1)


def _recurring(count: int, part: int, reverse: bool) -> Function:
    step = -1 if reverse else 1

    def backward(dy: Any, decay: Any, y: Any) -> Any:
        by_x = RECURRENCES[not reverse](y.shape[1])(dy, shifted(decay, -step))
        return by_x, lambda: by_x * shifted(y, step)

    return row_function(recur_rows, count, "x", backward=backward, PART=part, REVERSE=reverse)


RECURRENCES = {
    reverse: by_length(partial(_recurring, reverse=reverse)) for reverse in (False, True)
}
"""By whether they run backwards: what finds the function of x and decay, for rows of a length."""


@entry
def shift_columns(
    y: TensorMut, x: Tensor, *, STEP: Const[int], PART: Const[int], FILL: Const[int]
) -> None:
    """Move rows by a column, within parts of so many columns (0: within all)."""
    rows, columns = y.shape
    first = block_id(1) * columns
    moved = x.load_at((block_id(0) * rows, first - STEP), y.shape, padding=FILL)
    if PART:
        number = (arange(columns) + first) % PART
        is_end = number == (0 if STEP > 0 else PART - 1)
        moved = where(is_end[None, :], full((1, 1), FILL).astype(moved.dtype), moved)
    y.store(moved)


@cache
def _shifting(step: int, part: int, fill: int) -> Function:
    return Function(
        shift_columns, outputs="x", tiles=tiles_of,
        constants={"STEP": step, "PART": part, "FILL": fill},
        backward=lambda dy: shifted(dy, -step, part),
    )  # fmt: skip


def shifted(x: Any, step: int, part: int = 0, fill: int = 0) -> Any:
    """Return rows of which each element is that before it (step 1) or behind it (step -1).

    Rows consist of parts of so many elements; the first of a part, or the last, is `fill`.
    """
    return _shifting(step, part, fill)(x)


def products_of_others(x: Any, part: int) -> Any:
    """Return, of parts of rows, the product of all other elements of each part."""
    found: list[Any] = []
    for step in (1, -1):
        starts, factors = shifted(x * 0, step, part, 1), shifted(x, step, part)
        found.append(RECURRENCES[step < 0](x.shape[1])(starts, factors))
    return found[0] * found[1]


@float_operation
def linear_recurrence(
    x: Any, decay: Any, axis: int = -1, *, reverse: bool = False, dim: int | None = None
) -> Any:
    """Compute y[i] = x[i] + decay[i] * y[i - 1] along an axis; y[0] = x[0].

    Arrays have one shape. If `reverse`, y[i + 1] takes the place of y[i - 1], and the last elements
    are those of x.

    >>> ops.linear_recurrence(np.array([1.0, 1.0, 1.0], "f4"), np.array([9.0, 0.5, 0.5], "f4"))
    array([1.  , 1.5 , 1.75], dtype=float32)
    """
    name = "linear_recurrence"
    refuse_other_types(name, x, decay=decay)
    refuse_other_shape(name, "decay", decay, x.shape)
    along = axis_of(name, len(x.shape), axis if dim is None else dim)
    rows, factors = rows_of(name, x, along), rows_of(name, decay, along)
    return rows.restore(RECURRENCES[bool(reverse)](rows.length)(rows.array, factors.array))
