"""Activations against PyTorch in f64."""

from __future__ import annotations

import numpy as np
import pytest

from support.op_checks import TYPES, check, check_gradients, numbers, torch
from tilewright import ops

functional = torch.nn.functional
CASES = {
    "relu": (ops.relu, functional.relu),
    "sigmoid": (ops.sigmoid, torch.sigmoid),
    "tanh": (ops.tanh, torch.tanh),
    "silu": (ops.silu, functional.silu),
    "gelu": (ops.gelu, functional.gelu),
    "gelu tanh": (
        lambda x: ops.gelu(x, "tanh"), lambda x: functional.gelu(x, approximate="tanh"),
    ),
    "softplus": (ops.softplus, functional.softplus),
    "leaky_relu": (lambda x: ops.leaky_relu(x, 0.3), lambda x: functional.leaky_relu(x, 0.3)),
    "elu": (lambda x: ops.elu(x, 0.7), lambda x: functional.elu(x, 0.7)),
    "glu": (lambda x: ops.glu(x, dim=0), lambda x: functional.glu(x, 0)),
}  # fmt: skip
GATED = {
    "swiglu": (ops.swiglu, lambda g, u: functional.silu(g) * u),
    "geglu": (ops.geglu, lambda g, u: functional.gelu(g) * u),
    "geglu tanh": (
        lambda g, u: ops.geglu(g, u, "tanh"),
        lambda g, u: functional.gelu(g, approximate="tanh") * u,
    ),
    "reglu": (ops.reglu, lambda g, u: functional.relu(g) * u),
}
SHAPES = [(2,), (2, 1), (4, 31), (2, 3, 5), (0, 3), (2, 0), (2, 1025), (6, 1, 2, 7)]


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.thinned
def test_results(name, dtype, shape):
    check(*CASES[name], numbers(shape), dtype)


@pytest.mark.thinned(5)
@pytest.mark.parametrize("name", CASES)
def test_gradients(name):
    check_gradients(CASES[name][0], numbers((4, 7)))
    check_gradients(lambda x: CASES[name][0](x.T), numbers((3, 4)))


@pytest.mark.parametrize("name", GATED)
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.thinned
def test_gated_results(name, dtype, shape):
    check(*GATED[name], numbers(shape, shape), dtype)


@pytest.mark.parametrize("name", GATED)
def test_gated_gradients(name):
    check_gradients(GATED[name][0], numbers((4, 7), (4, 7)))


def test_numbers_without_axes_and_views():
    assert ops.relu(np.float32(2.0).reshape(())).shape == ()
    x = numbers((6, 8))[0].numpy()
    for view in (x[::2], x.T, x[:, ::-1], x[1:, 3:], np.broadcast_to(x[0], (3, 8))):
        np.testing.assert_allclose(ops.relu(view), np.maximum(view, 0))


def test_extremes():
    x = torch.tensor([-torch.inf, -100.0, -0.0, 0.0, 100.0, torch.inf, torch.nan])
    for name in ("relu", "sigmoid", "tanh", "softplus", "leaky_relu", "elu"):
        op, expected = CASES[name]
        torch.testing.assert_close(op(x), expected(x), equal_nan=True)


def test_what_is_refused():
    with pytest.raises(ValueError, match="`gelu` approximates by 'none' or 'tanh', got 'erf'"):
        ops.gelu(np.ones(2, "f4"), "erf")
    with pytest.raises(ValueError, match="`geglu` approximates by"):
        ops.geglu(np.ones(2, "f4"), np.ones(2, "f4"), "erf")
    with pytest.raises(ValueError, match="even extent, got 3 elements"):
        ops.glu(np.ones(3, "f4"))
    with pytest.raises(IndexError, match="`glu` has no axis 2 in an array of 1 axes"):
        ops.glu(np.ones(4, "f4"), axis=2)


def test_jax():
    jax = pytest.importorskip("jax")
    x = jax.numpy.asarray(numbers((3, 5))[0].numpy(), "float32")
    found = jax.jit(jax.grad(lambda x: (ops.gelu(x) ** 2).sum()))(x)
    expected = jax.grad(lambda x: (jax.nn.gelu(x, approximate=False) ** 2).sum())(x)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)
