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


@pytest.mark.parametrize("shape", [(5, 7), (2, 3, 4), (7,), (3, 5000)])
@pytest.mark.parametrize("soft", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.thinned(12)
def test_weights_and_probabilities(shape, soft, weighted, reduction, dtype):
    axis = 1 if len(shape) > 1 else 0
    for smoothing in (0.0, 0.25):
        x, share, weight = numbers(shape, shape, shape[axis : axis + 1])
        kind = getattr(torch, dtype)
        target = share.softmax(axis).to(kind) if soft else classes(shape, ignored=len(shape) > 1)
        named = {"reduction": reduction, "label_smoothing": smoothing}
        given = [x.to(kind).requires_grad_()] + ([target.requires_grad_()] if soft else [])
        w = weight.abs().to(kind) if weighted else None
        found = ops.cross_entropy(given[0], target, weight=w, **named)
        wide = [each.detach().double().requires_grad_() for each in given]
        wanted = functional.cross_entropy(
            wide[0], wide[1] if soft else target, w if w is None else w.double(), **named
        )
        close(found, wanted, dtype, scale=8)
        grads = [torch.autograd.grad(y.sum(), xs) for y, xs in ((found, given), (wanted, wide))]
        for a, b in zip(*grads, strict=True):
            close(a, b, dtype, scale=8)


def test_probabilities_of_other_libraries():
    x, share, weight = (each.abs().numpy() for each in numbers((5, 7), (5, 7), (7,)))
    wanted = functional.cross_entropy(*map(torch.tensor, (x, share, weight))).numpy()
    np.testing.assert_allclose(ops.cross_entropy(x, share, weight=weight), wanted)
    given = [tw.from_numpy(each).sync() for each in (x, share, weight)]
    op = ops.cross_entropy(*given[:2], weight=given[2])
    np.testing.assert_allclose(op.sync().to_numpy(), wanted)
    for reduction in ("sum", "none"):
        op = ops.cross_entropy(given[0], tw.from_numpy(share), reduction=reduction)
        wanted = functional.cross_entropy(*map(torch.tensor, (x, share)), reduction=reduction)
        np.testing.assert_allclose(op.sync().to_numpy(), wanted.numpy())


def test_gradients_of_gradients_of_losses():
    x, weight = numbers((3, 4), (4,))
    target, w = torch.tensor([1, -100, 2]), weight.abs()
    for reduction in ("mean", "none"):
        assert torch.autograd.gradgradcheck(
            lambda x, r=reduction: ops.cross_entropy(
                x, target, reduction=r, label_smoothing=0.2, weight=w
            ),
            (x.requires_grad_(),),
        )
