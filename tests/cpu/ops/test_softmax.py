"""Softmax and its relatives against PyTorch in f64."""

from __future__ import annotations

import numpy as np
import pytest

from support.op_checks import TYPES, check, check_gradients, check_gradients_as, numbers, torch
from tilewright import ops

CASES = {
    name: (getattr(ops, name), getattr(torch, name))
    for name in ("softmax", "log_softmax", "logsumexp")
}
SHAPES = [
    ((1,), 0), ((7,), -1), ((3, 5), -1), ((3, 5), 0), ((2, 3, 4), 1), ((2, 3, 5, 7), -3),
    ((17, 1), -1), ((0, 3), 1), ((3, 0), 0), ((2, 1025), 1), ((2, 16385), 1),
]  # fmt: skip


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize(("shape", "axis"), SHAPES)
@pytest.mark.thinned(5)
def test_results(name, dtype, shape, axis):
    op, expected = CASES[name]
    check(lambda x: op(x, axis), lambda x: expected(x, dim=axis), numbers(shape), dtype)


@pytest.mark.thinned(4)
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize(("shape", "axis"), [((3, 5), 1), ((2, 3, 4), 1), ((5,), 0)])
def test_gradients(name, shape, axis):
    check_gradients(lambda x: CASES[name][0](x, dim=axis), numbers(shape))


@pytest.mark.thinned(2)
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_gradients_of_long_rows(name, dtype):
    op, expected = CASES[name]
    check_gradients_as(op, lambda x: expected(x, dim=-1), numbers((2, 20001)), dtype=dtype)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("n", [5, 20000])
def test_infinities(name, n):
    op, expected = CASES[name]
    x = torch.zeros(4, n, dtype=torch.float64)
    x[0] = -torch.inf
    x[1, : n - 1] = -torch.inf
    x[2, n // 2] = torch.nan
    x[3, 0] = 1e30
    found, wanted = op(x), expected(x, dim=-1)
    torch.testing.assert_close(found[1:], wanted[1:], equal_nan=True)
    if name == "logsumexp":
        assert found[0] == -torch.inf


def test_keepdims_and_rows_of_nothing():
    x = numbers((3, 4))[0]
    assert ops.logsumexp(x, 1, keepdims=True).shape == (3, 1)
    assert ops.softmax(np.zeros((3, 0), "f4")).shape == (3, 0)
    assert (ops.logsumexp(np.zeros((3, 0), "f4")) == -np.inf).all()


def test_jax():
    jax = pytest.importorskip("jax")
    x = jax.numpy.asarray(numbers((3, 4, 5))[0].numpy(), "float32")
    for name in CASES:
        other = jax.nn.logsumexp if name == "logsumexp" else getattr(jax.nn, name)
        found = jax.grad(lambda x, name=name: (CASES[name][0](x, axis=1) ** 2).sum())(x)
        expected = jax.grad(lambda x, other=other: (other(x, axis=1) ** 2).sum())(x)
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("given", ["no", [1.0, 2.0], 3.0])
def test_what_is_no_array_is_refused(given):
    with pytest.raises(TypeError, match=f"`softmax` takes an array.*got {type(given).__name__}"):
        ops.softmax(given)
