"""A tensor used like an array says what to write instead."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
from tilewright.tensors.misuse_hints import WORDS


@pytest.mark.parametrize("word", WORDS)
def test_words_of_arrays(word):
    t = tw.zeros((2,)).sync()
    assert not hasattr(t, word)
    with pytest.raises(AttributeError, match=f"a Tensor has no `{word}`; use ") as caught:
        getattr(t, word)
    assert (caught.value.name, caught.value.obj) == (word, t)
    known = [np.zeros(2), tw.zeros((2,)), t.partition_mut((2,))]
    assert any(hasattr(type(x), word) for x in known) or word in ("numpy", "cpu", "clone", "cuda")


def test_items_are_not_assigned():
    t = tw.zeros((2,)).sync()
    with pytest.raises(TypeError, match=r"with t\.borrow_mut\(\)\.numpy\(\) as a"):
        t[0] = 1.0
    assert t.to_numpy().tolist() == [0, 0]


@pytest.mark.parametrize("number", [float, int, complex])
def test_a_tensor_is_no_number(number):
    with pytest.raises(TypeError, match=r"t\.item\(\)"):
        number(tw.zeros((1,)).sync())


OTHER_ORDERS = {
    "zeros(3, 4)": (lambda: tw.zeros(3, 4), "`zeros` is one argument: tw.zeros((3, 4))"),
    "ones(2, 3, 4)": (lambda: tw.ones(2, 3, 4), "is one argument: tw.ones((2, 3, 4))"),
    "empty(3, 4)": (lambda: tw.empty(3, 4), "is one argument: tw.empty((3, 4))"),
    "rand(3, 4)": (lambda: tw.rand(3, 4), "is one argument: tw.rand((3, 4))"),
    "meta(3, 4)": (lambda: tw.meta(3, 4), "is one argument: tw.meta((3, 4))"),
    "randn(mean, std, shape)": (
        lambda: tw.randn(0.5, 2.0, (3,)), "tw.randn((3,), mean=0.5, std=2.0)"
    ),
    "rand(low, high, shape)": (lambda: tw.rand(0.0, 1.0, [3]), "takes the shape first"),
    "full(value, shape)": (lambda: tw.full(1.0, (3,)), "shape first: tw.full((3,), 1.0)"),
    "full(value, list)": (lambda: tw.full(7, [3, 4]), "shape first: tw.full((3, 4), 7)"),
    "slice(list)": (
        lambda: tw.zeros((4, 4)).sync().slice([range(1, 2)]), "t.slice(range(1, 3), range(0, 2))"
    ),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore:.*never run:RuntimeWarning")
@pytest.mark.parametrize("name", OTHER_ORDERS)
def test_the_orders_of_other_libraries_are_answered_with_ours(name):
    call, answer = OTHER_ORDERS[name]
    with pytest.raises(TypeError) as caught:
        call()
    assert answer in str(caught.value)


FUNCTIONS = {
    "sum": np.sum, "exp": np.exp, "add": lambda t: np.add(1.0, t), "max": np.max,
    "array + t": lambda t: np.ones(3) + t, "t + array": lambda t: t + np.ones(3),
}  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_of_numpy_are_refused_as_operators_are(name):
    with pytest.raises(TypeError, match=r"write a kernel \(@tw.entry\), or compute with"):
        FUNCTIONS[name](tw.zeros((3,)).sync())


def test_functions_of_numpy_say_that_an_op_has_not_run():
    op = tw.zeros((3,))
    with pytest.raises(TypeError, match=r"`zeros` has not run: call \.sync\(\) first"):
        np.sum(op)
    op.close()


def test_no_array_is_a_tensor():
    t = tw.zeros((3,)).sync()
    assert not np.ones(3) == t  # noqa: SIM201 - it is this operator that is asked
    assert np.ones(3) != t
