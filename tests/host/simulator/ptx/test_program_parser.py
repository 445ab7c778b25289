"""PTX is read strictly: what is not known is an error that names the line."""

from __future__ import annotations

import numpy as np
import pytest

from simulator.ptx.launch import PtxCode
from simulator.ptx.program import PtxError, parse
from support.ptx import HEAD, module_of, run_body, run_text


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("frobnicate.b32 %r1, %r0;", "does not know the instruction of line 10: `frobnicate.b32`"),
        ("add.s32.weird %r1, %r0, 1;", "does not know the instruction"),
        ("add.s32 %r1, %r0;", "does not know the instruction"),
        ("add.s64 %r1, %r0, 1;", "%r1 has 32 bits, not 64"),
        ("mov.u32 %r1, %clock;", "%clock is not declared"),
        ("mov.u32 %r1, %r99;", "%r99 is not declared"),
        ("bra nowhere;", "no label nowhere"),
        ("mov.b64 %d3, nothing;", "nothing is not declared"),
        ("call.uni f, ();", "f is not there"),
        ("again: again: ret;", "defined twice"),
        (".sreg .b32 %r1;", "does not know"),
        ("@%r1 bra end; end: ret;", "must be a predicate"),
    ],
)
def test_what_is_not_known_is_refused(body, said):
    with pytest.raises(PtxError, match=said):
        PtxCode(parse(module_of(body)), "kernel")


def test_other_kernels_and_sizes_are_refused():
    with pytest.raises(PtxError, match="no kernel other"):
        PtxCode(parse(module_of("")), "other")
    with pytest.raises(PtxError, match="64 bits"):
        parse(HEAD.replace("64", "32"))
    text = module_of("").replace("(.param .u64 base)", "(.param .u64 base) .reqntid 8, 1, 1")
    with pytest.raises(PtxError, match="blocks of"):
        run_text(text, [0], 4)


def test_registers_of_scopes():
    body = """
    { .reg .b32 t; mov.b32 t, 1; { .reg .b32 t; mov.b32 t, 5; add.s32 %r1, t, 0; }
      add.s32 %r2, t, %r1; }
    cvt.u64.u32 %d3, %r2; st.global.b64 [%d2], %d3;
    """
    assert run_body(body, [0, 0]).tolist() == [6, 6]


def test_variables_of_a_module_and_floats():
    declared = ".global .align 8 .b32 table[4] = {7, 8, 0f3F800000, -1};"
    body = """
    and.b32 %r1, %r0, 3; mul.wide.u32 %d3, %r1, 4; mov.b64 %d4, table; add.s64 %d4, %d4, %d3;
    ld.global.nc.b32 %r2, [%d4]; cvt.u64.u32 %d5, %r2; st.global.b64 [%d2], %d5;
    """
    got = run_body(body, np.zeros(4), declared=declared)
    assert got.tolist() == [7, 8, 0x3F800000, 0xFFFFFFFF]
