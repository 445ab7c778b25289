"""While a thread captures work, it cannot read memory: what is recorded has not run."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
from op_kit import WATCHDOG
from tilewright import f32
from tilewright.op.nesting import RECORDERS


@pytest.fixture(autouse=True)
def device(tilewright_device):
    yield tilewright_device
    assert not RECORDERS


@tw.entry
def scale(z: tl.TensorMut[f32], x: tl.Tensor[f32], factor: f32) -> None:
    z.store(tl.load_tile_like(x, z) * factor)


def some():
    return tw.from_numpy(np.random.default_rng(3).random(4).astype("f4")).sync()


READS = {
    "to_numpy": lambda t: t.to_numpy(),
    "item": lambda t: t[0].item(),
    "asarray": np.asarray,
    "array": np.array,
    "from_dlpack": np.from_dlpack,
    "copied by dlpack": lambda t: np.from_dlpack(t, copy=True),
    "array interface": lambda t: t.__array_interface__,
    "of an Arc": lambda t: tw.Arc(t).to_numpy(),
    "host write": lambda t: t.borrow_mut().numpy(),
    "dlpack for writing": lambda t: np.from_dlpack(t.borrow_mut()),
}


@pytest.fixture(params=READS)
def read(request, device):
    if not device.host_visible and request.param not in ("to_numpy", "item", "of an Arc"):
        pytest.skip("the host does not see this memory")
    return READS[request.param]


REFUSED = r"cannot read .* is being captured, and what is recorded has not run"


@pytest.mark.parametrize("make", [tw.zeros, tw.empty], ids=["zeros", "empty"])
@pytest.mark.parametrize("verb", ["map", "inspect"])
def test_functions_of_a_captured_op_read_nothing(make, verb, read):
    x = some()
    op = getattr(scale(make((4,)).partition((4,)), x, 2.0).out(), verb)(read)
    with pytest.raises(tw.DeviceError, match=REFUSED):
        op.graph()
    np.testing.assert_array_equal(x.to_numpy(), some().to_numpy())


@pytest.mark.parametrize("make", [tw.zeros, tw.empty], ids=["zeros", "empty"])
def test_a_scope_reads_nothing(make, read, device):
    x, z = some(), make((4,)).sync()
    with tw.CudaGraph.scope(device.new_stream()) as scope:
        scope.record(scale(z.partition_mut((4,)), x, 2.0))
        for tensor in (z, x):
            with pytest.raises(tw.DeviceError, match=REFUSED):
                read(tensor)
    scope.graph.launch().sync()
    np.testing.assert_array_equal(z.to_numpy(), x.to_numpy() * 2)


def test_reading_is_allowed_again_after_a_capture_that_failed():
    x = some()
    with pytest.raises(ZeroDivisionError):
        scale(tw.zeros((4,)).partition((4,)), x, 2.0).map(lambda *_: 1 // 0).graph()
    assert x.to_numpy().shape == (4,)
    with pytest.raises(ZeroDivisionError), tw.CudaGraph.scope(tw.default_device().new_stream()):
        1 // 0  # noqa: B018 - it fails
    assert x.to_numpy().shape == (4,)


def test_what_will_be_written_is_read_by_what_is_recorded_and_by_nothing_else(device):
    x, y, z = some(), tw.empty((4,)).sync(), tw.empty((4,)).sync()
    found = []

    def meanwhile():
        with tw.device(device.name):
            for use in (y.to_numpy, scale(tw.zeros((4,)).partition((4,)), y, 2.0).sync):
                try:
                    found.append(use())
                except tw.BorrowError as error:
                    found.append("which nothing has written" in error.message)

    with tw.CudaGraph.scope(device.new_stream()) as scope:
        scope.record(scale(y.partition_mut((4,)), x, 2.0))
        thread = threading.Thread(target=meanwhile)
        thread.start()
        thread.join(WATCHDOG)
        scope.record(scale(z.partition_mut((4,)), y, 3.0))
    assert found == [True, True]
    for tensor in (y, z):
        with pytest.raises(tw.BorrowError, match="which nothing has written"):
            tensor.to_numpy()
    scope.graph.launch().sync()
    np.testing.assert_array_equal(z.to_numpy(), x.to_numpy() * 2 * 3)


def test_work_beside_the_capture_does_not_read_what_it_will_write(device):
    x, out = some(), tw.zeros((4,)).sync()

    def really(t):
        return tw.value(scale(out.partition_mut((4,)), t, 3.0).sync())

    def fetched(t):
        return tw.value(t.copy_to_host().sync())

    for run, problem in ((really, "which nothing has written"), (fetched, "cannot read")):
        with tw.unsafe():
            op = scale(tw.empty((4,)).partition((4,)), x, 2.0).out().then_unchecked(run)
        with pytest.raises(tw.Error, match=problem):
            op.graph()


@pytest.mark.parametrize(
    "build",
    [
        pytest.param(lambda x: tw.convert(x, tw.f64), id="convert"),
        pytest.param(lambda x: x.dup(), id="dup"),
        pytest.param(lambda x: tw.empty((4,)).then(lambda t: tw.fill(t, 3)), id="fill"),
        pytest.param(lambda x: tw.empty((4,)).then(lambda t: t.copy_from(x)), id="copy_from"),
    ],
)
def test_an_output_holds_nothing_before_the_first_launch(build):
    graph = build(some()).graph()
    output = graph.take_output()
    with pytest.raises(tw.BorrowError, match="which nothing has written"):
        output.to_numpy()
    graph.launch().sync()
    assert output.to_numpy().shape == (4,)
