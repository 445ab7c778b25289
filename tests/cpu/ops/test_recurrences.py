"""Linear recurrences against a loop in f64."""

from __future__ import annotations

import numpy as np
import pytest

from support.op_cases import recurrence
from support.op_checks import TYPES, check, check_gradients_as, numbers, results_of, torch
from tilewright import ops

SHAPES = [(1,), (5,), (3, 1), (3, 17), (2, 5, 4), (0, 3), (17, 1025), (2, 20000)]


def given_by(shape):
    x, decay = numbers(shape, shape)
    return x, decay.sigmoid()


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.thinned(8)
def test_results(shape, dtype):
    check(ops.linear_recurrence, recurrence, given_by(shape), dtype, scale=4)


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("reverse", [False, True])
def test_axes_and_directions(axis, reverse):
    def op(x, decay):
        return ops.linear_recurrence(x, decay, axis, reverse=reverse)

    def expected(x, decay):
        turned = [each.movedim(axis, -1) for each in (x, decay)]
        if reverse:
            return recurrence(*[each.flip(-1) for each in turned]).flip(-1).movedim(-1, axis)
        return recurrence(*turned).movedim(-1, axis)

    inputs = given_by((3, 5, 7))
    check(op, expected, inputs)
    check_gradients_as(op, expected, inputs)


@pytest.mark.parametrize("shape", [(3, 17), (2, 20000)])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_gradients(shape, dtype):
    given = given_by(shape)
    check_gradients_as(ops.linear_recurrence, recurrence, given, (), dtype, scale=10)


def test_no_elements():
    for (found,) in results_of(ops.linear_recurrence, *[np.ones((2, 0), "f4")] * 2):
        assert found.shape == (2, 0)


def test_what_is_refused():
    x = np.ones((2, 3), "f4")
    with pytest.raises(ValueError, match=r"`decay` of `linear_recurrence` has the shape \(2, 3\)"):
        ops.linear_recurrence(x, x[:1])
    with pytest.raises(TypeError, match="`decay` has elements of f64"):
        ops.linear_recurrence(x, x.astype("f8"))
    with pytest.raises(IndexError, match="has no axis 2"):
        ops.linear_recurrence(torch.ones(2, 3), torch.ones(2, 3), 2)
