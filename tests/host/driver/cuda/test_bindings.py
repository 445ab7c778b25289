# ruff: noqa: N802 - functions of the driver have its names
from __future__ import annotations

import ctypes
import threading
import time
from functools import partial
from operator import getitem
from struct import pack
from types import SimpleNamespace

import pytest

from support.leaks import assert_none_left
from support.native_cuda import addresses, as_functions
from tilewright._core import (
    CUDA_FUNCTIONS,
    CUDA_STATUS_BITS,
    CudaDriver,
    set_cuda_stream,
    set_process,
)
from tilewright.array.borrow import BorrowState, Use, borrow_words
from tilewright.driver.cuda.bindings import SINCE, Bindings
from tilewright.driver.cuda.record import HEAD_WORDS, Head, Record
from tilewright.driver.cuda.results import NOT_READY
from tilewright.driver.cuda.stream import CudaStream
from tilewright.driver.dues import Dues
from tilewright.driver.lane import ISSUED, OVER, PUT, UNPUT, Lane
from tilewright.driver.stub.shots import SHOT_WORDS, ShotWord
from tilewright.driver.stub.words import (
    BORROW_WORDS,
    MEMORY_WORDS,
    STORAGE_WORDS,
    TENSOR_WORDS,
    BorrowWord,
    Look,
    StorageWord,
    new_words,
)
from tilewright.op.place import here


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
def native(driver):
    driver.kept = as_functions(driver)
    return CudaDriver(addresses(driver.kept))


@pytest.fixture
def record():
    words = (ctypes.c_int64 * HEAD_WORDS)()
    words[Head.CONTEXT], words[Head.FUNCTION], words[Head.PARAMETERS] = 77, 88, 99
    words[Head.GRID : Head.GRID + 3] = [1, 2, 3]
    words[Head.BLOCK : Head.BLOCK + 3] = [4, 5, 6]
    words[Head.SHARED] = 7
    return words


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


class Plain:
    """A launch of a kernel with two tensors, a number, and a parameter that is always 6."""

    def __init__(self):
        self.record = Record(77, 88, (1, 1, 1), (1, 1, 1), 0, (0, 6, 0, 0))
        first = self.record.slots
        self.memory = [new_words(STORAGE_WORDS) for _ in range(2)]
        self.tensors = [
            (ctypes.c_int64 * TENSOR_WORDS)(0, 4096 * i, ctypes.addressof(self.memory[i - 1]))
            for i in (1, 2)
        ]
        self.row = pack("5q", *map(ctypes.addressof, self.tensors), 0, 0, 0)  # epochs, an owner
        self.places = (ctypes.c_int64 * 2)(first, first + 3), (ctypes.c_int64 * 1)(first + 2)
        tensors, numbers = map(ctypes.addressof, self.places)
        self.world = {"one": object(), "other": object()}
        self.read, (one, other) = partial(getitem, self.world, "one"), self.world.items()
        self.other = other[0]
        self.watches = (ctypes.c_int64 * 6)(
            id(self.read), 0, id(one[1]), id(self.world), id(self.other), id(other[1])
        )
        self.shot = (ctypes.c_int64 * SHOT_WORDS)(
            self.record.address, 4, 2, tensors, 1, numbers, 1, ctypes.addressof(borrow_words()),
            2, ctypes.addressof(self.watches), 0,
        )  # fmt: skip
        self.lane, self.uses = Lane(), []

    def fire(self, native, budget=0):
        self.uses = []
        return self.fire_again(native, budget)

    def fire_again(self, native, budget=0):
        shot, lane = ctypes.addressof(self.shot), self.lane.address
        row, numbers = self.row, pack("q", -5)
        return native.submit_launch(shot, self.uses, "fire()", 0, row, numbers, lane, 11, budget)


def test_a_plain_launch_has_its_parameters_filled_in(driver, native):
    plain, driver.parameters = Plain(), 4
    assert plain.fire(native) == 1 << CUDA_STATUS_BITS
    assert driver.read == [4096, 6, -5, 8192]
    assert list(plain.record.words[plain.record.slots :]) == [0, 6, 0, 0]  # for the next one
    assert plain.lane.words[UNPUT] == 0 and plain.lane.words[PUT] == 1
    assert plain.fire(native) == 2 << CUDA_STATUS_BITS


def test_a_plain_launch_notes_its_number_with_its_memory(native):
    plain = Plain()
    plain.fire(native)
    plain.fire(native)
    written, read = plain.memory
    assert list(written[StorageWord.WRITE : StorageWord.WRITE + 2]) == [plain.lane.address, 2]
    assert [word for word in read[StorageWord.READ :] if word] == [plain.lane.address, 2]


