"""Compare operations with PyTorch in f64: results of every kind of array, and gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilewright as tw
from support.numbers import fresh_rng

torch: Any = pytest.importorskip("torch")

TOLERANCES = {"float64": 1e-10, "float32": 2e-5, "float16": 4e-3, "bfloat16": 3e-2}
TYPES = list(TOLERANCES)


def numbers(*shapes, seed=0):
    """Normal numbers of these shapes, as tensors of f64."""
    rng = fresh_rng()
    return [torch.tensor(rng.standard_normal(shape)) for shape in shapes]


def close(found, expected, dtype="float64", scale=1.0):
    """Compare a result in a type with that of PyTorch in f64."""
    bound = TOLERANCES[dtype] * scale
    assert tuple(found.shape) == tuple(expected.shape)
    torch.testing.assert_close(found.double(), expected.double(), rtol=bound, atol=bound)


def check(op, expected, inputs, dtype="float64", scale=1.0, fixed=()):
    """Compare an operation of floats with PyTorch, for arrays of NumPy, PyTorch and tensors.

    Inputs are rounded to the type first; `fixed` are integers behind them.
    """
    given = [x.to(getattr(torch, dtype)) for x in inputs]
    wanted = expected(*[x.double() for x in given], *fixed)
    found = op(*given, *fixed)
    assert found.dtype == given[0].dtype
    close(found, wanted, dtype, scale)
    if dtype == "bfloat16":  # which NumPy's own types do not have
        return
    arrays = [x.numpy() for x in given]
    others = [x.numpy() for x in fixed]
    for _ in range(2):
        array = op(*arrays, *others)
        assert type(array) is np.ndarray
        close(torch.from_numpy(array), wanted, dtype, scale)
    ours = op(*[tw.from_numpy(x).sync() for x in arrays], *[tw.from_numpy(x) for x in others])
    close(torch.from_numpy(ours.sync().to_numpy()), wanted, dtype, scale)


def check_gradients(op, inputs, fixed=()):
    """Compare gradients with differences, in f64."""
    given = [x.clone().requires_grad_() for x in inputs]
    assert torch.autograd.gradcheck(lambda *x: op(*x, *fixed), given)


def check_gradients_as(op, expected, inputs, fixed=(), dtype="float64", scale=1.0):
    """Compare gradients with those of PyTorch in f64: for inputs too large for differences."""
    found, wanted = [
        _gradients(f, [x.to(getattr(torch, kind)) for x in inputs], fixed)
        for f, kind in ((op, dtype), (expected, "float64"))
    ]
    for a, b in zip(found, wanted, strict=True):
        close(a, b, dtype, scale)


def _gradients(op, inputs, fixed):
    given = [x.clone().requires_grad_() for x in inputs]
    result = op(*given, *fixed)
    weights = torch.linspace(0.5, 1.5, result.numel(), dtype=torch.float64).reshape(result.shape)
    return torch.autograd.grad((result * weights.to(result.dtype)).sum(), given)


def results_of(op, *inputs):
    """Yield the results of an operation as NumPy arrays: of NumPy, of PyTorch, and of tensors.

    Inputs are arrays of NumPy, or None.
    """
    with_torch = op(*[x if x is None else torch.from_numpy(x.copy()) for x in inputs])
    ours = op(*[x if x is None else tw.from_numpy(x.copy()).sync() for x in inputs]).sync()
    several = isinstance(with_torch, tuple)
    yield _listed(op(*inputs), several)
    yield [x.detach().numpy() for x in _listed(with_torch, several)]
    yield [x.to_numpy() for x in _listed(ours, several)]


def _listed(found, several):
    return list(found) if several else [found]
