"""What threads do together: who takes from whom, who votes, and who waits for ever."""

from __future__ import annotations

import pytest

from simulator.ptx.program import PtxError
from support.ptx import run_body

TAKE = "shfl.sync.{}.b32 %r1|%p1, %r0, {}, {}, -1; cvt.u64.u32 %d3, %r1; st.global.b64 [%d2], %d3;"


@pytest.mark.parametrize(
    ("mode", "by", "bounds", "expected"),
    [
        ("up", 3, 0, lambda n: n - 3 if n % 32 >= 3 else n),
        ("down", 5, 31, lambda n: n + 5 if n % 32 + 5 < 32 else n),
        ("bfly", 9, 31, lambda n: n ^ 9),
        ("idx", 7, 31, lambda n: n // 32 * 32 + 7),
        ("up", 2, 24 << 8, lambda n: n - 2 if n % 8 >= 2 else n),
        ("down", 2, 24 << 8 | 31, lambda n: n + 2 if n % 8 < 6 else n),
        ("idx", 3, 28 << 8 | 31, lambda n: n // 4 * 4 + 3),
        ("bfly", 1, 30 << 8 | 31, lambda n: n ^ 1),
    ],
)
def test_shuffles(mode, by, bounds, expected):
    got = run_body(TAKE.format(mode, by, bounds), [0] * 64)
    assert got.tolist() == [expected(n) for n in range(64)]


def test_a_lane_that_is_not_there():
    with pytest.raises(PtxError, match="takes from lane 20, which does not take part"):
        run_body(TAKE.format("down", 4, 31), [0] * 20)


def test_votes_and_matches():
    body = """
    and.b32 %r1, %r0, 3; setp.eq.b32 %p1, %r1, 0; vote.sync.ballot.b32 %r2, %p1, -1;
    vote.sync.any.pred %p2, %p1, -1; vote.sync.all.pred %p3, %p1, -1;
    match.any.sync.b32 %r3, %r1, -1; selp.b32 %r4, 2, 0, %p2; selp.b32 %r5, 1, 0, %p3;
    or.b32 %r4, %r4, %r5; xor.b32 %r2, %r2, %r3; mov.b64 %d3, {%r2, %r4}; st.global.b64 [%d2], %d3;
    """
    fours = 0x11111111
    got = run_body(body, [0] * 32)
    assert got.tolist() == [2 << 32 | fours ^ (fours << n % 4) for n in range(32)]


def test_some_lanes_meet_apart_from_others():
    body = """
    setp.lt.u32 %p1, %r0, 8; mov.b32 %r2, 255; @!%p1 mov.b32 %r2, -256; @%p1 bra low;
    shfl.sync.bfly.b32 %r1, %r0, 8, 31, %r2; bra.uni end;
    low: shfl.sync.bfly.b32 %r1, %r0, 1, 31, %r2;
    end: cvt.u64.u32 %d3, %r1; st.global.b64 [%d2], %d3;
    """
    with pytest.raises(PtxError, match="takes from lane"):
        run_body(body, [0] * 32)
    got = run_body(body.replace("8, 31", "4, 31"), [0] * 32)
    assert got.tolist() == [n ^ 1 if n < 8 else n ^ 4 for n in range(32)]


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("@%p1 bra there; bar.sync 0; there: ret;", None),
        ("@%p1 bra there; bar.sync 0; there: bar.sync 0;", "wait for ever: 32 .* line 10.*line 10"),
        ("@%p1 bra there; bar.warp.sync -1; there: bar.warp.sync -1;", "wait for ever"),
        ("bar.warp.sync 1;", "its own mask does not name"),
        ("mov.b32 %r1, -1; @%p1 mov.b32 %r1, 65535; bar.warp.sync %r1;", "name different ones"),
        ("bar.sync 1;", "a barrier other than 0"),
    ],
)
def test_threads_that_wait(body, said):
    text = "setp.lt.u32 %p1, %r0, 16;" + body
    if said is None:  # nobody waits for threads that have ended
        run_body(text, [0] * 32)
        return
    with pytest.raises(PtxError, match=said):
        run_body(text, [0] * 32)
