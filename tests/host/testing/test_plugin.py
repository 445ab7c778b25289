from __future__ import annotations

import numpy as np

import tilewright as tw
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
    assert tw.default_device().name == "cpu"
