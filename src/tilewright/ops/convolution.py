"""Convolutions of one and two axes, with groups, and gradients.

Nothing is unfolded: for each element of the weight, a kernel multiplies channels by the window that
it sees. An axis of which every s-th element is seen is two axes, of which the second has extent s;
so windows are tiles of adjacent elements. Sums are f32, of f64 f64.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any, Literal, NamedTuple, TypeAlias

from ..base.dtypes import i64
from ..base.shapes import Shape, cdiv, next_power_of_2
from ..functions.function import Function
from ..functions.wrapping import OfArrays
from ..lang import Const, Tensor, TensorMut, block_id, mma, reduce_sum, zeros
from ..launch import entry
from .calling import float_operation, refuse_other_shape, refuse_other_types, reshaped
from .elementwise import tiles_of
from .reductions import sum as sum_of
from .tiles import rounded, sum_type, widened

MOST_OUTPUTS, MOST_CHANNELS, POINTS, LEAST = 64, 32, 64, 16
"""Tiles of output channels, of the input channels that are summed, and of points; and the least."""
DEPTHWISE_POINTS = 2048
"""Points of a tile where each channel is on its own."""

Pair: TypeAlias = int | Sequence[int]
Padding: TypeAlias = Pair | Literal["same", "valid"]


class Steps(NamedTuple):
    """How a window moves: along rows and along columns."""

    stride: tuple[int, int]
    before: tuple[int, int]
    """How many zeros precede the first element."""
    dilation: tuple[int, int]
    bias: bool


def window(x: Any, lead: Any, first: Any, size: Any, at: Any, how: Any) -> Any:
    """Load the window of a tile of points that element `at` of the weight sees.

    Points begin at `first`, and `lead` are the offsets and extents of what is before the points.
    """
    down = at[0] * how.dilation[0] - how.before[0]
    right = at[1] * how.dilation[1] - how.before[1]
    offsets = (
        first[0] + down // how.stride[0], down % how.stride[0],
        first[1] + right // how.stride[1], right % how.stride[1],
    )  # fmt: skip
    tile = x.load_at((*lead[0], *offsets), (*lead[1], size[0], 1, size[1], 1), padding=0.0)
    return tile.reshape(lead[1][1], size[0] * size[1])


@entry
def convolve(
    y: TensorMut, x: Tensor, w: Tensor, bias: Tensor, down: i64, right: i64, *,
    CHANNELS: Const[int], HOW: Const[Steps],
) -> None:  # fmt: skip
    """Convolve: y is (images, outputs, rows, columns), of groups that take turns among images."""
    image, o, i, j = block_id(0), block_id(1), block_id(2), block_id(3)
    outputs, rows, columns = y.shape[1], y.shape[2], y.shape[3]
    weights = w.partition((1, outputs, CHANNELS, 1, 1))
    total = zeros((outputs, rows * columns), sum_type(y.dtype))
    for k in range(w.shape[3]):
        for m in range(w.shape[4]):
            for c in range(weights.num_tiles(2)):
                seen = window(
                    x, ((image, c * CHANNELS), (1, CHANNELS)), (i * rows, j * columns),
                    (rows, columns), (k, m), HOW,
                )  # fmt: skip
                weight = weights.load((image % w.shape[0], o, c, k, m))
                total = mma(weight.reshape(outputs, CHANNELS), seen, total)
    if HOW.bias:
        more = bias.partition((1, outputs)).load((image % w.shape[0], o))
        total = total + widened(more).reshape(outputs, 1)
    y.store(rounded(total, y).reshape(*y.shape))


@entry
def convolve_inputs(
    dx: TensorMut, dy: Tensor, w: Tensor, x: Tensor, *, OUTPUTS: Const[int], HOW: Const[Steps]
) -> None:
    """Compute the gradient of the input, (images, channels, rows, stride, columns, stride)."""
    image, c, i, j = block_id(0), block_id(1), block_id(2), block_id(4)
    channels, rows, columns = dx.shape[1], dx.shape[2], dx.shape[4]
    weights = w.partition((1, OUTPUTS, channels, 1, 1))
    total = zeros((channels, rows * columns), sum_type(dx.dtype))
    for k in range(w.shape[3]):
        up = block_id(3) + HOW.before[0] - k * HOW.dilation[0]
        if up % HOW.stride[0] == 0:
            for m in range(w.shape[4]):
                left = block_id(5) + HOW.before[1] - m * HOW.dilation[1]
                if left % HOW.stride[1] == 0:
                    first = (i * rows + up // HOW.stride[0], j * columns + left // HOW.stride[1])
                    for o in range(weights.num_tiles(1)):
                        tile = dy.load_at(
                            (image, o * OUTPUTS, *first), (1, OUTPUTS, rows, columns), padding=0.0
                        )
                        weight = weights.load((image % w.shape[0], o, c, k, m))
                        total = mma(
                            weight.reshape(OUTPUTS, channels).T,
                            tile.reshape(OUTPUTS, rows * columns),
                            total,
                        )
    dx.store(rounded(total, dx).reshape(*dx.shape))


@entry
def convolve_weights(
    dw: TensorMut, dy: Tensor, x: Tensor, w: Tensor, *, POINTS: Const[Shape], HOW: Const[Steps]
) -> None:
    """Compute the gradient of the weight, (groups, outputs, channels, rows, columns)."""
    group, o, c, k, m = block_id(0), block_id(1), block_id(2), block_id(3), block_id(4)
    outputs, channels = dw.shape[1], dw.shape[2]
    grads = dy.partition((1, outputs, *POINTS))
    total = zeros((outputs, channels), sum_type(dw.dtype))
    for n in range(dy.shape[0] // w.shape[0]):
        image = n * w.shape[0] + group
        for i in range(grads.num_tiles(2)):
            for j in range(grads.num_tiles(3)):
                seen = window(
                    x, ((image, c * channels), (1, channels)), (i * POINTS[0], j * POINTS[1]),
                    POINTS, (k, m), HOW,
                )  # fmt: skip
                grad = grads.load((image, o, i, j)).reshape(outputs, POINTS[0] * POINTS[1])
                total = mma(grad, seen.T, total)
    dw.store(rounded(total, dw).reshape(*dw.shape))


# --- each channel on its own -------------------------------------------------------------------


@entry
def filter_channels(
    y: TensorMut, x: Tensor, w: Tensor, bias: Tensor, down: i64, right: i64, *,
    HOW: Const[Steps],
) -> None:  # fmt: skip
    """Convolve each channel with its own weight: w is (channels, rows, columns)."""
    image, c, i, j = block_id(0), block_id(1), block_id(2), block_id(3)
    channels, rows, columns = y.shape[1], y.shape[2], y.shape[3]
    weights = w.partition((channels, 1, 1))
    total = zeros((channels, rows * columns), sum_type(y.dtype))
    for k in range(w.shape[1]):
        for m in range(w.shape[2]):
            seen = window(
                x, ((image, c * channels), (1, channels)), (i * rows, j * columns),
                (rows, columns), (k, m), HOW,
            )  # fmt: skip
            weight = weights.load((c, k, m)).reshape(channels, 1)
            total = total + widened(seen) * widened(weight)
    if HOW.bias:
        total = total + widened(bias.partition((channels,)).load((c,))).reshape(channels, 1)
    y.store(rounded(total, y).reshape(*y.shape))


@entry
def filter_inputs(dx: TensorMut, dy: Tensor, w: Tensor, x: Tensor, *, HOW: Const[Steps]) -> None:
    """Compute the gradient of the input, (images, channels, rows, stride, columns, stride)."""
    image, c, i, j = block_id(0), block_id(1), block_id(2), block_id(4)
    channels, rows, columns = dx.shape[1], dx.shape[2], dx.shape[4]
    weights = w.partition((channels, 1, 1))
    total = zeros((1, channels, rows, columns), sum_type(dx.dtype))
    for k in range(w.shape[1]):
        up = block_id(3) + HOW.before[0] - k * HOW.dilation[0]
        if up % HOW.stride[0] == 0:
            for m in range(w.shape[2]):
                left = block_id(5) + HOW.before[1] - m * HOW.dilation[1]
                if left % HOW.stride[1] == 0:
                    first = (i * rows + up // HOW.stride[0], j * columns + left // HOW.stride[1])
                    tile = dy.load_at(
                        (image, c * channels, *first), (1, channels, rows, columns), padding=0.0
                    )
                    weight = weights.load((c, k, m)).reshape(1, channels, 1, 1)
                    total = total + widened(tile) * widened(weight)
    dx.store(rounded(total, dx).reshape(*dx.shape))


@entry
def filter_weights(
    dw: TensorMut, dy: Tensor, x: Tensor, w: Tensor, *, POINTS: Const[Shape], HOW: Const[Steps]
) -> None:
    """Compute the gradient of the weight, (channels, rows, columns)."""
    c, k, m = block_id(0), block_id(1), block_id(2)
    channels = dw.shape[0]
    grads = dy.partition((1, channels, *POINTS))
    total = zeros((channels,), sum_type(dw.dtype))
    for image in range(dy.shape[0]):
        for i in range(grads.num_tiles(2)):
            for j in range(grads.num_tiles(3)):
                seen = window(
                    x, ((image, c * channels), (1, channels)), (i * POINTS[0], j * POINTS[1]),
                    POINTS, (k, m), HOW,
                )  # fmt: skip
                grad = grads.load((image, c, i, j)).reshape(channels, POINTS[0] * POINTS[1])
                total = total + reduce_sum(widened(grad) * widened(seen), 1)
    dw.store(rounded(total, dw).reshape(*dw.shape))


# --- functions of arrays -----------------------------------------------------------------------


def _extent(count: int, most: int) -> int:
    return max(LEAST, min(most, next_power_of_2(count)))


def _points(shape: Sequence[int], most: int) -> tuple[int, int]:
    """Return a tile of points, with 16 or more."""
    columns = min(most, next_power_of_2(shape[1]))
    rows = max(cdiv(LEAST, columns), min(most // columns, next_power_of_2(shape[0])))
    return rows, columns


class Convolution(NamedTuple):
    """Sums of products of images x and weights w, (groups, ...), and both gradients.

    Each is linear in both of its arrays, so their gradients are the other two.
    """

    forward: Function
    """Of x, w, the bias, and how many points there are."""
    of_inputs: Function
    """Of dy, w, and x, of which only the shape is read."""
    of_weights: Function
    """Of dy, x, and w, of which only the shape is read."""


def _differentiable(
    find: Callable[[], Convolution], bias: Callable[[Any, Any], Any] | None
) -> list[OfArrays]:
    """Return the `backward` of each of the functions that `find` returns.

    `bias` computes the gradient of the bias from dy and w; None: there is no bias.
    """

    def convolved(x: Any, w: Any, dy: Any) -> Any:
        return find().forward(x, w, x, *dy.shape[2:])

    def of_result(dy: Any, x: Any, w: Any) -> Any:
        by_bias = None if bias is None else partial(bias, dy, w)
        found = find()
        return lambda: found.of_inputs(dy, w, x), lambda: found.of_weights(dy, x, w), by_bias

    def of_inputs(g: Any, dy: Any, w: Any) -> Any:
        return lambda: convolved(g, w, dy), lambda: find().of_weights(dy, g, w), None

    def of_weights(g: Any, dy: Any, x: Any) -> Any:
        return lambda: convolved(x, g, dy), lambda: find().of_inputs(dy, g, x), None

    return [of_result, of_inputs, of_weights]


@cache
def _convolution(outputs: int, channels: int, points: Shape, how: Steps) -> Convolution:
    """Return the functions of images whose channels are summed, by tiles of so many channels."""

    def by_bias(dy: Any, w: Any) -> Any:
        groups = w.shape[0]
        return sum_of(reshaped(dy, (dy.shape[0] // groups, groups, *dy.shape[1:])), axis=(0, 3, 4))

    plain = how._replace(bias=False)
    gradients = _differentiable(
        lambda: _convolution(outputs, channels, points, plain), by_bias if how.bias else None
    )
    return Convolution(
        Function(
            convolve,
            outputs=lambda x, w, bias, down, right: (x.shape[0], w.shape[1], down, right),
            tiles=(1, outputs, *points),
            constants={"CHANNELS": channels, "HOW": how},
            backward=gradients[0],
        ),
        Function(
            convolve_inputs, outputs="x", tiles=(1, channels, points[0], 1, points[1], 1),
            constants={"OUTPUTS": outputs, "HOW": plain}, backward=gradients[1],
        ),
        Function(
            convolve_weights, outputs="w", tiles=(1, outputs, channels, 1, 1),
            constants={"POINTS": points, "HOW": plain}, backward=gradients[2],
        ),
    )  # fmt: skip


@cache
def _filter(channels: int, points: Shape, how: Steps) -> Convolution:
    """Return the functions of images each of whose channels is on its own."""
    plain = how._replace(bias=False)
    gradients = _differentiable(
        lambda: _filter(channels, points, plain),
        (lambda dy, w: sum_of(dy, axis=(0, 2, 3))) if how.bias else None,
    )
    return Convolution(
        Function(
            filter_channels,
            outputs=lambda x, w, bias, down, right: (x.shape[0], w.shape[0], down, right),
            tiles=(1, channels, *points),
            constants={"HOW": how},
            backward=gradients[0],
        ),
        Function(
            filter_inputs, outputs="x", tiles=(1, channels, points[0], 1, points[1], 1),
            constants={"HOW": plain}, backward=gradients[1],
        ),
        Function(
            filter_weights, outputs="w", tiles=(channels, 1, 1),
            constants={"POINTS": points, "HOW": plain}, backward=gradients[2],
        ),
    )  # fmt: skip


@entry
def extend_images(y: TensorMut, x: Tensor, down: i64, right: i64) -> None:
    """Copy images into larger ones; what is added is 0."""
    at = tuple([block_id(k) * y.shape[k] for k in range(4)])
    y.store(x.load_at(at, y.shape, padding=0.0))


_EXTEND = Function(
    extend_images,
    outputs=lambda x, down, right: (*x.shape[:2], down, right),
    tiles=tiles_of,
    backward=lambda dy, x: dy[:, :, : x.shape[2], : x.shape[3]],
)


def _of_phases(x: Any, stride: tuple[int, int]) -> Any:
    """Return images in which each axis is two: the second has the extent of the stride."""
    n, c, rows, columns = x.shape
    down, right = cdiv(rows, stride[0]), cdiv(columns, stride[1])
    if (down * stride[0], right * stride[1]) != (rows, columns):
        x = _EXTEND(x, down * stride[0], right * stride[1])
    return reshaped(x, (n, c, down, stride[0], right, stride[1]))


def _pair(name: str, what: str, given: Pair, least: int) -> tuple[int, int]:
    numbers: Any = given
    found = (numbers, numbers) if hasattr(numbers, "__index__") else tuple(numbers)
    if len(found) != 2 or min(found) < least:
        raise ValueError(f"`{what}` of `{name}` is {least} or more for each axis, got {given}")
    return found[0], found[1]


def _before(name: str, padding: str | Pair, stride: Any, full: Any) -> tuple[Any, Any]:
    """Return how many zeros precede the first element, and how many there are in all."""
    if isinstance(padding, str):
        if padding not in ("same", "valid"):
            raise ValueError(
                f"`padding` of `{name}` is 'same', 'valid' or numbers; got {padding!r}"
            )
        if padding == "valid":
            return (0, 0), (0, 0)
        if stride != (1, 1):
            raise ValueError(f"`{name}` has the padding 'same' for a stride of 1 alone")
        return tuple(n // 2 for n in full), full
    both = _pair(name, "padding", padding, 0)
    return both, tuple(2 * n for n in both)


def _convolved(
    name: str, x: Any, weight: Any, bias: Any, stride: Pair, padding: Padding, dilation: Pair,
    groups: int,
) -> tuple[Any, tuple[int, int]]:  # fmt: skip
    """Convolve (images, channels, rows, columns): the points, in some shape, and how many."""
    steps, apart = _pair(name, "stride", stride, 1), _pair(name, "dilation", dilation, 1)
    images, inputs, *size = x.shape
    outputs, channels, *seen = weight.shape
    refuse_other_types(name, x, weight=weight)
    refuse_other_shape(name, "bias", bias, (outputs,))
    if groups < 1 or outputs % groups or channels * groups != inputs:
        raise ValueError(
            f"`{name}` in {groups} groups cannot take {inputs} channels with a weight of"
            f" {outputs} outputs for {channels} channels"
        )
    full = tuple(d * (k - 1) for d, k in zip(apart, seen, strict=True))
    before, more = _before(name, padding, steps, full)
    down, right = (
        (n + pad - most - 1) // step + 1
        for n, pad, most, step in zip(size, more, full, steps, strict=True)
    )
    if down < 1 or right < 1:
        raise ValueError(f"`{name}` has windows of {seen}, which are larger than images of {size}")
    how = Steps(steps, before, apart, bias is not None)
    rest = (down, right)
    if groups == inputs == outputs:
        cut = _points(rest, DEPTHWISE_POINTS)
        wide = max(1, min(DEPTHWISE_POINTS // math.prod(cut), next_power_of_2(inputs)))
        seen_by = _of_phases(x, steps)
        more_of = seen_by if bias is None else bias
        alone = _filter(wide, cut, how).forward
        return alone(seen_by, reshaped(weight, (outputs, *seen)), more_of, *rest), rest
    own = outputs // groups
    function = _convolution(
        _extent(own, MOST_OUTPUTS), _extent(channels, MOST_CHANNELS), _points(rest, POINTS), how
    )
    seen_by = _of_phases(reshaped(x, (images * groups, channels, *size)), steps)
    y = function.forward(
        seen_by,
        reshaped(weight, (groups, own, channels, *seen)),
        seen_by if bias is None else reshaped(bias, (groups, own)),
        *rest,
    )
    return y, rest


@float_operation
def conv2d(
    x: Any,
    weight: Any,
    bias: Any = None,
    stride: Pair = 1,
    padding: Padding = 0,
    dilation: Pair = 1,
    groups: int = 1,
) -> Any:
    """Compute y[n, o, i, j] = bias[o] + sum of x[n, c, i * stride + k, j * stride + m] * weight.

    The sum is over c, k and m, the last axes of `weight`, (outputs, channels / groups, rows,
    columns). x is (images, channels, rows, columns), or one image. `padding` zeros are added at
    both ends of each axis; "same" pads such that the result has the extents of x. Elements of a
    window are `dilation` apart. A group of channels gives a group of outputs.

    >>> ops.conv2d(np.ones((1, 1, 3, 3), "f4"), np.ones((1, 1, 2, 2), "f4"))[0, 0]
    array([[4., 4.],
           [4., 4.]], dtype=float32)
    """
    rank = len(x.shape)
    if rank not in (3, 4) or len(weight.shape) != 4:
        raise ValueError(
            "`conv2d` takes x of 3 or 4 axes and a weight of 4, got shapes"
            f" {tuple(x.shape)} and {tuple(weight.shape)}"
        )
    images = x if rank == 4 else reshaped(x, (1, *x.shape))
    y, points = _convolved("conv2d", images, weight, bias, stride, padding, dilation, groups)
    return reshaped(y, (*tuple(x.shape)[:-3], weight.shape[0], *points))


@float_operation
def conv1d(
    x: Any,
    weight: Any,
    bias: Any = None,
    stride: int | Sequence[int] = 1,
    padding: Padding = 0,
    dilation: int | Sequence[int] = 1,
    groups: int = 1,
) -> Any:
    """Compute y[n, o, i] = bias[o] + sum of x[n, c, i * stride + k] * weight[o, c, k].

    The sum is over c and k, the last axes of `weight`, (outputs, channels / groups, elements). x is
    (rows, channels, elements), or one row. The other arguments are those of `conv2d`.

    >>> ops.conv1d(np.array([[1.0, 2.0, 4.0]], "f4"), np.array([[[-1.0, 1.0]]], "f4"))
    array([[1., 2.]], dtype=float32)
    """
    shape = tuple(x.shape)
    if len(shape) not in (2, 3) or len(weight.shape) != 3:
        raise ValueError(
            "`conv1d` takes x of 2 or 3 axes and a weight of 3, got shapes"
            f" {shape} and {tuple(weight.shape)}"
        )
    images = reshaped(x, (*((1,) if len(shape) == 2 else shape[:1]), shape[-2], 1, shape[-1]))
    filters = reshaped(weight, (*weight.shape[:2], 1, weight.shape[2]))
    step, apart = (_along_columns(each, 1) for each in (stride, dilation))
    pad = padding if isinstance(padding, str) else _along_columns(padding, 0)
    y, points = _convolved("conv1d", images, filters, bias, step, pad, apart, groups)
    return reshaped(y, (*shape[:-2], weight.shape[0], points[1]))


def _along_columns(given: int | Sequence[int], row: int) -> tuple[int, ...]:
    return (row, given) if isinstance(given, int) else (row, *given)
