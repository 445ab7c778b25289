"""Threads that go apart and meet again: branches, loops, tables of labels, functions."""

from __future__ import annotations

import pytest

from simulator.ptx import threads
from simulator.ptx.program import PtxError
from support.ptx import module_of, run_body, run_text

FUNCTION = """
.func (.param .b64 out) twice(.param .b64 x)
{
.reg .b64 %a<4>; .local .align 8 .b8 room[8]; .reg .b64 %q<2>;
ld.param.b64 %a1, [x]; mov.b64 %q1, room; st.local.b64 [%q1], %a1; ld.local.b64 %a2, [%q1];
add.s64 %a3, %a1, %a2; st.param.b64 [out], %a3; ret;
}
"""
CALL = """
{ .param .b64 p; .param .b64 r; st.param.b64 [p], %d3; call.uni (r), twice, (p);
ld.param.b64 %d4, [r]; }
"""


def test_loops_of_different_lengths():
    body = """
    cvt.u64.u32 %d3, %r0; mov.b64 %d4, 0;
    again: setp.eq.b64 %p1, %d3, 0; @%p1 bra done;
    add.s64 %d4, %d4, %d3; add.s64 %d3, %d3, -1; bra.uni again;
    done: st.global.b64 [%d2], %d4;
    """
    assert run_body(body, [0] * 40).tolist() == [n * (n + 1) // 2 for n in range(40)]


def test_instructions_under_a_guard():
    body = """
    and.b32 %r1, %r0, 1; setp.ne.b32 %p1, %r1, 0; mov.b64 %d3, 5; @%p1 mov.b64 %d3, 6;
    @!%p1 add.s64 %d3, %d3, 10; st.global.b64 [%d2], %d3;
    """
    assert run_body(body, [0] * 4).tolist() == [15, 6, 15, 6]


def test_a_table_of_labels():
    body = """
    table: .branchtargets a, b, c;
    rem.u32 %r1, %r0, 3; brx.idx %r1, table;
    a: mov.b64 %d3, 1; bra.uni end;
    b: mov.b64 %d3, 2; bra.uni end;
    c: mov.b64 %d3, 3;
    end: st.global.b64 [%d2], %d3;
    """
    assert run_body(body, [0] * 5).tolist() == [1, 2, 3, 1, 2]


def test_functions_are_called_from_several_places():
    body = f"""
    cvt.u64.u32 %d3, %r0; setp.lt.u32 %p1, %r0, 3; @%p1 bra few;
    {CALL} add.s64 %d5, %d4, 100; bra.uni end;
    few: {CALL} mov.b64 %d5, %d4;
    end: st.global.b64 [%d2], %d5;
    """
    got = run_body(body, [0] * 6, declared=FUNCTION)
    assert got.tolist() == [0, 2, 4, 106, 108, 110]


def test_registers_of_a_function_are_new_in_each_call():
    function = """
    .func f(.param .b32 x)
    { .reg .b32 %a<3>; .reg .pred %q<2>; ld.param.b32 %a1, [x]; setp.eq.b32 %q1, %a1, 1;
    @%q1 mov.b32 %a2, 1; @!%q1 add.s32 %a2, %a2, 1; ret; }
    """
    call = "{{ .param .b32 p; st.param.b32 [p], {}; call.uni f, (p); }}"
    with pytest.raises(PtxError, match="has not written it"):
        run_body(call.format(1) + call.format(2), [0], declared=function)


def test_a_register_that_nothing_wrote():
    with pytest.raises(PtxError, match="%d3 is read, and nothing has written it"):
        run_body("st.global.b64 [%d2], %d3;", [0])
    body = "setp.eq.b32 %p1, %r0, 1; @%p1 mov.b64 %d3, 1; st.global.b64 [%d2], %d3;"
    with pytest.raises(PtxError, match=r"thread \(0, 0, 0\).*%d3 is read, and this thread has not"):
        run_body(body, [0] * 4)


def test_an_end_that_is_none(monkeypatch):
    text = module_of("").replace("ret;\n}", "}")
    with pytest.raises(PtxError, match="ends without a return"):
        run_text(text, [0], 1)
    monkeypatch.setattr(threads, "MOST_STEPS", 100)
    with pytest.raises(PtxError, match="do not end within 100 steps"):
        run_body("again: bra.uni again;", [0])


def test_threads_that_wait_in_a_loop_do_not_stop_the_others():
    body = """
    setp.eq.b32 %p1, %r0, 0; @%p1 bra first;
    wait: ld.volatile.global.b64 %d3, [%d0]; setp.eq.b64 %p2, %d3, 0; @%p2 bra wait;
    bra.uni end;
    first: mov.b64 %d3, 7; st.global.b64 [%d0], %d3;
    end: st.global.b64 [%d2], %d3;
    """
    assert run_body(body, [0] * 4).tolist() == [7] * 4
