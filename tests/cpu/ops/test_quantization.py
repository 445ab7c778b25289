"""Weights in 8 and 4 bits, and products with them."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import tilewright as tw
from support import tiers
from support.op_checks import TOLERANCES, close, numbers, torch
from tilewright import ops

FORMATS = {"int8": 0.5 / 127, "int4": 0.5 / 7, "float8_e4m3fn": 1 / 16, "float8_e5m2": 1 / 8}
"""And the error of an element, of the largest of its group."""
SHAPES = [(1, 2, None), (5, 8, None), (33, 64, None), (7, 96, 48), (130, 256, 64), (3, 30, 6)]


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize(("rows", "columns", "group"), SHAPES)
@pytest.mark.thinned(1)
def test_there_and_back(form, rows, columns, group):
    (w,) = numbers((rows, columns))
    q, scales = ops.quantize(w.float(), form, group)
    assert tuple(q.shape) == (rows, columns // 2 if form == "int4" else columns)
    assert tuple(scales.shape) == ((rows,) if group is None else (rows, columns // group))
    for dtype in ("float32", "float16", "bfloat16"):
        back = ops.dequantize(q, scales, dtype)
        assert back.dtype == getattr(torch, dtype)
        groups = (rows, -1, group or columns)
        most = w.reshape(groups).abs().amax(-1, keepdim=True)
        error = (back.double() - w).reshape(groups).abs() / most
        assert error.max() <= FORMATS[form] + TOLERANCES[dtype]


def test_exact_numbers():
    w = np.array([[127.0, -3.0, 64.4, 0.0], [0.0, 0.0, 0.0, 0.0]], "f4")
    q, scales = ops.quantize(w)
    np.testing.assert_array_equal(q, [[127, -3, 64, 0], [0] * 4])
    np.testing.assert_array_equal(scales, [1, 1])
    q, scales = ops.quantize(np.array([[7.0, -7.0, 3.0, -1.0]], "f4"), "int4")
    np.testing.assert_array_equal(q, [[0x97, 0xF3]])
    np.testing.assert_array_equal(ops.dequantize(q, scales), [[7, -7, 3, -1]])
    q, scales = ops.quantize(np.array([[448.0, -1.0]], "f4"), "float8_e4m3fn")
    assert q.dtype == ml_dtypes.float8_e4m3fn
    np.testing.assert_array_equal(q.astype("f4"), [[448, -1]])


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16"])
@pytest.mark.parametrize(("rows", "columns", "group"), SHAPES)
@pytest.mark.thinned(1)
def test_products(form, dtype, rows, columns, group):
    w, x, b = numbers((rows, columns), (2, 9, columns), rows)
    q, scales = ops.quantize(w.float(), form, group)
    weight = ops.dequantize(q, scales, "float64")
    kind = getattr(torch, dtype)
    given, bias = x.to(kind), b.to(kind)
    expected = torch.nn.functional.linear(given.double(), weight, bias.double())
    close(ops.quantized_linear(given, q, scales, bias), expected, dtype, scale=20)
    close(ops.quantized_linear(given, q, scales), expected - bias.double(), dtype, scale=20)
    given.requires_grad_()
    (found,) = torch.autograd.grad(ops.quantized_linear(given, q, scales).sum(), given)
    close(found, weight.sum(0).expand(given.shape), dtype, scale=40)


@pytest.mark.parametrize("form", tiers.count(quick=["int4"], full=FORMATS))
def test_arrays_and_tensors(form):
    w, x = (each.float().numpy() for each in numbers((7, 32), (3, 32)))
    q, scales = ops.quantize(w, form, 16)
    expected = x @ ops.dequantize(q, scales).T
    close(torch.tensor(ops.quantized_linear(x, q, scales)), torch.tensor(expected), "float32", 10)
    made, factors = ops.quantize(tw.from_numpy(w).sync(), form, 16).sync()
    np.testing.assert_array_equal(factors.to_numpy(), scales)
    found = ops.quantized_linear(tw.from_numpy(x), made, factors).sync().to_numpy()
    close(torch.tensor(found), torch.tensor(expected), "float32", 10)


def test_long_rows():
    (w,) = numbers((3, 20001))
    q, scales = ops.quantize(w)
    assert (ops.dequantize(q, scales, "float64") - w).abs().max() <= 0.51 * scales.max()


def test_what_is_refused():
    w = np.ones((4, 6), "f4")
    with pytest.raises(ValueError, match=r"the shape \(4, 6\) and groups of 4"):
        ops.quantize(w, "int8", 4)
    with pytest.raises(ValueError, match="an even number"):
        ops.quantize(w, "int4", 3)
    with pytest.raises(ValueError, match="got 'int3'"):
        ops.quantize(w, "int3")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"takes weights of i8 \(int8\), .*; got f32"):
        ops.quantized_linear(w, w, np.ones(4, "f4"))
    q, scales = ops.quantize(w)
    with pytest.raises(ValueError, match=r"6 inputs of 4 outputs; got \(3,\)"):
        ops.quantized_linear(w, q, scales[:3])
    with pytest.raises(ValueError, match=r"the shapes \(4, 5\) and \(4, 6\)"):
        ops.quantized_linear(w[:, :5], q, scales)
