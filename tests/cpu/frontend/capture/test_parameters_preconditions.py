"""What an entry declares: checked at each launch, believed by the compiler, or refused."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
from tilewright import f32, i32
from tilewright.compile.checks import Checks


def copy(z: tl.TensorMut[f32], x: tl.Tensor[f32]) -> None:
    z.store(x.load_tile((4,), [tl.block_id(0)]))


def pick(z: tl.TensorMut[f32], x: tl.Tensor[f32], where: tl.Tensor[i32]) -> None:
    z.store(x.load_tile((4,), [where.load_tile((1,), [0]).item()]))


SAME = tw.dim("x", 0) == tw.dim("z", 0)


@pytest.mark.parametrize("device", ["cpu", "reference"])
def test_a_declared_equality_is_believed_and_checked(device):
    kernel = tw.entry(preconditions=(SAME, tw.dim("x", 0) % 4 == 0))(copy)
    with tw.device(device):
        z = tw.zeros((8,)).sync()
        kernel(z.partition_mut((4,)), np.arange(8, dtype="f4")).sync()
        np.testing.assert_array_equal(z.to_numpy(), np.arange(8))
        assert kernel.checks() == Checks(proved=1)
        with pytest.raises(tw.LaunchError) as caught:
            kernel(z.partition_mut((4,)), np.ones(12, "f4")).sync()
        assert "declared precondition" in str(caught.value)
        assert "x.shape[0] = 12" in str(caught.value) and "z.shape[0] = 8" in str(caught.value)
        odd = tw.zeros((7,)).sync()
        with pytest.raises(tw.LaunchError, match=r"x\.shape"):
            kernel(odd.partition_mut((4,)), np.ones(7, "f4")).sync()


def test_a_condition_on_something_else_proves_nothing():
    kernel = tw.entry(preconditions=tw.dim("z", 0) % 4 == 0)(copy)
    assert kernel.checks(tw.meta((8,)).partition_mut((4,)), tw.meta((8,))) == Checks(at_launch=1)


def test_denied_checks_are_refused_with_the_access():
    kernel = tw.entry(deny_in_kernel_checks=True)(pick)
    args = tw.meta((8,)).partition_mut((4,)), tw.meta((8,)), tw.meta((1,), i32)
    with pytest.raises(tw.CompileError, match="denies checks in the kernel") as caught:
        kernel.compile(*args)
    assert "x.load_tile((4,), [where" in str(caught.value) and "min(max(i, 0)" in str(caught.value)
    assert tw.entry(deny_in_kernel_checks=True)(copy).compile(*args[:2])


def test_unchecked_accesses_are_unsafe():
    with pytest.raises(tw.CompileError, match="must be unsafe"):
        tw.entry(unchecked_accesses=True)(copy)
    kernel = tw.entry(unsafe=True, unchecked_accesses=True)(copy)
    assert kernel.checks(tw.meta((8,)).partition_mut((4,)), tw.meta((8,))) == Checks()


@pytest.mark.parametrize(
    ("declared", "match"),
    [
        (tw.dim("w", 0) == 3, "no tensor parameter"),
        (tw.dim("x", -1) == 3, "axis -1"),
        ((3,), "invalid precondition"),
    ],
)
def test_what_is_no_precondition_is_refused(declared, match):
    with pytest.raises(tw.CompileError, match=match):
        tw.entry(preconditions=declared)(copy)


def test_an_axis_that_the_argument_has_not():
    kernel = tw.entry(preconditions=tw.dim("x", 3) == 3)(copy)
    with pytest.raises(tw.CompileError, match="axis 3 of `x`"):
        kernel.compile(tw.meta((8,)).partition_mut((4,)), tw.meta((8,)))


def test_conditions_have_no_truth():
    with pytest.raises(TypeError, match="no truth value before a launch"):
        bool(SAME)
