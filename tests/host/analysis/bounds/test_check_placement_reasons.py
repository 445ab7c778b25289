"""Where the check of an access goes, the reason that is shown, and the advice."""

from __future__ import annotations

import pytest

import tilewright as tw
import tilewright.lang as tl
from tilewright import f32, i32, simt
from tilewright.frontend.capture.sources import execute
from tilewright.frontend.interp.build import build
from tilewright.ir.core import Placement
from tilewright.launch.inspection import Inspection
from tilewright.passes.bounds_checks import prove_checks

TILES, COUNT = "ceil_div(x.shape[0], 4)", "ceil_div(z.shape[0], 4)"
FROM_DATA = "its index comes from data, or from a value that a loop carries"
CONDITION = "it runs under a condition that is known only in the kernel"
BRANCH = f"move the access out of the branch, or keep its index below {TILES} by min(...)"
CLAMP = (
    f"count with `for i in range({TILES})`, or clamp the index: min(max(i, 0), {TILES} - 1)"
)  # fmt: skip
LARGEST = f"(({COUNT} * {COUNT}) - ({COUNT} * 2)) + 1"
HEAD = """
@tw.entry
def kernel(z: tl.TensorMut[f32], x: tl.Tensor[f32, tl.Dyn], idx: tl.Tensor[i32, tl.Dyn], n: i32):
    b = tl.block_id(0)
    chosen = idx.load_tile((1,), [0]).item()
    t, j = tl.zeros((4,), f32), 0
"""
THREADS = """
@simt.kernel(unsafe=True)
def kernel(out: simt.DisjointSlice[f32], x: simt.Slice[f32], n: i32):
    i = simt.index_1d()
"""


def shown(head: str, text: str, *args: object) -> list[tuple[str, str, str]]:
    """The placement, the reason and the advice for each check of x."""
    lines = [f"    {line}" for line in text.split("\n")]
    names = {"tw": tw, "tl": tl, "simt": simt, "f32": f32, "i32": i32}
    execute(head + "\n".join(lines) + "\n", names)
    kernel = names["kernel"]
    func = prove_checks(build(kernel.source, Inspection(kernel.kernel, args, {}).signature))
    return [(o.placement.name, o.reason, o.advice) for o in func.obligations if o.tensor == "x"]


AT_LAUNCH = {
    "n * 0 - 2": "0 <= -2",
    "0": "x.shape[0] > 0",
    "n": f"n >= 0 and n < {TILES}",
    "n - 1": f"n >= -2147483647 and n > 0 and n <= {TILES}",
    "b % 3": f"min(2, {COUNT} - 1) < {TILES}",
    "b // 2": f"(({COUNT} + 1) // 2) <= {TILES}",
    "b * 2": f"({COUNT} * 2) <= ({TILES} + 1)",
    "tl.num_tiles(x.partition((4,)), 0)": f"{TILES} < {TILES}",
}


@pytest.mark.parametrize("index", AT_LAUNCH)
def test_what_the_host_compares(index):
    """Also what never holds is shown as a comparison of the index."""
    args = tw.meta((64,)).partition_mut((4,)), tw.meta((100,)), tw.meta((9,), i32), 3
    found = shown(HEAD, f"z.store(x.load_tile((4,), [{index}]))", *args)
    assert found == [(Placement.AT_LAUNCH.name, AT_LAUNCH[index], "")]


IN_PLACE = {
    "z.store(x.load_tile((4,), [chosen]))": (FROM_DATA, CLAMP),
    "for k in range(n):\n    t = t + x.load_tile((4,), [j])\n    j = (j * 5 + 1) % 7": (
        FROM_DATA, CLAMP,
    ),
    "while j < n:\n    t = t + x.load_tile((4,), [j])\n    j += 1": (CONDITION, BRANCH),
    "if chosen > 2:\n    z.store(x.load_tile((4,), [n]))": (CONDITION, BRANCH),
    "z.store(x.load_tile((4,), [b * b]))": (
        f"its index is at most {LARGEST}, which may never be reached",
        f"clamp it: min(i, {TILES} - 1)",
    ),
}  # fmt: skip


@pytest.mark.parametrize("text", IN_PLACE)
def test_what_the_kernel_compares_and_what_would_help(text):
    args = tw.meta((64,)).partition_mut((4,)), tw.meta((100,)), tw.meta((9,), i32), 3
    assert shown(HEAD, text, *args) == [(Placement.IN_PLACE.name, *IN_PLACE[text])]


SLICES = {
    "out.elements[0] = x[n]": [("AT_LAUNCH", "n >= 0 and n < len(x)", "")],
    "if i < len(x):\n    out.elements[0] = x[i]": [
        ("PROVED", "index <= len(x) - 1 < len(x)", ""),
    ],
    "out.elements[0] = x[i32(x[0])]": [
        ("AT_LAUNCH", "len(x) > 0", ""),
        ("IN_PLACE", FROM_DATA, "compare it first: if 0 <= i and i < len(x)"),
    ],
    "out.elements[0] = x[i % 3]": [
        ("AT_LAUNCH", "min(2, min(2147483647, (grid_dim(0) * 256) - 1)) < len(x)", ""),
    ],
}


@pytest.mark.parametrize("text", SLICES)
def test_indices_of_slices(text):
    """They are guarded by comparisons, as threads do it, not clamped."""
    out, x = tw.meta((4,)).borrow_mut(), tw.meta((4,))
    assert shown(THREADS, text, out, x, 3) == SLICES[text]
