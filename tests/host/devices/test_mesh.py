"""Meshes: positions, and axes that fit the devices."""

from __future__ import annotations

import pytest

import tilewright as tw


def test_positions_are_in_row_major_order():
    mesh = tw.Mesh(["cpu"] * 6, {"a": 2, "b": 3})
    assert mesh.size == 6
    assert [*mesh.positions()] == [{"a": a, "b": b} for a in range(2) for b in range(3)]
    assert mesh.extent("b") == 3
    assert repr(mesh) == "Mesh(a=2, b=3: cpu, cpu, cpu, cpu, cpu, cpu)"


def test_equal_meshes():
    mesh = tw.Mesh(["cpu", "reference"])
    assert mesh == tw.Mesh([tw.Device.new("cpu"), tw.Device.new("reference")], {"devices": 2})
    assert hash(mesh) == hash(tw.Mesh(["cpu", "reference"]))
    assert mesh != tw.Mesh(["reference", "cpu"])
    assert mesh != "mesh"


@pytest.mark.parametrize(
    ("devices", "axes", "message"),
    [
        (["cpu"], {"a": 2}, "larger than the devices"),
        (["cpu"] * 5, {"a": 2, "b": 2}, "smaller than the devices"),
        ([], None, "one device or more"),
        (["cpu"], {"a": 0}, "one position or more"),
    ],
)
def test_axes_that_do_not_fit(devices, axes, message):
    with pytest.raises(tw.Error, match=message) as caught:
        tw.Mesh(devices, axes)
    if axes == {"a": 2}:
        assert caught.value.expected == "2 devices for the axes {'a': 2}"
        assert caught.value.got == "1: cpu"


def test_unknown_names():
    with pytest.raises(tw.ContextError, match="no device 'cpu:"):
        tw.Mesh(["cpu", "cpu:99"])
    with pytest.raises(tw.ShapeError, match="no axis 'x'"):
        tw.Mesh(["cpu"]).extent("x")
