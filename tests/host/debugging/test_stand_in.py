"""Code objects with the lines of a function, and nothing else that a debugger could see."""

from __future__ import annotations

import sys

import pytest

from tilewright.debugging.stand_in import code_of, globals_of
from tilewright.ir.attrs import DebuggedFunction


def run(lines, order, names=None, first=10, result=None):
    """Run a stand-in along lines; return what a debugger would have seen of it."""
    function = DebuggedFunction("kernels.py", "kernel", first, tuple(lines), {"outside": 1})
    seen: list[tuple[object, ...]] = []
    waiting = list(order)
    scope: dict[str, object] = {}

    def step():
        if not waiting:
            scope["globals"]["__tilewright_ended__"] = True
            scope["globals"]["__tilewright_result__"] = result
            return 0
        return waiting.pop(0)

    def trace(frame, event, argument):
        if frame.f_code.co_filename != "kernels.py":
            return None
        seen.append((event, frame.f_lineno, frame.f_code.co_name, dict(frame.f_locals)))
        return trace

    made = scope["globals"] = globals_of(function, iter((None,) * 99).__next__, step, {})
    before = sys.gettrace()
    sys.settrace(trace)
    try:
        exec(code_of(function), made, names if names is not None else {})
    finally:
        sys.settrace(before)
    return [entry for entry in seen if entry[0] in ("call", "line")]


@pytest.mark.parametrize("order", [
    [11, 12, 13], [11, 12, 12, 12, 13], [13, 11], [11, 300, 11], [], [12],
])  # fmt: skip
def test_each_line_is_seen_as_often_as_it_runs(order):
    events = run((10, 11, 12, 13, 300), order)
    assert events[0][:3] == ("call", 10, "kernel")
    assert [event[1] for event in events[1:]] == order


def test_its_variables_are_those_of_the_kernel():
    names = {"x": 3}
    assert run((11,), [11], names)[1][3] == {"x": 3} == names


def test_many_lines():
    lines = tuple(range(1, 700))
    assert [event[1] for event in run(lines, lines[::-1], first=1)[1:]] == list(lines[::-1])


def test_code_is_made_once():
    function = DebuggedFunction("kernels.py", "kernel", 1, (1, 2), {})
    assert code_of(function) is code_of(function)
