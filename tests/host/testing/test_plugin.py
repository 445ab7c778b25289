from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
from tilewright import f32
from tilewright.testing.plugin import null_device as null_device


def test_the_null_device_is_the_default_and_records(null_device):
    t = tw.zeros((3,)).sync()
    assert t.device is null_device
    t.copy_from(np.ones(3, np.float32)).sync()
    assert [entry.kind for entry in null_device.entries] == ["copy"]
    assert t.to_numpy().tolist() == [0, 0, 0]  # nothing was done


def test_work_in_flight_can_be_looked_at(null_device):
    t = tw.zeros((3,)).sync()
    null_device.hold()
    copy = t.dup().start()
    assert copy.shape == (3,)
    assert [entry.kind for entry in null_device.entries] == ["copy"]
    null_device.release()
    assert copy.to_numpy().tolist() == [0, 0, 0]


def test_each_test_begins_afresh(null_device):
    assert null_device.entries == []
    assert tw.default_device() is null_device


def test_outside_of_it_nothing_changes():
    assert tw.default_device().name != "null"


@tw.entry
def double(out: tl.TensorMut[f32], x: tl.Tensor[f32]) -> None:
    out.store(tl.load_tile_like(x, out) * 2)


def test_a_pipeline_is_tested_without_running_it(null_device):
    x = tw.zeros((1000,)).sync()
    op = double(tw.empty((1000,)).partition((256,)), x).out().then(lambda t: t.dup())
    assert op.sync().shape == (1000,)
    launch, copy = null_device.entries
    assert str(launch) == f"stream {launch.stream}: launch double over (4, 1, 1)"
    assert (copy.kind, copy.stream) == ("copy", launch.stream)
    with pytest.raises(tw.ShapeError, match="wrong element type"):
        double(tw.empty((4,), tw.i32).partition((4,)), x).sync()


def test_a_graph_of_noted_launches(null_device):
    z, x = tw.zeros((8,)).sync(), tw.zeros((8,)).sync()
    with tw.CudaGraph.scope(null_device.new_stream()) as scope:
        scope.record(double(z.partition_mut((8,)), x))
    assert null_device.entries == []
    scope.graph.launch().sync()
    assert len(null_device.entries) == 1
