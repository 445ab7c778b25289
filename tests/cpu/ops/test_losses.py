"""Losses against PyTorch in f64."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
from support.numbers import fresh_rng
from support.op_checks import TYPES, check_gradients, check_gradients_as, close, numbers, torch
from tilewright import ops

functional = torch.nn.functional
SHAPES = [(1, 1), (5, 7), (3, 129), (2, 3, 4), (2, 3, 2, 2), (7,), (3, 16385)]


def classes(shape, ignored=False):
    count = shape[1] if len(shape) > 1 else shape[0]
    found = torch.tensor(fresh_rng().integers(0, count, (*shape[:1], *shape[2:])[: len(shape) - 1]))
    if ignored and found.ndim:
        found.reshape(-1)[0] = -100
    return found


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.thinned(4)
def test_results(dtype, shape, reduction):
    x = numbers(shape)[0].to(getattr(torch, dtype))
    for ignored, smoothing in ((False, 0.0), (True, 0.25)):
        if ignored and x.shape[0] == 1:
            continue
        target = classes(shape, ignored)
        named = {"reduction": reduction, "label_smoothing": smoothing}
        wanted = functional.cross_entropy(x.double(), target, **named)
        close(ops.cross_entropy(x, target, **named), wanted, dtype, scale=4)
        if dtype == "bfloat16":
            continue
        array = ops.cross_entropy(x.numpy(), target.numpy(), **named)
        close(torch.tensor(array), wanted, dtype, scale=4)
        op = ops.cross_entropy(tw.from_numpy(x.numpy()), tw.from_numpy(target.numpy()), **named)
        close(torch.tensor(op.sync().to_numpy()), wanted, dtype, scale=4)


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("shape", [(5, 7), (2, 3, 4)])
def test_gradients(reduction, shape):
    for ignored, smoothing in ((False, 0.0), (True, 0.25)):
        check_gradients(
            lambda x, t, s=smoothing: ops.cross_entropy(
                x, t, reduction=reduction, label_smoothing=s
            ),
            numbers(shape), [classes(shape, ignored)],
        )  # fmt: skip


def test_gradients_of_many_classes():
    check_gradients_as(
        ops.cross_entropy, functional.cross_entropy, numbers((3, 20001)), [classes((3, 20001))]
    )


def test_extremes():
    x = torch.tensor([[1e4, -1e4, 0.0], [-torch.inf, 0.0, 0.0]], dtype=torch.float32)
    target = torch.tensor([1, 2])
    close(ops.cross_entropy(x, target), functional.cross_entropy(x.double(), target), "float32")
    assert np.isnan(ops.cross_entropy(x.numpy(), np.array([-100, -100])))


def test_what_is_refused():
    x = np.zeros((2, 3), "f4")
    with pytest.raises(ValueError, match="reduces by mean, sum or none, got 'max'"):
        ops.cross_entropy(x, np.array([0, 1]), reduction="max")
    with pytest.raises(ValueError, match=r"one class for each row .* \(2, 3\) and \(3,\)"):
        ops.cross_entropy(x, np.array([0, 1, 2]))
    with pytest.raises(tw.LaunchError, match="a target is no class"):
        ops.cross_entropy(x, np.array([0, 3]))
