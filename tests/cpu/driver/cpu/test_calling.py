from __future__ import annotations

import threading
from struct import pack

import pytest

from tilewright.driver.cpu.calling import Kind, Signature, builtin, wrapped, wrappers
from tilewright.driver.cpu.runtime.calls import callables, compiled

TEXT = """
define i64 @tw_sum(ptr %numbers, i64 %count, ptr %more) {
entry:
  br label %head
head:
  %i = phi i64 [ 0, %entry ], [ %next, %each ]
  %sum = phi i64 [ 0, %entry ], [ %following, %each ]
  %left = icmp slt i64 %i, %count
  br i1 %left, label %each, label %done
each:
  %at = getelementptr i64, ptr %numbers, i64 %i
  %number = load i64, ptr %at
  %following = add i64 %sum, %number
  %next = add i64 %i, 1
  br label %head
done:
  %address = ptrtoint ptr %more to i64
  %result = add i64 %sum, %address
  ret i64 %result
}

define void @tw_nothing() {
  ret void
}
"""
SIGNATURES = {
    "sum": Signature((Kind.BYTES, Kind.NUMBER, Kind.ADDRESS)),
    "nothing": Signature((), gives=None, releases=True),
}


@pytest.fixture(scope="module")
def functions():
    return callables(TEXT, SIGNATURES, optimize=False)


def test_bytes_numbers_and_addresses_are_handed_over(functions):
    assert functions["sum"](pack("3q", 1, -5, 1 << 40), 3, 0) == (1 << 40) - 4
    assert functions["sum"](b"", 0, (1 << 47) + 8) == (1 << 47) + 8
    assert functions["sum"](b"", -1, 0) == 0


def test_the_interpreter_lock_is_given_up_and_taken_back(functions):
    threads = [threading.Thread(target=functions["nothing"]) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert functions["nothing"]() == 0


def test_wrappers_have_names_of_their_own():
    text = TEXT + wrappers({"tw_sum": SIGNATURES["sum"]})
    function = builtin(compiled(text, (wrapped("tw_sum"),), optimize=True)[wrapped("tw_sum")])
    assert function.__name__ == "py_tw_sum" and function(pack("q", 7), 1, 1) == 8
