"""Steps of optimizers against PyTorch's."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
from support import tiers
from support.op_checks import close, numbers, torch
from tilewright import ops

SHAPES = tiers.count(
    quick=[(), (0, 3), (3, 33, 65)], full=[(), (1,), (5, 7), (0, 3), (2049,), (3, 33, 65)]
)


def steps_of(make, shape, dtype):
    """The parameter before, the gradients, and the parameter after each step of PyTorch's own."""
    before, *grads = [x.to(getattr(torch, dtype)) for x in numbers(*[shape] * 4)]
    p = torch.nn.Parameter(before.clone())
    optimizer, after = make([p]), []
    for grad in grads:
        p.grad = grad
        optimizer.step()
        after.append(p.detach().clone())
    return before, grads, after


def check_steps(step, make, shape, dtype, states):
    before, grads, after = steps_of(make, shape, dtype)
    p = torch.nn.Parameter(before.clone())
    kept = [torch.zeros_like(before) for _ in range(states)]
    array, held = before.numpy().copy(), [x.numpy().copy() for x in kept]
    ours = [tw.from_numpy(x.copy()).sync() for x in (array, *held)]
    for k, (grad, wanted) in enumerate(zip(grads, after, strict=True), 1):
        version = p._version
        found = step(p, grad, kept, k)
        assert found[0] is p and found[1] is kept[0]
        assert p._version > version or not p.numel()
        close(p, wanted, dtype)
        found = step(array, grad.numpy(), held, k)
        assert found[0] is array
        close(torch.from_numpy(array), wanted, dtype)
        step(ours[0], grad.numpy(), ours[1:], k).sync()
        close(torch.from_numpy(ours[0].to_numpy()), wanted, dtype)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.thinned
def test_adamw(shape, dtype):
    check_steps(
        lambda p, grad, states, k: ops.adamw(p, grad, *states, k, lr=0.1, weight_decay=0.2),
        lambda params: torch.optim.AdamW(params, lr=0.1, weight_decay=0.2), shape, dtype, 2,
    )  # fmt: skip
    check_steps(
        lambda p, grad, states, k: ops.adamw(p, grad, *states, k, betas=(0.5, 0.7), maximize=True),
        lambda params: torch.optim.AdamW(params, betas=(0.5, 0.7), maximize=True), shape, dtype, 2,
    )  # fmt: skip


@pytest.mark.parametrize("nesterov", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.thinned
def test_sgd(nesterov, shape):
    named = {"lr": 0.1, "momentum": 0.9, "weight_decay": 0.2, "nesterov": nesterov}
    check_steps(
        lambda p, grad, states, k: ops.sgd(p, grad, *states, **named),
        lambda params: torch.optim.SGD(params, **named), shape, "float64", 1,
    )  # fmt: skip


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_states_of_another_type(dtype):
    before, grad = numbers(100, 100)
    kind = getattr(torch, dtype)
    p, m, v = before.to(kind), torch.zeros(100), torch.zeros(100)
    expected = p.double()
    ops.adamw(p, grad.to(kind), m, v, 1, lr=0.1, weight_decay=0)
    close(p, expected - 0.1 * torch.sign(grad.to(kind).double()), dtype)
    close(m, 0.1 * grad.to(kind).double(), dtype)


def test_parts_of_arrays():
    """A step writes a strided part of an array, and nothing beside it."""
    whole = np.zeros((6, 8), "f4")
    part = whole[1:5:2, ::3]
    m, v = np.zeros((2, 3), "f4"), np.zeros((2, 3), "f4")
    ops.adamw(part, np.ones((2, 3), "f4"), m, v, 1, lr=1.0)
    expected = np.zeros((6, 8), "f4")
    expected[1:5:2, ::3] = -1
    np.testing.assert_allclose(whole, expected, rtol=1e-5)


def test_jax_arrays_stay():
    jax = pytest.importorskip("jax")
    p = jax.numpy.ones((2, 3), "float32")
    zeros = jax.numpy.zeros((2, 3), "float32")
    step = jax.jit(lambda p, g, m, v, k: ops.adamw(p, g, m, v, k, lr=0.5, weight_decay=0.0))
    for _ in range(2):
        found = step(p, p, zeros, zeros, 1.0)
        np.testing.assert_allclose(found[0], np.full((2, 3), 0.5), rtol=1e-5)
        np.testing.assert_array_equal(p, np.ones((2, 3)))


def test_what_is_refused():
    x = np.zeros((2, 3), "f4")
    with pytest.raises(ValueError, match=r"the parameter's shape \(2, 3\), got \(3,\)"):
        ops.adamw(x, x, x.copy(), np.zeros(3, "f4"), 1)
    with pytest.raises(ValueError, match="`step` of `adamw` counts from 1, got 0"):
        ops.adamw(x, x, x.copy(), x.copy(), 0)
    frozen = x.copy()
    frozen.flags.writeable = False
    with pytest.raises(tw.BorrowError):
        ops.sgd(frozen, x, x.copy())
