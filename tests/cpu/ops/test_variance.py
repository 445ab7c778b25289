"""Standard deviations and norms against PyTorch."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
from support.op_checks import TYPES, check, check_gradients, close, numbers, torch
from tilewright import ops

AXES = [None, -1, 0, (0, 1)]


@pytest.mark.parametrize("axis", AXES)
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.thinned(2)
def test_results(axis, dtype):
    given = numbers((3, 5, 7))
    check(lambda x: ops.std(x, axis), lambda x: torch.std(x, dim=axis), given, dtype, scale=4)
    for p in (2, 1, float("inf"), float("-inf")):
        check(
            lambda x, p=p: ops.norm(x, p, axis),
            lambda x, p=p: torch.linalg.vector_norm(x, p, dim=axis), given, dtype, scale=8,
        )  # fmt: skip


def test_gradients():
    given = numbers((3, 5))
    check_gradients(lambda x: ops.std(x, 1), given)
    for p in (2, 1, float("inf")):
        check_gradients(lambda x, p=p: ops.norm(x, p, 1, keepdims=True), given)
    given = [x.requires_grad_() for x in given]
    assert torch.autograd.gradgradcheck(lambda x: ops.std(x, 1), given)
    assert torch.autograd.gradgradcheck(lambda x: ops.norm(x, axis=1), given)


def test_zeros_large_numbers_and_exponents():
    zero = torch.zeros(3, requires_grad=True)
    (found,) = torch.autograd.grad(ops.norm(zero), zero)
    assert found.tolist() == [0, 0, 0]
    large = np.full(4, 30000, "f2")
    assert ops.norm(large) == np.float16(60000) and ops.std(large) == 0
    with pytest.raises(ValueError, match="`norm` has the exponents 1, 2, inf and -inf; got 3"):
        ops.norm(large, 3)


def test_tensors_make_ops():
    x = numbers((3, 5))[0].numpy()
    for op, wanted in ((ops.norm, np.linalg.norm(x)), (ops.std, x.std(ddof=1))):
        np.testing.assert_allclose(op(tw.from_numpy(x)).sync().to_numpy(), wanted)


@pytest.mark.parametrize("axis", AXES)
def test_products_and_conditions(axis):
    x = numbers((3, 4, 5))[0]
    x[0, 1, 2] = 0
    x[1, 1, :2] = 0
    array = x.numpy()
    close(ops.prod(x, axis), torch.tensor(array.prod(axis)))
    for op, wanted in ((ops.any, np.any), (ops.all, np.all)):
        found = op(x, axis)
        assert found.dtype is torch.bool and np.array_equal(found.numpy(), wanted(array, axis))
    check_gradients(lambda x: ops.prod(x, axis), [x])


def test_products_and_conditions_of_nothing():
    none = np.zeros((2, 0), "f4")
    assert ops.prod(none, 1).tolist() == [1, 1] and ops.sum(none).tolist() == 0
    assert ops.any(none).item() is False and ops.all(none, 1).tolist() == [True, True]
    assert ops.prod(np.zeros((2, 0), "i4")).dtype == ops.sum(np.zeros(0, "i4")).dtype == np.int64
