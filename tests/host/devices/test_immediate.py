from __future__ import annotations

import signal
import threading
from collections.abc import Generator
from contextlib import contextmanager

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
from support.interrupts import AlarmError, ends_within
from support.numbers import fresh_rng
from tilewright import i32
from tilewright.base.errors import DriverError
from tilewright.devices.host import REFERENCE
from tilewright.devices.immediate import ImmediateStream
from tilewright.devices.protocol import Block


def block(array):
    address = array.__array_interface__["data"][0]
    return Block(address, array.itemsize, array.shape, array.strides, host=True)


def test_work_of_several_threads_takes_turns():
    stream, inside = ImmediateStream(REFERENCE, 0), []

    def work():
        inside.append(1)
        assert len(inside) == 1
        inside.pop()

    threads = [
        threading.Thread(target=lambda: [stream.run(work) for _ in range(200)]) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert inside == []


def test_work_may_be_nested_and_gives_its_result():
    stream = ImmediateStream(REFERENCE, 0)
    assert stream.run(lambda: stream.run(lambda: 5)) == 5


def test_nothing_is_ever_in_flight():
    stream, seen = ImmediateStream(REFERENCE, 0), []
    stream.put(lambda: seen.append("work"))
    stream.after(lambda: seen.append("after"))
    assert seen == ["work", "after"]
    event = stream.record()
    assert stream.idle() and event.done() and event.wait(0.0) and event.stream is stream
    stream.wait_for(event)
    stream.sweep()
    stream.synchronize()


@pytest.mark.parametrize("shape", [(), (0,), (1,), (3, 0, 2), (5, 7), (2, 3, 5)])
@pytest.mark.parametrize("form", ["u1", "f2", "f4", "f8"])
def test_copies_between_strided_blocks(shape, form):
    stream = ImmediateStream(REFERENCE, 0)
    values = fresh_rng().integers(1, 100, shape)
    source = np.asfortranarray(values.astype(form))
    target = np.full((*shape[:-1], 2 * shape[-1]) if shape else (), 101, form)
    part = target[..., ::2] if shape else target
    stream.copy(block(part), block(source))
    np.testing.assert_array_equal(part, source)
    if shape:
        assert (target[..., 1::2] == 101).all()


def test_captured_work_runs_at_each_replay():
    stream, seen = ImmediateStream(REFERENCE, 0), []
    stream.begin_capture()
    assert stream.is_capturing
    stream.put(lambda: seen.append(1))
    stream.put(lambda: seen.append(2))
    with pytest.raises(DriverError, match="captured already"):
        stream.begin_capture()
    replay = stream.end_capture()
    assert seen == [] and replay.nodes == 2 and not stream.is_capturing
    replay.put_on(stream)
    replay.put_on(stream)
    assert seen == [1, 2, 1, 2]
    with pytest.raises(DriverError, match="not being captured"):
        stream.end_capture()


def test_fills_are_done_at_once():
    stream, array = ImmediateStream(REFERENCE, 0), np.zeros((4, 6), "f4")
    stream.fill(block(array[:, ::2]), np.float32(1.5).tobytes())
    assert (array[:, ::2] == 1.5).all() and not array[:, 1::2].any()
    with pytest.raises(DriverError, match="expected: an element of 4 bytes"):
        stream.fill(block(array), b"")


@tw.entry
def until_one(z: tl.TensorMut[i32], x: tl.Tensor[i32]) -> None:
    """Never ends where it begins with an even number."""
    n = x.load_tile((1,), [0]).item()
    while n != 1:
        n = n * 3 + 2
    z.store(tl.full((1,), n, i32))


@contextmanager
def alarm(seconds: float = 0.1) -> Generator[None, None, None]:
    """A block that a signal interrupts."""

    def give_up(*_: object) -> None:
        raise AlarmError

    before = signal.signal(signal.SIGALRM, give_up)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        with ends_within(60), pytest.raises(AlarmError):
            yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("ending", ["sync", "start", "result"])
def test_signals_stop_a_kernel_that_never_ends(ending):
    with tw.device("reference"):
        z = tw.zeros((1,), i32).sync()
        until_one(z.partition_mut((1,)), np.ones(1, np.int32)).sync()  # compiled
        for _ in range(2):
            with alarm():
                op = until_one(z.partition_mut((1,)), np.full(1, 4, np.int32))
                if ending == "result":
                    op.into_future().result()
                else:
                    getattr(op, ending)()
            tw.fill(z, 7).sync()
            until_one(z.partition_mut((1,)), np.ones(1, np.int32)).sync()
            assert z.to_numpy() == [1]


def test_so_they_do_in_a_replay():
    with tw.device("reference"):
        z, x = tw.zeros((1,), i32).sync(), tw.ones((1,), i32).sync()
        graph = until_one(z.partition_mut((1,)), x).graph()
        graph.launch().sync()
        x.copy_from(np.full(1, 4, np.int32)).sync()
        with alarm():
            graph.launch().sync()
        x.copy_from(np.ones(1, np.int32)).sync()
        graph.launch().sync()
        assert z.to_numpy() == [1]