@pytest.mark.parametrize("which", [0, 1])
def test_a_plain_launch_that_cannot_begin_is_not_put_anywhere(driver, native, which):
    plain = Plain()
    plain.memory[which][StorageWord.EPOCH] = 1  # somebody has borrowed it since
    assert plain.fire(native) == 0
    assert driver.log == [] and not any(plain.lane.words)


def test_a_plain_launch_notes_that_its_op_is_used(driver, native):
    plain = Plain()
    plain.fire(native)
    ((user, spot),) = plain.uses
    assert user == "fire()" and spot[0] is Plain.fire_again.__code__
    assert plain.fire_again(native) == 0
    assert len(plain.uses) == len(driver.log) // 3 == plain.lane.words[PUT] == 1


def test_a_plain_launch_that_cannot_begin_is_no_use(native):
    plain = Plain()
    plain.memory[0][StorageWord.LOOK] = Look.FLIGHTS
    assert plain.fire(native) == 0 and plain.uses == []


@pytest.mark.parametrize("name", ["one", "other"])
@pytest.mark.parametrize("change", [lambda w, n: w.update({n: 5}), lambda w, n: w.pop(n)])
def test_code_that_was_made_for_other_values_is_not_launched(driver, native, name, change):
    plain = Plain()
    change(plain.world, name)
    assert plain.fire(native) == 0
    assert driver.log == [] and plain.uses == [] and not any(plain.lane.words)


def test_a_plain_launch_that_is_refused_is_not_counted(driver, native):
    plain = Plain()
    driver.answers["cuLaunchKernel"] = 701
    assert plain.fire(native) == -701
    assert plain.lane.words[UNPUT] == 0 and plain.lane.words[PUT] == 0


@pytest.mark.parametrize(("status", "answer"), [(0, 1), (701, -701)])
def test_work_that_was_begun_is_no_longer_about_to_be_put_there(
    driver, native, record, status, answer
):
    lane, unput = Lane(), (ctypes.c_int64 * 3)(5, 1, 6)
    lane.words[UNPUT], driver.answers["cuLaunchKernel"] = 2, status
    told = native.submit_begun(
        ctypes.addressof(record), lane.address, 11, ctypes.addressof(unput) + 8
    )
    assert (told, list(unput), lane.words[UNPUT]) == (answer, [5, 0, 6], 1)
    assert lane.words[PUT] == (status == 0)


def test_a_plain_launch_can_be_waited_for(driver, native):
    plain = Plain()
    assert plain.fire(native, 1000) == 1 << CUDA_STATUS_BITS | NOT_READY
    assert plain.lane.words[OVER] == 0
    driver.passed.add(11)
    assert plain.fire(native, 1 << 60) == 2 << CUDA_STATUS_BITS
    assert plain.lane.words[OVER] == 2
    driver.answers["cuEventQuery"] = 719
    assert plain.fire(native, 1 << 60) == 3 << CUDA_STATUS_BITS | 719
    assert plain.lane.words[OVER] == 2


def test_what_others_are_about_to_put_there_is_not_over(driver, native):
    plain = Plain()
    plain.lane.words[UNPUT] = plain.lane.words[ISSUED] = 1
    driver.passed.add(11)
    plain.fire(native, 1 << 60)
    assert plain.lane.words[OVER] == 0


def test_who_is_interrupted_while_waiting_for_the_lock_hears_of_it(driver, native):
    def interrupted():
        raise KeyboardInterrupt

    plain, words = Plain(), new_words(BORROW_WORDS)
    words[BorrowWord.ACQUIRE] = id(interrupted)
    plain.shot[ShotWord.BORROWS] = ctypes.addressof(words)
    with pytest.raises(KeyboardInterrupt):
        plain.fire(native)
    assert driver.log == []


class Recorded:
    """A graph that writes one tensor and reads another."""

    def __init__(self, record=0):
        self.memory = [new_words(STORAGE_WORDS) for _ in range(2)]
        self.states = [BorrowState(memory) for memory in self.memory]
        self.tensors = [
            (ctypes.c_int64 * TENSOR_WORDS)(0, 4096, ctypes.addressof(memory), id(state))
            for memory, state in zip(self.memory, self.states, strict=True)
        ]
        self.row = new_words(5)
        self.row[:2] = [ctypes.addressof(each) for each in self.tensors]
        self.what, self.built, self.record = "written by a graph", here(), record
        self.words = (ctypes.c_int64 * MEMORY_WORDS)(
            ctypes.addressof(self.row), 2, 1, ctypes.addressof(borrow_words()), id(self.what)
        )  # fmt: skip
        self.lane, self.uses = Lane(), []

    def fire(self, native, budget=0):
        self.uses = []
        return self.fire_again(native, budget)

    def fire_again(self, native, budget=0):
        return native.submit_graph(
            77, self.record, 5, ctypes.addressof(self.words), self.uses, "fire()", 0, self.built,
            self.lane.address, 11, budget,
        )  # fmt: skip


