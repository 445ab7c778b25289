"""Functions that kernels call stand in place of the call, as deep as there is an end to it."""

from __future__ import annotations

import pytest

import tilewright as tw
from tilewright.base.errors import Code, CompileError
from tilewright.frontend.interpret import MAX_DEPTH

HEAD = """
import tilewright as tw
import tilewright.lang as tl
from tilewright import f32

def step0(x):
    return x + 1.0
"""


def chain(length):
    """A kernel that calls a function that calls another, so many of them."""
    functions = [f"def step{i}(x):\n    return step{i - 1}(x)\n" for i in range(1, length)]
    kernel = (
        "@tw.entry\ndef chained(z: tl.TensorMut[f32], x: tl.Tensor[f32]) -> None:\n"
        f"    z.store(step{length - 1}(tl.load_tile_like(x, z)))\n"
    )
    return tw.exec("\n".join([HEAD, *functions, kernel]))["chained"]


def compiled(kernel):
    return kernel.inspect(tw.meta((8,)).partition_mut((4,)), tw.meta((8,)), device="cpu")


def test_a_long_chain_of_functions():
    assert "addf" in str(compiled(chain(MAX_DEPTH)))


def test_a_longer_one_is_said_to_be_too_deep_not_to_call_itself():
    with pytest.raises(CompileError) as caught:
        compiled(chain(MAX_DEPTH + 1))
    error = caught.value
    assert error.code is Code.RECURSION
    assert error.message == "calls go too deep: `step0` would stand inside 64 other functions"
    assert error.expected == "at most 64 functions inside each other"
