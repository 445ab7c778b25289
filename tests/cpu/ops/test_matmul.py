"""Matrix products against PyTorch in f64."""

from __future__ import annotations

import numpy as np
import pytest

from support.op_checks import TYPES, check, check_gradients, numbers, torch
from tilewright import ops

functional = torch.nn.functional
ACTIVATIONS = {
    "relu": functional.relu, "sigmoid": torch.sigmoid, "tanh": torch.tanh,
    "silu": functional.silu, "gelu": functional.gelu,
    "gelu_tanh": lambda x: functional.gelu(x, approximate="tanh"),
}  # fmt: skip
SHAPES = [
    ((1, 1), (1, 1)), ((3, 5), (5, 7)), ((17, 64), (64, 129)), ((130, 65), (65, 3)),
    ((2, 3, 5), (5, 4)), ((2, 3, 5), (2, 5, 4)), ((2, 2, 3, 5), (2, 2, 5, 4)),
    ((0, 5), (5, 3)), ((3, 0), (0, 4)), ((0, 3, 5), (0, 5, 4)),
]  # fmt: skip


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize(("a", "b"), SHAPES)
@pytest.mark.thinned(5)
def test_products(dtype, a, b):
    check(ops.matmul, torch.matmul, numbers(a, b), dtype, scale=10)


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.thinned(3)
def test_epilogues(activation, dtype):
    def expected(x, w, b, r):
        return ACTIVATIONS[activation](functional.linear(x, w, b)) + r

    check(
        lambda x, w, b, r: ops.linear(x, w, b, activation=activation, residual=r), expected,
        numbers((2, 5, 9), (7, 9), 7, (2, 5, 7)), dtype, scale=10,
    )  # fmt: skip


def test_layers():
    x, w, b = numbers((4, 9), (7, 9), 7)
    check(ops.linear, functional.linear, [x, w, b])
    check(ops.linear, functional.linear, [x, w])
    check(ops.linear, functional.linear, [x[0], w, b])


@pytest.mark.parametrize(
    ("a", "b"), [((3, 5), (5, 7)), ((2, 3, 4), (4, 2)), ((2, 3, 4), (2, 4, 2))]
)
def test_gradients(a, b):
    check_gradients(ops.matmul, numbers(a, b))
    check_gradients(lambda a, b: ops.matmul(a.mT, b), numbers((*a[:-2], a[-1], a[-2]), b))


@pytest.mark.thinned(3)
@pytest.mark.parametrize("activation", [None, *ACTIVATIONS])
def test_gradients_of_epilogues(activation):
    check_gradients(
        lambda x, w, b, r: ops.linear(x, w, b, activation=activation, residual=r),
        numbers((2, 3, 4), (5, 4), 5, (2, 3, 5)),
    )


def test_views():
    a, b = (x.numpy() for x in numbers((6, 8), (8, 4)))
    np.testing.assert_allclose(ops.matmul(a[::2], b.T.copy().T), a[::2] @ b)
    np.testing.assert_allclose(ops.matmul(b.T, a.T), b.T @ a.T)


def test_what_is_refused():
    a = np.ones((2, 3), "f4")
    with pytest.raises(ValueError, match=r"cannot multiply shapes \(2, 3\) and \(2, 3\)"):
        ops.matmul(a, a)
    with pytest.raises(ValueError, match=r"cannot multiply shapes \(3,\) and \(2, 3\)"):
        ops.matmul(a[0], a)
    with pytest.raises(ValueError, match=r"cannot multiply shapes \(2, 3\) and \(2,\)"):
        ops.matmul(a, a[:, 0])
    with pytest.raises(ValueError, match=r"cannot multiply shapes \(3,\) and \(2,\)"):
        ops.matmul(a[0], a[:, 0])
    with pytest.raises(ValueError, match=r"`linear` has the activations relu, .*; got 'elu'"):
        ops.linear(a, a, activation="elu")
    with pytest.raises(ValueError, match="a weight of two"):
        ops.linear(a, a[0])


def test_jax():
    jax = pytest.importorskip("jax")
    x, w = (jax.numpy.asarray(t.numpy(), "float32") for t in numbers((3, 5), (4, 5)))
    found = jax.jit(jax.grad(lambda x, w: ops.linear(x, w, activation="tanh").sum(), (0, 1)))(x, w)
    expected = jax.grad(lambda x, w: jax.numpy.tanh(x @ w.T).sum(), (0, 1))(x, w)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)
