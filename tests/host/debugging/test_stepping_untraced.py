"""Calls that a debugger does not see, and calls inside of them that it sees."""

from __future__ import annotations

import sys

import pytest

from tilewright.debugging.stepping import call_traced, is_traced, untraced


@pytest.fixture
def seen():
    """The functions that a debugger would have seen."""
    names: list[str] = []

    def trace(frame, event, argument):
        if event == "call":
            names.append(frame.f_code.co_name)
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    yield names
    sys.settrace(before)


def hidden():
    return inner()


def inner():
    return 3


def shown():
    return inner()


def test_nothing_of_an_untraced_call_is_seen(seen):
    call = untraced(hidden)
    assert [call(), call()] == [3, 3]
    inner()
    assert "hidden" not in seen and seen.count("inner") == 1


def test_calls_inside_can_be_seen(seen):
    call = untraced(lambda: call_traced(shown) + inner())
    assert call() == 6
    assert seen.count("shown") == 1 and seen.count("inner") == 1


def test_what_a_traced_call_raises_leaves_no_trace_behind(seen):
    def fails():
        raise ValueError("no")

    def caught():
        try:
            call_traced(fails)
        except ValueError:
            return inner()

    assert untraced(caught)() == 3
    assert seen.count("fails") == 1 and "inner" not in seen and "caught" not in seen
    inner()
    assert seen.count("inner") == 1, "tracing is as it was"


def test_whether_lines_are_followed(seen):
    assert is_traced()
    sys.settrace(None)
    assert not is_traced()
