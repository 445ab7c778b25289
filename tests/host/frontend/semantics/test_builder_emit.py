"""Where code surely runs in every block: only there is an assertion a launch check."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright.lang as tl
from support.kernels import ir_of, out, run, scalar, tensor
from tilewright.base.dtypes import i32


def early_return(z: tl.TensorMut, x: tl.Tensor, n: i32) -> None:
    if tl.block_id(0) > n:
        return
    assert x.shape[0] > 3


def early_return_in_else(z: tl.TensorMut, x: tl.Tensor, n: i32) -> None:
    if tl.block_id(0) > n:
        z.store(z.load())
    else:
        return
    assert x.shape[0] > 3


def early_return_in_elif(z: tl.TensorMut, x: tl.Tensor, n: i32) -> None:
    if tl.block_id(0) > n:
        z.store(z.load())
    elif tl.block_id(1) > n:
        return
    assert x.shape[0] > 3


def nested_return(z: tl.TensorMut, x: tl.Tensor, n: i32) -> None:
    if tl.block_id(0) > n:
        z.store(z.load())
        if tl.block_id(1) > n:
            return
    assert x.shape[0] > 3


def return_in_for(z: tl.TensorMut, x: tl.Tensor, n: i32) -> None:
    for i in range(n):
        if i == 3:
            return
    assert x.shape[0] > 3


def return_in_while(z: tl.TensorMut, x: tl.Tensor, n: i32) -> None:
    i = 0
    while True:
        if i == n:
            return
        if i == 7:
            break
        i += 1
    assert x.shape[0] > 3


def return_in_unrolled(z: tl.TensorMut, x: tl.Tensor, n: i32) -> None:
    for i in tl.static_range(4):
        if n == i:
            return
        if i == 2:
            break
    assert x.shape[0] > 3


def in_a_branch(z: tl.TensorMut, x: tl.Tensor, n: i32) -> None:
    if n > 3:
        assert x.shape[0] > 3


def in_a_loop(z: tl.TensorMut, x: tl.Tensor, n: i32) -> None:
    for _ in range(n):
        assert x.shape[0] > 3


def in_an_expression(z: tl.TensorMut, x: tl.Tensor, n: i32) -> None:
    def checked():
        assert x.shape[0] > 3
        return 1.0

    z.store(z.load() * (checked() if n > 3 else 2.0))


def in_a_function_after_its_return(z: tl.TensorMut, x: tl.Tensor, n: i32) -> None:
    def checked():
        if n > 3:
            return 1.0
        assert x.shape[0] > 3
        return 2.0

    z.store(z.load() * checked())


def in_a_function_after_a_return_of_its_caller(z: tl.TensorMut, x: tl.Tensor, n: i32) -> None:
    def checked():
        assert x.shape[0] > 3

    if n > 3:
        return
    checked()


SOMETIMES = (
    early_return, early_return_in_else, early_return_in_elif, nested_return, return_in_for,
    return_in_while, return_in_unrolled, in_a_branch, in_a_loop, in_an_expression,
    in_a_function_after_its_return, in_a_function_after_a_return_of_its_caller,
)  # fmt: skip


def first(z: tl.TensorMut, x: tl.Tensor, n: i32) -> None:
    assert x.shape[0] > 3
    if n > 3:
        return
    z.store(z.load())


def after_a_branch(z: tl.TensorMut, x: tl.Tensor, n: i32) -> None:
    if n > 3:
        z.store(z.load())
    assert x.shape[0] > 3


def after_break(z: tl.TensorMut, x: tl.Tensor, n: i32) -> None:
    for i in range(n):
        if i == 3:
            break
        if i == 2:
            continue
    while True:
        if n < 100:
            break
        n += 1
    assert x.shape[0] > 3


def after_unrolled_break(z: tl.TensorMut, x: tl.Tensor, n: i32) -> None:
    for i in tl.static_range(4):
        if i == 2:
            break
    assert x.shape[0] > 3


def after_a_function_with_an_early_return(z: tl.TensorMut, x: tl.Tensor, n: i32) -> None:
    def pick(k):
        for i in range(k):
            if i == 3:
                return i
        if k > 10:
            return 10
        return k

    z.store(z.load() * pick(n).astype(z.dtype))
    assert x.shape[0] > 3


def in_a_function(z: tl.TensorMut, x: tl.Tensor, n: i32) -> None:
    def checked():
        assert x.shape[0] > 3

    checked()


def in_a_chosen_branch(z: tl.TensorMut, x: tl.Tensor, n: i32) -> None:
    if z.rank == 1:
        assert x.shape[0] > 3
        return
    z.store(z.load())


ALWAYS = (
    first, after_a_branch, after_break, after_unrolled_break,
    after_a_function_with_an_early_return, in_a_function, in_a_chosen_branch,
)  # fmt: skip


def built(kernel):
    return ir_of(kernel, out((4,)), tensor(1), scalar(i32))


def assertions(func):
    return [op for op in func.walk() if op.name == "assert"]


@pytest.mark.parametrize("kernel", SOMETIMES, ids=lambda k: k.__name__)
def test_what_some_blocks_skip_is_checked_by_the_others(kernel):
    func = built(kernel)
    assert func.launch_checks == ()
    assert len(assertions(func)) == 1


@pytest.mark.parametrize("kernel", ALWAYS, ids=lambda k: k.__name__)
def test_what_every_block_runs_is_checked_at_launch(kernel):
    func = built(kernel)
    (check,) = func.launch_checks
    assert check.expr == ("gt", ("extent", "x", 0), ("const", 3))
    assert not assertions(func)


def test_blocks_that_returned_do_not_assert():
    func = built(early_return)
    z, short = np.ones(8, "f4"), np.ones(2, "f4")
    assert run(func, z, short, -1, grid=(2, 1, 1)).failure is None
    failure = run(func, z, short, 0, grid=(2, 1, 1)).failure
    assert failure is not None
    assert failure.block == (0, 0, 0)
