"""Assertions that the host checks before a launch: one check for each part that it knows."""

from __future__ import annotations

import pytest

import tilewright as tw
from tilewright import f32
from tilewright.base.errors import Code, CompileError
from tilewright.frontend.interp.build import build
from tilewright.ir.core import Func
from tilewright.ir.launch_expr import show
from tilewright.launch.inspection import Inspection

HEAD = """
import tilewright as tw
import tilewright.lang as tl
from tilewright import f32, i32

@tw.entry
def kernel(z: tl.TensorMut[f32], x: tl.Tensor[f32, tl.Dyn], n: i32) -> None:
"""


def built(*lines: str) -> Func:
    text = HEAD + "\n".join(f"    {line}" for line in (*lines, "z.store(z.load())"))
    kernel = tw.exec(text)["kernel"]
    args = (tw.meta((64,), f32).partition_mut((4,)), tw.meta((64,), f32), 3)
    return build(kernel.source, Inspection(kernel.kernel, args, {}).signature)


def asked(func: Func) -> list[str]:
    return [show(check.expr) for check in func.launch_checks]


def asserted(func: Func) -> int:
    return sum(op.name == "assert" for op in func.walk())


@pytest.mark.parametrize(
    ("condition", "checks"),
    [
        ("n > 3", ["n > 3"]),
        ("n > 3 and x.shape[0] >= n", ["n > 3", "x.shape[0] >= n"]),
        ("(n > 3) & (x.shape[0] >= n)", ["n > 3", "x.shape[0] >= n"]),
        ("(n > 3) | (x.shape[0] >= n)", ["(n > 3) or (x.shape[0] >= n)"]),
        ("n * 0 == 0", ["(n * 0) == 0"]),
    ],
)
def test_what_the_launch_decides_is_checked_there(condition, checks):
    func = built(f"assert {condition}")
    assert asked(func) == checks
    assert not asserted(func)


def test_equal_conditions_are_checked_once():
    assert asked(built("assert n > 3", "assert n > 3", "assert n > 4")) == ["n > 3", "n > 4"]


@pytest.mark.parametrize("line", ["assert tl.block_id(0) < n", "assert tl.all(z.load() < 1.0)"])
def test_what_a_block_decides_is_checked_in_the_kernel(line):
    func = built(line)
    assert (asked(func), asserted(func)) == ([], 1)


def test_where_not_every_block_asserts_the_kernel_checks():
    func = built("if tl.block_id(0) > 2:", "    assert n > 3")
    assert (asked(func), asserted(func)) == ([], 1)


@pytest.mark.parametrize("condition", ["2 > 3", "z.shape[0] == 8", "n > 3 and z.shape[0] == 8"])
def test_what_is_false_is_rejected(condition):
    with pytest.raises(CompileError, match="this assertion is false") as caught:
        built(f"assert {condition}")
    assert caught.value.code is Code.ASSERTION


@pytest.mark.parametrize("condition", ["3 > 2", "z.shape[0] == 4"])
def test_what_is_true_leaves_no_check(condition):
    func = built(f"assert {condition}")
    assert (asked(func), asserted(func)) == ([], 0)
