from __future__ import annotations

import sys
import warnings

import pytest

import tilewright as tw
from support.fake_cuda import FakeCuda
from tilewright.base.config import override
from tilewright.base.errors import ContextError
from tilewright.devices import registry
from tilewright.devices.cuda.finding import ForkedError, NoDriverError
from tilewright.devices.host import CPU, NULL, REFERENCE
from tilewright.devices.registry import all_devices, best_device, get_device


@pytest.fixture
def driver(monkeypatch):
    """What is found when the driver is looked for: a fake, or an error."""

    def found(driver):
        def find():
            if isinstance(driver, Exception):
                raise driver
            return driver

        monkeypatch.setattr(registry, "find_driver", find)
        monkeypatch.setattr(registry._Gpus, "found", None)

    return found


def test_devices_of_the_host_by_name(driver):
    driver(NoDriverError("no driver"))
    assert get_device("cpu") is CPU
    assert get_device("reference") is REFERENCE
    assert get_device("null") is NULL
    assert all_devices() == (CPU, REFERENCE, NULL)
    with pytest.raises(ContextError, match="there is no device 'gpu'"):
        get_device("gpu")


def test_without_a_gpu_the_cpu_is_best(driver):
    driver(NoDriverError("no driver"))
    assert best_device() is CPU
    with pytest.raises(NoDriverError):
        get_device("cuda")


def test_devices_by_number(driver):
    driver(FakeCuda(2))
    first, second = registry.gpus()
    assert tw.device_count() == 2
    assert tw.Device(0) is tw.Device() is tw.Device.new(0) is first
    assert tw.Device(1) is tw.Device("cuda:1") is tw.Device(second) is second
    assert tw.Device("cpu") is CPU
    assert [device.ordinal for device in (first, second)] == [0, 1]
    assert (first.model, second.model) == ("Fake 0", "Fake 1")
    for number in (2, -1):
        with pytest.raises(ContextError, match=f"no GPU of the number {number}") as caught:
            tw.Device(number)
        assert caught.value.device_id == number
    with pytest.raises(ContextError, match="there is no device 'cuda:7'") as caught:
        get_device("cuda:7")
    assert caught.value.device_id == 7
    with pytest.raises(ContextError, match="True is not a device"):
        tw.Device(True)


def test_numbers_of_devices_where_there_are_no_gpus(driver):
    driver(NoDriverError("no driver"))
    assert tw.device_count() == 0
    with pytest.raises(NoDriverError) as caught:
        tw.Device(0)
    assert caught.value.device_id == 0
    for device in (CPU, REFERENCE, NULL):
        assert device.ordinal is None and device.model
        assert isinstance(device, tw.Device)


def test_a_class_that_is_a_device_is_made_as_all_are():
    class Own(tw.Device):
        def __init__(self, word: str) -> None:
            self.word = word

    assert Own("made").word == "made"


def test_gpus_by_name(driver):
    driver(FakeCuda(2))
    first, second = registry.gpus()
    assert best_device() is first
    assert get_device("cuda") is get_device("cuda:0") is first
    assert get_device("cuda:1") is second
    assert all_devices() == (CPU, REFERENCE, NULL, first, second)
    with pytest.raises(ContextError, match="there is no device 'cuda:2'") as caught:
        get_device("cuda:2")
    assert '"cuda:1"' in caught.value.expected


def test_listing_devices_opens_none(driver):
    fake = FakeCuda()
    driver(fake)
    all_devices()[-1].synchronize()
    assert not fake.contexts


def test_a_driver_without_its_package_is_told_of(driver):
    driver(ContextError("the package is missing", got="no module", hint="pip install it"))
    with pytest.warns(
        RuntimeWarning, match="the CPU is the default device: the package is missing.*pip install"
    ):
        assert best_device() is CPU
    assert all_devices() == (CPU, REFERENCE, NULL)


def test_that_ends_nothing_where_warnings_are_errors(driver, monkeypatch):
    heard = []
    monkeypatch.setattr(sys, "unraisablehook", lambda given: heard.append(str(given.exc_value)))
    driver(ContextError("the package is missing", got="no module", hint="pip install it"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert best_device() is CPU
    assert len(heard) == 1 and "the package is missing" in heard[0]


def test_a_child_does_not_go_to_the_cpu_without_a_word(driver):
    driver(ForkedError("a child"))
    with pytest.raises(ForkedError):
        best_device()


def test_the_default_device_is_the_first_gpu(driver, monkeypatch):
    driver(FakeCuda())
    monkeypatch.setattr("tilewright.op.ambient._Process.best", None)
    with override(device=""):
        assert tw.default_device().name == "cuda:0"
    with tw.device("cpu"):
        assert tw.default_device() is CPU