def test_graphs(driver, native):
    graph = Recorded()
    assert graph.fire(native) == 1 << CUDA_STATUS_BITS
    assert driver.log == [("push", 77), ("graph", 5, 11), ("pop",)]
    driver.answers["cuGraphLaunch"] = 9
    assert graph.fire(native) == -9
    assert graph.lane.words[UNPUT] == 0 and graph.lane.words[PUT] == 1


def test_a_graph_of_one_kernel_is_a_launch(driver, native, record):
    assert Recorded(ctypes.addressof(record)).fire(native) == 1 << CUDA_STATUS_BITS
    assert [entry[0] for entry in driver.log] == ["push", "launch", "pop"]


def test_a_graph_borrows_its_memory_and_notes_who_did(native):
    graph = Recorded()
    graph.fire(native)
    written, read = graph.memory
    assert (written[StorageWord.EPOCH], read[StorageWord.EPOCH]) == (1, 0)
    assert graph.states[0].last_write == Use(graph.what, graph.built)
    assert graph.states[1].last_write is None
    ((user, spot),) = graph.uses
    assert user == "fire()" and spot[0] is Recorded.fire_again.__code__
    assert graph.fire_again(native) == 0 and len(graph.uses) == 1


def test_a_graph_whose_memory_is_not_plain_is_not_put_anywhere(driver, native):
    graph = Recorded()
    graph.memory[0][StorageWord.LOOK] = Look.LEASES
    assert graph.fire(native) == 0
    assert driver.log == graph.uses == [] and graph.states[0].last_write is None


def test_a_graph_can_be_waited_for(driver, native):
    graph = Recorded()
    assert graph.fire(native, 1000) == 1 << CUDA_STATUS_BITS | NOT_READY
    driver.passed.add(11)
    assert graph.fire(native, 1 << 60) == 2 << CUDA_STATUS_BITS
    assert graph.lane.words[OVER] == 2


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
    plain, graph, user = Plain(), Recorded(), "someone()"
    spot, what = here(), graph.what

    def launch():
        for status in (0, 701):
            driver.answers["cuLaunchKernel"] = driver.answers["cuGraphLaunch"] = status
            for budget in (0, 1):
                submit(plain, native, user, spot, budget)
                graph.fire(native, budget)
        plain.memory[0][StorageWord.EPOCH] += 1  # now it cannot begin
        assert submit(plain, native, user, spot) == 0
        plain.memory[0][StorageWord.EPOCH] -= 1
        driver.log.clear()

    watched = [user, spot, plain.row, what, graph.built, native]
    assert_none_left(launch, watched, 40)


def submit(plain, native, user, spot, budget=0):
    """Launch at a spot that is said."""
    return native.submit_launch(
        ctypes.addressof(plain.shot), [], user, spot, plain.row, pack("q", 1), plain.lane.address,
        11, budget,
    )  # fmt: skip


@pytest.mark.parametrize("count", [63, 64, 300])
def test_kernels_have_any_number_of_parameters(driver, native, count):
    record = Record(77, 88, (1, 1, 1), (1, 1, 1), 0, range(count))
    plain, driver.parameters = Plain(), count
    plain.shot[ShotWord.RECORD], plain.shot[ShotWord.SLOTS] = record.address, count
    first, places = record.slots, plain.places
    places[0][:], places[1][:] = [first, first + count - 1], [first + 1]
    assert plain.fire(native) == 1 << CUDA_STATUS_BITS
    assert driver.read == [4096, -5, *range(2, count - 1), 8192]


LIBC = ctypes.CDLL(None)
LONG = 300_000
"""Microseconds."""


@pytest.fixture
def slow(driver):
    """A driver that sleeps, without the interpreter's lock, for as many microseconds as the number
    of the graph that it is given, or of the stream that it is asked for.
    """
    driver.kept = as_functions(driver)
    usleep = ctypes.cast(LIBC.usleep, ctypes.c_void_p).value
    return CudaDriver(
        {**addresses(driver.kept), "cuStreamQuery": usleep, "cuGraphLaunch": usleep}
    )  # fmt: skip


def other_runs_during(call):
    """Whether another thread runs Python while a call sleeps for `LONG`."""
    begun, ran = threading.Event(), []

    def run():
        begun.wait()
        ran.append(time.monotonic())

    other = threading.Thread(target=run)
    other.start()
    start = time.monotonic()
    begun.set()
    call()
    other.join()
    assert time.monotonic() - start >= LONG / 1e6
    return ran[0] - start < 0.7 * LONG / 1e6


