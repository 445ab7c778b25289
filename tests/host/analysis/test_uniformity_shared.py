"""Where shared arrays are in the memory of a block."""

from __future__ import annotations

from dataclasses import replace

import tilewright as tw
from tilewright import f32, i8, i32, simt
from tilewright.analysis.uniformity import shared_layout
from tilewright.frontend.interp.build import build
from tilewright.launch.inspection import Inspection


@simt.kernel(unsafe=True)
def arrays(out: simt.DisjointSlice[f32]) -> None:
    small, large, more = simt.shared(i8, (3,)), simt.shared(f32, (4, 5)), simt.dynamic_shared(i32)
    t = simt.thread_idx()
    small[t] = i8(1)
    large[t, 0] = f32(len(more))


def test_arrays_are_aligned_and_apart():
    signature = Inspection(arrays.kernel, (tw.meta((4,)).borrow_mut(),), {}).signature
    func = build(arrays.source, replace(signature, shared_bytes=40))
    layout = shared_layout(func)
    sizes = {op.attrs["number"]: op.result.type.nbytes for op in func.walk() if op.name == "shared"}
    assert sorted(sizes.values()) == [3, 80]
    stretches = sorted((layout.offsets[k], layout.offsets[k] + n) for k, n in sizes.items())
    assert all(first % 16 == 0 for first, _ in stretches)
    assert stretches[0][1] <= stretches[1][0]
    assert stretches[1][1] <= layout.dynamic
    assert layout.total == layout.dynamic + 40
