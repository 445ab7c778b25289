# ruff: noqa: N802 - functions of the driver have its names
from __future__ import annotations

import ctypes
import time

import pytest

from tilewright.driver.cuda.native import DRIVER, HEAD_WORDS, Head, quick_calls
from tilewright.driver.cuda.results import NOT_READY

ADDRESS, INT, UINT = ctypes.c_void_p, ctypes.c_int, ctypes.c_uint
PROTOTYPES = {
    "cuCtxGetCurrent": (ctypes.POINTER(ADDRESS),),
    "cuCtxPushCurrent": (ADDRESS,),
    "cuCtxPopCurrent": (ctypes.POINTER(ADDRESS),),
    "cuLaunchKernel": (ADDRESS, *[UINT] * 7, *[ADDRESS] * 3),
    "cuEventRecord": (ADDRESS, ADDRESS),
    "cuEventQuery": (ADDRESS,),
}


class Driver:
    """The few functions that native code calls, in Python."""

    def __init__(self):
        self.current, self.log, self.answers = 0, [], {}
        self.passed = set()

    def cuCtxGetCurrent(self, place):
        place[0] = self.current or None
        return self.answers.get("cuCtxGetCurrent", 0)

    def cuCtxPushCurrent(self, context):
        self.log.append(("push", context))
        return self.answers.get("cuCtxPushCurrent", 0)

    def cuCtxPopCurrent(self, place):
        self.log.append(("pop",))
        return 0

    def cuLaunchKernel(self, *arguments):
        self.log.append(("launch", *arguments))
        return self.answers.get("cuLaunchKernel", 0)

    def cuEventRecord(self, event, stream):
        self.log.append(("record", event, stream))
        return self.answers.get("cuEventRecord", 0)

    def cuEventQuery(self, event):
        return self.answers.get("cuEventQuery", 0 if event in self.passed else NOT_READY)


@pytest.fixture
def driver():
    return Driver()


@pytest.fixture
def quick(driver):
    made = {name: ctypes.CFUNCTYPE(INT, *PROTOTYPES[name])(getattr(driver, name))
            for name in DRIVER}  # fmt: skip
    driver.kept = made
    return quick_calls({name: ctypes.cast(f, ADDRESS).value for name, f in made.items()})


@pytest.fixture
def record():
    words = (ctypes.c_int64 * HEAD_WORDS)()
    words[Head.CONTEXT], words[Head.FUNCTION], words[Head.PARAMETERS] = 77, 88, 99
    words[Head.GRID : Head.GRID + 3] = [1, 2, 3]
    words[Head.BLOCK : Head.BLOCK + 3] = [4, 5, 6]
    words[Head.SHARED] = 7
    return words


def test_a_launch_in_another_context(driver, quick, record):
    assert quick.launch(ctypes.addressof(record), 5, 6) == 0
    launched = ("launch", 88, 1, 2, 3, 4, 5, 6, 7, 5, 99, None)
    assert driver.log == [("push", 77), launched, ("record", 6, 5), ("pop",)]


def test_a_launch_in_its_own_context_without_an_event(driver, quick, record):
    driver.current = 77
    assert quick.launch(ctypes.addressof(record), 5, 0) == 0
    assert [entry[0] for entry in driver.log] == ["launch"]


@pytest.mark.parametrize("call", ["cuCtxGetCurrent", "cuCtxPushCurrent", "cuLaunchKernel"])
def test_refusals_are_told(driver, quick, record, call):
    driver.answers[call] = 700
    assert quick.launch(ctypes.addressof(record), 5, 6) == 700
    assert ("record", 6, 5) not in driver.log
    assert driver.log.count(("pop",)) == (call == "cuLaunchKernel")


def test_record(driver, quick):
    driver.answers["cuEventRecord"] = 9
    assert quick.record(77, 6, 5) == 9


def test_events(driver, quick):
    assert quick.query(77, 3) == NOT_READY
    start = time.monotonic()
    assert quick.await_event(77, 3, 20_000_000) == NOT_READY
    assert time.monotonic() - start >= 0.02
    driver.passed.add(3)
    assert quick.query(77, 3) == 0
    assert quick.await_event(77, 3, 1 << 60) == 0
    driver.answers["cuEventQuery"] = 719
    assert quick.await_event(77, 3, 1 << 60) == 719


def test_one_of_many_events_or_a_word(driver, quick):
    events, word = (ctypes.c_void_p * 3)(1, 2, 3), (ctypes.c_int64 * 1)(5)
    given = (77, ctypes.addressof(events), 3, ctypes.addressof(word))
    assert quick.await_any(*given, 5, 1000) == NOT_READY
    assert quick.await_any(*given, 4, 1 << 60) == 0
    driver.passed.add(2)
    assert quick.await_any(*given, 5, 1 << 60) == 0
