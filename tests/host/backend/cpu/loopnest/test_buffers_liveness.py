"""Liveness through loops, branches and early exits."""

from __future__ import annotations

from tilewright.backend.cpu.loopnest.buffers import NONE, Liveness, interference
from tilewright.backend.cpu.loopnest.index import IndexField, Loop, row_major
from tilewright.backend.cpu.loopnest.nodes import (
    If,
    JumpStmt,
    Nest,
    ReadBuffer,
    Reg,
    Repeat,
    ScopeStmt,
    TileBuffer,
    WriteBuffer,
)
from tilewright.base.dtypes import f32
from tilewright.ir.core import Value
from tilewright.ir.types import I1


def buffer(name):
    return TileBuffer(name, f32, row_major((8,)), "a test needs it")


A, B, C = (buffer(n) for n in "abc")


def move(target, *sources):
    """A nest that reads some buffers and writes one."""
    loop = Loop(8, "i0")
    index = ((IndexField(loop, 8),),)
    reads = [ReadBuffer(Reg(f32, frozenset([loop])), s, index) for s in sources]
    value = reads[0].result if reads else Value(I1)
    return Nest((loop,), 8, reads, [WriteBuffer(target, index, value)])


def live_before(*body):
    return Liveness(lambda statement, live: None).body(list(body), NONE)


def never(nest, written, read):
    return False


def test_straight_code():
    assert live_before(move(B, A), move(C, B)) == {A}
    assert live_before(move(A), move(B, A)) == NONE


def test_a_loop_keeps_what_its_next_round_needs():
    body = [move(B, A), move(A, B), JumpStmt("continue")]
    assert live_before(Repeat(body)) == {A}
    graph = interference([move(A), Repeat(body)], never)
    assert B in graph[A]


def test_a_break_needs_what_follows_the_loop():
    out = If(Value(I1), [JumpStmt("break")], [])
    assert live_before(Repeat([out, JumpStmt("continue")]), move(C, A)) == {A}


def test_a_return_needs_nothing():
    assert live_before(If(Value(I1), [JumpStmt("return")], []), move(B, A)) == {A}
    assert live_before(JumpStmt("return"), move(B, A)) == NONE


def test_a_scope_can_be_left():
    inside = [If(Value(I1), [JumpStmt("leave")], []), move(A), JumpStmt("leave")]
    assert live_before(ScopeStmt(inside), move(B, A)) == {A}


def test_branches_are_both_counted():
    assert live_before(If(Value(I1), [move(C, A)], [move(C, B)])) == {A, B}


def test_what_is_read_may_not_lie_where_is_written():
    graph = interference([move(B, A)], never)
    assert graph[B] == {A}
    assert interference([move(B, A)], lambda *_: True).get(B, set()) == set()


def test_never_together_is_no_conflict():
    body = [move(A), move(C, A), move(B), move(C, B)]
    graph = interference(body, never)
    assert B not in graph.get(A, set())
