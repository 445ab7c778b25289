"""What led to which work, by the times at which it was enqueued."""

from __future__ import annotations

from op_kit import HandStream
from tilewright.op.trace import Entry
from tilewright.op.trace_links import ENQUEUES, PRECEDES, links_of

ONE, TWO = HandStream(), HandStream()


def op(name, start, end, thread="main"):
    return Entry("op", name, start, end, thread, None)


def work(name, submitted, stream=ONE, thread="main"):
    return Entry("work", name, submitted + 50, submitted + 60, thread, stream, None, submitted)


def wait(stream, source, at):
    return Entry("stream wait", "waits", at, at, "main", stream, None, 0, source)


def pairs(entries, kind):
    return [(link.source.name, link.target.name) for link in links_of(entries) if link.kind == kind]


def test_the_innermost_op_of_the_same_thread():
    entries = [
        op("outer", 10, 40), op("inner", 20, 30), op("other", 18, 99, "helper"),
        work("a", 15), work("b", 25), work("c", 35), work("d", 5), work("e", 45),
    ]  # fmt: skip
    assert pairs(entries, ENQUEUES) == [("outer", "a"), ("inner", "b"), ("outer", "c")]


def test_the_last_work_before_a_wait_and_the_first_behind_it():
    entries = [
        work("a", 10), work("b", 20), work("late", 40), work("early", 5, TWO), wait(TWO, ONE, 30),
        work("c", 31, TWO), work("d", 32, TWO),
    ]  # fmt: skip
    assert pairs(entries, PRECEDES) == [("b", "c")]


def test_a_wait_for_nothing_known_is_no_link():
    assert links_of([wait(TWO, ONE, 30), work("c", 31, TWO)]) == []
    assert links_of([work("a", 10), wait(TWO, ONE, 30)]) == []
