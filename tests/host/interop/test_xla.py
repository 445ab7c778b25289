from __future__ import annotations

import _thread
import ctypes
import operator
from functools import partial

import numpy as np
import pytest

from tilewright import bf16, f32
from tilewright._core import XLA_INTERRUPTED, XlaHandler
from tilewright.interop import xla

ERROR = 4711
KINDS = {1: ctypes.c_bool, 5: ctypes.c_int64, 12: ctypes.c_double}


class Call:
    """A call as XLA makes it: structures in memory, which it keeps."""

    def __init__(self, run, *, stage=xla.EXECUTE):
        self.messages, self.kept = [], []
        self.handler = xla.handler(run, (0, 3))
        self.new_error, self.get_stream = xla._CALL(self._new_error), xla._CALL(self._get_stream)
        api = xla._Api()
        api.create_error = ctypes.cast(self.new_error, ctypes.c_void_p)
        api.get_stream = ctypes.cast(self.get_stream, ctypes.c_void_p)
        self.frame = xla._Frame(stage=stage, api=ctypes.addressof(api), context=77)
        self.kept.append(api)

    def _new_error(self, address):
        self.messages.append(xla._NewError.from_address(address).message.decode())
        return ERROR

    def _get_stream(self, address):
        asked = xla._Stream.from_address(address)
        assert asked.context == 77
        asked.stream = 1234
        return

    def buffers(self, field, *arrays):
        made = []
        for array, dtype in arrays:
            dims = (ctypes.c_int64 * array.ndim)(*array.shape)
            number = next(n for n, known in xla.DTYPES.items() if known is dtype)
            made.append(xla._Buffer(0, None, number, array.ctypes.data, array.ndim, dims))
            self.kept += [array, dims]
        items = (ctypes.c_void_p * len(made))(*[ctypes.addressof(each) for each in made])
        self.kept += [made, items]
        found = getattr(self.frame, field)
        found.size, found.items = len(made), items

    def numbers(self, **values):
        names, items = [], []
        for name, value in values.items():
            number = {bool: 1, int: 5, float: 12}[type(value)]
            held = KINDS[number](value)
            text = ctypes.create_string_buffer(name.encode())
            names.append(xla._Span(ctypes.addressof(text), len(name)))
            items.append(xla._Scalar(number, ctypes.addressof(held)))
            self.kept += [held, text]
        self.kept += [names, items]
        given = self.frame.attributes
        given.size = len(values)
        given.types = (ctypes.c_int * len(values))(*[xla.SCALAR] * len(values))
        given.names = (ctypes.c_void_p * len(values))(*map(ctypes.addressof, names))
        given.items = (ctypes.c_void_p * len(values))(*map(ctypes.addressof, items))

    def __call__(self):
        return self.handler(ctypes.addressof(self.frame))


def test_arrays_numbers_and_the_stream_of_a_call():
    seen = []

    def run(frame):
        seen.append((frame.arguments, frame.results, frame.numbers, frame.stream()))

    call = Call(run)
    x, y = np.zeros((3, 4), np.float32), np.zeros((0, 7), np.uint16)
    call.buffers("arguments", (x, f32), (y, bf16))
    call.buffers("results", (x, f32))
    call.numbers(factor=2.5, count=-3, flag=True)
    assert call() is None
    ((arguments, results, numbers, stream),) = seen
    assert arguments[0] == results[0] == (f32, (3, 4), x.ctypes.data)
    assert arguments[1][:2] == (bf16, (0, 7))
    assert numbers == {"factor": 2.5, "count": -3, "flag": True}
    assert stream == 1234


def test_what_a_call_raises_is_told():
    def run(frame):
        raise ValueError("one and\nanother line")

    call = Call(run)
    assert call() == ERROR
    assert call.messages == ["ValueError: one and\nanother line"]


def test_what_ends_programs_is_told_as_well():
    """XLA's threads must not be left by it; the message may have what no text in bytes has."""

    def run(frame):
        raise SystemExit("so \udcff")

    call = Call(run)
    assert call() == ERROR
    assert call.messages == ["SystemExit: so ?"]


def go_on():
    """Somewhere here Python notices an interrupt."""
    return sorted(str(each) for each in range(10))


def interrupted(call, begin):
    """Whether an interrupt came behind a call that failed for it."""
    answers = []
    with pytest.raises(KeyboardInterrupt):  # noqa: PT012 - it may come at any of these lines
        answers.append(begin(ctypes.addressof(call.frame)))
        go_on()
    return answers in ([], [ERROR]) and call.messages == [XLA_INTERRUPTED]


def test_an_interrupt_waits_until_xla_was_told():
    def run(frame):
        _thread.interrupt_main()
        go_on()
        pytest.fail("it came before")

    call = Call(run)
    assert interrupted(call, call.handler)


def test_an_interrupt_before_the_first_line_is_an_answer_too():
    call = Call(lambda frame: pytest.fail("it came before"))

    def begin(address):
        # Nothing but native code is between the interrupt and the handler.
        steps = (_thread.interrupt_main, partial(call.handler, address))
        return list(map(operator.call, steps))[1]

    assert interrupted(call, begin)


@pytest.mark.parametrize("result", [None, "0"])
def test_what_is_no_answer_is_a_failure(result):
    call = Call(None)
    call.handler = xla._CALL(XlaHandler(lambda address: result))
    assert interrupted(call, call.handler)


@pytest.mark.parametrize("given", [(), (1, 2), ("x",)])
def test_a_handler_takes_the_address_of_a_frame(given):
    with pytest.raises(TypeError):
        XlaHandler(print)(*given)
    with pytest.raises(TypeError, match="takes a callable, got int"):
        XlaHandler(1)


@pytest.mark.parametrize("stage", [0, 1, 2])
def test_other_stages_need_nothing(stage):
    call = Call(lambda frame: pytest.fail("it is not run"), stage=stage)
    assert call() is None


def test_the_version_is_said():
    """It follows the size of the structure that is filled."""
    call = Call(lambda frame: pytest.fail("it is not run"))
    room = (ctypes.c_int64 * 8)()
    asked = xla._Extension(0, xla.METADATA, None, ctypes.addressof(room))
    call.frame.extension = ctypes.addressof(asked)
    assert call() is None
    said = xla._Version.from_address(ctypes.addressof(room) + 8)
    assert (said.major, said.minor) == (0, 3)
