"""Sorting against PyTorch."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
from support.op_checks import check_gradients_as, numbers, torch
from tilewright import ops

SHAPES = [
    ((1,), 0),
    ((7,), 0),
    ((5, 8), 1),
    ((5, 9), 0),
    ((2, 3, 4), 1),
    ((0, 3), 1),
    ((2, 300), 1),
]


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize(("shape", "axis"), SHAPES)
@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.thinned(3)
def test_sorted(dtype, shape, axis, descending):
    x = numbers(shape)[0].to(getattr(torch, dtype)).round(decimals=1)  # with equal elements
    wanted = torch.sort(x, dim=axis, descending=descending, stable=True)
    values, indices = ops.sort(x, axis, descending)
    assert torch.equal(values, wanted.values) and torch.equal(indices, wanted.indices)
    if dtype != "bfloat16":
        values, indices = ops.sort(x.numpy(), axis, descending)
        np.testing.assert_array_equal(indices, wanted.indices.numpy())
        np.testing.assert_array_equal(values, wanted.values.numpy())
        values, indices = ops.sort(tw.from_numpy(x.numpy()), axis, descending).sync()
        np.testing.assert_array_equal(indices.to_numpy(), wanted.indices.numpy())


@pytest.mark.thinned(4)
@pytest.mark.parametrize("k", [0, 1, 3, 8, 9])
@pytest.mark.parametrize("largest", [False, True])
def test_largest(k, largest):
    x = numbers((5, 9))[0].float()
    x[0, 3], x[1] = torch.nan, -torch.inf
    values, indices = ops.topk(x, k, dim=1, largest=largest)
    wanted = torch.sort(x, dim=1, descending=largest, stable=True)
    torch.testing.assert_close(values, wanted.values[:, :k], equal_nan=True, rtol=0, atol=0)
    assert torch.equal(indices, wanted.indices[:, :k])


def test_gradients():
    x = numbers((3, 7))
    for op, expected in (
        (lambda x: ops.topk(x, 3, 1)[0], lambda x: torch.topk(x, 3, 1)[0]),
        (lambda x: ops.sort(x, 1)[0], lambda x: torch.sort(x, 1)[0]),
        (lambda x: ops.sort(x, 0, descending=True)[0], lambda x: torch.sort(x, 0, True)[0]),
    ):
        check_gradients_as(op, expected, x, dtype="float32")


SPECIAL = torch.tensor([torch.nan, -torch.inf, torch.inf, 0.0, -0.0], dtype=torch.float64)


def ties(shape, dtype):
    """Numbers of which many are equal, and of floats some special."""
    x = numbers(shape)[0] * 4
    if dtype.is_floating_point:
        x.reshape(-1)[:: x.numel() // 40] = SPECIAL.repeat(9)[
            : len(x.reshape(-1)[:: x.numel() // 40])
        ]
    elif dtype is torch.uint8:
        x = x.abs()
    return x.round().to(dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int64", "uint8", "bool"])
@pytest.mark.parametrize(
    ("length", "k"),
    [(1024, 1), (1500, 9), (16384, 3), (16385, 16385), (20001, 1), (32769, 5000), (50257, 50)],
)
@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.thinned(5)
def test_rows_that_are_sorted_in_parts(dtype, length, k, descending):
    x = ties((2, length), getattr(torch, dtype))
    wanted = torch.sort(x, dim=1, descending=descending, stable=True)
    for given in (x, x.numpy(), tw.from_numpy(x.numpy())):
        found = ops.topk(given, k, 1, descending)
        if isinstance(found, tw.DeviceOp):
            found = [array.to_numpy() for array in found.sync()]
        values, indices = map(np.asarray, found)
        np.testing.assert_array_equal(indices, wanted.indices[:, :k])
        np.testing.assert_array_equal(values, wanted.values[:, :k])


@pytest.mark.parametrize("dtype", ["int64", "float64", "int32", "int8", "uint8", "bool"])
@pytest.mark.parametrize("length", [1, 2, 7, 64, 129])
@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.thinned(5)
def test_elements_of_other_types(dtype, length, descending):
    x = (
        ties((3, length), getattr(torch, dtype))
        if length > 40
        else ties((41, length), getattr(torch, dtype))
    )
    wanted = torch.sort(x, dim=1, descending=descending, stable=True)
    assert torch.equal(ops.argsort(x, 1, descending), wanted.indices)
    np.testing.assert_array_equal(ops.sort(x.numpy(), 1, descending)[0], wanted.values)


@pytest.mark.parametrize("largest", [False, True])
def test_few_of_a_row_of_special_numbers(largest):
    x = torch.full((3, 5000), torch.nan)
    x[0, -3], x[0, 17], x[1], x[2] = torch.inf, 3, torch.inf, -torch.inf
    x[1, 4000:], x[2, ::2] = torch.nan, -0.0
    wanted = torch.sort(x, dim=1, descending=largest, stable=True)
    values, indices = ops.topk(x, 5, largest=largest)
    assert torch.equal(indices, wanted.indices[:, :5])
    torch.testing.assert_close(values, wanted.values[:, :5], equal_nan=True, rtol=0, atol=0)


def test_gradients_of_rows_that_are_sorted_in_parts():
    (x,) = numbers((2, 20001))
    check_gradients_as(
        lambda x: ops.topk(x, 9)[0], lambda x: torch.topk(x, 9)[0], [x], dtype="float32"
    )
    check_gradients_as(lambda x: ops.sort(x, 1)[0], lambda x: torch.sort(x, 1)[0], numbers((3, 77)))


def test_gradients_in_jax():
    jax = pytest.importorskip("jax")
    x = jax.numpy.asarray(numbers((2, 20001))[0].numpy(), "float32")
    found = jax.jit(jax.grad(lambda x: (ops.topk(x, 4)[0] ** 2).sum()))(x)
    expected = jax.grad(lambda x: (jax.lax.top_k(x, 4)[0] ** 2).sum())(x)
    np.testing.assert_array_equal(found, expected)


def test_what_is_refused():
    with pytest.raises(ValueError, match="`topk` finds 0 to 3 elements along the axis, got 4"):
        ops.topk(np.ones(3, "f4"), 4)
