"""Products of rows in groups, each with a matrix for the group, with gradients.

Rows of a group are adjacent. A tile of rows that has parts of several groups is multiplied with the
matrix of each, with the rows of the others as zeros: nothing is padded, and no order is left open.
"""

from __future__ import annotations

from functools import cache, partial
from typing import Any

from ..base.dtypes import i32
from ..base.shapes import FULL, next_power_of_2
from ..functions.function import Function
from ..lang import (
    Const,
    Tensor,
    TensorMut,
    arange,
    block_id,
    ceil_div,
    cumsum,
    minimum,
    mma,
    reduce_sum,
    where,
    zeros,
)
from ..launch import entry
from .calling import float_operation, refuse_no_integers
from .matmul import Tiles, tiles_for
from .tiles import rounded, sum_type

FAR = 2**31 - 1
"""Ends no group."""


@entry
def ends_of_groups(ends: TensorMut, sizes: Tensor) -> None:
    """Compute the row behind the last one of each group."""
    assert ends.shape[0] >= sizes.shape[0]
    ends.store(cumsum(sizes.partition(ends.shape).load((0,)).astype(i32), 0))


_ENDS = Function(ends_of_groups, outputs=lambda sizes: (sizes.shape, i32), tiles=FULL)


def limits(ends: Any, group: Any) -> tuple[int, int]:
    """Return the first row of a group, and the one behind its last."""
    numbers = arange(ends.shape[0])
    start: Any = reduce_sum(where(numbers == group - 1, ends, 0), 0)
    stop: Any = reduce_sum(where(numbers == group, ends, 0), 0)
    return start, stop


@entry
def multiply_groups(
    z: TensorMut, x: Tensor, w: Tensor, ends: Tensor, *,
    STEP: Const[int], GROUPS: Const[int], TURN: Const[bool],
) -> None:  # fmt: skip
    """Multiply each row of x by the matrix of its group, (inputs, outputs), or turned."""
    i, j = block_id(0), block_id(1)
    rows, columns = z.shape[0], z.shape[1]
    assert x.shape[1] == w.shape[2 if TURN else 1]
    bounds = ends.partition((GROUPS,), padding=FAR).load((0,)).astype(i32)
    top = i * rows
    # The groups that end before a row are those that it is not in.
    first: Any = reduce_sum((bounds <= top).astype(i32), 0)
    last: Any = reduce_sum((bounds < top + rows).astype(i32), 0)
    numbers = (arange(rows) + top)[:, None]
    lefts = x.partition((rows, STEP))
    rights = w.partition((1, STEP, columns), dim_map=(0, 2, 1) if TURN else (0, 1, 2))
    total = zeros((rows, columns), sum_type(z.dtype))
    for group in range(int(first), minimum(int(last), w.shape[0] - 1) + 1):
        start, stop = limits(bounds, group)
        inside = (numbers >= start) & (numbers < stop)
        for k in range(lefts.num_tiles(1)):
            left = where(inside, lefts.load((i, k)), 0.0)
            total = mma(left, rights.load((group, k, j)).reshape(STEP, columns), total)
    z.store(rounded(total, z))


