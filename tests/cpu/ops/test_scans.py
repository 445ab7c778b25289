"""Running products and extremes against PyTorch."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
from support.op_checks import check, check_gradients, close, numbers, torch
from tilewright import ops

SHAPES = [(1,), (7,), (3, 5), (2, 3, 4), (3, 0), (0, 3), (2, 17000)]
EXTREMES = {"cummax": torch.cummax, "cummin": torch.cummin}


def values(shape):
    """Numbers near 1, of which some are 0, and some equal."""
    x = 1 + numbers(shape)[0] * (0.5 if max(shape) < 100 else 1e-3)
    if x.numel() > 5:
        x.view(-1)[2] = 0
        x.view(-1)[4] = x.view(-1)[3]
    return x


def gradients(function, x):
    given = x.clone().requires_grad_()
    y = function(given)
    weights = torch.linspace(0.5, 1.5, y.numel(), dtype=y.dtype).reshape(y.shape)
    return torch.autograd.grad((y * weights).sum(), given)[0]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("axis", [-1, 0])
def test_cumprod(shape, axis):
    x = values(shape)
    close(ops.cumprod(x, axis), x.cumprod(axis), scale=100)
    if x.numel() and x.shape[axis] < 100:
        found, wanted = (
            gradients(f, x) for f in (lambda x: ops.cumprod(x, dim=axis), lambda x: x.cumprod(axis))
        )
        close(found, wanted, scale=100)


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_types_of_cumprod(dtype):
    check(ops.cumprod, lambda x: x.cumprod(-1), [values((3, 5))], dtype, scale=4)
    check_gradients(ops.cumprod, [values((2, 4))])
    whole = torch.tensor([[2, -3, 0, 5]], dtype=torch.int32)
    found = ops.cumprod(whole)
    assert found.dtype is torch.int64 and found.tolist() == [[2, -6, 0, 0]]


@pytest.mark.parametrize("name", EXTREMES)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", [torch.float64, torch.float16, torch.int32])
@pytest.mark.thinned(2)
def test_extremes(name, shape, dtype):
    x = (values(shape) * 3).to(dtype)
    found, places = getattr(ops, name)(x)
    wanted, indices = EXTREMES[name](x, -1)
    assert found.dtype is dtype and torch.equal(found, wanted) and torch.equal(places, indices)


@pytest.mark.parametrize("name", EXTREMES)
@pytest.mark.parametrize("shape", [(7,), (3, 5), (2, 17000)])
def test_gradients_of_extremes(name, shape):
    x = values(shape)
    found = gradients(lambda x: getattr(ops, name)(x)[0], x)
    close(found, gradients(lambda x: EXTREMES[name](x, -1)[0], x))


def test_nan_stays_and_tensors_make_ops():
    x = np.array([1.0, np.nan, 3.0])
    for op in (ops.cummax, ops.cummin):
        found, places = op(x)
        assert np.isnan(found[1:]).all() and places.tolist() == [0, 1, 1]
        made = op(tw.from_numpy(x)).sync()
        assert made[1].to_numpy().tolist() == [0, 1, 1]
    with pytest.raises(TypeError, match=r"takes `axis`, or `dim`, .* got both"):
        ops.cummax(x, axis=0, dim=0)
