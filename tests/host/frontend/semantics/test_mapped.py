"""Which loops over a mapped output may stand in one kernel: no two blocks may be at one tile."""

from __future__ import annotations

import pytest

import tilewright as tw
from tilewright import f32
from tilewright.base.errors import Code, CompileError
from tilewright.frontend.interp.build import build
from tilewright.ir.core import Func
from tilewright.launch.inspection import Inspection

HEAD = """
import tilewright as tw
import tilewright.lang as tl
from tilewright import f32, i32

@tw.entry
def kernel(z: tl.MappedPartitionMut[f32], n: i32, m: i32) -> None:
"""


def built(*spans: str) -> Func:
    """Build a kernel with a loop over each of these spans, or over all tiles for "all"."""
    lines: list[str] = []
    for span in spans:
        walked = "iter_indices()" if span == "all" else f"iter_indices_within([{span}])"
        lines += [f"    for index in z.{walked}:", "        z.store(z.load(index) + 1.0, index)"]
    kernel = tw.exec(HEAD + "\n".join(lines))["kernel"]
    out = tw.meta((64,), f32).partition_mut((4,)).map((1,), 2)
    return build(kernel.source, Inspection(kernel.kernel, (out, 3, 5), {}).signature)


@pytest.mark.parametrize(
    "spans",
    [
        ("all", "all"),
        ("(0, 4)", "(4, 4)"),
        ("(4, 4)", "(0, 4)"),
        ("(0, 4)", "(0, 4)"),
        ("(n, 2)", "(n, 2)"),
        ("(0, n)", "(n, -1)"),
        ("(0, 2)", "(2, 2)", "(4, 2)"),
    ],
)
def test_loops_over_the_same_tiles_or_over_disjoint_ones(spans):
    loops = [op for op in built(*spans).walk() if op.name == "for"]
    assert len(loops) == len(spans)


@pytest.mark.parametrize(
    "spans",
    [
        ("all", "(0, 4)"),
        ("(0, 4)", "(3, 4)"),
        ("(0, 5)", "(4, 4)"),
        ("(n, 2)", "(m, 2)"),
        ("(0, m)", "(n, -1)"),
        ("(1, n)", "(n, -1)"),
        ("(0, 2)", "(4, 2)", "(1, 2)"),
    ],
)
def test_loops_that_could_be_at_one_tile_in_two_blocks(spans):
    with pytest.raises(CompileError, match="two loops visit tiles of `z`") as caught:
        built(*spans)
    assert caught.value.code is Code.MINTED


def test_a_span_that_only_one_block_knows():
    with pytest.raises(CompileError, match="may differ between blocks") as caught:
        built("(tl.block_id(0), 2)")
    assert caught.value.code is Code.MINTED
