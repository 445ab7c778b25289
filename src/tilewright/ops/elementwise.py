"""Operations element by element: one kernel for each number of inputs, and one function for each
formula, with its derivative."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

from ..base.dtypes import f64
from ..base.shapes import Shape, next_power_of_2
from ..functions.describing import Outputs, element_type
from ..functions.function import Function
from ..functions.gradient import no_gradient
from ..functions.wrapping import OfArrays
from ..lang import Tensor, TensorMut, exp, full, load_tile_like
from ..launch import entry
from .calling import is_contiguous, reshaped
from .second_order import by_formula
from .tiles import as_scalar, rounded, widened

ELEMENTS = 2048
"""Elements of a tile."""


def tiles_of(shape: Shape) -> Shape:
    """Return tiles of about `ELEMENTS` elements, as long as possible along the last axes."""
    left = ELEMENTS
    tile: list[int] = []
    for n in reversed(shape):
        tile.append(min(next_power_of_2(n), left))
        left //= tile[-1]
    return tuple(reversed(tile))


Formula = Callable[..., Any]
"""A function of tiles in f32 or f64."""


def unary(name: str, formula: Formula, *derivatives: Formula) -> Function:
    """Return the function of one array; `derivatives(x)` are the first of `formula(x)`, and so on.

    With n of them it can be differentiated n times.
    """
    return unary_of(name, formula, times_slope(f"{name}_backward", *derivatives))


def unary_of(name: str, formula: Formula, gradient: Function) -> Function:
    """Return the function of one array whose gradient is `gradient(dy, x)`."""

    def forward(y: TensorMut, x: Tensor) -> None:
        y.store(rounded(formula(widened(load_tile_like(x, y))), y))

    return _function(forward, name, outputs="x", backward=lambda dy, x: gradient(dy, x))


def times_slope(name: str, derivative: Formula, *higher: Formula) -> Function:
    """Return the function dy * derivative(x), of which others are the higher derivatives."""

    def backward(dx: TensorMut, dy: Tensor, x: Tensor) -> None:
        slope = derivative(widened(load_tile_like(x, dx)))
        dx.store(rounded(widened(load_tile_like(dy, dx)) * slope, dx))

    @cache
    def next_one() -> Function:
        if not higher:
            raise no_gradient(name)
        return times_slope(f"{name}_backward", *higher)

    def second(g: Any, dy: Any, x: Any) -> Any:
        return lambda: made(g, x), lambda: next_one()(g * dy, x)

    made = _function(backward, name, outputs="x", backward=second)
    return made


def unary_with_number(name: str, formula: Formula, *derivatives: Formula) -> Function:
    """Return the function of one array and a number; `derivatives(x, a)` are those by x."""

    def forward(y: TensorMut, x: Tensor, a: f64) -> None:
        tile = widened(load_tile_like(x, y))
        y.store(rounded(formula(tile, as_scalar(a, tile.dtype)), y))

    gradient = _times_slope_with_number(f"{name}_backward", *derivatives)
    return _function(forward, name, outputs="x", backward=lambda dy, x, a: gradient(dy, x, a))


def _times_slope_with_number(name: str, derivative: Formula, *higher: Formula) -> Function:
    def backward(dx: TensorMut, dy: Tensor, x: Tensor, a: f64) -> None:
        tile = widened(load_tile_like(x, dx))
        slope = derivative(tile, as_scalar(a, tile.dtype))
        dx.store(rounded(widened(load_tile_like(dy, dx)) * slope, dx))

    @cache
    def next_one() -> Function:
        if not higher:
            raise no_gradient(name)
        return _times_slope_with_number(f"{name}_backward", *higher)

    def second(g: Any, dy: Any, x: Any, a: float) -> Any:
        return lambda: made(g, x, a), lambda: next_one()(g * dy, x, a)

    made = _function(backward, name, outputs="x", backward=second)
    return made


def binary(name: str, formula: Formula, derivatives: Formula, gradients: Formula) -> Function:
    """Return the function of two arrays of one shape; `derivatives(x, y)` are those by both.

    `gradients(dz, x, y)` computes both gradients of arrays, by what can be differentiated again.
    """

    def forward(z: TensorMut, x: Tensor, y: Tensor) -> None:
        a, b = widened(load_tile_like(x, z)), widened(load_tile_like(y, z))
        z.store(rounded(formula(a, b), z))

    def backward(dx: TensorMut, dy: TensorMut, dz: Tensor, x: Tensor, y: Tensor) -> None:
        a, b = widened(load_tile_like(x, dx)), widened(load_tile_like(y, dx))
        by_x, by_y = derivatives(a, b)
        grad = widened(load_tile_like(dz, dx))
        dx.store(rounded(grad * by_x, dx))
        dy.store(rounded(grad * by_y, dy))

    made: Any = entry(_named(backward, f"{name}_backward"))
    gradient = Function(
        made, tiles=tiles_of, outputs={"dx": "x", "dy": "y"}, backward=by_formula(made, gradients)
    )
    return _function(forward, name, outputs="x", backward=lambda dz, x, y: gradient(dz, x, y))


def _named(kernel: Callable[..., None], name: str) -> Callable[..., None]:
    kernel.__name__ = kernel.__qualname__ = name
    return kernel


def _function(
    kernel: Callable[..., None], name: str, outputs: Outputs, backward: OfArrays | None = None
) -> Function:
    made: Any = entry(_named(kernel, name))
    return Function(made, tiles=tiles_of, outputs=outputs, backward=backward)


def apply(function: Function, *args: Any) -> Any:
    """Call a function of arrays of one shape, and numbers behind them.

    Arrays whose elements lie one after the other are passed as one axis: so the last axis may be
    short.
    """
    shape = args[0].shape
    arrays = [arg for arg in args if hasattr(arg, "shape")]
    if len(arrays) != len(function.tensors):
        got = " and ".join("an array" if hasattr(arg, "shape") else f"{arg!r:.60}" for arg in args)
        raise TypeError(f"`{function.__name__}` takes {len(function.tensors)} arrays; got {got}")
    lead = arrays[0]
    for other in arrays[1:]:
        if other.dtype != lead.dtype and element_type(other.dtype) is not element_type(lead.dtype):
            raise TypeError(
                f"`{function.__name__}` takes arrays of one type; got"
                f" {' and '.join(str(element_type(a.dtype)) for a in arrays)}"
            )
        if other.shape != shape and tuple(other.shape) != tuple(shape):
            raise ValueError(
                f"`{function.__name__}` takes arrays of one shape; got"
                f" {' and '.join(str(tuple(a.shape)) for a in arrays)}"
            )
    if len(shape) == 1 or not all(map(is_contiguous, arrays)):
        return function(*args)
    count = (math.prod(shape),)
    flat = [reshaped(arg, count) if hasattr(arg, "shape") else arg for arg in args]
    return reshaped(function(*flat), tuple(shape))


@entry
def convert_elements(y: TensorMut, x: Tensor, like: Tensor) -> None:
    """Convert elements to the type of another array."""
    y.store(load_tile_like(x, y).astype(y.dtype))


_CONVERT: Function = Function(
    convert_elements, outputs=lambda x, like: (x.shape, like.dtype), tiles=tiles_of,
    backward=lambda dy, x: (_CONVERT(dy, x), None),
)  # fmt: skip


@entry
def change_type(y: TensorMut, x: Tensor) -> None:
    """Convert elements to the type of the output."""
    y.store(load_tile_like(x, y).astype(y.dtype))


@cache
def conversion(dtype: Any) -> Function:
    """Return the function that converts elements to a type."""
    return Function(
        change_type, outputs=lambda x: (x.shape, dtype), tiles=tiles_of,
        backward=lambda dy, x: conversion(element_type(x.dtype))(dy),
    )  # fmt: skip


def converted(x: Any, like: Any) -> Any:
    """Return an array in the element type of another one."""
    return x if x.dtype == like.dtype else _CONVERT(x, like)


@entry
def exponentials(y: TensorMut, x: Tensor) -> None:
    """Compute exp(x)."""
    y.store(rounded(exp(widened(load_tile_like(x, y))), y))


_EXP = Function(exponentials, outputs="x", tiles=tiles_of, backward=lambda dy, y: dy * y)


def exp_of(x: Any) -> Any:
    """Return exp(x) of an array, which can be differentiated any number of times."""
    return apply(_EXP, x)


def _sum(x: Any, y: Any) -> Any:
    return x + y


def _ones(x: Any, y: Any) -> Any:
    one = full(x.shape, 1.0, x.dtype)
    return one, one


def _both(dz: Any, x: Any, y: Any) -> Any:
    return dz * 1.0, dz * 1.0


ADD = binary("add", _sum, _ones, _both)
"""The sum of two arrays of one shape."""
