# ruff: noqa: N802 - functions of the driver have its names
from __future__ import annotations

import ctypes
import time
from struct import pack

import pytest

from tilewright.driver.cuda.launching import HEAD_WORDS, SHOT_WORDS, Head
from tilewright.driver.cuda.native import DRIVER, quick_calls
from tilewright.driver.cuda.record import Record
from tilewright.driver.cuda.results import NOT_READY
from tilewright.driver.lane import PUT, UNPUT, Lane
from tilewright.driver.stub.words import TENSOR_WORDS

ADDRESS, INT, UINT = ctypes.c_void_p, ctypes.c_int, ctypes.c_uint
PROTOTYPES = {
    "cuCtxGetCurrent": (ctypes.POINTER(ADDRESS),),
    "cuCtxPushCurrent": (ADDRESS,),
    "cuCtxPopCurrent": (ctypes.POINTER(ADDRESS),),
    "cuLaunchKernel": (ADDRESS, *[UINT] * 7, *[ADDRESS] * 3),
    "cuGraphLaunch": (ADDRESS, ADDRESS),
    "cuEventRecord": (ADDRESS, ADDRESS),
    "cuEventQuery": (ADDRESS,),
    "cuStreamQuery": (ADDRESS,),
}


class Driver:
    """The few functions that native code calls, in Python."""

    def __init__(self):
        self.current, self.log, self.answers = 0, [], {}
        self.passed = set()
        self.parameters, self.read = 0, []

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
        if self.parameters:
            places = ctypes.cast(arguments[9], ctypes.POINTER(ctypes.c_int64))
            found = [places[i] for i in range(self.parameters + 1)]
            self.read = [ctypes.c_int64.from_address(place).value for place in found[:-1]]
            assert found[-1] == 0, "a zero ends them"
        return self.answers.get("cuLaunchKernel", 0)

    def cuGraphLaunch(self, executable, stream):
        self.log.append(("graph", executable, stream))
        return self.answers.get("cuGraphLaunch", 0)

    def cuEventRecord(self, event, stream):
        self.log.append(("record", event, stream))
        return self.answers.get("cuEventRecord", 0)

    def cuEventQuery(self, event):
        return self.answers.get("cuEventQuery", 0 if event in self.passed else NOT_READY)

    def cuStreamQuery(self, stream):
        return self.cuEventQuery(stream)


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
    assert quick.launch(ctypes.addressof(record), 5) == 0
    launched = ("launch", 88, 1, 2, 3, 4, 5, 6, 7, 5, 99, None)
    assert driver.log == [("push", 77), launched, ("pop",)]


def test_a_launch_in_its_own_context(driver, quick, record):
    driver.current = 77
    assert quick.launch(ctypes.addressof(record), 5) == 0
    assert [entry[0] for entry in driver.log] == ["launch"]


@pytest.mark.parametrize("call", ["cuCtxGetCurrent", "cuCtxPushCurrent", "cuLaunchKernel"])
def test_refusals_are_told(driver, quick, record, call):
    driver.answers[call] = 700
    assert quick.launch(ctypes.addressof(record), 5) == 700
    assert driver.log.count(("pop",)) == (call == "cuLaunchKernel")


class Plain:
    """A launch of a kernel with two tensors, a number, and a parameter that is always 6."""

    def __init__(self):
        self.record = Record(77, 88, (1, 1, 1), (1, 1, 1), 0, (0, 6, 0, 0))
        first = self.record.slots
        self.tensors = [(ctypes.c_int64 * TENSOR_WORDS)(0, 4096 * i, 0) for i in (1, 2)]
        self.row = pack("2q", *map(ctypes.addressof, self.tensors))
        self.places = (ctypes.c_int64 * 2)(first, first + 3), (ctypes.c_int64 * 1)(first + 2)
        tensors, numbers = map(ctypes.addressof, self.places)
        self.shot = (ctypes.c_int64 * SHOT_WORDS)(self.record.address, 4, 2, tensors, 1, numbers)
        self.lane = Lane()
        self.lane.words[UNPUT] = 1

    def fire(self, quick):
        shot, lane = ctypes.addressof(self.shot), self.lane.address
        return quick.fire(self.row, pack("q", -5), shot, lane, 11)


def test_a_plain_launch_has_its_parameters_filled_in(driver, quick):
    plain, driver.parameters = Plain(), 4
    assert plain.fire(quick) == 1
    assert driver.read == [4096, 6, -5, 8192]
    assert list(plain.record.words[plain.record.slots :]) == [0, 6, 0, 0]  # for the next one
    assert plain.lane.words[UNPUT] == 0 and plain.lane.words[PUT] == 1
    plain.lane.words[UNPUT] = 1
    assert plain.fire(quick) == 2


def test_a_plain_launch_that_is_refused_is_not_counted(driver, quick):
    plain = Plain()
    driver.answers["cuLaunchKernel"] = 701
    assert plain.fire(quick) == -701
    assert plain.lane.words[UNPUT] == 0 and plain.lane.words[PUT] == 0


def test_graphs(driver, quick):
    lane = Lane()
    lane.words[UNPUT] = 1
    assert quick.replay(77, 5, lane.address, 11) == 1
    assert driver.log == [("push", 77), ("graph", 5, 11), ("pop",)]
    driver.answers["cuGraphLaunch"] = 9
    lane.words[UNPUT] = 1
    assert quick.replay(77, 5, lane.address, 11) == -9
    assert lane.words[UNPUT] == 0 and lane.words[PUT] == 1


def test_streams(driver, quick):
    assert quick.idle(77, 3) == NOT_READY
    assert quick.drain(77, 3, 1000) == NOT_READY
    driver.passed.add(3)
    assert quick.idle(77, 3) == quick.drain(77, 3, 1 << 60) == 0


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
