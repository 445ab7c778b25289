"""Rows of a table by their numbers, with gradients; dropout."""

from __future__ import annotations

import math
import sys
from typing import Any

from ..base.dtypes import f64, i32, i64, u32, u64
from ..functions.function import Function
from ..lang import (
    Tensor,
    TensorMut,
    arange,
    block_id,
    load_tile_like,
    make_gather_scatter_view,
    rand,
    where,
    zeros,
)
from ..launch import entry
from .calling import operation, reshaped
from .tiles import as_scalar, rounded, sum_type, widened

ROWS, COLUMNS = 16, 256
"""Tiles of the rows that are copied."""


@entry
def take_rows(y: TensorMut, index: Tensor, table: Tensor) -> None:
    """Copy the rows of a table whose numbers are given."""
    i, j = block_id(0), block_id(1)
    asked = index.partition((y.shape[0],)).load((i,)).astype(i64)
    is_row = (asked >= 0) & (asked < table.shape[0])
    rows = where(is_row, asked, -1).astype(i32)  # -1 is refused
    view = make_gather_scatter_view(table, y.shape)
    y.store(view.load((rows, j * y.shape[1])))


@entry
def add_rows(d_table: TensorMut, dy: Tensor, order: Tensor, starts: Tensor, table: Tensor) -> None:
    """Sum the gradients of each row of a table.

    `order` lists the gradients by their row, those of row r from starts[r] to starts[r + 1] - 1.
    """
    r, j = block_id(0), block_id(1)
    tile = (1, d_table.shape[1])
    bounds, numbers = starts.partition((1,)), order.partition((1,))
    grads = make_gather_scatter_view(dy, tile)
    total = zeros(tile, sum_type(dy.dtype))
    start: Any = bounds.load((r,)).item()
    stop: Any = bounds.load((r + 1,)).item()
    for k in range(int(start), int(stop)):
        total = total + widened(grads.load((numbers.load((k,)).astype(i32), j * tile[1])))
    d_table.store(rounded(total, d_table))


_LIBRARIES = {"torch": "torch", "jax": "jax.numpy", "jaxlib": "jax.numpy"}
"""By the package of an array's class: the module with functions of such arrays; else NumPy."""


def _sorted(index: Any, count: int) -> tuple[Any, Any]:
    """Return an order that sorts numbers, and where each of so many numbers begins in it."""
    package = type(index).__module__.partition(".")[0]
    library: Any = sys.modules[_LIBRARIES.get(package, "numpy")]
    order = library.argsort(index)
    rows = library.arange(count + 1)
    if package == "torch":
        rows = rows.to(index.device)
    return order, library.searchsorted(index[order], rows)


_ADD_ROWS = Function(add_rows, outputs="table", tiles=(1, COLUMNS))


def _table_gradient(dy: Any, index: Any, table: Any) -> Any:
    order, starts = _sorted(index, table.shape[0])
    return None, _ADD_ROWS(dy, order, starts, table)


_TAKE_ROWS = Function(
    take_rows,
    outputs=lambda index, table: ((index.shape[0], table.shape[1]), table.dtype),
    tiles=(ROWS, COLUMNS),
    backward=_table_gradient,
)


@operation
def embedding(x: Any, weight: Any) -> Any:
    """Return the rows of `weight`, (rows, depth), whose numbers are the elements of x.

    A number that is no row of the table fails the launch.

    >>> ops.embedding(np.array([1, 0]), np.array([[1.0, 2.0], [3.0, 4.0]], "f4"))
    array([[3., 4.],
           [1., 2.]], dtype=float32)
    """
    if len(weight.shape) != 2:
        raise ValueError(f"`weight` of `embedding` is (rows, depth), got {tuple(weight.shape)}")
    shape = tuple(x.shape)
    found = _TAKE_ROWS(reshaped(x, (math.prod(shape),)), weight)
    return reshaped(found, (*shape, weight.shape[1]))


# --- dropout -----------------------------------------------------------------------------------


@entry
def drop_elements(y: TensorMut, x: Tensor, p: f64, seed: u64) -> None:
    """Drop elements with probability p, by the random numbers of their indices; scale others."""
    (block,) = y.shape
    number = (arange(block) + block_id(0) * block).astype(u32)
    tile = widened(load_tile_like(x, y))
    share = as_scalar(p, tile.dtype)
    uniform = rand(seed, number).astype(tile.dtype)
    y.store(rounded(where(uniform >= share, tile / (1.0 - share), 0.0), y))


_DROP_AGAIN = Function(drop_elements, outputs="x", tiles=1024)
_DROP = Function(
    drop_elements, outputs="x", tiles=1024,
    backward=lambda dy, p, seed: _DROP_AGAIN(dy, p, seed),
)  # fmt: skip


@operation
def dropout(x: Any, p: float = 0.5, training: bool = True, *, seed: int) -> Any:
    """Set elements to 0 with probability p, and divide the others by 1 - p.

    The same seed drops the same elements, on every device; nothing is kept for the gradient, which
    draws the same numbers again. Without `training` x is returned as it is.

    >>> np.unique(ops.dropout(np.ones(100, "f4"), 0.5, seed=1))
    array([0., 2.], dtype=float32)
    """
    if not 0.0 <= p <= 1.0:
        raise ValueError(f"`dropout` has a probability from 0 to 1, got {p}")
    if not training:
        return x
    shape = tuple(x.shape)
    flat = reshaped(x, (math.prod(shape),))
    if p == 1.0:
        return reshaped(_DROP(flat, 2.0, 0), shape)
    return reshaped(_DROP(flat, float(p), seed & (1 << 64) - 1), shape)
