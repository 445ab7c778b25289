"""A device, as it is in the process that opened it and in its children."""

from __future__ import annotations

import os
import threading
import warnings

import numpy as np
import pytest

import tilewright as tw
from tilewright.base.errors import ContextError

PTX = b".version 7.0\n.target sm_80\n"


def in_child(work):
    """What a forked child has to say."""
    reader, writer = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # there are threads of other tests
        child = os.fork()
    if child == 0:
        try:
            os.write(writer, "\n".join(work()).encode())
        except BaseException as error:
            os.write(writer, repr(error).encode())
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as found:
        said = found.read().split("\n")
    os.waitpid(child, 0)
    return said


OF_TENSORS = {
    "to_numpy": lambda device, t: t.to_numpy(),
    "empty to_numpy": lambda device, t: t[:0].to_numpy(),
    "item": lambda device, t: t[0].item(),
    "dup": lambda device, t: t.dup().sync(),
    "to": lambda device, t: t.to("cpu").sync(),
    "copy_from": lambda device, t: t.borrow_mut().copy_from(np.ones(3, "f4")).sync(),
    "__dlpack__": lambda device, t: t.__dlpack__(),
}
OF_DEVICES = {
    "zeros": lambda device, t: tw.zeros((3,), device=device).sync(),
    "from_numpy": lambda device, t: tw.from_numpy(np.ones(3), device=device).sync(),
    "allocate": lambda device, t: device.allocate(3, zeroed=False),
    "streams": lambda device, t: device.streams(),
    "new_stream": lambda device, t: device.new_stream(),
    "synchronize": lambda device, t: device.synchronize(),
    "load_module": lambda device, t: device.load_module(PTX),
    "pool": lambda device, t: device.pool.stats(),
    "model": lambda device, t: device.model,
    "blocks_at_once": lambda device, t: device.blocks_at_once,
    "prepare": lambda device, t: device.prepare(),
}
OF_STREAMS = {
    "synchronize": lambda stream, _: stream.synchronize(),
    "idle": lambda stream, _: stream.idle(),
    "wait": lambda stream, _: tw.zeros((3,), device=stream.device).sync_on(stream),
}
"""Of streams without work: whether any is under way need not be asked of the driver."""


def told(use, device, tensor):
    try:
        use(device, tensor)
    except ContextError as error:
        return f"{error.message} | {error.hint}"
    return "nothing"


def test_children_are_told_whatever_they_ask_of_the_parents_device(fake_gpus):
    used, unused = fake_gpus
    t = tw.from_numpy(np.ones(3, "f4"), device=used).sync()
    other = tw.zeros((3,), device="cpu").sync()
    fresh, idle = used.new_stream(), used.new_stream()
    tw.zeros((3,), device=used).sync_on(idle)

    def work():
        said = [told(use, used, t) for use in (*OF_TENSORS.values(), *OF_DEVICES.values())]
        said += [told(use, stream, t) for use in OF_STREAMS.values() for stream in (fresh, idle)]
        said += [told(use, unused, None) for use in OF_DEVICES.values()]
        return [*said, str(other.to_numpy())]

    spawn = 'start processes with multiprocessing.get_context("spawn")'
    line = "cuda:{} of the parent process cannot be used in a forked child | " + spawn
    first = [line.format(0)] * (len(OF_TENSORS) + len(OF_DEVICES) + 2 * len(OF_STREAMS))
    second = [line.format(1)] * len(OF_DEVICES)
    assert in_child(work) == [*first, *second, "[0. 0. 0.]"]
    assert np.array_equal(t.to_numpy(), np.ones(3)), "the parent goes on"


def test_a_child_may_drop_what_its_parent_had(fake_gpus):
    kept = [tw.from_numpy(np.ones(3, "f4"), device=fake_gpus[0]).sync()]
    kept.append(fake_gpus[0].new_stream())

    def work():
        kept.clear()
        return ["dropped"]

    assert in_child(work) == ["dropped"]


def test_a_child_of_a_thread_that_opens_the_device_is_told(fake_gpu):
    """The lock it would wait for is held by nobody in the child."""
    held, go = threading.Event(), threading.Event()

    def hold():
        with fake_gpu._making:
            held.set()
            go.wait(60)

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait(60)
    try:
        said = in_child(lambda: [told(OF_DEVICES["streams"], fake_gpu, None)])
    finally:
        go.set()
        thread.join()
    assert "cannot be used in a forked child" in said[0]


def test_a_lost_device_is_not_synchronized(fake_gpu, fake_cuda):
    fake_gpu.streams()
    fake_cuda.lost = 700
    stream = fake_gpu.streams()[0]
    with pytest.raises(tw.DriverError, match="has failed on cuda:0"):
        tw.zeros((3,), device=fake_gpu).sync_on(stream)
    with pytest.raises(tw.DriverError, match="has failed on cuda:0"):
        fake_gpu.synchronize()
