"""Which comparisons surely hold where an element is read."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
from tilewright import f32, i32, simt


def checks_left(kernel, *args) -> int:
    return kernel.ir(*args).count("check_index")


@simt.kernel
def inside(out: simt.DisjointSlice[f32]) -> None:
    i = simt.index_1d()
    if i < len(out):
        out[i] = 1.0


@simt.kernel
def mirrored(out: simt.DisjointSlice[f32]) -> None:
    i = simt.index_1d()
    if len(out) > i:
        for _ in range(3):
            out[i] += 1.0


@simt.kernel
def clause(out: simt.DisjointSlice[f32]) -> None:
    i = simt.index_1d()
    if i >= len(out):
        return
    out[i] = 1.0


@simt.kernel
def negated(out: simt.DisjointSlice[f32]) -> None:
    i = simt.index_1d()
    if not (i >= len(out)):
        out[i] = 1.0


@simt.kernel
def other_arm(out: simt.DisjointSlice[f32]) -> None:
    i = simt.index_1d()
    if i >= len(out):
        pass
    else:
        out[i] = 1.0


@simt.kernel
def wrong_arm(out: simt.DisjointSlice[f32]) -> None:
    i = simt.index_1d()
    if i >= len(out):
        out[i] = 1.0


@simt.kernel
def at_most(out: simt.DisjointSlice[f32]) -> None:
    i = simt.index_1d()
    if i <= len(out):
        out[i] = 1.0


@simt.kernel
def unguarded(out: simt.DisjointSlice[f32]) -> None:
    out[simt.index_1d()] = 1.0


@simt.kernel
def after(out: simt.DisjointSlice[f32], n: i32) -> None:
    i = simt.index_1d()
    if i < len(out):
        n = n + 1
    out[i] = f32(n)


PROVED = (inside, mirrored, clause, negated, other_arm)
OPEN = (wrong_arm, at_most, unguarded)


@pytest.mark.parametrize("kernel", PROVED, ids=lambda k: k.__name__)
def test_a_comparison_proves_the_check(kernel):
    assert checks_left(kernel, tw.meta((4,)).borrow_mut()) == 0


@pytest.mark.parametrize("kernel", OPEN, ids=lambda k: k.__name__)
def test_another_comparison_proves_nothing(kernel):
    assert checks_left(kernel, tw.meta((4,)).borrow_mut()) == 1


def test_a_comparison_holds_in_its_arm_only():
    assert checks_left(after, tw.meta((4,)).borrow_mut(), 1) == 1


def test_a_number_below_a_length_may_be_negative():
    @simt.kernel
    def below(out: simt.DisjointSlice[f32], x: simt.Slice[f32], j: i32) -> None:
        if j < len(x):
            out[simt.index_1d()] = x[j]

    with pytest.raises(tw.LaunchError, match="`x`"):
        below(tw.empty((4,)), np.zeros(4, np.float32), -1).launch_config(block=4).sync()


@simt.kernel
def promised(out: simt.DisjointSlice[f32], x: simt.Slice[f32]) -> None:
    assert len(x) >= len(out)
    i = simt.index_1d()
    if i < len(out):
        out[i] = x[i]


@simt.kernel
def promised_otherwise(out: simt.DisjointSlice[f32], x: simt.Slice[f32]) -> None:
    assert len(x) <= len(out)
    i = simt.index_1d()
    if i < len(out):
        out[i] = x[i]


def test_what_the_launch_promises_proves_a_check():
    args = tw.meta((4,)).borrow_mut(), tw.meta((4,))
    assert checks_left(promised, *args) == 0
    assert checks_left(promised_otherwise, tw.meta((4,)).borrow_mut(), tw.meta((4,))) == 1
