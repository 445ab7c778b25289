"""The CUDA driver in Python, called by the native code that calls NVIDIA's."""

# ruff: noqa: N802 - functions of the driver have its names
from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from functools import cache
from typing import Any, ClassVar

from support.fake_cuda import FakeCuda
from tilewright._core import CUDA_FUNCTIONS, CudaDriver
from tilewright.devices.cuda.record import HEAD_WORDS, Head

ADDRESS, INT, UINT = ctypes.c_void_p, ctypes.c_int, ctypes.c_uint
PROTOTYPES: dict[str, tuple[Any, ...]] = {
    "cuCtxGetCurrent": (ctypes.POINTER(ADDRESS),),
    "cuCtxPushCurrent": (ADDRESS,),
    "cuCtxPopCurrent": (ctypes.POINTER(ADDRESS),),
    "cuLaunchKernel": (ADDRESS, *[UINT] * 7, *[ADDRESS] * 3),
    "cuGraphLaunch": (ADDRESS, ADDRESS),
    "cuEventRecord": (ADDRESS, ADDRESS),
    "cuEventQuery": (ADDRESS,),
    "cuStreamQuery": (ADDRESS,),
    "cuStreamWaitEvent": (ADDRESS, ADDRESS, UINT),
    "cuEventCreate": (ctypes.POINTER(ADDRESS), UINT),
    "cuEventDestroy": (ADDRESS,),
    "cuMemcpyHtoDAsync": (ctypes.c_uint64, ADDRESS, ctypes.c_size_t, ADDRESS),
}


def as_functions(driver: object) -> dict[str, Any]:
    """What a driver in Python has, as functions of C, which must be kept."""
    return {
        name: ctypes.CFUNCTYPE(INT, *PROTOTYPES[name])(_untraced(getattr(driver, name)))
        for name in CUDA_FUNCTIONS
    }


def _untraced(function: Callable[..., int]) -> Callable[..., int]:
    """A function in which no interrupt comes: native code could not be told."""

    def called_by_native_code(*given: Any) -> int:
        trace, profile = sys.gettrace(), sys.getprofile()
        if trace is profile is None:
            return function(*given)
        sys.settrace(None)
        sys.setprofile(None)
        try:
            return function(*given)
        finally:
            sys.settrace(trace)
            sys.setprofile(profile)

    return called_by_native_code


def addresses(functions: dict[str, Any]) -> dict[str, int]:
    """Where they are."""
    return {name: ctypes.cast(f, ADDRESS).value or 0 for name, f in functions.items()}


class _Latest:
    """The functions of the driver that was made last: native code keeps a table for good."""

    driver: ClassVar[NativeCuda]

    def __getattr__(self, name: str) -> Any:
        return lambda *given: getattr(_Latest.driver, name)(*given)


@cache
def _driver() -> tuple[CudaDriver, dict[str, Any]]:
    functions = as_functions(_Latest())
    return CudaDriver(addresses(functions)), functions


class NativeCuda(FakeCuda):
    """Launches and replays as on a GPU; what they ask of the driver is done in Python."""

    def __init__(self, devices: int = 1) -> None:
        super().__init__(devices)
        _Latest.driver = self
        driver, _ = _driver()
        self.native_driver = driver.address
        self.open_queue, self.close_queue = driver.open_queue, driver.close_queue

    def cuCtxGetCurrent(self, place: Any) -> int:
        place[0] = self.current[-1] if self.current else None
        return 0

    def cuCtxPushCurrent(self, context: int) -> int:
        self.push_context(context)
        return 0

    def cuCtxPopCurrent(self, place: Any) -> int:
        self.pop_context()
        return 0

    def cuLaunchKernel(self, function: int, *rest: Any) -> int:
        words = [0] * HEAD_WORDS
        words[Head.FUNCTION], words[Head.GRID : Head.GRID + 3] = function, rest[:3]
        words[Head.BLOCK : Head.BLOCK + 3], words[Head.SHARED] = rest[3:6], rest[6]
        stream, parameters = rest[7:9]
        return self._launch(words, self._values(parameters, self._count(parameters)), stream)

    def cuGraphLaunch(self, executable: int, stream: int) -> int:
        status = self._status("replay")
        if not status:
            self.launch_graph(executable, stream)
        return status

    def cuEventRecord(self, event: int, stream: int) -> int:
        return self.record(0, event, stream)

    def cuEventQuery(self, event: int) -> int:
        return self.query(0, event)

    def cuStreamQuery(self, stream: int) -> int:
        return self.idle(0, stream)

    def cuStreamWaitEvent(self, stream: int, event: int, flags: int) -> int:
        self.wait_event(stream, event)
        return 0

    def cuEventCreate(self, place: Any, flags: int) -> int:
        place[0] = self.create_event()
        return 0

    def cuEventDestroy(self, event: int) -> int:
        return 0

    def cuMemcpyHtoDAsync(self, target: int, source: int, nbytes: int, stream: int) -> int:
        if status := self._status("copy_in"):
            return status
        self.copy_in(target, source, nbytes, stream)
        return 0
