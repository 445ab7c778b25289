"""The divergence of distributions against PyTorch in f64."""

from __future__ import annotations

import numpy as np
import pytest

from support.op_checks import TYPES, check, check_gradients, numbers, torch
from tilewright import ops

F = torch.nn.functional


@pytest.mark.parametrize("shape", [(1,), (3, 17), (2, 5, 7), (0, 3)])
@pytest.mark.parametrize("reduction", ["none", "sum", "batchmean"])
@pytest.mark.parametrize("log_target", [False, True])
@pytest.mark.parametrize("dtype", TYPES)
def test_results(shape, reduction, log_target, dtype):
    if reduction == "batchmean" and not shape[0]:
        return
    logs, other = (x.log_softmax(-1) for x in numbers(shape, shape))

    def op(x, y):
        return ops.kl_div(x, y, reduction, log_target=log_target)

    def expected(x, y):
        return F.kl_div(x, y, reduction=reduction, log_target=log_target)

    inputs = [logs, other if log_target else other.exp()]
    check(op, expected, inputs, dtype, scale=10)
    if dtype == "float64" and 0 < logs.numel() < 30:
        check_gradients(op, inputs)


def test_probabilities_of_zero_add_nothing():
    x = np.log(np.array([[0.25, 0.75], [0.5, 0.5]], "f4"))
    found = ops.kl_div(x, np.array([[0.0, 1.0], [1.0, 0.0]], "f4"), "none")
    np.testing.assert_allclose(found, [[0, -np.log(0.75)], [np.log(2), 0]], rtol=1e-6)


def test_what_is_refused():
    x = np.zeros((2, 3), "f4")
    with pytest.raises(ValueError, match="by mean, batchmean, sum or none, got 'max'"):
        ops.kl_div(x, x, "max")
    with pytest.raises(ValueError, match="takes arrays of one shape"):
        ops.kl_div(x, x[:1])
    with pytest.raises(TypeError, match="takes arrays of one type"):
        ops.kl_div(x, x.astype("f8"))
    with pytest.raises(ValueError, match="a batchmean of one axis or more"):
        ops.kl_div(np.float32(1), np.float32(1), "batchmean")
