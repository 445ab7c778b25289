"""Operations element by element: one kernel for each number of inputs, and one function for each
formula, with its derivative."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..base.dtypes import f64
from ..base.shapes import Shape, next_power_of_2
from ..functions.describing import Outputs
from ..functions.function import Function
from ..functions.wrapping import OfArrays
from ..lang import Tensor, TensorMut, full, load_tile_like
from ..launch import entry
from .calling import is_contiguous, reshaped
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


def unary(name: str, formula: Formula, derivative: Formula) -> Function:
    """Return the function of one array; `derivative(x)` is that of `formula(x)`."""

    def forward(y: TensorMut, x: Tensor) -> None:
        y.store(rounded(formula(widened(load_tile_like(x, y))), y))

    gradient = times_slope(f"{name}_backward", derivative)
    return _function(forward, name, outputs="x", backward=lambda dy, x: gradient(dy, x))


def times_slope(name: str, derivative: Formula) -> Function:
    """Return the function dy * derivative(x)."""

    def backward(dx: TensorMut, dy: Tensor, x: Tensor) -> None:
        slope = derivative(widened(load_tile_like(x, dx)))
        dx.store(rounded(widened(load_tile_like(dy, dx)) * slope, dx))

    return _function(backward, name, outputs="x")


def unary_with_number(name: str, formula: Formula, derivative: Formula) -> Function:
    """Return the function of one array and a number; `derivative(x, a)` is that by x."""

    def forward(y: TensorMut, x: Tensor, a: f64) -> None:
        tile = widened(load_tile_like(x, y))
        y.store(rounded(formula(tile, as_scalar(a, tile.dtype)), y))

    def backward(dx: TensorMut, dy: Tensor, x: Tensor, a: f64) -> None:
        tile = widened(load_tile_like(x, dx))
        slope = derivative(tile, as_scalar(a, tile.dtype))
        dx.store(rounded(widened(load_tile_like(dy, dx)) * slope, dx))

    gradient = _function(backward, f"{name}_backward", outputs="x")
    return _function(forward, name, outputs="x", backward=lambda dy, x, a: gradient(dy, x, a))


def binary(name: str, formula: Formula, derivatives: Formula) -> Function:
    """Return the function of two arrays of one shape; `derivatives(x, y)` are those by both."""

    def forward(z: TensorMut, x: Tensor, y: Tensor) -> None:
        a, b = widened(load_tile_like(x, z)), widened(load_tile_like(y, z))
        z.store(rounded(formula(a, b), z))

    def backward(dx: TensorMut, dy: TensorMut, dz: Tensor, x: Tensor, y: Tensor) -> None:
        a, b = widened(load_tile_like(x, dx)), widened(load_tile_like(y, dx))
        by_x, by_y = derivatives(a, b)
        grad = widened(load_tile_like(dz, dx))
        dx.store(rounded(grad * by_x, dx))
        dy.store(rounded(grad * by_y, dy))

    gradient = _function(backward, f"{name}_backward", outputs={"dx": "x", "dy": "y"})
    return _function(forward, name, outputs="x", backward=lambda dz, x, y: gradient(dz, x, y))


def _function(
    kernel: Callable[..., None], name: str, outputs: Outputs, backward: OfArrays | None = None
) -> Function:
    kernel.__name__ = kernel.__qualname__ = name
    made: Any = entry(kernel)
    return Function(made, tiles=tiles_of, outputs=outputs, backward=backward)


def apply(function: Function, *args: Any) -> Any:
    """Call a function of arrays of one shape, and numbers behind them.

    Arrays whose elements lie one after the other are passed as one axis: so the last axis may be
    short.
    """
    shape = args[0].shape
    arrays = [arg for arg in args if hasattr(arg, "shape")]
    for other in arrays[1:]:
        if other.shape != shape and tuple(other.shape) != tuple(shape):
            raise ValueError(
                f"`{function.__name__}` takes arrays of one shape; got"
                f" {' and '.join(str(tuple(a.shape)) for a in arrays)}"
            )
    if len(shape) == 1 or not all(map(is_contiguous, arrays)):
        return function(*args)
    flat = [reshaped(arg, (-1,)) if hasattr(arg, "shape") else arg for arg in args]
    return reshaped(function(*flat), tuple(shape))


def _sum(x: Any, y: Any) -> Any:
    return x + y


def _ones(x: Any, y: Any) -> Any:
    one = full(x.shape, 1.0, x.dtype)
    return one, one


ADD = binary("add", _sum, _ones)
"""The sum of two arrays of one shape."""
