"""Derivatives of higher order, in forward mode, and of batches, beside PyTorch's and JAX's."""

from __future__ import annotations

import functools
import sys

import numpy as np
import pytest

import tilewright as tw
from support.op_cases import CASES, attention
from support.op_checks import numbers, torch
from tilewright import ops

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*torch.jit.script"),  # PyTorch uses it itself
    pytest.mark.filterwarnings("ignore:There is a performance drop"),  # of what we compare with
]

F = torch.nn.functional


def fast_recurrence(x, decay):
    """The recurrence, by doubling: each step joins runs of twice the length."""
    span = 1
    while span < x.shape[-1]:
        x = x + decay * F.pad(x, (span, 0))[..., : x.shape[-1]]
        decay = decay * F.pad(decay, (span, 0))[..., : x.shape[-1]]
        span *= 2
    return x


def squares(function):
    return lambda *given: (function(*given) ** 2).sum()


def close(found, expected):
    torch.testing.assert_close(found, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.thinned(20)
def test_gradients_of_gradients(name):
    op, expected, shapes = CASES[name]
    given = [x.requires_grad_() for x in numbers(*shapes)]
    assert torch.autograd.gradgradcheck(op, given)
    both = []
    for function in (op, expected):
        grads = torch.autograd.grad(squares(function)(*given), given, create_graph=True)
        both.append(torch.autograd.grad(sum((g**2).sum() for g in grads), given))
    close(*both)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.thinned(20)
def test_transforms(name):
    op, expected, shapes = CASES[name]
    given = numbers(*shapes)
    places = tuple(range(len(given)))
    found, wanted = [torch.func.grad(squares(f), places)(*given) for f in (op, expected)]
    close(found, wanted)
    tangents = tuple(numbers(*shapes, seed=1))
    close(*[torch.func.jvp(f, tuple(given), tangents) for f in (op, expected)])
    close(*[torch.func.hessian(squares(f))(*given) for f in (op, expected)])
    batches = [torch.stack([x, 2 * x, -x], 1) for x in given]
    for transform in (lambda f: f, lambda f: torch.func.grad(squares(f), places)):
        close(*[torch.func.vmap(transform(f), in_dims=1)(*batches) for f in (op, expected)])


@pytest.mark.parametrize(
    "name", ["gelu", "swiglu", "softmax", "rms_norm", "matmul", "sum", "attention"]
)
def test_dual_numbers_and_batched_gradients(name):
    op, _, shapes = CASES[name]
    given = [x.requires_grad_() for x in numbers(*shapes)]
    assert torch.autograd.gradcheck(op, given, check_forward_ad=True, check_batched_grad=True)


def test_empty_batches():
    x = torch.zeros(0, 3, 4)
    assert torch.func.vmap(ops.gelu)(x).shape == (0, 3, 4)
    assert torch.func.vmap(ops.swiglu, in_dims=(0, None))(x, torch.ones(3, 4)).shape == (0, 3, 4)


def test_what_has_no_derivative_of_an_order_says_so():
    x = numbers((3, 4))[0].requires_grad_()
    (first,) = torch.autograd.grad(ops.gelu(x).sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), x, create_graph=True)
    with pytest.raises(tw.Error, match="`gelu_backward_backward` has no gradient"):
        torch.autograd.grad(second.sum(), x)
    q, cache = numbers((1, 2, 4), (1, 3, 2, 4))
    with pytest.raises(tw.Error, match="`attend_part` has no gradient"):
        ops.decode_attention(q.requires_grad_(), cache, cache).sum().backward()


def test_dropped_weights_have_derivatives():
    q, k, v = (x.requires_grad_() for x in numbers((2, 3, 4), (2, 5, 4), (2, 5, 4)))
    for seed in (3, torch.tensor([3])):
        op = functools.partial(attention, dropout_p=0.4, seed=seed)
        assert torch.autograd.gradgradcheck(op, (q, k, v))


def test_long_rows():
    rows, decay = (x.requires_grad_() for x in numbers((1, 17000), (1, 17000)))
    weight = torch.linspace(0, 1, 17000, dtype=torch.float64)
    for op, expected, given in (
        (ops.prod, torch.prod, [1 + rows.detach() * 1e-3]),
        (ops.linear_recurrence, fast_recurrence, [rows.detach(), decay.detach().sigmoid()]),
    ):
        x = [each.requires_grad_() for each in given]
        both = []
        for function in (op, expected):
            y = (function(*x) * weight).sum()
            grads = torch.autograd.grad(y, x, create_graph=True)
            both.append(torch.autograd.grad(sum((g * weight).sum() for g in grads), x))
        torch.testing.assert_close(*both, rtol=1e-8, atol=1e-8)


def test_gradients_that_are_not_wanted_are_not_computed(monkeypatch):
    x, w = (x.requires_grad_() for x in numbers((3, 4), (2, 4)))
    module = sys.modules["tilewright.ops.matmul"]
    made, product = [], module.product
    monkeypatch.setattr(module, "product", lambda *a, **k: made.append(1) or product(*a, **k))
    ops.linear(x, w.detach()).sum().backward()
    assert len(made) == 1
    ops.linear(x, w).sum().backward()
    assert len(made) == 3


@pytest.mark.parametrize(
    "name",
    [
        "gelu",
        "swiglu",
        "softmax",
        "rms_norm",
        "matmul",
        "sum",
        "var",
        "prod, axis 0",
        "sort",
        "attention",
        "conv2d",
        "linear_recurrence",
    ],
)
@pytest.mark.parametrize("jitted", [False, True])
def test_gradients_of_gradients_in_jax(name, jitted):
    jax = pytest.importorskip("jax")
    op, expected, shapes = CASES[name]
    given = numbers(*shapes)
    wanted = torch.func.grad(_twice(torch.func.grad, expected, given))(*given)
    with jax.enable_x64(True):
        found = jax.grad(_twice(jax.grad, op, given))
        arrays = [jax.numpy.asarray(x.numpy()) for x in given]
        found = (jax.jit(found) if jitted else found)(*arrays)
    np.testing.assert_allclose(np.asarray(found), wanted.numpy(), rtol=1e-9, atol=1e-9)


def _twice(grad, function, given):
    first = grad(squares(function), tuple(range(len(given))))
    return lambda *x: sum((y**2).sum() for y in first(*x))
