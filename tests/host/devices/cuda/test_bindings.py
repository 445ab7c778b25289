from __future__ import annotations

import ctypes
import time
from struct import pack
from types import SimpleNamespace

import pytest

from support.leaks import assert_none_left
from support.native_cuda import addresses, as_functions
from support.native_driver import Plain
from support.records import ALL_BYTES, MARK_WORDS, StorageWord
from tilewright._core import CUDA_FUNCTIONS, CUDA_STATUS_BITS
from tilewright.devices.cuda.bindings import SINCE, Bindings
from tilewright.devices.cuda.record import Record
from tilewright.devices.cuda.results import NOT_READY
from tilewright.devices.native_records import PlanWord, SlowPath
from tilewright.devices.timeline import ISSUED, OVER, SUBMITTED, UNSUBMITTED
from tilewright.op.place import here


def test_a_launch_in_another_context(driver, native, record):
    assert native.launch(ctypes.addressof(record), 5) == 0
    launched = ("launch", 88, 1, 2, 3, 4, 5, 6, 7, 5, 99, None)
    assert driver.log == [("push", 77), launched, ("pop",)]


def test_a_launch_in_its_own_context(driver, native, record):
    driver.current = 77
    assert native.launch(ctypes.addressof(record), 5) == 0
    assert [entry[0] for entry in driver.log] == ["launch"]


@pytest.mark.parametrize("call", ["cuCtxGetCurrent", "cuCtxPushCurrent", "cuLaunchKernel"])
def test_refusals_are_told(driver, native, record, call):
    driver.answers[call] = 700
    assert native.launch(ctypes.addressof(record), 5) == 700
    assert driver.log.count(("pop",)) == (call == "cuLaunchKernel")


def test_a_plain_launch_has_its_parameters_filled_in(driver, native):
    plain, driver.parameters = Plain(), 4
    assert plain.submit(native) == 1 << CUDA_STATUS_BITS
    assert driver.read == [4096, 6, -5, 8192]
    assert list(plain.record.words[plain.record.slots :]) == [0, 6, 0, 0]  # for the next one
    assert plain.timeline.words[UNSUBMITTED] == 0 and plain.timeline.words[SUBMITTED] == 1
    assert plain.submit(native) == 2 << CUDA_STATUS_BITS


def test_a_plain_launch_notes_its_number_with_its_memory(native):
    plain = Plain()
    plain.submit(native)
    plain.submit(native)
    written, read = plain.memory
    for memory, writes in ((written, 1), (read, 0)):
        mark = memory[StorageWord.MARKS : StorageWord.MARKS + MARK_WORDS]
        assert list(mark) == [plain.timeline.address, 2, *ALL_BYTES, writes]


@pytest.mark.parametrize("which", [0, 1])
def test_a_plain_launch_that_cannot_begin_is_not_put_anywhere(driver, native, which):
    plain = Plain()
    plain.memory[which][StorageWord.EPOCH] = 1  # somebody has borrowed it since
    assert plain.submit(native) == 0
    assert driver.log == [] and not any(plain.timeline.words)


def test_a_plain_launch_notes_that_its_op_is_used(driver, native):
    plain = Plain()
    plain.submit(native)
    ((user, location),) = plain.uses
    assert user == "submit()" and location[0] is Plain.submit_again.__code__
    assert plain.submit_again(native) == 0
    assert len(plain.uses) == len(driver.log) // 3 == plain.timeline.words[SUBMITTED] == 1


def test_a_plain_launch_that_cannot_begin_is_no_use(native):
    plain = Plain()
    plain.memory[0][StorageWord.LOOK] = SlowPath.PENDING
    assert plain.submit(native) == 0 and plain.uses == []


@pytest.mark.parametrize("name", ["one", "other"])
@pytest.mark.parametrize("change", [lambda w, n: w.update({n: 5}), lambda w, n: w.pop(n)])
def test_code_that_was_made_for_other_values_is_not_launched(driver, native, name, change):
    plain = Plain()
    change(plain.world, name)
    assert plain.submit(native) == 0
    assert driver.log == [] and plain.uses == [] and not any(plain.timeline.words)


def test_a_plain_launch_that_is_refused_is_not_counted(driver, native):
    plain = Plain()
    driver.answers["cuLaunchKernel"] = 701
    assert plain.submit(native) == -701
    assert plain.timeline.words[UNSUBMITTED] == 0 and plain.timeline.words[SUBMITTED] == 0


