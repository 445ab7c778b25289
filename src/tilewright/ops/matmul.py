"""Matrix products with bias, activation and residual in the epilogue, batched, with gradients.

Products are summed in f32, of f64 in f64.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any, Literal, NamedTuple, cast

from ..base.shapes import next_power_of_2
from ..functions.function import Function
from ..lang import Const, Tensor, TensorMut, block_id, mma, zeros
from ..launch import entry
from .activations import FORMULAS, SLOPES, activated
from .calling import (
    first,
    float_operation,
    refuse_other_shape,
    refuse_other_types,
    remembered,
    reshaped,
)
from .elementwise import apply
from .reductions import sum as sum_of
from .tiles import rounded, sum_type, widened

TILE, STEP, LEAST = 128, 64, 16
"""The tiles of results, how deep the tiles are that are multiplied at a time, and the least of
both."""

Activation = Literal["relu", "sigmoid", "tanh", "silu", "gelu", "gelu_tanh"]


class Epilogue(NamedTuple):
    """What is done with a product before it is stored, and how its inputs lie."""

    turn_a: bool = False
    """Whether a is stored transposed."""
    turn_b: bool = False
    bias: bool = False
    residual: bool = False


def product_of(z: Any, a: Any, b: Any, bias: Any, step: int, how: Any) -> Any:
    """Return this block's tile of a @ b + bias, for kernels whose outputs are (batch, m, n)."""
    n, i, j = block_id(0), block_id(1), block_id(2)
    rows, columns = z.shape[1], z.shape[2]
    assert a.shape[1 if how.turn_a else 2] == b.shape[2 if how.turn_b else 1]
    turned, plain = (0, 2, 1), (0, 1, 2)
    lefts = a.partition((1, rows, step), dim_map=turned if how.turn_a else plain)
    rights = b.partition((1, step, columns), dim_map=turned if how.turn_b else plain)
    total = zeros((rows, columns), sum_type(z.dtype))
    for k in range(lefts.num_tiles(2)):
        left = lefts.load((n, i, k)).reshape(rows, step)
        total = mma(left, rights.load((n, k, j)).reshape(step, columns), total)
    if how.bias:
        total = total + widened(bias.partition((columns,)).load((j,)))[None, :]
    return total


def stored(z: Any, total: Any, residual: Any, how: Any) -> None:
    """Add the residual to a tile of results, and store it."""
    if how.residual:
        more = residual.partition(z.shape).load((block_id(0), block_id(1), block_id(2)))
        total = total + widened(more).reshape(*total.shape)
    z.store(rounded(total, z).reshape(*z.shape))


@entry
def multiply(
    z: TensorMut, a: Tensor, b: Tensor, bias: Tensor, residual: Tensor, *,
    STEP: Const[int], HOW: Const[Epilogue],
) -> None:  # fmt: skip
    """Compute a @ b + bias + residual for each product of a batch."""
    stored(z, product_of(z, a, b, bias, STEP, HOW), residual, HOW)


@entry
def multiply_activated(
    z: TensorMut, before: TensorMut, a: Tensor, b: Tensor, bias: Tensor, residual: Tensor, *,
    STEP: Const[int], HOW: Const[Epilogue], ACTIVATION: Const[str],
) -> None:  # fmt: skip
    """Compute activation(before) + residual, where before = a @ b + bias."""
    total = product_of(z, a, b, bias, STEP, HOW)
    before.store(rounded(total, before).reshape(*before.shape))
    stored(z, activated(total, ACTIVATION), residual, HOW)


class Tiles(NamedTuple):
    """The tile of results, and the depth of products."""

    rows: int
    columns: int
    step: int


def tiles_for(rows: int, columns: int, depth: int) -> Tiles:
    """Return tiles that are not much larger than small matrices."""
    extents = zip((rows, columns, depth), (TILE, TILE, STEP), strict=True)
    return Tiles(*[max(LEAST, min(most, next_power_of_2(n))) for n, most in extents])


