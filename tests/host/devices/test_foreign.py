"""Streams of other libraries, by the protocols that they speak."""

from __future__ import annotations

import gc
import weakref
from types import SimpleNamespace

import numpy as np
import pytest

from tilewright.base.errors import ContextError, SchedulingError
from tilewright.devices.foreign import foreign_stream
from tilewright.devices.protocol import LaunchConfig

PTX = b".version 7.0\n.target sm_80\n"


class Theirs:
    """A stream as CuPy and cuda.core have them."""

    def __init__(self, handle, version=0):
        self.handle, self.version = handle, version

    def __cuda_stream__(self):
        return self.version, self.handle


def made(fake, gpu):
    """A stream that another library has made on a device."""
    context = gpu.context
    return context.call(fake.create_stream)


def test_what_speaks_the_protocol_is_a_stream(fake_gpus, fake_cuda):
    for gpu in fake_gpus:
        handle = made(fake_cuda, gpu)
        found = foreign_stream(Theirs(handle))
        assert found.device is gpu and found.handle == handle
        assert found.__cuda_stream__() == (0, handle)
        assert repr(found) == f"Stream(device={gpu.name!r}, borrowed={handle:#x})"


def test_what_pytorch_has(fake_gpus, fake_cuda):
    handle = made(fake_cuda, fake_gpus[1])
    assert foreign_stream(SimpleNamespace(cuda_stream=handle)).device is fake_gpus[1]


@pytest.mark.parametrize("handle", [0, 1])
@pytest.mark.parametrize(
    "names",
    [
        {"device": SimpleNamespace(index=1)}, {"device": SimpleNamespace(device_id=1)},
        {"device_id": 1},
    ],
)  # fmt: skip
def test_the_default_stream_is_that_of_the_device_its_library_names(fake_gpus, names, handle):
    found = foreign_stream(SimpleNamespace(cuda_stream=handle, **names))
    assert found.device is fake_gpus[1] and found.handle == 1


def test_else_of_the_device_in_use(fake_gpus, fake_cuda):
    nameless = SimpleNamespace(cuda_stream=0, device_id=-1)
    assert foreign_stream(nameless).device is fake_gpus[0]
    fake_cuda.current = [fake_gpus[1].context.handle]
    assert foreign_stream(nameless).device is fake_gpus[1]


@pytest.mark.parametrize("x", [None, 7, "stream", object(), SimpleNamespace(cuda_stream=None)])
def test_what_is_none(fake_gpus, x):
    assert foreign_stream(x) is None


@pytest.mark.parametrize(
    "said", [None, 1234, "x", (0,), (1, 1234), (0, "x"), (0, -5), (0, 1 << 64), (0, 1234, 5)]
)
def test_what_is_no_answer_is_refused(fake_gpus, said):
    class Odd:
        def __cuda_stream__(self):
            return said

    with pytest.raises(SchedulingError, match="returned no stream") as caught:
        foreign_stream(Odd())
    assert caught.value.got == repr(said)


def test_an_attribute_is_an_answer(fake_gpu, fake_cuda):
    """As it was in the protocol's first days."""
    handle = made(fake_cuda, fake_gpu)
    assert foreign_stream(SimpleNamespace(__cuda_stream__=(0, np.int64(handle)))).handle == handle


def test_the_stream_of_each_thread_is_refused(fake_gpus):
    with pytest.raises(SchedulingError, match="default stream of each thread"):
        foreign_stream(SimpleNamespace(cuda_stream=2, device_id=0))


def test_one_that_another_library_captures_is_refused(fake_gpu, fake_cuda):
    theirs = Theirs(made(fake_cuda, fake_gpu))
    kept = foreign_stream(theirs)
    fake_cuda.begin_capture(theirs.handle)
    for _ in range(2):
        with pytest.raises(SchedulingError, match="another library is capturing"):
            foreign_stream(theirs)
    fake_cuda.end_capture(theirs.handle)
    assert foreign_stream(theirs) is kept


def test_a_stream_of_another_context_is_refused(fake_gpu, fake_cuda):
    fake_cuda.current = [70]
    theirs = Theirs(fake_cuda.create_stream())
    fake_cuda.current = []
    with pytest.raises(ContextError, match="another context of cuda:0") as caught:
        foreign_stream(theirs)
    assert (
        caught.value.got == "one of the context 0x46" and "Device.borrow_raw" in caught.value.hint
    )


def test_the_same_stream_is_one_stream_while_somebody_has_it(fake_gpu, fake_cuda):
    handle = made(fake_cuda, fake_gpu)
    first, second = Theirs(handle), Theirs(handle)
    found = foreign_stream(first)
    assert foreign_stream(second) is found
    alive = weakref.ref(first)
    del first
    gc.collect()
    assert alive() is not None, "its owner is kept alive"
    del found
    gc.collect()
    assert alive() is None
    assert foreign_stream(second).handle == handle


def test_a_borrowed_stream_is_neither_destroyed_nor_used_for_others(fake_gpu, fake_cuda):
    handle = made(fake_cuda, fake_gpu)
    stream = foreign_stream(Theirs(handle))
    fake_cuda.kernels["f"] = lambda values, grid: None
    fake_gpu.load_module(PTX).load_function("f").put_on(stream, LaunchConfig((1,)), [])
    stream.synchronize()
    del stream
    gc.collect()
    assert ("stream", handle) not in fake_cuda.ended
    assert handle not in [fake_gpu.new_stream().handle for _ in range(3)]
