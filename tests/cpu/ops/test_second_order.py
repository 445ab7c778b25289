"""Derivatives of higher order, in forward mode, and of batches, beside PyTorch's and JAX's."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import tilewright as tw
from support.op_checks import numbers, torch
from tilewright import ops

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*torch.jit.script"),  # PyTorch uses it itself
    pytest.mark.filterwarnings("ignore:There is a performance drop"),  # of what we compare with
]

F = torch.nn.functional
LABELS = torch.tensor([1, 3, 0])


def fused(a, b, bias, residual):
    return ops.matmul(a, b, bias=bias, activation="gelu", residual=residual)


CASES = {
    "relu": (ops.relu, F.relu, ((3, 4),)),
    "sigmoid": (ops.sigmoid, torch.sigmoid, ((3, 4),)),
    "tanh": (ops.tanh, torch.tanh, ((3, 4),)),
    "silu": (ops.silu, F.silu, ((3, 4),)),
    "gelu": (ops.gelu, F.gelu, ((3, 4),)),
    "gelu_tanh": (
        lambda x: ops.gelu(x, "tanh"), lambda x: F.gelu(x, approximate="tanh"), ((3, 4),)
    ),
    "softplus": (ops.softplus, F.softplus, ((3, 4),)),
    "leaky_relu": (ops.leaky_relu, F.leaky_relu, ((3, 4),)),
    "elu": (lambda x: ops.elu(x, 1.5), lambda x: F.elu(x, 1.5), ((3, 4),)),
    "swiglu": (ops.swiglu, lambda x, y: F.silu(x) * y, ((3, 4), (3, 4))),
    "geglu": (ops.geglu, lambda x, y: F.gelu(x) * y, ((3, 4), (3, 4))),
    "reglu": (ops.reglu, lambda x, y: F.relu(x) * y, ((3, 4), (3, 4))),
    "glu": (ops.glu, F.glu, ((3, 4),)),
    "softmax": (ops.softmax, lambda x: F.softmax(x, -1), ((3, 4),)),
    "softmax, axis 0": (lambda x: ops.softmax(x, 0), lambda x: F.softmax(x, 0), ((3, 4),)),
    "log_softmax": (ops.log_softmax, lambda x: F.log_softmax(x, -1), ((3, 4),)),
    "logsumexp": (ops.logsumexp, lambda x: torch.logsumexp(x, -1), ((3, 4),)),
    "rms_norm": (
        lambda x, w: ops.rms_norm(x, 4, w), lambda x, w: F.rms_norm(x, (4,), w), ((3, 4), (4,))
    ),
    "layer_norm": (
        lambda x, w, b: ops.layer_norm(x, 4, w, b), lambda x, w, b: F.layer_norm(x, (4,), w, b),
        ((3, 4), (4,), (4,)),
    ),
    "group_norm": (
        lambda x, w, b: ops.group_norm(x, 2, w, b), lambda x, w, b: F.group_norm(x, 2, w, b),
        ((2, 4, 3), (4,), (4,)),
    ),
    "matmul": (ops.matmul, torch.matmul, ((2, 3, 4), (2, 4, 2))),
    "fused": (
        fused, lambda a, b, c, d: F.gelu(a @ b + c) + d, ((3, 4), (4, 2), (2,), (3, 2))
    ),
    "linear": (ops.linear, F.linear, ((3, 4), (2, 4), (2,))),
    "sum": (lambda x: ops.sum(x, 1), lambda x: x.sum(1), ((3, 4),)),
    "sum, axis 0": (lambda x: ops.sum(x, 0), lambda x: x.sum(0), ((3, 4),)),
    "mean": (ops.mean, torch.mean, ((3, 4),)),
    "amax": (lambda x: ops.amax(x, 1), lambda x: x.amax(1), ((3, 4),)),
    "amin, axis 0": (lambda x: ops.amin(x, 0), lambda x: x.amin(0), ((3, 4),)),
    "var": (lambda x: ops.var(x, 1), lambda x: x.var(1), ((3, 4),)),
    "cumsum": (ops.cumsum, lambda x: x.cumsum(-1), ((3, 4),)),
}  # fmt: skip


def squares(function):
    return lambda *given: (function(*given) ** 2).sum()


def close(found, expected):
    torch.testing.assert_close(found, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", CASES)
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


@pytest.mark.parametrize("name", ["gelu", "swiglu", "softmax", "rms_norm", "matmul", "sum"])
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
    q = numbers((1, 3, 4))[0].requires_grad_()
    out = ops.scaled_dot_product_attention(q, q, q)
    (first,) = torch.autograd.grad(out.sum(), q, create_graph=True)
    with pytest.raises(tw.Error, match="has no gradient"):
        first.sum().backward()


def test_gradients_that_are_not_wanted_are_not_computed(monkeypatch):
    x, w = (x.requires_grad_() for x in numbers((3, 4), (2, 4)))
    module = sys.modules["tilewright.ops.matmul"]
    made, product = [], module.product
    monkeypatch.setattr(module, "product", lambda *a, **k: made.append(1) or product(*a, **k))
    ops.linear(x, w.detach()).sum().backward()
    assert len(made) == 1
    ops.linear(x, w).sum().backward()
    assert len(made) == 3


@pytest.mark.parametrize("name", ["gelu", "swiglu", "softmax", "rms_norm", "matmul", "sum", "var"])
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