def _shape(how: Epilogue) -> Any:
    def outputs(a: Any, b: Any, bias: Any, residual: Any) -> Any:
        rows = a.shape[2 if how.turn_a else 1]
        return a.shape[0], rows, b.shape[1 if how.turn_b else 2]

    return outputs


@cache
def _plain(tiles: Tiles, how: Epilogue) -> Function:
    """Return a product with what `how` says behind it."""
    return Function(
        multiply, outputs=_shape(how), tiles=(1, tiles.rows, tiles.columns),
        constants={"STEP": tiles.step, "HOW": how},
        backward=lambda dz, a, b: _gradients(how, dz, dz, a, b),
    )  # fmt: skip


def product(a: Any, b: Any, *, turn_a: bool = False, turn_b: bool = False) -> Any:
    """Return the products of two batches of matrices, which may be stored transposed."""
    rows, depth = (a.shape[2], a.shape[1]) if turn_a else (a.shape[1], a.shape[2])
    tiles = tiles_for(rows, b.shape[1 if turn_b else 2], depth)
    return _plain(tiles, Epilogue(turn_a, turn_b))(a, b, a, a)


def _gradients(how: Epilogue, grad: Any, dz: Any, a: Any, b: Any) -> Any:
    """Return those of a, b, bias and residual, where `grad` is that of a @ b + bias."""

    def by_a() -> Any:
        if how.turn_a:
            return product(b, grad, turn_a=how.turn_b, turn_b=True)
        return product(grad, b, turn_b=not how.turn_b)

    def by_b() -> Any:
        if how.turn_b:
            return product(grad, a, turn_a=True, turn_b=how.turn_a)
        return product(a, grad, turn_a=not how.turn_a)

    def by_bias() -> Any:
        return sum_of(grad, axis=(0, 1))

    return by_a, by_b, by_bias if how.bias else None, dz if how.residual else None


@cache
def _activated(tiles: Tiles, how: Epilogue, activation: str) -> Function:
    def backward(dz: Any, d_before: Any = None, *, a: Any, b: Any, before: Any) -> Any:
        grad = apply(SLOPES[activation], dz, before)
        return _gradients(how, grad if d_before is None else grad + d_before, dz, a, b)

    return Function(
        multiply_activated, outputs=_shape(how), tiles=(1, tiles.rows, tiles.columns),
        constants={"STEP": tiles.step, "HOW": how, "ACTIVATION": activation},
        backward=cast("Any", backward),
    )  # fmt: skip


class Plan(NamedTuple):
    """How shapes are multiplied."""

    function: Function
    cube: tuple[int, int, int]
    """The left operand as a batch of matrices."""
    shape: tuple[int, ...]
    """That of the result."""


def _unfit(name: str, left: tuple[int, ...], right: tuple[int, ...]) -> ValueError:
    return ValueError(f"`{name}` cannot multiply shapes {left} and {right}")


@remembered
def _plan(
    name: str, left: tuple[int, ...], right: tuple[int, ...], how: Epilogue, activation: str | None
) -> Plan:
    inner, columns = (right[-1], right[-2]) if how.turn_b else (right[-2], right[-1])
    if left[-1] != inner or (len(right) > 2 and left[:-2] != right[:-2]):
        raise _unfit(name, left, right)
    batch = math.prod(right[:-2])  # one matrix for all rows is one product
    rows = math.prod(left[:-1]) // batch if batch else left[-2]
    tiles = tiles_for(rows, columns, inner)
    function = _plain(tiles, how) if activation is None else _activated(tiles, how, activation)
    return Plan(function, (batch, rows, inner), (*left[:-1], columns))