def test_others_go_on_while_somebody_waits(slow):
    assert other_runs_during(lambda: slow.drain(77, LONG, 1))


def test_others_go_on_while_the_stream_is_full(slow):
    graph = Recorded()
    words, lane = ctypes.addressof(graph.words), graph.lane.address
    given = (words, [], "sync()", 0, graph.built, lane, 11, 0)
    assert other_runs_during(lambda: slow.submit_graph(77, 0, LONG, *given))


def test_a_driver_has_all_functions(driver):
    kept = as_functions(driver)
    whole = addresses(kept)
    assert set(whole) == set(CUDA_FUNCTIONS)
    for name in CUDA_FUNCTIONS:
        with pytest.raises(KeyError, match=name):
            CudaDriver({each: whole[each] for each in whole if each != name})
        for wrong in (0, None, "somewhere"):
            with pytest.raises(TypeError, match=name):
                CudaDriver({**whole, name: wrong})
    with pytest.raises(OverflowError):
        CudaDriver({**whole, "cuEventQuery": 1 << 70})
    for wrong in ((), (5,), (whole, whole)):
        with pytest.raises(TypeError):
            CudaDriver(*wrong)
    with pytest.raises(TypeError):
        object.__new__(CudaDriver)


WRONG = {
    "launch": (0, "x"),
    "submit_launch": ("x", 5, None, "x", "x", 5, "x", "x", "x"),
    "submit_begun": ("x", "x", "x", "x"),
    "submit_graph": ("x", "x", "x", "x", 5, None, "x", 5, "x", "x", "x"),
    "record_event": ("x", "x", "x"),
    "query_event": ("x", "x"),
    "query_stream": ("x", "x"),
    "drain": ("x", "x", "x"),
    "await_event": ("x", "x", "x"),
    "await_any": ("x", "x", "x", "x", "x", "x"),
}
"""Arguments that are not what they should be, each for itself."""


@pytest.mark.parametrize("name", WRONG)
def test_wrong_arguments_are_refused(driver, native, name):
    call = getattr(native, name)
    right = {"submit_launch": right_launch(), "submit_graph": right_graph()}.get(
        name, (1,) * len(WRONG[name])
    )
    for i, wrong in enumerate(WRONG[name]):
        if type(wrong) is not type(right[i]):
            with pytest.raises(TypeError, match=f"{name}|location"):
                call(*right[:i], wrong, *right[i + 1 :])
    with pytest.raises(TypeError, match="arguments"):
        call(*right, 1)
    with pytest.raises(TypeError, match="arguments"):
        call(*right[1:])
    assert driver.log == []


PLAIN, GRAPH = [], []


def right_launch():
    PLAIN.append(plain := Plain())
    return (
        ctypes.addressof(plain.shot), [], "fire()", 0, plain.row, pack("q", -5),
        plain.lane.address, 11, 0,
    )  # fmt: skip


def right_graph():
    GRAPH.append(graph := Recorded())
    return (
        77, 0, 5, ctypes.addressof(graph.words), [], "fire()", 0, graph.built, graph.lane.address,
        11, 0,
    )  # fmt: skip


def test_too_few_words_are_refused(driver, native):
    right = right_launch()
    for i in (4, 5):
        with pytest.raises(TypeError, match="words as bytes"):
            native.submit_launch(*right[:i], right[i][:-8], *right[i + 1 :])
    assert driver.log == []


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


class Slotted:
    __slots__ = ("active", "names", "waiting")


@pytest.mark.parametrize("wrong", [(), (5, 5, 5, 5), (object, Lane, Dues, 64), (5,) * 5])
def test_what_streams_are_must_have_their_slots(wrong):
    with pytest.raises((TypeError, AttributeError)):
        set_cuda_stream(*wrong)
    with pytest.raises((TypeError, AttributeError)):
        set_process(*wrong)


@pytest.mark.parametrize("which", range(3))
def test_what_the_process_notes_must_be_in_slots(which):
    given = [Slotted(), Slotted(), Slotted(), print]
    given[which] = SimpleNamespace(active=None, names={}, waiting=0)
    with pytest.raises((TypeError, AttributeError)):
        set_process(*given)


@pytest.mark.parametrize("dues", [5, int, Lane, SimpleNamespace(_items=())])
def test_what_a_stream_owes_must_be_in_slots(dues):
    with pytest.raises((TypeError, AttributeError)):
        set_cuda_stream(CudaStream, Lane, dues, 64)
