"""Launches: parameters as bytes, numbers of threads and blocks, what a kernel is refused for."""

from __future__ import annotations

import numpy as np
import pytest

from simulator.ptx.launch import PtxCode, run
from simulator.ptx.memory import MemorySegment, PtxMemory
from simulator.ptx.program import PtxError, parse
from support.ptx import HEAD, START

TEXT = HEAD + """
.visible .entry kernel(.param .u64 base, .param .u8 a, .param .u32 b, .param .u16 c)
{
.reg .b16 %h<3>; .reg .b32 %r<30>; .reg .b64 %d<5>;
ld.param.b64 %d0, [base]; ld.param.b8 %h1, [a]; ld.param.b32 %r1, [b]; ld.param.b16 %h2, [c];
cvt.u32.u16 %r2, %h1; cvt.u32.u16 %r3, %h2; add.s32 %r1, %r1, %r2; add.s32 %r1, %r1, %r3;
mov.u32 %r4, %ctaid.z; mov.u32 %r5, %nctaid.y; mov.u32 %r6, %ctaid.y;
mad.lo.s32 %r7, %r4, %r5, %r6; mov.u32 %r8, %nctaid.x; mov.u32 %r9, %ctaid.x;
mad.lo.s32 %r7, %r7, %r8, %r9; mov.u32 %r10, %ntid.z; mov.u32 %r11, %tid.z;
mad.lo.s32 %r7, %r7, %r10, %r11; mov.u32 %r12, %ntid.y; mov.u32 %r13, %tid.y;
mad.lo.s32 %r7, %r7, %r12, %r13; mov.u32 %r14, %ntid.x; mov.u32 %r15, %tid.x;
mad.lo.s32 %r7, %r7, %r14, %r15; mul.wide.u32 %d1, %r7, 4; add.s64 %d2, %d0, %d1;
add.s32 %r1, %r1, %r7; st.global.b32 [%d2], %r1; ret;
}
"""  # fmt: skip
GIVEN = [START, 0x1FF, -5, 0x10003]


@pytest.mark.parametrize("block", [(1, 1, 1), (5, 2, 3), (32, 2, 1), (7, 1, 9)])
def test_every_thread_runs_once(block):
    grid = (3, 2, 2)
    count = int(np.prod(block) * np.prod(grid))
    data = np.zeros(count, np.uint32)
    memory = PtxMemory([MemorySegment(START, np.concatenate([data, data[:4]]).view(np.uint8))])
    held = memory.segments[0].data
    run(PtxCode(parse(TEXT), "kernel"), GIVEN, grid, block, memory)
    got = held.view(np.uint32)[:count]
    assert got.tolist() == list(range(0xFF - 5 + 3, 0xFF - 2 + count))


def test_wrong_launches():
    code, memory = PtxCode(parse(TEXT), "kernel"), PtxMemory([])
    with pytest.raises(PtxError, match="has 4 parameters, 1 were given"):
        run(code, [0], (1, 1, 1), (1, 1, 1), memory)
    with pytest.raises(PtxError, match="a block of"):
        run(code, GIVEN, (1, 1, 1), (32, 33, 1), memory)
