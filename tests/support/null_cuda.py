"""What the host costs on CUDA by itself: a driver that takes all work, and is done with it at once.

`python -m support.null_cuda` runs `benchmarks.host` on it, without a GPU: kernels are compiled and
their parameters packed, but nothing is assembled, launched or copied. The driver's functions that
launches call are three instructions each, so that what is measured is Tilewright's own part.
"""

from __future__ import annotations

import ctypes
import itertools
from functools import cache
from typing import Any

from support.native_cuda import PROTOTYPES
from support.simulated_cuda import do_without_assembler
from tilewright._core import CUDA_FUNCTIONS, CudaDriver
from tilewright.devices import registry
from tilewright.devices.cuda.calls import PoolNumbers
from tilewright.devices.cuda.device import CudaDevice

CONTEXT, HANDLE = 10, 4000
_PLACES = {"cuCtxGetCurrent": CONTEXT, "cuCtxPopCurrent": CONTEXT, "cuEventCreate": HANDLE}
"""The functions that give a handle, by their first argument."""


def _function_text(name: str) -> str:
    count = len(PROTOTYPES[name])
    given = ", ".join(f"i64 %a{i}" for i in range(count))
    lines = [f"define i32 @{name}({given}) {{"]
    if name in _PLACES:
        lines += ["%place = inttoptr i64 %a0 to i64*", f"store i64 {_PLACES[name]}, i64* %place"]
    return "\n".join([*lines, "ret i32 0", "}"])


@cache
def _engine() -> Any:
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    module = llvm.parse_assembly("\n".join(_function_text(name) for name in CUDA_FUNCTIONS))
    machine = llvm.Target.from_default_triple().create_target_machine(opt=2)
    engine = llvm.create_mcjit_compiler(module, machine)
    engine.finalize_object()
    return engine


@cache
def null_driver() -> CudaDriver:
    """The functions that launches call, which do nothing and succeed."""
    return CudaDriver({name: _engine().get_function_address(name) for name in CUDA_FUNCTIONS})


class NullCuda:
    """See `tilewright.devices.cuda.calls.Calls`; what is not here does nothing and gives 1."""

    def __init__(self) -> None:
        driver = null_driver()
        self.native_driver = driver.address
        self.open_queue, self.close_queue = driver.open_queue, driver.close_queue
        self.launch = driver.launch
        self.idle, self.drain, self.record = driver.query_stream, driver.drain, driver.record_event
        self.query, self.await_event = driver.query_event, driver.await_event
        self.await_any = driver.await_any
        self._handles = itertools.count(HANDLE + 1)
        self._memory: dict[int, Any] = {}

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return _nothing

    def capability(self, ordinal: int) -> tuple[int, int]:
        return 9, 0

    def device_name(self, ordinal: int) -> str:
        return "Null"

    def total_memory(self, ordinal: int) -> int:
        return 1 << 30

    def processors(self, ordinal: int) -> int:
        return 132

    def retain_context(self, ordinal: int) -> int:
        return CONTEXT

    def current_context(self) -> int:
        return CONTEXT

    def free_memory(self) -> tuple[int, int]:
        return 1 << 30, 1 << 30

    def pool_numbers(self, pool: int) -> PoolNumbers:
        return PoolNumbers(0, 0, 0, 0)

    def create_stream(self) -> int:
        return next(self._handles)

    def create_event(self) -> int:
        return next(self._handles)

    def allocate(self, nbytes: int, pool: int, stream: int) -> int:
        block = (ctypes.c_ubyte * (nbytes + 256))()
        address = -(-ctypes.addressof(block) // 256) * 256
        self._memory[address] = block
        return address

    def free(self, address: int, stream: int) -> None:
        del self._memory[address]

    def allocate_pinned(self, nbytes: int) -> int:
        return self.allocate(nbytes, 0, 0)

    def free_pinned(self, address: int) -> None:
        del self._memory[address]

    def find_function(self, module: int, name: str) -> int:
        return next(self._handles)


def _nothing(*given: Any) -> int:
    return 1


def install() -> None:
    """Let this device be the one GPU of the process."""
    do_without_assembler()
    calls: Any = NullCuda()
    vars(registry._Gpus)  # it is there
    registry._Gpus.found = (CudaDevice(calls, 0),)


if __name__ == "__main__":
    import sys

    from benchmarks.host.__main__ import main

    install()
    raise SystemExit(main(["--device", "cuda", *sys.argv[1:]]))
