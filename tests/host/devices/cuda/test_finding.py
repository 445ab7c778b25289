"""What is said of a driver that is missing, too old, or without devices."""

from __future__ import annotations

import ctypes
import sys
from types import SimpleNamespace

import pytest

from tilewright.base.errors import ContextError
from tilewright.devices.cuda import finding
from tilewright.devices.cuda.finding import NoDriverError, load_driver


def package(status=0, version=13000):
    """cuda.bindings.driver, as far as it is asked before the driver is known to be good."""
    return SimpleNamespace(
        cuInit=lambda flags: (status,),
        cuDriverGetVersion=lambda: (0, version),
        CUresult=int,
        cuGetErrorName=lambda status: (0, b"CUDA_ERROR_SYSTEM_DRIVER_MISMATCH"),
        cuGetErrorString=lambda status: (0, b"system has unsupported driver"),
    )


@pytest.fixture
def give(monkeypatch):
    """Let there be a library, and a package of our own."""

    def give(found):
        monkeypatch.setattr(ctypes, "CDLL", lambda name: object())
        monkeypatch.setattr(finding.importlib, "import_module", lambda name: found)

    return give


@pytest.mark.parametrize(("version", "text"), [(12080, "12.8"), (12090, "12.9"), (0, "0.0")])
def test_an_old_driver_is_named_with_what_is_needed(give, version, text):
    give(package(version=version))
    with pytest.raises(ContextError, match="the CUDA driver is too old") as caught:
        load_driver()
    assert caught.value.expected == "one for CUDA 13.0 or newer"
    assert caught.value.got == f"one for CUDA {text}"
    assert caught.value.hint == "install NVIDIA's driver 580 or newer"


def test_a_driver_without_devices(give):
    give(package(status=100))
    with pytest.raises(NoDriverError, match="no NVIDIA GPU that it can use"):
        load_driver()


def test_a_driver_that_does_not_start(give):
    give(package(status=803))
    with pytest.raises(ContextError, match="does not start") as caught:
        load_driver()
    assert caught.value.got == "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH: system has unsupported driver"


def test_without_a_library_the_package_is_not_asked(give, monkeypatch):
    give(None)

    def missing(name):
        raise OSError(f"{name}: cannot open shared object file")

    monkeypatch.setattr(ctypes, "CDLL", missing)
    with pytest.raises(NoDriverError, match="no CUDA driver here") as caught:
        load_driver()
    assert "cannot open shared object file" in caught.value.got


def test_on_other_systems_there_is_none(give, monkeypatch):
    give(None)
    monkeypatch.setattr(sys, "platform", "darwin")
    with pytest.raises(NoDriverError, match="none is made for darwin"):
        load_driver()


def test_a_missing_package_is_named(give, monkeypatch):
    give(None)

    def missing(name):
        raise ImportError(f"No module named {name!r}")

    monkeypatch.setattr(finding.importlib, "import_module", missing)
    with pytest.raises(ContextError, match="cuda-bindings, which calls the CUDA driver, is miss"):
        load_driver()
