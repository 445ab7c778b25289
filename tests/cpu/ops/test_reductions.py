"""Reductions and running sums against PyTorch in f64."""

from __future__ import annotations

import numpy as np
import pytest

from support.op_checks import TYPES, check, check_gradients, check_gradients_as, numbers, torch
from tilewright import ops

EXPECTED = {
    "sum": lambda x, axis: x.sum(axis),
    "mean": lambda x, axis: x.mean(axis),
    "amax": lambda x, axis: torch.amax(x, axis),
    "amin": lambda x, axis: torch.amin(x, axis),
    "var": lambda x, axis: x.var(axis),
}
SHAPES = [
    ((3, 5), 1), ((3, 5), 0), ((2, 3, 4), (0, 2)), ((2, 3, 5, 7), -3), ((7,), 0), ((0, 3), 1),
    ((17, 2), (-1,)), ((5, 4), (0, 1)), ((2, 1025), 1), ((1, 40000), 1),
]  # fmt: skip


@pytest.mark.parametrize("name", EXPECTED)
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize(("shape", "axis"), SHAPES)
@pytest.mark.thinned
def test_results(name, dtype, shape, axis):
    op, expected = getattr(ops, name), EXPECTED[name]
    x = numbers(shape)[0] + 0.5
    check(lambda x: op(x, axis), lambda x: expected(x, axis), [x], dtype, scale=4)


@pytest.mark.thinned(5)
@pytest.mark.parametrize("name", EXPECTED)
@pytest.mark.parametrize(("shape", "axis"), [((3, 5), 1), ((2, 3, 4), (0, 2)), ((5, 3), None)])
def test_gradients(name, shape, axis):
    check_gradients(lambda x: getattr(ops, name)(x, dim=axis), numbers(shape))


COLUMNS = [((3, 200, 130), 1), ((300, 2), 0), ((65, 2, 129), (0, 1)), ((1, 5000, 3), -2)]


@pytest.mark.parametrize("name", [name for name in EXPECTED if name != "var"])
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize(("shape", "axis"), COLUMNS)
@pytest.mark.thinned(4)
def test_axes_before_the_last(name, dtype, shape, axis):
    op, expected = getattr(ops, name), EXPECTED[name]
    (x,) = numbers(shape)
    check(lambda x: op(x, axis), lambda x: expected(x, axis), [x], dtype, scale=100)
    assert op(x, axis, keepdims=True).shape == x.sum(axis, keepdim=True).shape
    if dtype == "float64":
        check_gradients_as(lambda x: op(x, axis), lambda x: expected(x, axis), [x])


@pytest.mark.parametrize("name", ["amax", "amin"])
def test_the_first_of_equal_elements_of_a_column_has_the_gradient(name):
    x = torch.ones(2, 300, 3, requires_grad=True)
    (dx,) = torch.autograd.grad(getattr(ops, name)(x, 1).sum(), x)
    assert (dx[:, 0] == 1).all() and (dx[:, 1:] == 0).all()


@pytest.mark.thinned(2)
@pytest.mark.parametrize("name", EXPECTED)
def test_gradients_of_long_rows(name):
    op, expected = getattr(ops, name), EXPECTED[name]
    check_gradients_as(lambda x: op(x, 1), lambda x: expected(x, 1), numbers((2, 40001)))


@pytest.mark.thinned(4)
@pytest.mark.parametrize("name", ["argmax", "argmin"])
@pytest.mark.parametrize(
    ("shape", "axis"), [((3, 5), 1), ((3, 5), 0), ((5, 6), None), ((2, 20001), 1)]
)
@pytest.mark.parametrize("special", [False, True])
def test_indices(name, shape, axis, special):
    x = numbers(shape)[0].round(decimals=1)  # with equal elements, of which the first counts
    if special:
        x.reshape(-1)[x.numel() // 2] = torch.nan
    found, array = getattr(ops, name)(x, axis), x.numpy()
    np.testing.assert_array_equal(found.numpy(), getattr(np, name)(array, axis))
    np.testing.assert_array_equal(getattr(ops, name)(array, axis), getattr(np, name)(array, axis))
    assert found.dtype == torch.int64


@pytest.mark.thinned(6)
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize(
    ("shape", "axis"), [((7,), 0), ((3, 5), 0), ((2, 3, 4), 1), ((2, 20001), -1)]
)
def test_running_sums(dtype, shape, axis):
    scale = shape[axis] ** 0.5
    check(
        lambda x: ops.cumsum(x, axis), lambda x: x.cumsum(axis), numbers(shape), dtype, scale=scale
    )
    if np.prod(shape) < 100 and dtype == "float64":
        check_gradients(lambda x: ops.cumsum(x, dim=axis), numbers(shape))


def test_long_running_sums_have_gradients():
    check_gradients_as(ops.cumsum, lambda x: x.cumsum(-1), numbers((2, 20001)))


def test_nothing():
    empty = np.zeros((3, 0), "f4")
    assert ops.sum(empty, 1).tolist() == [0.0] * 3
    assert np.isnan(ops.mean(empty, 1)).all()
    assert ops.cumsum(empty).shape == (3, 0)
    for name in ("amax", "amin", "argmax", "argmin"):
        with pytest.raises(ValueError, match=f"`{name}` of no elements has no"):
            getattr(ops, name)(empty, 1)
    with pytest.raises(ValueError, match="`sum` was given an axis twice"):
        ops.sum(np.zeros((2, 2), "f4"), (0, -2))


INTEGERS = ["int64", "int32", "int16", "int8", "uint8", "bool"]


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize(("shape", "axis"), [((3, 33), 1), ((70, 5), 0), ((2, 20001), -1)])
@pytest.mark.thinned(4)
def test_integers(dtype, shape, axis):
    x = (numbers(shape)[0] * 50).to(getattr(torch, dtype))
    array = x.numpy()
    for given in (x, array):
        for name in ("sum", "cumsum", "amax", "amin"):
            found = getattr(ops, name)(given, axis)
            expected = getattr(x, name)(axis)
            assert str(found.dtype).removeprefix("torch.") == str(expected.dtype)[6:]
            np.testing.assert_array_equal(found, expected)
        for name in ("argmax", "argmin"):
            np.testing.assert_array_equal(
                getattr(ops, name)(given, axis), getattr(np, name)(array, axis)
            )


def test_what_needs_floats():
    for name in ("mean", "var"):
        with pytest.raises(TypeError, match=f"`{name}` takes elements of f16, .*; got i64"):
            getattr(ops, name)(np.arange(3))


def test_keepdims_and_correction():
    x = numbers((3, 4))[0]
    assert ops.sum(x, 1, keepdims=True).shape == (3, 1)
    assert ops.mean(x, keepdims=True).shape == (1, 1)
    torch.testing.assert_close(ops.var(x, 1, correction=0), x.var(1, correction=0))
    assert np.isnan(ops.var(np.ones((2, 1), "f4"), 1)).all()