def _multiplied(
    name: str, a: Any, b: Any, turn_b: bool, bias: Any, activation: str | None, residual: Any
) -> Any:
    if activation is not None and activation not in list(FORMULAS):  # which may have no hash
        known = ", ".join(FORMULAS)
        raise ValueError(f"`{name}` has the activations {known}; got {activation!r}")
    how = Epilogue(False, turn_b, bias is not None, residual is not None)
    plan = _plan(name, tuple(a.shape), tuple(b.shape), how, activation)
    shape, cube, columns = plan.shape, plan.cube, plan.shape[-1]
    refuse_other_types(name, a, **{"weight" if turn_b else "b": b})
    refuse_other_shape(name, "bias", bias, (columns,))
    refuse_other_shape(name, "residual", residual, shape)
    lefts = reshaped(a, cube)
    found = plan.function(
        lefts,
        reshaped(b, (cube[0], *b.shape[-2:])),
        lefts if bias is None else bias,
        lefts if residual is None else reshaped(residual, (*cube[:2], columns)),
    )
    return reshaped(found if activation is None else first(found), shape)


@float_operation
def matmul(
    a: Any, b: Any, *, bias: Any = None, activation: Activation | None = None, residual: Any = None
) -> Any:
    """Compute activation(a @ b + bias) + residual.

    b has the batch axes of a, or none. An array of one axis is a row, as b a column, whose axis the
    result does not have. `bias` has one number for each column, `residual` the shape of the result.

    >>> ops.matmul(np.eye(2, dtype="f4"), np.array([[1.0, 2.0], [3.0, 4.0]], "f4"))
    array([[1., 2.],
           [3., 4.]], dtype=float32)
    """
    left, right = len(a.shape), len(b.shape)
    if not left or not right:
        raise ValueError(
            f"`matmul` multiplies matrices, got shapes {tuple(a.shape)} and {tuple(b.shape)}"
        )
    if left > 1 and right > 1:
        return _multiplied("matmul", a, b, False, bias, activation, residual)
    if bias is not None or residual is not None:
        raise ValueError("`matmul` of an array of one axis takes no `bias` and no `residual`")
    rows = reshaped(a, (1, a.shape[0])) if left == 1 else a
    columns = reshaped(b, (b.shape[0], 1)) if right == 1 else b
    if left == 1 and right > 2:
        raise ValueError(
            f"`matmul` of a row takes one matrix, got shapes {tuple(a.shape)} and {tuple(b.shape)}"
        )
    if a.shape[-1] != b.shape[max(right - 2, 0)]:  # of the shapes that were given
        raise _unfit("matmul", tuple(a.shape), tuple(b.shape))
    found = _multiplied("matmul", rows, columns, False, None, activation, None)
    kept = a.shape[:-1] if right == 1 else b.shape[-1:]
    return reshaped(found, tuple(kept))


@float_operation
def linear(
    x: Any,
    weight: Any,
    bias: Any = None,
    *,
    activation: Activation | None = None,
    residual: Any = None,
) -> Any:
    """Compute activation(x @ weight.T + bias) + residual; `weight` is (outputs, inputs).

    >>> ops.linear(np.ones((1, 2), "f4"), np.array([[1.0, 2.0], [3.0, 4.0]], "f4"))
    array([[3., 7.]], dtype=float32)
    """
    if len(x.shape) < 1 or len(weight.shape) != 2:
        raise ValueError(
            f"`linear` takes x of one axis or more and a weight of two, got shapes"
            f" {tuple(x.shape)} and {tuple(weight.shape)}"
        )
    return _multiplied("linear", x, weight, True, bias, activation, residual)


@float_operation
def bmm(a: Any, b: Any) -> Any:
    """Compute a[i] @ b[i] for each i of two batches of matrices.

    >>> ops.bmm(np.ones((2, 1, 3), "f4"), np.ones((2, 3, 1), "f4")).ravel()
    array([3., 3.], dtype=float32)
    """
    if len(a.shape) != 3 or len(b.shape) != 3:
        raise ValueError(
            f"`bmm` multiplies batches of matrices, got shapes {tuple(a.shape)} and"
            f" {tuple(b.shape)}"
        )
    return _multiplied("bmm", a, b, False, None, None, None)
