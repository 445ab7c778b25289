"""Weights in 8 or 4 bits with scales: making them, and products with them.

A scale belongs to a row of the weight, or to each group of adjacent elements of a row. Two elements
of 4 bits are in one byte, the first in its low half. Integers are from -127 to 127, or -7 to 7.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any, Literal

from ..base.dtypes import AnyDType, bf16, f8e4m3fn, f8e5m2, f16, f32, f64, i8, u8
from ..base.shapes import cdiv, next_power_of_2
from ..functions.describing import element_type
from ..functions.function import Function
from ..functions.tracing import one_node
from ..lang import (
    Const,
    Tensor,
    TensorMut,
    block_id,
    interleave,
    maximum,
    mma,
    neg_inf,
    reduce_max,
    round,  # noqa: A004 - the name it has everywhere
    unstack,
    where,
    zeros,
)
from ..lang import abs as magnitude
from ..launch import entry
from .arguments import explained
from .calling import float_operation, is_op, operation, reshaped
from .elementwise import converted
from .matmul import Tiles, product, tiles_for
from .reductions import sum as sum_of
from .rows import part_of, rows_in_tile
from .tiles import rounded, sum_type, widened

Format = Literal["int8", "int4", "float8_e4m3fn", "float8_e5m2"]

STORED: dict[str, AnyDType] = {
    "int8": i8, "int4": u8, "float8_e4m3fn": f8e4m3fn, "float8_e5m2": f8e5m2,
}  # fmt: skip
"""By format: the type of an array of it."""
FORMATS = {dtype: name for name, dtype in STORED.items()}


def largest_of(form: str) -> float:
    """Return the largest number of a format."""
    if form == "int8":
        return 127.0
    if form == "int4":
        return 7.0
    return 448.0 if form == "float8_e4m3fn" else 57344.0


def packed_of(format: str) -> int:  # noqa: A002 - the name of users
    """Return how many elements an element of an array of this format has."""
    return 2 if format == "int4" else 1


def encoded(tile: Any, dtype: Any, form: str) -> Any:
    """Return scaled numbers in a format."""
    most = largest_of(form)
    if form.startswith("float"):
        return tile.astype(dtype)
    whole = round(maximum(-most, where(tile > most, most, tile))).astype(i8)
    if form == "int8":
        return whole
    low, high = unstack(whole.reshape(tile.shape[0], tile.shape[1] // 2, 2), -1)
    return (low.astype(u8) & 15) | ((high.astype(u8) & 15) << 4)


def decoded(tile: Any, dtype: Any, form: str) -> Any:
    """Return the numbers of a tile of a format, without their scales."""
    if form != "int4":
        return tile.astype(dtype)
    low, high = (tile & 15).astype(i8), (tile >> 4).astype(i8)
    return (interleave((low ^ 8) - 8, (high ^ 8) - 8)).astype(dtype)


@entry
def encode_rows(q: TensorMut, scale: TensorMut, w: Tensor, *, FORM: Const[str], PART: Const[int]
                ) -> None:  # fmt: skip
    """Divide whole rows by the scale that makes their largest element that of the format."""
    i, rows = block_id(0), q.shape[0]
    parts = w.partition((rows, PART))
    most = zeros((rows, 1), sum_type(w.dtype))
    for k in range(parts.num_tiles(1)):
        tile = parts.load((i, k))
        sizes = where(tile.mask(), magnitude(widened(tile)), neg_inf)
        most = maximum(most, reduce_max(sizes, 1, keepdims=True))
    by = where(most > 0.0, most / largest_of(FORM), 1.0)
    scale.store(by.astype(scale.dtype))
    out = q.partition_mut((rows, PART // packed_of(FORM)))
    for k in range(parts.num_tiles(1)):
        tile = widened(parts.load((i, k))) / by
        out.store(encoded(tile, q.dtype, FORM), (0, k))


@entry
def decode_rows(w: TensorMut, q: Tensor, scale: Tensor, *, FORM: Const[str]) -> None:
    """Multiply the numbers of rows by their scales."""
    i, k, rows = block_id(0), block_id(1), w.shape[0]
    tile = q.partition((rows, w.shape[1] // packed_of(FORM))).load((i, k))
    by = scale.partition((rows, 1)).load((i, 0)).astype(sum_type(w.dtype))
    w.store(rounded(decoded(tile, by.dtype, FORM) * by, w))


@entry
def multiply_quantized(
    z: TensorMut, x: Tensor, w: Tensor, scales: Tensor, bias: Tensor, *,
    STEP: Const[int], FORM: Const[str], STEPS: Const[int], BIAS: Const[bool],
) -> None:  # fmt: skip
    """Compute x @ w.T + bias; scales are (outputs, groups), of STEPS steps each, or 0: one."""
    i, j = block_id(0), block_id(1)
    rows, columns = z.shape[0], z.shape[1]
    kind = sum_type(x.dtype)
    lefts = x.partition((rows, STEP))
    rights = w.partition((columns, STEP // packed_of(FORM)))
    by = scales.partition((columns, 1))
    total = zeros((rows, columns), kind)
    for k in range(lefts.num_tiles(1)):
        right = decoded(rights.load((j, k)), x.dtype, FORM).T
        if STEPS:
            part = mma(lefts.load((i, k)), right, zeros((rows, columns), kind))
            total = total + part * by.load((j, k // STEPS)).astype(kind).T
        else:
            total = mma(lefts.load((i, k)), right, total)
    if STEPS == 0:
        total = total * by.load((j, 0)).astype(kind).T
    if BIAS:
        total = total + bias.partition((columns,)).load((j,)).astype(kind)[None, :]
    z.store(rounded(total, z))


@cache
def _encoding(length: int, form: Format) -> Function:
    rows, part = rows_in_tile(length), max(part_of(length), 2)
    packed = packed_of(form)
    return Function(
        encode_rows,
        outputs={
            "q": lambda w: ((w.shape[0], w.shape[1] // packed), STORED[form]),
            "scale": lambda w: ((w.shape[0], 1), f64 if element_type(w.dtype) is f64 else f32),
        },
        tiles={"q": (rows, max(next_power_of_2(length), 2) // packed), "scale": (rows, 1)},
        constants={"FORM": form, "PART": part},
    )


@cache
def _decoding(length: int, form: Format, dtype: AnyDType) -> Function:
    packed = packed_of(form)

    def by_scale(dw: Any, q: Any, scale: Any) -> Any:
        return converted(sum_of(dw * decode(q, scale * 0 + 1), axis=1, keepdims=True), scale)

    decode: Function = Function(
        decode_rows, outputs=lambda q, scale: ((q.shape[0], q.shape[1] * packed), dtype),
        tiles=(rows_in_tile(length), max(part_of(length), 2)), constants={"FORM": form},
        backward=lambda dw, q, scale: (None, lambda: by_scale(dw, q, scale)),
    )  # fmt: skip
    return decode


@cache
def _product(tiles: Tiles, form: Format, steps: int, bias: bool) -> Function:
    def backward(dz: Any, x: Any, w: Any, scales: Any, z: Any) -> Any:
        weight = decoded_weight(w, scales, form, element_type(x.dtype))
        rows, outputs, inputs = dz.shape[0], dz.shape[1], x.shape[1]
        turned = product(reshaped(dz, (1, rows, outputs)), reshaped(weight, (1, outputs, inputs)))
        d_bias = sum_of(dz, axis=0) if bias else None
        return reshaped(turned, (rows, inputs)), None, None, d_bias

    return Function(
        multiply_quantized,
        outputs=lambda x, w, scales, bias: (x.shape[0], w.shape[0]),
        tiles=(tiles.rows, tiles.columns),
        constants={"STEP": tiles.step, "FORM": form, "STEPS": steps, "BIAS": bias},
        backward=backward,
    )


def decoded_weight(q: Any, scales: Any, form: Format, dtype: AnyDType) -> Any:
    """Return a weight as numbers of a type; scales are (rows, groups)."""
    rows, groups = q.shape[0], scales.shape[1]
    packed = packed_of(form)
    length = q.shape[1] * packed // groups if groups else 0
    flat = reshaped(q, (rows * groups, length // packed))
    found = _decoding(length, form, dtype)(flat, reshaped(scales, (rows * groups, 1)))
    return reshaped(found, (rows, groups * length))


def _format_of(name: str, q: Any) -> Any:
    found = FORMATS.get(element_type(q.dtype))
    if found is None:
        known = ", ".join(f"{dtype.name} ({form})" for form, dtype in STORED.items())
        raise TypeError(f"`{name}` takes weights of {known}; got {element_type(q.dtype).name}")
    return found


@one_node
@explained
def quantize(w: Any, format: Format = "int8", group_size: int | None = None) -> tuple[Any, Any]:  # noqa: A002
    """Return a weight (outputs, inputs) in a format, and its scales.

    Each row has a scale, or each `group_size` elements of it: scales are (outputs,), or (outputs,
    inputs / group_size), f32 (f64 of f64). `int4` has two elements in a byte: (outputs, inputs / 2)
    of u8. The largest element of a group becomes the largest number of the format.

    >>> q, scales = ops.quantize(np.array([[1.27, -0.5]], "f4"))
    >>> q, scales
    (array([[127, -50]], dtype=int8), array([0.01], dtype=float32))
    """
    if is_op(w):

        def later(tensor: Any) -> Any:
            return quantize(tensor, format, group_size)

        found: tuple[Any, Any] = w.then(later)
        return found
    if format not in STORED:
        raise ValueError(f"`quantize` has the formats {', '.join(STORED)}; got {format!r}")
    shape = tuple(w.shape)
    length = shape[-1] if group_size is None and shape else group_size
    if len(shape) != 2 or not length or shape[1] % length or length % packed_of(format):
        what = "inputs" if group_size is None else f"groups of {group_size}"
        raise ValueError(
            f"`quantize` takes a weight (outputs, inputs) that consists of groups, for int4 of an"
            f" even number of elements; got the shape {shape} and {what}"
        )
    rows, groups = shape[0], shape[1] // length
    function = _encoding(length, format)
    made = function(reshaped(w, (rows * groups, length)))
    columns = shape[1] // packed_of(format)
    scaled = (rows,) if group_size is None else (rows, groups)

    def shaped(q: Any, scale: Any) -> tuple[Any, Any]:
        return reshaped(q, (rows, columns)), reshaped(scale, scaled)

    result: tuple[Any, Any] = made.map(shaped) if is_op(made) else shaped(*made)
    return result


_ALL = {"float32": f32, "float64": f64, "float16": f16, "bfloat16": bf16}


@operation
@explained
def dequantize(q: Any, scales: Any, dtype: Any = "float32") -> Any:
    """Return a weight in a format, times its scales, as numbers of a type.

    >>> ops.dequantize(*ops.quantize(np.array([[1.0, -0.5]], "f4"))).round(2)
    array([[ 1. , -0.5]], dtype=float32)
    """
    form = _format_of("dequantize", q)
    by = _checked_scales("dequantize", q, scales, q.shape[1] * packed_of(form))
    kind: Any = _ALL.get(dtype) if isinstance(dtype, str) else None
    kind = element_type(dtype) if kind is None else kind
    return decoded_weight(q, by, form, kind)


def _checked_scales(name: str, q: Any, scales: Any, inputs: int) -> Any:
    """Return scales as (outputs, groups)."""
    shape = tuple(scales.shape)
    fits = shape == (q.shape[0],) or (
        len(shape) == 2 and shape[0] == q.shape[0] and shape[1] > 0 and not inputs % shape[1]
    )
    if not fits:
        raise ValueError(
            f"`{name}` takes scales (outputs,) or (outputs, groups), where groups divide the"
            f" {inputs} inputs of {q.shape[0]} outputs; got {shape}"
        )
    return reshaped(scales, (*shape, 1)) if len(shape) == 1 else scales


@float_operation
def quantized_linear(x: Any, weight: Any, scales: Any, bias: Any = None) -> Any:
    """Compute x @ w.T + bias, where w is `weight`, in a format of `quantize`, times its scales.

    Elements of the weight are multiplied as they are, in the type of x, and sums by the scales: the
    weight is never stored as floats. x and the bias have gradients; the weight is constant.

    >>> q, scales = ops.quantize(np.array([[1.0, -0.5]], "f4"), "int4")
    >>> ops.quantized_linear(np.array([[1.0, 0.0]], "f4"), q, scales)
    array([[1.]], dtype=float32)
    """
    form = _format_of("quantized_linear", weight)
    inputs = weight.shape[-1] * packed_of(form)
    shape = tuple(x.shape)
    if len(weight.shape) != 2 or not shape or shape[-1] != inputs:
        raise ValueError(
            f"`quantized_linear` takes x (..., inputs) and a weight (outputs, inputs), of {form};"
            f" got the shapes {shape} and {tuple(weight.shape)}"
        )
    by = _checked_scales("quantized_linear", weight, scales, inputs)
    rows, outputs, groups = math.prod(shape[:-1]), weight.shape[0], by.shape[1]
    tiles = tiles_for(rows, outputs, inputs)
    steps = 0
    if groups > 1:
        length = inputs // groups
        step = min(tiles.step, length & -length)
        tiles = Tiles(tiles.rows, tiles.columns, max(step, packed_of(form)))
        steps = cdiv(length, tiles.step)
    flat = reshaped(x, (rows, inputs))
    function = _product(tiles, form, steps, bias is not None)
    found = function(flat, weight, by, flat if bias is None else bias)
    return reshaped(found, (*shape[:-1], outputs))
