"""What native code is given: wrong arguments are refused, and other threads go on meanwhile."""

from __future__ import annotations

import ctypes
import threading
import time
from struct import pack
from types import SimpleNamespace

import pytest

from support.native_cuda import addresses, as_functions
from support.native_driver import Plain
from tilewright._core import CUDA_FUNCTIONS, CudaDriver, set_cuda_stream, set_process
from tilewright.devices.completion_callbacks import CompletionCallbacks
from tilewright.devices.cuda.stream import CudaStream
from tilewright.devices.timeline import Timeline

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
    right = right_launch() if name == "submit_launch" else (1,) * len(WRONG[name])
    for i, wrong in enumerate(WRONG[name]):
        if type(wrong) is not type(right[i]):
            with pytest.raises(TypeError, match=f"{name}|location"):
                call(*right[:i], wrong, *right[i + 1 :])
    with pytest.raises(TypeError, match="arguments"):
        call(*right, 1)
    with pytest.raises(TypeError, match="arguments"):
        call(*right[1:])
    assert driver.log == []


PLAIN = []


def right_launch():
    PLAIN.append(plain := Plain())
    return (
        ctypes.addressof(plain.plan), [], "submit()", 0, plain.row, pack("q", -5),
        plain.timeline.address, 11, 0,
    )  # fmt: skip


def test_too_few_words_are_refused(driver, native):
    right = right_launch()
    for i in (4, 5):
        with pytest.raises(TypeError, match="words as bytes"):
            native.submit_launch(*right[:i], right[i][:-8], *right[i + 1 :])
    assert driver.log == []


class Slotted:
    __slots__ = ("active", "names", "waiting")


@pytest.mark.parametrize(
    "wrong", [(), (5, 5, 5, 5), (object, Timeline, CompletionCallbacks, 64), (5,) * 5]
)
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


@pytest.mark.parametrize("callbacks", [5, int, Timeline, SimpleNamespace(_items=())])
def test_what_a_stream_owes_must_be_in_slots(callbacks):
    with pytest.raises((TypeError, AttributeError)):
        set_cuda_stream(CudaStream, Timeline, callbacks, 64)