@entry
def multiply_group_rows(
    dw: TensorMut, a: Tensor, b: Tensor, ends: Tensor, w: Tensor, *,
    STEP: Const[int], GROUPS: Const[int],
) -> None:  # fmt: skip
    """Compute a.T @ b of the rows of each group."""
    group, i, j = block_id(0), block_id(1), block_id(2)
    rows, columns = dw.shape[1], dw.shape[2]
    start, stop = limits(ends.partition((GROUPS,), padding=FAR).load((0,)).astype(i32), group)
    lefts, rights = a.partition((STEP, rows)), b.partition((STEP, columns))
    total = zeros((rows, columns), sum_type(dw.dtype))
    for k in range(start // STEP, ceil_div(stop, STEP)):
        numbers = (arange(STEP) + k * STEP)[:, None]
        left = where((numbers >= start) & (numbers < stop), lefts.load((k, i)), 0.0)
        total = mma(left.T, rights.load((k, j)), total)
    dw.store(rounded(total, dw).reshape(1, rows, columns))


@cache
def _rows(tiles: Tiles, groups: int, turned: bool) -> Function:
    def backward(dz: Any, x: Any, w: Any, ends: Any) -> Any:
        left, right = (dz, x) if turned else (x, dz)
        return (
            lambda: multiplied(dz, w, ends, not turned),
            lambda: _products_of_rows(left, right, ends, w),
            None,
        )

    return Function(
        multiply_groups,
        outputs=lambda x, w, ends: (x.shape[0], w.shape[1 if turned else 2]),
        tiles=(tiles.rows, tiles.columns),
        constants={"STEP": tiles.step, "GROUPS": groups, "TURN": turned},
        backward=backward,
    )


def multiplied(x: Any, w: Any, ends: Any, turned: bool = False) -> Any:
    """Return the product of each row and the matrix of its group, which may be turned."""
    columns = w.shape[1 if turned else 2]
    tiles = tiles_for(x.shape[0], columns, x.shape[1])
    return _rows(tiles, next_power_of_2(w.shape[0]), turned)(x, w, ends)


@cache
def _matrices(tiles: Tiles, groups: int) -> Function:
    def backward(dw: Any, a: Any, b: Any, ends: Any) -> Any:
        by_a, by_b = partial(multiplied, b, dw, ends, True), partial(multiplied, a, dw, ends)
        return by_a, by_b, None, None

    return Function(
        multiply_group_rows, outputs="w", tiles=(1, tiles.rows, tiles.columns),
        constants={"STEP": tiles.step, "GROUPS": groups}, backward=backward,
    )  # fmt: skip


def _products_of_rows(a: Any, b: Any, ends: Any, w: Any) -> Any:
    """Return a.T @ b of the rows of each group, which look like w."""
    tiles = tiles_for(a.shape[1], b.shape[1], a.shape[0])
    return _matrices(tiles, next_power_of_2(w.shape[0]))(a, b, ends, w)


@float_operation
def _multiplied(x: Any, weight: Any, ends: Any) -> Any:
    left, right = tuple(x.shape), tuple(weight.shape)
    fits = len(left) == 2 and len(right) == 3 and left[1] == right[1]
    if not fits or tuple(ends.shape) != right[:1]:
        raise ValueError(
            "`grouped_matmul` takes rows (rows, inputs), matrices (groups, inputs, outputs) and one"
            f" number for each group; got the shapes {left}, {right} and {tuple(ends.shape)}"
        )
    return multiplied(x, weight, ends)


@float_operation
def grouped_matmul(x: Any, weight: Any, sizes: Any = None, *, ends: Any = None) -> Any:
    """Compute x[rows of g] @ weight[g] for each group g of adjacent rows.

    x is (rows, inputs), `weight` (groups, inputs, outputs). `sizes` has the number of rows of each
    group, integers that only the device reads, or `ends` the row behind its last one; rows behind
    the last group are zeros.

    >>> w = np.array([[[1.0]], [[10.0]]], "f4")
    >>> ops.grouped_matmul(np.ones((3, 1), "f4"), w, np.array([1, 2])).ravel()
    array([ 1., 10., 10.], dtype=float32)
    """
    if (sizes is None) == (ends is None):
        raise TypeError("`grouped_matmul` takes the sizes of groups, or their ends")
    for which, each in (("sizes", sizes), ("ends", ends)):
        if each is not None:
            refuse_no_integers("grouped_matmul", which, each)
    if len((ends if sizes is None else sizes).shape) != 1:
        raise ValueError("`grouped_matmul` takes one number for each group")
    if sizes is None:
        return _multiplied(x, weight, ends)
    return _multiplied(x, weight, _ENDS(sizes))
