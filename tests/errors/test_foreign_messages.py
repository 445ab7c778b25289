"""Every wrong use of kernels of others gets its own message; nothing is launched, nothing leaks."""

from __future__ import annotations

import gc
import inspect
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tilewright as tw
from errors.programs_foreign import PROGRAMS
from host.launch.test_foreign import PTX, Interface, run_scale
from support.native_cuda import NativeCuda
from support.numbers import fresh_rng
from tilewright import simt
from tilewright.devices import registry
from tilewright.devices.cuda.device import CudaDevice
from tilewright.devices.cuda.results import INVALID_PTX
from tilewright.devices.registry import get_device
from tilewright.frontend.capture.sources import execute
from tilewright.interop import cuda

KERNELS = """
with tw.unsafe():
    @cuda.kernel(function)
    def scale(out: simt.DisjointSlice[f32], x: simt.Slice[f32], n: u32, factor: f32) -> None: ...

@simt.kernel
def product(c: simt.DisjointSlice[f32], a: simt.Slice[f32], m: i32, k: i32) -> None:
    assert len(a) >= m * k
    i = simt.index_1d()
    if i < len(c):
        c[i] = a[i]
"""
OUR_OWN = ("fill_", "copy_")
"""Kernels that the device is prepared with."""

KEEPING_CLASSES = ("_shadowed_dict_from_mro_tuple",)
"""Functions of `inspect` in Python 3.12 that keep classes which were compared with a protocol, and
with a class the names of its program."""


class Machine:
    """Two GPUs in Python, and what the programs find there."""

    def __init__(self, driver: Any, gpus: Any) -> None:
        self.driver, (self.gpu, self.other) = driver, gpus
        driver.kernels["scale"], driver.parameters["scale"] = run_scale, (8, 8, 4, 4)
        driver.kernels["look"] = driver.kernels["product"] = lambda values, grid: None
        module = tw.load_module_from_ptx(PTX, self.gpu)
        self.function, self.look = module.load_function("scale"), module.load_function("look")
        self.names = self._names()
        execute(KERNELS.strip("\n"), self.names)
        self.run_right()

    def _names(self) -> dict[str, Any]:
        types = {t.__name__: t for t in tw.base.dtypes.ALL}
        known = {name: getattr(self, name) for name in ("driver", "gpu", "other", "function")}
        return {**types, **known, "look": self.look, "np": np, "tw": tw, "simt": simt, "PTX": PTX,
                "cuda": cuda, "Interface": Interface, "INVALID_PTX": INVALID_PTX,
                "get_device": get_device}  # fmt: skip

    def tensors(self) -> dict[str, Any]:
        data = fresh_rng().random(300, np.float32)
        return {"x": tw.from_numpy(data, device=self.gpu).sync(),
                "z": tw.zeros((300,), device=self.gpu).sync()}  # fmt: skip

    def run_right(self) -> None:
        """The device works."""
        given = self.tensors()
        self.names["scale"](given["z"].borrow_mut(), given["x"], 300, 2.0).sync()
        np.testing.assert_array_equal(given["z"].to_numpy(), 2 * given["x"].to_numpy())

    def memory(self) -> int:
        """Pieces of device memory that somebody has."""
        for name in KEEPING_CLASSES:
            if (keeping := getattr(inspect, name, None)) is not None:
                keeping.cache_clear()
        gc.collect()
        for device in (self.gpu, self.other):
            device.synchronize()
            device.pool.trim()
        return len(self.driver.memory)

    def launched(self) -> list[str]:
        """The kernels that were."""
        names = [entry[1] for entry in self.driver.log if entry[0] == "launch"]
        return [name for name in names if not name.startswith(OUR_OWN)]

    def message_of(self, source: str) -> str:
        with pytest.raises((tw.Error, TypeError)) as caught:
            execute(source.strip("\n"), {**self.names, **self.tensors()})
        text = f"{type(caught.value).__name__}: {caught.value}\n"
        text = re.sub(r"<tilewright source \d+>", "program.py", text)
        text = re.sub(r"\S*test_foreign_messages\.py:\d+", "test_foreign_messages.py", text)
        text = re.sub(r"device='cpu', number=\d+", "device='cpu', number=...", text)
        return re.sub(r"0x[0-9a-f]+", "0x...", text)


@pytest.fixture
def machine(monkeypatch):
    driver = NativeCuda(2)
    gpus = tuple(CudaDevice(driver, number) for number in range(2))
    monkeypatch.setattr(registry._Gpus, "found", gpus)
    with tw.device(gpus[0]):
        yield Machine(driver, gpus)


@pytest.mark.parametrize("name", PROGRAMS)
def test_message(name: str, machine: Machine, golden: Callable[..., None]) -> None:
    before = machine.memory()
    launched = machine.launched()
    golden(machine.message_of(PROGRAMS[name]), name=name)
    assert machine.launched() == launched
    machine.driver.failing.clear()
    assert machine.memory() == before
    machine.run_right()
