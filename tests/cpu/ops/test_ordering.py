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


def test_what_is_refused():
    with pytest.raises(ValueError, match="`topk` finds 0 to 3 elements along the axis, got 4"):
        ops.topk(np.ones(3, "f4"), 4)
    with pytest.raises(ValueError, match="sorts rows of at most 16384 elements, got 16385"):
        ops.sort(np.ones(16385, "f4"))
