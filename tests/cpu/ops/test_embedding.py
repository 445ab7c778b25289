"""Embedding against PyTorch, and dropout against its definition."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
from support.numbers import fresh_rng
from support.op_checks import check_gradients, check_gradients_as, close, numbers, torch
from tilewright import ops

functional = torch.nn.functional


def indices(shape, count):
    return torch.tensor(fresh_rng().integers(0, count, shape))


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("shape", [(1,), (17,), (3, 5), (0,), (2, 3, 4)])
@pytest.mark.parametrize("table", [(1, 1), (10, 3), (50, 300)])
@pytest.mark.thinned
def test_rows(dtype, shape, table):
    weight, x = numbers(table)[0].to(getattr(torch, dtype)), indices(shape, table[0])
    wanted = functional.embedding(x, weight)
    close(ops.embedding(x, weight), wanted, dtype)
    close(ops.embedding(x.int(), weight), wanted, dtype)
    if dtype != "bfloat16":
        close(torch.tensor(ops.embedding(x.numpy(), weight.numpy())), wanted, dtype)
        op = ops.embedding(tw.from_numpy(x.numpy()), tw.from_numpy(weight.numpy()))
        close(torch.tensor(op.sync().to_numpy()), wanted, dtype)


@pytest.mark.parametrize("shape", [(1,), (17,), (3, 5), (0,)])
@pytest.mark.parametrize("table", [(4, 3), (50, 300)])
def test_gradients(shape, table):
    x = indices(shape, table[0])
    check_gradients_as(
        lambda w: ops.embedding(x, w), lambda w: functional.embedding(x, w), numbers(table)
    )
    if table == (4, 3):
        check_gradients(lambda w: ops.embedding(x, w), numbers(table))


@pytest.mark.parametrize("padding_idx", [0, 2, -1])
def test_a_row_without_a_gradient(padding_idx):
    x = indices((3, 5), 4)
    check_gradients_as(
        lambda w: ops.embedding(x, w, padding_idx),
        lambda w: functional.embedding(x, w, padding_idx=padding_idx), numbers((4, 3)),
    )  # fmt: skip
    with pytest.raises(ValueError, match="`padding_idx` is one of 4 rows, got -5"):
        ops.embedding(x, numbers((4, 3))[0], -5)


def test_jax():
    jax = pytest.importorskip("jax")
    x, w = jax.numpy.asarray([3, 0, 3]), jax.numpy.asarray(numbers((5, 4))[0].numpy(), "float32")
    found = jax.jit(jax.grad(lambda w: (ops.embedding(x, w) ** 2).sum()))(w)
    np.testing.assert_allclose(found, jax.grad(lambda w: (w[x] ** 2).sum())(w), rtol=1e-6)


def test_numbers_that_are_no_rows():
    for wrong in (5, -1):
        with pytest.raises(tw.LaunchError):
            ops.embedding(np.array([0, wrong]), np.ones((5, 2), "f4"))
    with pytest.raises(ValueError, match=r"is \(rows, depth\), got \(3,\)"):
        ops.embedding(np.array([0]), np.ones(3, "f4"))


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16"])
@pytest.mark.parametrize("shape", [(10000,), (3, 5), (0,), ()])
@pytest.mark.thinned
def test_dropout(dtype, shape):
    x = torch.ones(shape, dtype=getattr(torch, dtype)) * 3
    for p in (0.0, 0.25, 1.0):
        y = ops.dropout(x, p, seed=11)
        assert y.dtype == x.dtype and y.shape == x.shape
        kept = y != 0
        close(y[kept], x[kept] / (1 - p) if p < 1 else x[kept], dtype)
        if x.numel() == 10000:
            assert abs(kept.double().mean() - (1 - p)) < 0.02
        assert torch.equal(y, ops.dropout(x, p, seed=11))
    assert ops.dropout(x, 0.5, training=False, seed=1) is x


def test_dropout_of_other_seeds_and_its_gradient():
    x = torch.ones(1000, dtype=torch.float64, requires_grad=True)
    y, other = ops.dropout(x, 0.5, seed=3), ops.dropout(x, 0.5, seed=4 << 32)
    assert not torch.equal(y, other)
    (dx,) = torch.autograd.grad(y.sum(), x)
    assert torch.equal(dx, y.detach())
    check_gradients(lambda x: ops.dropout(x, 0.3, seed=5), numbers((3, 4)))
    with pytest.raises(ValueError, match=r"a probability from 0 to 1, got 1\.5"):
        ops.dropout(x, 1.5, seed=0)


@pytest.mark.thinned(3)
@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16"])
@pytest.mark.parametrize("shape", [(5000,), (3, 5), (0,)])
def test_dropout_with_a_residual(dtype, shape):
    x, residual = (each.to(getattr(torch, dtype)) for each in numbers(shape, shape))
    for p in (0.0, 0.3, 1.0):
        found = ops.dropout(x, p, seed=7, residual=residual)
        assert found.dtype == x.dtype
        close(found, ops.dropout(x.double(), p, seed=7) + residual.double(), dtype)
    close(ops.dropout(x, training=False, seed=7, residual=residual), (x + residual).double(), dtype)
    if dtype == "float64":
        check_gradients(
            lambda x, r: ops.dropout(x, 0.3, seed=5, residual=r), numbers((3, 4), (3, 4))
        )
    with pytest.raises(ValueError, match=r"`residual` of `dropout` has the shape"):
        ops.dropout(x, seed=7, residual=residual[None])


def test_a_seed_in_an_array():
    x = np.ones(100, "f4")
    for seed in (0, 5, 2**62):
        expected = ops.dropout(x, 0.5, seed=seed)
        assert np.array_equal(ops.dropout(x, 0.5, seed=np.array([seed])), expected)
        ours = ops.dropout(tw.asarray(x), 0.5, seed=tw.asarray(np.array([seed])))
        assert np.array_equal(ours.sync().to_numpy(), expected)
        found = ops.dropout(torch.from_numpy(x), 0.5, seed=torch.tensor([seed]), residual=x)
        assert np.array_equal(found.numpy(), expected + 1)
