"""What is dropped while work that uses it is under way stays until the device has passed."""

from __future__ import annotations

import gc
import threading
import weakref

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
from support.gates import PATIENCE, new_gate
from tilewright import f32

N = 10_007


@tw.entry
def scale(z: tl.TensorMut[f32], x: tl.Tensor[f32], factor: f32) -> None:
    z.store(tl.load_tile_like(x, z) * factor)


@pytest.fixture(autouse=True, scope="module")
def loaded():
    """A driver that loads code may wait until no kernel runs; so behind a gate all is loaded."""
    x, z = tw.full((N,), 3.0).sync(), tw.zeros((N,)).sync()
    for given in (x, x[:], np.ones(N, "f4")):
        scale(z.partition_mut((256,)), given, 2.0).sync()
    scale(z.partition_mut((256,)), x, 2.0).graph().launch().sync()


class Array(np.ndarray):
    """Can be referred to weakly."""


def _tensors(x, z, stream):
    scale(z.partition_mut((256,)), x, 2.0).start_on(stream)


def _partition(x, z, stream):
    scale(z.partition((256,)), x, 2.0).start_on(stream)


def _future(x, z, stream):
    scale(z.partition_mut((256,)), x, 2.0).schedule(tw.SingleStream(stream))


def _spawned_chain(x, z, stream):
    tw.value(1).then(lambda _: scale(z.partition((256,)), x, 2.0)).start_on(stream)


def _graph(x, z, stream):
    scale(z.partition_mut((256,)), x, 2.0).graph().launch().start_on(stream)


def _view(x, z, stream):
    scale(z.partition_mut((256,)), x[:], 2.0).start_on(stream)


def _moved(x, z, stream):
    scale(z.partition_mut((256,)), tw.move(x), 2.0).start_on(stream)


def _shared(x, z, stream):
    scale(z.partition_mut((256,)), tw.Arc(x), 2.0).start_on(stream)


@pytest.mark.parametrize(
    "begin", [_tensors, _partition, _future, _spawned_chain, _graph, _view, _moved, _shared]
)
def test_dropped_memory_is_kept_until_the_device_has_passed(begin):
    stream, gate = tw.default_device().new_stream(), new_gate()
    x, z = tw.full((N,), 3.0).sync(), tw.zeros((N,)).sync()
    memory = [weakref.ref(t.region.storage) for t in (x, z)]
    gate.put_on(stream)
    begin(x, z, stream)
    address = z.region.address
    del x, z
    gc.collect()
    assert all(ref() is not None for ref in memory)
    others = [tw.full((N,), float("nan")).sync() for _ in range(8)]
    assert address not in [other.region.address for other in others]
    gate.open()
    assert stream.record().wait(PATIENCE)
    tw.synchronize()
    gc.collect()
    assert all(ref() is None for ref in memory)
    del others


def test_results_are_right_although_everything_else_was_dropped():
    stream, gate = tw.default_device().new_stream(), new_gate()
    w = tw.full((N,), float("nan")).sync()
    gate.put_on(stream)
    x, z = tw.full((N,), 3.0).sync(), tw.zeros((N,)).sync()
    scale(z.partition_mut((256,)), x, 2.0).start_on(stream)
    scale(w.partition_mut((256,)), z, 2.0).start_on(stream)
    del x, z
    gc.collect()
    others = [tw.full((N,), float("nan")).sync() for _ in range(8)]
    gate.open()
    np.testing.assert_array_equal(w.to_numpy(), np.full(N, 12.0, "f4"))
    del others


def test_a_foreign_owner_is_kept():
    stream, gate = tw.default_device().new_stream(), new_gate()
    x = np.full(N, 3.0, "f4").view(Array)
    owner, z = weakref.ref(x), tw.zeros((N,)).sync()
    gate.put_on(stream)
    scale(z.partition_mut((256,)), x, 2.0).start_on(stream)
    del x
    gc.collect()
    assert owner() is not None
    gate.open()
    np.testing.assert_array_equal(z.to_numpy(), np.full(N, 6.0, "f4"))
    stream.synchronize()
    gc.collect()
    assert owner() is None


def test_work_goes_on_when_the_thread_that_started_it_has_ended():
    stream, gate, z = tw.default_device().new_stream(), new_gate(), tw.zeros((N,)).sync()
    gate.put_on(stream)

    def work():
        x = tw.full((N,), 3.0).sync()
        scale(z.partition_mut((256,)), x, 2.0).start_on(stream)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join(PATIENCE)
    assert not thread.is_alive()
    gate.open()
    np.testing.assert_array_equal(z.to_numpy(), np.full(N, 6.0, "f4"))


def test_metadata_waits_for_nothing():
    stream, gate = tw.default_device().new_stream(), new_gate()
    x, z = tw.ones((N,)).sync(), tw.zeros((N,)).sync()
    gate.put_on(stream)
    scale(z.partition_mut((256,)), x, 2.0).start_on(stream)
    described = (z.shape, z.strides, z.dtype, z.ndim, z.size, z.nbytes, z.device, repr(z))
    assert described[:2] == ((N,), (1,)) and z.device_pointer().address == z.region.address
    assert not stream.idle()
    gate.open()
    z.to_numpy()