def test_a_plain_launch_can_be_waited_for(driver, native):
    plain = Plain()
    assert plain.submit(native, 1000) == 1 << CUDA_STATUS_BITS | NOT_READY
    assert plain.timeline.words[OVER] == 0
    driver.passed.add(11)
    assert plain.submit(native, 1 << 60) == 2 << CUDA_STATUS_BITS
    assert plain.timeline.words[OVER] == 2
    driver.answers["cuEventQuery"] = 719
    assert plain.submit(native, 1 << 60) == 3 << CUDA_STATUS_BITS | 719
    assert plain.timeline.words[OVER] == 2


def test_what_others_are_about_to_put_there_is_not_over(driver, native):
    plain = Plain()
    plain.timeline.words[UNSUBMITTED] = plain.timeline.words[ISSUED] = 1
    driver.passed.add(11)
    plain.submit(native, 1 << 60)
    assert plain.timeline.words[OVER] == 0


def test_streams(driver, native):
    assert native.query_stream(77, 3) == NOT_READY
    assert native.drain(77, 3, 1000) == NOT_READY
    driver.passed.add(3)
    assert native.query_stream(77, 3) == native.drain(77, 3, 1 << 60) == 0


def test_record(driver, native):
    driver.answers["cuEventRecord"] = 9
    assert native.record_event(77, 6, 5) == 9


def test_events(driver, native):
    assert native.query_event(77, 3) == NOT_READY
    start = time.monotonic()
    assert native.await_event(77, 3, 20_000_000) == NOT_READY
    assert time.monotonic() - start >= 0.02
    driver.passed.add(3)
    assert native.query_event(77, 3) == 0
    assert native.await_event(77, 3, 1 << 60) == 0
    driver.answers["cuEventQuery"] = 719
    assert native.await_event(77, 3, 1 << 60) == 719


def test_one_of_many_events_or_a_word(driver, native):
    events, word = (ctypes.c_void_p * 3)(1, 2, 3), (ctypes.c_int64 * 1)(5)
    given = (77, ctypes.addressof(events), 3, ctypes.addressof(word))
    assert native.await_any(*given, 5, 1000) == NOT_READY
    assert native.await_any(*given, 4, 1 << 60) == 0
    driver.passed.add(2)
    assert native.await_any(*given, 5, 1 << 60) == 0


def test_launches_leave_no_references_behind(driver, native):
    plain, user, location = Plain(), "someone()", here()

    def launch():
        for status in (0, 701):
            driver.answers["cuLaunchKernel"] = status
            for budget in (0, 1):
                submit(plain, native, user, location, budget)
        plain.memory[0][StorageWord.EPOCH] += 1  # now it cannot begin
        assert submit(plain, native, user, location) == 0
        plain.memory[0][StorageWord.EPOCH] -= 1
        driver.log.clear()

    watched = [user, location, plain.row, native]
    assert_none_left(launch, watched, 40)


def submit(plain, native, user, location, budget=0):
    """Launch at a location that is said."""
    return native.submit_launch(
        ctypes.addressof(plain.plan), [], user, location, plain.row, pack("q", 1),
        plain.timeline.address, 11, budget,
    )  # fmt: skip


@pytest.mark.parametrize("count", [63, 64, 300])
def test_kernels_have_any_number_of_parameters(driver, native, count):
    record = Record(77, 88, (1, 1, 1), (1, 1, 1), 0, range(count))
    plain, driver.parameters = Plain(), count
    plain.plan[PlanWord.RECORD], plain.plan[PlanWord.SLOTS] = record.address, count
    first, places = record.slots, plain.places
    places[0][:], places[1][:] = [first, first + count - 1], [first + 1]
    assert plain.submit(native) == 1 << CUDA_STATUS_BITS
    assert driver.read == [4096, -5, *range(2, count - 1), 8192]


def test_the_functions_of_the_driver_are_found_by_name(driver, record):
    kept = as_functions(driver)
    known = {name.encode(): at for name, at in addresses(kept).items()}
    asked = []

    def find(name, version, flags):
        asked.append((version, flags))
        return 0, known[name], 0

    bindings = Bindings(SimpleNamespace(cuGetProcAddress=find), "libcuda.so")
    assert asked == [(SINCE, 0)] * len(CUDA_FUNCTIONS)
    assert bindings.launch(ctypes.addressof(record), 5) == 0
    assert bindings.record(77, 6, 5) == 0
    assert [entry[0] for entry in driver.log] == ["push", "launch", "pop", "push", "record", "pop"]
    assert bindings.query(77, 3) == bindings.await_event(77, 3, 1) == NOT_READY
    assert bindings.idle(77, 3) == bindings.drain(77, 3, 1) == NOT_READY
    assert bindings.native_driver != 0
