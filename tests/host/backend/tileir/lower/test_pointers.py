"""Atomics that the hardware has, and those that are loops of compare-and-swap."""

from __future__ import annotations

import pytest

import tilewright as tw
import tilewright.lang as tl
from support.cuda import cuda_ir, lowered
from tilewright.backend.tileir.bytecode.program import program_text
from tilewright.base.dtypes import bf16, f16, f32, i32


def text(dtype, arch):
    @tw.entry(unsafe=True)
    def added(p: tl.Ptr[dtype]) -> None:
        tl.atomic_add(tl.broadcast(p, (8,)), tl.ones((8,), dtype))

    with tw.unsafe():
        func = cuda_ir(added, tw.empty((8,), dtype).sync().device_pointer())
    return program_text(lowered(func, arch=arch).program)


@pytest.mark.parametrize("dtype", [f16, bf16, f32, i32], ids=str)
@pytest.mark.parametrize("arch", ["sm_80", "sm_90", "sm_100"])
def test_floats_are_added_from_their_first_architecture_on(dtype, arch):
    """bf16 since sm_90, the others since sm_80."""
    is_there = dtype is not bf16 or arch != "sm_80"
    assert ("atomic_rmw_tko" in text(dtype, arch)) == is_there
    assert ("atomic_cas_tko" in text(dtype, arch)) == (not is_there)
