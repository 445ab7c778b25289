"""The loss of a linear layer against PyTorch in f64."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
from support.numbers import fresh_rng
from support.op_checks import TYPES, check_gradients, check_gradients_as, close, numbers, torch
from tilewright import ops

functional = torch.nn.functional


def classes(shape, count, ignored=False):
    found = torch.tensor(fresh_rng().integers(0, count, shape))
    if ignored:
        found.reshape(-1)[0] = -100
    return found


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize(
    ("rows", "depth", "count"), [((5,), 7, 3), ((70,), 65, 300), ((2, 3), 4, 5)]
)
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.thinned(2)
def test_results(dtype, rows, depth, count, reduction):
    x, w = (t.to(getattr(torch, dtype)) for t in numbers((*rows, depth), (count, depth)))
    target = classes(rows, count, ignored=True)
    wanted = functional.cross_entropy(
        (x.double() @ w.double().T).reshape(-1, count), target.reshape(-1), reduction=reduction
    ).reshape(rows if reduction == "none" else ())
    found = ops.linear_cross_entropy(x, w, target, reduction=reduction)
    close(found, wanted, dtype, scale=20)
    if dtype == "bfloat16":
        return
    arrays = x.numpy(), w.numpy(), target.numpy()
    close(torch.tensor(ops.linear_cross_entropy(*arrays, reduction=reduction)), wanted, dtype, 20)
    op = ops.linear_cross_entropy(*map(tw.from_numpy, arrays), reduction=reduction)
    close(torch.tensor(op.sync().to_numpy()), wanted, dtype, 20)


def test_gradients():
    target = classes((5,), 6, ignored=True)
    for reduction in ("mean", "sum", "none"):
        check_gradients(
            lambda x, w, r=reduction: ops.linear_cross_entropy(x, w, target, reduction=r),
            numbers((5, 4), (6, 4)),
        )
    target = classes((70,), 300)
    check_gradients_as(
        lambda x, w: ops.linear_cross_entropy(x, w, target),
        lambda x, w: functional.cross_entropy(x @ w.T, target), numbers((70, 65), (300, 65)),
    )  # fmt: skip


@pytest.mark.parametrize(("rows", "count"), [(5, 6), (70, 300)])
@pytest.mark.parametrize("smoothing", [0.0, 0.2])
def test_bias_and_smoothing(rows, count, smoothing):
    target = classes((rows,), count, ignored=True)
    given = numbers((rows, 9), (count, 9), count)

    def op(x, w, b):
        return ops.linear_cross_entropy(x, w, target, label_smoothing=smoothing, bias=b)

    def expected(x, w, b):
        return functional.cross_entropy(x @ w.T + b, target, label_smoothing=smoothing)

    close(op(*given), expected(*given))
    check_gradients_as(op, expected, given)


def test_what_is_refused():
    with pytest.raises(ValueError, match=r"`bias` of .* has the shape \(4,\); got \(3,\)"):
        ops.linear_cross_entropy(
            np.ones((2, 3), "f4"), np.ones((4, 3), "f4"), np.array([0, 1]), bias=np.ones(3, "f4")
        )
    x, w = np.ones((2, 3), "f4"), np.ones((4, 3), "f4")
    with pytest.raises(ValueError, match=r"got shapes \(2, 3\), \(4, 3\) and \(3,\)"):
        ops.linear_cross_entropy(x, w, np.array([0, 1, 2]))
    with pytest.raises(ValueError, match="reduces by mean, sum or none, got 'max'"):
        ops.linear_cross_entropy(x, w, np.array([0, 1]), reduction="max")
    with pytest.raises(tw.LaunchError, match="a target is no class"):
        ops.linear_cross_entropy(x, w, np.array([0, 4]))
