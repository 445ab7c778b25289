"""Rows of a table by their numbers, with gradients; dropout."""

from __future__ import annotations

import math
import operator
import sys
from functools import cache
from typing import Any, NamedTuple

from ..base.dtypes import f64, i32, i64, u32, u64
from ..functions.function import Function
from ..lang import (
    Const,
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
from .calling import float_operation, operation, refuse_no_integers, refuse_other_shape, reshaped
from .elementwise import ADD, apply
from .tiles import as_scalar, rounded, sum_type, widened

ROWS, COLUMNS = 16, 256
"""Tiles of the rows that are copied."""


@entry
def take_rows(y: TensorMut, index: Tensor, table: Tensor, skipped: i64) -> None:
    """Copy the rows of a table whose numbers are given; row `skipped` has no gradient."""
    i, j = block_id(0), block_id(1)
    asked = index.partition((y.shape[0],)).load((i,)).astype(i64)
    is_row = (asked >= 0) & (asked < table.shape[0])
    rows = where(is_row, asked, -1).astype(i32)  # -1 is refused
    view = make_gather_scatter_view(table, y.shape)
    y.store(view.load((rows, j * y.shape[1])))


@entry
def add_rows(d_table: TensorMut, dy: Tensor, order: Tensor, starts: Tensor, index: Tensor,
             table: Tensor, skipped: i64) -> None:  # fmt: skip
    """Sum the gradients of each row of a table but one.

    `order` lists the gradients by their row, those of row r from starts[r] to starts[r + 1] - 1.
    `index`, the rows of the gradients, is not read.
    """
    r, j = block_id(0), block_id(1)
    tile = (1, d_table.shape[1])
    bounds, numbers = starts.partition((1,)), order.partition((1,))
    grads = make_gather_scatter_view(dy, tile)
    total = zeros(tile, sum_type(dy.dtype))
    start: Any = bounds.load((r,)).item()
    stop: Any = bounds.load((r + (0 if skipped == r else 1),)).item()
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


def _rows_but_one(g: Any, index: Any, skipped: int) -> Any:
    """Return the gradient of what is added to the rows of a table."""
    return _TAKE_ROWS(index, g, skipped) * (index != skipped)[:, None], None, None, None, None


_ADD_ROWS = Function(add_rows, outputs="table", tiles=(1, COLUMNS), backward=_rows_but_one)


def _table_gradient(dy: Any, index: Any, table: Any, skipped: int) -> Any:
    order, starts = _sorted(index, table.shape[0])
    return None, _ADD_ROWS(dy, order, starts, index, table, skipped)


_TAKE_ROWS: Function = Function(
    take_rows,
    outputs=lambda index, table, skipped: ((index.shape[0], table.shape[1]), table.dtype),
    tiles=(ROWS, COLUMNS),
    backward=_table_gradient,
)


@operation
def embedding(x: Any, weight: Any, padding_idx: int | None = None) -> Any:
    """Return the rows of `weight`, (rows, depth), whose numbers are the elements of x.

    A number that is no row of the table fails the launch. Row `padding_idx`, also counted from the
    end, gets no gradient.

    >>> ops.embedding(np.array([1, 0]), np.array([[1.0, 2.0], [3.0, 4.0]], "f4"))
    array([[3., 4.],
           [1., 2.]], dtype=float32)
    """
    refuse_no_integers("embedding", "x", x)
    if len(weight.shape) != 2:
        raise ValueError(f"`weight` of `embedding` is (rows, depth), got {tuple(weight.shape)}")
    shape = tuple(x.shape)
    rows = weight.shape[0]
    if padding_idx is not None and not -rows <= padding_idx < rows:
        raise ValueError(f"`padding_idx` is one of {rows} rows, got {padding_idx}")
    skipped = -1 if padding_idx is None else padding_idx % rows
    found = _TAKE_ROWS(reshaped(x, (math.prod(shape),)), weight, skipped)
    return reshaped(found, (*shape, weight.shape[1]))


# --- dropout -----------------------------------------------------------------------------------


def seed_of(seed: Any, seeds: Any, seeded: Any) -> Any:
    """Return the seed of a launch: a number, or the element of an array."""
    return u64(seeds.partition((1,)).load((0,)).item()) if seeded else seed


def _dropped(tile: Any, start: Any, p: Any, seed: Any) -> Any:
    number = (arange(tile.shape[0]) + start).astype(u32)
    share = as_scalar(p, tile.dtype)
    uniform = rand(seed, number).astype(tile.dtype)
    return where(uniform >= share, tile / (1.0 - share), 0.0)


@entry
def drop_elements(
    y: TensorMut, x: Tensor, seeds: Tensor, p: f64, seed: u64, *, SEEDED: Const[bool]
) -> None:
    """Drop elements with probability p, by the random numbers of their indices; scale others."""
    (block,) = y.shape
    drawn = seed_of(seed, seeds, SEEDED)
    y.store(rounded(_dropped(widened(load_tile_like(x, y)), block_id(0) * block, p, drawn), y))


@entry
def drop_and_add(
    y: TensorMut, x: Tensor, residual: Tensor, seeds: Tensor, p: f64, seed: u64, *,
    SEEDED: Const[bool],
) -> None:  # fmt: skip
    """Drop elements as `drop_elements` does, and add others."""
    (block,) = y.shape
    drawn = seed_of(seed, seeds, SEEDED)
    tile = _dropped(widened(load_tile_like(x, y)), block_id(0) * block, p, drawn)
    y.store(rounded(tile + widened(load_tile_like(residual, y)), y))


@cache
def _drop(seeded: bool) -> Function:
    found: Function = Function(
        drop_elements, outputs="x", tiles=1024, constants={"SEEDED": seeded},
        backward=lambda dy, seeds, p, seed: (found(dy, seeds, p, seed), None),
    )  # fmt: skip
    return found


@cache
def _drop_and_add(seeded: bool) -> Function:
    return Function(
        drop_and_add, outputs="x", tiles=1024, constants={"SEEDED": seeded},
        backward=lambda dy, seeds, p, seed: (_drop(seeded)(dy, seeds, p, seed), dy, None),
    )  # fmt: skip


class Chance(NamedTuple):
    """With which probability, and by which seed, elements are dropped."""

    p: float
    seed: int
    seeds: Any
    """An array with the seed; None: it is a number."""


def chance_of(name: str, p: Any, seed: Any) -> Chance:
    """Return how elements are dropped; raise if it cannot be."""
    if isinstance(p, bool) or not isinstance(p, int | float) or not 0.0 <= p <= 1.0:
        raise ValueError(f"`{name}` drops with a probability from 0 to 1, got {p!r:.60}")
    chance = 2.0 if p == 1.0 else float(p)  # nothing is left: no uniform number reaches 2
    if hasattr(seed, "shape") and seed.shape:
        refuse_no_integers(name, "seed", seed)
        refuse_other_shape(name, "seed", seed, (1,))
        return Chance(chance, 0, seed)
    if hasattr(seed, "__index__") and not isinstance(seed, bool):
        return Chance(chance, operator.index(seed) & (1 << 64) - 1, None)
    if seed is None and not p:
        return Chance(0.0, 0, None)
    raise TypeError(
        f"`{name}` draws by a `seed`, an int or an array with one, so that results can be repeated;"
        f" got {seed!r:.60}"
    )


@float_operation
def dropout(
    x: Any, p: float = 0.5, training: bool = True, *, seed: Any, residual: Any = None
) -> Any:
    """Set elements to 0 with probability p, divide the others by 1 - p, and add a residual.

    The same seed, an int or an array with one integer, drops the same elements on every device;
    nothing is kept for the gradient, which draws the same numbers again. Without `training` x is
    returned as it is, or with the residual.

    >>> np.unique(ops.dropout(np.ones(100, "f4"), 0.5, seed=1))
    array([0., 2.], dtype=float32)
    """
    chance = chance_of("dropout", p, seed)
    if not training:
        return x if residual is None else apply(ADD, x, residual)
    shape = tuple(x.shape)
    refuse_other_shape("dropout", "residual", residual, shape)
    given = (x,) if residual is None else (x, residual)
    flat = [reshaped(each, (math.prod(shape),)) for each in given]
    seeded = chance.seeds is not None
    function = (_drop if residual is None else _drop_and_add)(seeded)
    seeds = chance.seeds if seeded else flat[0]
    return reshaped(function(*flat, seeds, chance.p, chance.seed), shape)
