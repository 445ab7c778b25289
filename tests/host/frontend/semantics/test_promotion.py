"""Integers beside floats: those computed of extents and constants are floats there, no others."""

from __future__ import annotations

import pytest

import tilewright as tw
from tilewright import f32, i32
from tilewright.base.errors import Code, CompileError
from tilewright.frontend.interp.build import build
from tilewright.launch.inspection import Inspection

HEAD = """
import tilewright as tw
import tilewright.lang as tl
from tilewright import f32, i32

@tw.entry
def kernel(z: tl.TensorMut[f32], x: tl.Tensor[i32, tl.Dyn], n: i32) -> None:
    tile = z.load()
"""


def built(expression: str) -> list[str]:
    """Build a kernel that stores a product with an integer; return the names of its ops."""
    kernel = tw.exec(f"{HEAD}    z.store(tile * ({expression}))\n")["kernel"]
    args = (tw.meta((64,), f32).partition_mut((4,)), tw.meta((64,), i32), 3)
    func = build(kernel.source, Inspection(kernel.kernel, args, {}).signature)
    return [op.name for op in func.walk()]


@pytest.mark.parametrize(
    "expression",
    ["x.shape[0]", "x.shape[0] + 1", "x.shape[0] * x.shape[0]", "tl.num_tiles(x.partition(4), 0)",
     "2 - x.shape[0]"],
)  # fmt: skip
def test_what_is_computed_of_extents_is_converted(expression):
    assert "itof" in built(expression)


@pytest.mark.parametrize(
    "expression",
    ["n", "x.shape[0] + n", "tl.block_id(0)", "x.shape[0] * tl.block_id(0)",
     "x.load_tile(1, 0).item()", "x.shape[0] + x.load_tile(1, 0).item()", "tl.arange(4)"],
)  # fmt: skip
def test_other_integers_are_not(expression):
    with pytest.raises(CompileError) as caught:
        built(expression)
    assert caught.value.code is Code.PROMOTION
