"""Memory of a block: threads that share it need barriers, and it holds nothing at first."""

from __future__ import annotations

import pytest

from simulator.ptx.program import PtxError
from support.ptx import run_body

ROOM = """
.shared .align 16 .b8 room[1024];
mov.b64 %d3, room; add.s64 %d4, %d3, %d1; cvt.u64.u32 %d6, %r0;
"""
MINE = "st.shared.b64 [%d4], %d6;"
OTHER = """
xor.b32 %r1, %r0, {}; mul.wide.u32 %d5, %r1, 8; add.s64 %d5, %d3, %d5;
ld.shared.b64 %d7, [%d5]; st.global.b64 [%d2], %d7;
"""
RACE = "a race in shared memory"


@pytest.mark.parametrize("block", [32, 64])
def test_a_barrier_orders_a_block(block):
    got = run_body(ROOM + MINE + "bar.sync 0;" + OTHER.format(33 % block), [0] * block)
    assert got.tolist() == [n ^ (33 % block) for n in range(block)]


@pytest.mark.parametrize("by", [1, 32])
def test_without_one_it_is_a_race(by):
    with pytest.raises(PtxError, match=RACE):
        run_body(ROOM + MINE + OTHER.format(by), [0] * 64)


def test_what_was_read_is_not_written_without_a_barrier():
    body = ROOM + MINE + "bar.sync 0;" + OTHER.format(1) + MINE
    with pytest.raises(PtxError, match=f"{RACE}: a write to what .* read"):
        run_body(body, [0] * 32)
    run_body(ROOM + MINE + "bar.sync 0;" + OTHER.format(1) + "bar.sync 0;" + MINE, [0] * 32)


def test_a_barrier_of_a_warp_orders_the_warp_alone():
    body = ROOM + MINE + "bar.warp.sync -1;" + OTHER
    assert run_body(body.format(1), [0] * 64).tolist() == [n ^ 1 for n in range(64)]
    with pytest.raises(PtxError, match=RACE):
        run_body(body.format(32), [0] * 64)


def test_two_that_write_the_same_place():
    with pytest.raises(PtxError, match="two threads write at once"):
        run_body(ROOM + "st.shared.b64 [%d3], %d6;", [0] * 4)
    run_body(ROOM + "st.shared.b64 [%d3], 5;", [0] * 4)  # the same, so it makes no difference


def test_atomic_updates_do_not_race_with_each_other():
    start = ROOM + "setp.eq.b32 %p1, %r0, 0; @%p1 st.shared.b64 [%d3], 0;"
    update = "atom.shared.add.u64 %d7, [%d3], 2;"
    read = "ld.shared.b64 %d8, [%d3]; st.global.b64 [%d2], %d8;"
    body = start + "bar.sync 0;" + update + "bar.sync 0;" + read
    assert run_body(body, [0] * 40).tolist() == [80] * 40
    with pytest.raises(PtxError, match=RACE):
        run_body(start + update + "bar.sync 0;" + read, [0] * 40)
    with pytest.raises(PtxError, match=RACE):
        run_body(start + "bar.sync 0;" + update + read, [0] * 40)


def test_it_holds_nothing_at_first():
    with pytest.raises(PtxError, match="shared memory is read, but was never written"):
        run_body(ROOM + "ld.shared.b64 %d7, [%d4]; st.global.b64 [%d2], %d7;", [0])


def test_blocks_have_memory_of_their_own():
    body = ROOM + """
    mov.u32 %r1, %ctaid.x; cvt.u64.u32 %d6, %r1; st.shared.b64 [%d3], %d6; bar.sync 0;
    ld.shared.b64 %d7, [%d3]; mul.wide.u32 %d8, %r1, 8; add.s64 %d8, %d8, %d0;
    st.global.b64 [%d8], %d7;
    """  # fmt: skip
    assert run_body(body, [9] * 5, 32, grid=5).tolist() == [0, 1, 2, 3, 4]


def test_what_a_launch_asks_for_lies_behind_the_rest():
    declared = ".extern .shared .align 16 .b8 more[];"
    body = ROOM + """
    mov.b64 %d5, more; sub.s64 %d6, %d5, %d3; mov.u32 %r1, %dynamic_smem_size;
    cvt.u64.u32 %d7, %r1; add.s64 %d5, %d5, %d7; st.shared.b64 [%d5+-8], 3;
    st.global.b64 [%d0], %d6; st.global.b64 [%d0+8], %d7;
    """  # fmt: skip
    assert run_body(body, [0, 0], 1, declared=declared, dynamic=48).tolist() == [1024, 48]
    with pytest.raises(PtxError, match="a store of 8 bytes at byte 1064"):
        run_body(body.replace("+-8", ""), [0, 0], 1, declared=declared, dynamic=40)
