"""What the driver is asked, and what becomes of its errors; played by an object in its place."""

from __future__ import annotations

import ctypes

import pytest

from tilewright.tools import driver_probe

ATTRIBUTES = {driver_probe.MAJOR: 9, driver_probe.MINOR: 0, driver_probe.PROCESSORS: 132}


class FakeDriver:
    """Answers as a driver with one device does, but for the call that fails."""

    fails = ""

    def __getattr__(self, name):
        def call(*arguments):
            if name == self.fails:
                return 100
            getattr(type(self), f"do_{name}", lambda *a: None)(self, *arguments)
            return 0

        return call

    def do_cuDriverGetVersion(self, answer):  # noqa: N802 - the driver's names
        answer._obj.value = 13020

    def do_cuDeviceGetCount(self, answer):  # noqa: N802
        answer._obj.value = 1

    def do_cuDeviceGetName(self, buffer, size, handle):  # noqa: N802
        buffer.value = b"H200"

    def do_cuDeviceTotalMem_v2(self, answer, handle):  # noqa: N802
        answer._obj.value = 141 << 30

    def do_cuDeviceGetAttribute(self, answer, attribute, handle):  # noqa: N802
        answer._obj.value = ATTRIBUTES[attribute]

    def do_cuGetErrorName(self, status, name):  # noqa: N802
        name._obj.value = b"CUDA_ERROR_NO_DEVICE"


@pytest.fixture
def driver(monkeypatch):
    fake = FakeDriver()
    monkeypatch.setattr(ctypes, "CDLL", lambda name: fake)
    return fake


def test_version_and_devices(driver):
    assert driver_probe.ask() == {
        "version": 13020,
        "devices": [{"name": "H200", "arch": "sm_90", "memory": 141 << 30, "processors": 132}],
    }


def test_a_driver_without_devices_still_has_a_version(driver):
    driver.fails = "cuInit"
    assert driver_probe.ask() == {
        "version": 13020, "error": "cuInit: CUDA_ERROR_NO_DEVICE (100)",
    }  # fmt: skip


def test_one_that_says_nothing(driver):
    driver.fails = "cuDriverGetVersion"
    assert driver_probe.ask() == {"error": "cuDriverGetVersion: CUDA_ERROR_NO_DEVICE (100)"}


def test_no_driver():
    found = driver_probe.ask("libcuda-that-is-not-there.so")
    assert found["missing"] and "cannot be loaded" in found["error"]
