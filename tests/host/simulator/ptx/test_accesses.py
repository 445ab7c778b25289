"""Memory: every space, vectors, generic addresses, atomic updates; what is undefined raises."""

from __future__ import annotations

import numpy as np
import pytest

from simulator.ptx.memory import MemorySegment, MemorySpan, PtxMemory
from simulator.ptx.program import PtxError
from simulator.ptx.values import UndefinedPtxError
from support.ptx import START, run_body

SHARED = ".shared .align 16 .b8 room[64];"


def test_vectors():
    body = """
    ld.global.v2.b64 {%d3, %d4}, [%d0]; add.s64 %d5, %d3, %d4;
    st.global.v2.b64 [%d0+16], {%d5, %d3};
    """
    assert run_body(body, [3, 4, 0, 0], 1).tolist() == [3, 4, 7, 3]


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("ld.global.b64 %d3, [%d0+32];", "a load of 8 bytes at .* begins at byte 32"),
        ("st.global.b64 [%d0+-8], %d1;", "a store of 8 bytes at .* outside"),
        ("ld.global.b64 %d3, [%d0+28];", "is no multiple of 8"),
        ("ld.global.b32 %r3, [%d0+2];", "is no multiple of 4"),
        ("ld.global.v2.b64 {%d3, %d4}, [%d0+8]; add.s64 %d5, %d3, %d4;", "is no multiple of 16"),
        ("ld.shared.b32 %r1, [1024];", "of the shared memory of a block, which has 0"),
        ("ld.b32 %r1, [1024];", "outside"),
        ("st.const.b32 [%d0], %r0;", "a store to const memory"),
        ("st.global.b64 [%d0], 1; ld.global.nc.b64 %d3, [%d0];", "ld.global.nc reads what"),
        (".local .align 8 .b8 l[8]; ld.local.b64 %d3, [l];", "was never written"),
        (".local .align 8 .b8 l[8]; st.local.b64 [l+8], %d0;", "at byte 8 of the memory of a"),
    ],
)
def test_accesses_that_are_undefined(body, said):
    with pytest.raises(PtxError, match=said):
        run_body(body, [1, 2, 3, 4], 1)


def test_what_may_only_be_read():
    with pytest.raises(PtxError, match="a store at"):
        run_body("st.global.b64 [%d0], %d1;", [1, 2], 1, writable=False)


def test_memory_that_was_never_written():
    written = np.zeros(16, np.bool_)
    memory = PtxMemory(
        [MemorySegment(START, np.zeros(16, np.uint8), written)], [MemorySpan(START, START + 16)]
    )
    memory.store(np.array([START]), np.ones((1, 1), np.uint64))
    assert written.tolist() == [True] * 8 + [False] * 8
    assert memory.load(np.array([START]), 8).tolist() == [[1]]
    with pytest.raises(UndefinedPtxError, match="byte 8 of an allocation"):
        memory.load(np.array([START + 8]), 8)


def test_generic_addresses_reach_every_space():
    body = f"""
    {SHARED} .local .align 8 .b8 mine[8];
    mov.b64 %d3, room; cvta.shared.u64 %d4, %d3; mul.wide.u32 %d5, %r0, 8; add.s64 %d4, %d4, %d5;
    st.b64 [%d4], %d5; mov.b64 %d6, mine; cvta.local.u64 %d6, %d6; st.b64 [%d6], 100;
    ld.b64 %d7, [%d4]; ld.b64 %d8, [%d6]; add.s64 %d7, %d7, %d8; st.b64 [%d2], %d7;
    """
    assert run_body(body, [0] * 4).tolist() == [100, 108, 116, 124]


@pytest.mark.parametrize(
    ("name", "kind", "start", "end"),
    [("add.u64", "d", 5, 5 + sum(range(40))), ("max.s64", "d", 5, 39), ("min.u64", "d", 5, 0),
     ("xor.b64", "d", 5, 5), ("exch.b64", "d", 5, None)],
)  # fmt: skip
def test_atomic_updates_happen_one_after_the_other(name, kind, start, end):
    body = f"""
    cvt.u64.u32 %d3, %r0; atom.relaxed.gpu.global.{name} %d4, [%d0], %d3;
    mul.wide.u32 %d5, %r0, 8; add.s64 %d5, %d5, %d0; st.global.b64 [%d5+8], %d4;
    """
    got = run_body(body, [start] + [0] * 40, 40)
    if end is not None:
        assert got[0] == end
    if name == "exch.b64":  # each takes what another has left
        assert sorted([*got[1:].tolist(), int(got[0])]) == sorted([start, *range(40)])
    if name == "add.u64":
        steps = sorted([*got[1:].tolist(), int(got[0])])
        assert sorted(np.diff(np.array(steps)).tolist()) == list(range(40))


def test_compare_and_swap_is_taken_by_one():
    body = """
    atom.acquire.gpu.global.cas.b64 %d3, [%d0], 0, 1; setp.eq.b64 %p1, %d3, 0;
    @%p1 atom.global.add.u64 %d4, [%d0+8], 1;
    """
    assert run_body(body, [0, 0], 64).tolist() == [1, 1]


def test_sums_of_f32_in_memory_of_the_device_are_flushed():
    small = int(np.float32(1e-40).view(np.uint32))
    body = f"mov.b32 %r1, {small}; atom.global.add.f32 %r2, [%d0], %r1;"
    assert run_body(body, [0], 1).tolist() == [0]
