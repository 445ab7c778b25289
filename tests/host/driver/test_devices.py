from __future__ import annotations

import pytest

import tilewright as tw
from support.fake_cuda import FakeCuda
from tilewright.base.config import override
from tilewright.base.errors import ContextError
from tilewright.driver import devices
from tilewright.driver.cuda.finding import ForkedError, NoDriverError
from tilewright.driver.devices import all_devices, best_device, get_device
from tilewright.driver.host import CPU, NULL, REFERENCE


@pytest.fixture
def driver(monkeypatch):
    """What is found when the driver is looked for: a fake, or an error."""

    def found(driver):
        def find():
            if isinstance(driver, Exception):
                raise driver
            return driver

        monkeypatch.setattr(devices, "find_driver", find)
        monkeypatch.setattr(devices._Gpus, "found", None)

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


def test_gpus_by_name(driver):
    driver(FakeCuda(2))
    first, second = devices.gpus()
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
        RuntimeWarning, match="runs on the CPU .*the package is missing.*pip install"
    ):
        assert best_device() is CPU
    assert all_devices() == (CPU, REFERENCE, NULL)


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
