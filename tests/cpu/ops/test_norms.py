"""Normalizations against PyTorch in f64."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
from support.op_checks import (
    TYPES,
    check,
    check_gradients,
    check_gradients_as,
    close,
    numbers,
    torch,
)
from tilewright import ops

functional = torch.nn.functional
SHAPES = [((3, 5), 1), ((7,), 1), ((2, 3, 4), 2), ((2, 3, 1), 1), ((40, 37), 1), ((0, 3), 1),
          ((3, 0), 1), ((2, 1025), 1)]  # fmt: skip


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize(("shape", "count"), SHAPES)
@pytest.mark.thinned(4)
def test_results(dtype, shape, count):
    row = shape[-count:]
    given = row[0] if count == 1 else row
    inputs = numbers(shape, row, row)
    check(
        lambda x, w, b: ops.layer_norm(x, given, w, b),
        lambda x, w, b: functional.layer_norm(x, row, w, b), inputs, dtype, scale=4,
    )  # fmt: skip
    check(
        lambda x, w: ops.rms_norm(x, given, w, 1e-5),
        lambda x, w: functional.rms_norm(x, row, w, 1e-5), inputs[:2], dtype, scale=4,
    )  # fmt: skip
    check(
        lambda x, w: ops.layer_norm(x, given, w),
        lambda x, w: functional.layer_norm(x, row, w), inputs[:2], dtype, scale=4,
    )  # fmt: skip
    check(
        lambda x: ops.rms_norm(x, given),
        lambda x: functional.rms_norm(x, row, eps=torch.finfo(torch.float32).eps)
        if dtype != "float64" else functional.rms_norm(x, row), inputs[:1], dtype, scale=4,
    )  # fmt: skip


@pytest.mark.thinned(2)
@pytest.mark.parametrize(("shape", "count"), [((3, 5), 1), ((2, 3, 4), 2), ((4, 1), 1)])
def test_gradients(shape, count):
    row = shape[-count:]
    x, w, b, r = numbers(shape, row, row, shape)
    check_gradients(lambda x, w, b: ops.layer_norm(x, row, w, b), (x, w, b))
    check_gradients(lambda x: ops.layer_norm(x, row, eps=0.1), (x,))
    check_gradients(lambda x, w: ops.rms_norm(x, row, w, 1e-5), (x, w))
    check_gradients(lambda x, w, r: ops.rms_norm(x, row, w, 1e-5, residual=r), (x, w, r))


def test_gradients_of_many_rows():
    check_gradients_as(
        lambda x, w, b: ops.layer_norm(x, 130, w, b),
        lambda x, w, b: functional.layer_norm(x, (130,), w, b), numbers((101, 130), 130, 130),
    )  # fmt: skip


def test_residuals():
    x, w, b, r = numbers((3, 5), 5, 5, (3, 5))
    y, total = ops.layer_norm(x, 5, w, b, residual=r)
    close(total, x + r)
    close(y, functional.layer_norm(x + r, (5,), w, b))
    y, total = ops.rms_norm(*[tw.from_numpy(t.numpy()) for t in (x,)], 5, residual=r.numpy()).sync()
    close(torch.tensor(total.to_numpy()), x + r)
    close(torch.tensor(y.to_numpy()), functional.rms_norm(x + r, (5,)))


@pytest.mark.parametrize("length", [16384, 16385, 20480, 40961])
@pytest.mark.parametrize("name", ["rms_norm", "layer_norm"])
@pytest.mark.thinned(2)
def test_long_rows(name, length):
    op, expected = getattr(ops, name), getattr(functional, name)
    biases = 2 if name == "layer_norm" else 1
    given = numbers((2, length), *[length] * biases)
    check(
        lambda x, *w: op(x, length, *w),
        lambda x, *w: expected(x, (length,), *w, eps=1e-5 if biases == 2 else 2**-52),
        given,
    )
    check_gradients_as(
        lambda x, *w: op(x, length, *w), lambda x, *w: expected(x, (length,), *w), given
    )
    close(op(given[0].float(), length), expected(given[0], (length,)), "float32", 4)
    check_gradients_as(lambda x: op(x, length), lambda x: expected(x, (length,)), given[:1])


@pytest.mark.thinned(6)
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize(
    ("shape", "groups"), [((2, 4, 5), 2), ((3, 6), 3), ((2, 4, 3, 2), 4), ((1, 4, 300), 1)]
)
def test_groups(dtype, shape, groups):
    inputs = numbers(shape, shape[1], shape[1])
    check(
        lambda x, w, b: ops.group_norm(x, groups, w, b),
        lambda x, w, b: functional.group_norm(x, groups, w, b), inputs, dtype, scale=4,
    )  # fmt: skip
    check(
        lambda x: ops.group_norm(x, groups), lambda x: functional.group_norm(x, groups),
        inputs[:1], dtype, scale=4,
    )  # fmt: skip
    if dtype == "float64" and np.prod(shape) < 100:
        check_gradients(lambda x, w, b: ops.group_norm(x, groups, w, b), inputs)


def test_what_is_refused():
    x = np.ones((2, 3), "f4")
    with pytest.raises(ValueError, match=r"last axes, of extents \(2,\); got the shape \(2, 3\)"):
        ops.rms_norm(x, 2)
    with pytest.raises(ValueError, match="a bias only beside a weight"):
        ops.layer_norm(x, 3, bias=x[0])
    with pytest.raises(ValueError, match="into 2 groups; got the shape"):
        ops.group_norm(x, 2)
    with pytest.raises(ValueError, match="a weight and a bias, or neither"):
        ops.group_norm(x, 3, weight=x[0])


def test_jax():
    jax = pytest.importorskip("jax")
    x, w = (jax.numpy.asarray(a.numpy(), "float32") for a in numbers((3, 5), 5))
    found = jax.jit(jax.grad(lambda x, w: (ops.rms_norm(x, 5, w, 1e-5) ** 3).sum(), (0, 1)))(x, w)

    def expected(x, w):
        return ((x / jax.numpy.sqrt((x * x).mean(-1, keepdims=True) + 1e-5) * w) ** 3).sum()

    for a, b in zip(found, jax.grad(expected, (0, 1))(x, w), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-4)
