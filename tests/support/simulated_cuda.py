"""A CUDA device without a GPU: the driver in Python, and tile kernels run by the reference.

Everything up to the cubin is as on a GPU, and everything that the host does; so what a suite
needs of code is found out here, and compiled. Kernels of other origin are not known.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Iterator
from functools import wraps
from hashlib import sha256
from typing import Any

import numpy as np

from support.fake_cuda import FakeCuda
from tilewright.backend.reference import interpreter as reference
from tilewright.backend.tileir import keeping
from tilewright.backend.tileir import stages as tileir
from tilewright.backend.tileir.abi import Slot, slots
from tilewright.backend.tileir.lowered import Lowered
from tilewright.base.cuda_abi import LAUNCH_WORDS, LaunchWord
from tilewright.base.shapes import size
from tilewright.devices import registry
from tilewright.devices.blocks import array_of
from tilewright.devices.cuda.device import CudaDevice
from tilewright.devices.protocol import Block
from tilewright.ir.artifact import Artifact
from tilewright.ir.core import Func
from tilewright.ir.signature import OutputSpec, TensorSpec
from tilewright.ir.sites import sites_of

WAITING = ("query", "await_event", "await_any", "idle", "drain")
"""Calls in which other threads must get on."""


class _Pinned(dict[int, Any]):
    """Pinned memory, by its address; also what lies inside of it is there."""

    def __contains__(self, address: object) -> bool:
        assert isinstance(address, int)
        return any(start <= address < start + len(block) for start, block in tuple(self.items()))


class SimulatedCuda(FakeCuda):
    """A driver whose modules are the IR that they were made of."""

    def __init__(self, arch: str) -> None:
        self._arch = int(arch.removeprefix("sm_"))
        self._lock = threading.RLock()
        self._thread = threading.local()
        super().__init__()
        self.pinned = _Pinned()
        self._codes: dict[int, bytes] = {}
        for name in dir(FakeCuda):
            if (
                not name.startswith("_")
                and name not in (*WAITING, "release")
                and callable(call := getattr(self, name))
            ):
                setattr(self, name, self._alone(call))

    def _alone(self, call: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(call)
        def locked(*args: Any) -> Any:
            with self._lock:
                return call(*args)

        return locked

    @property
    def current(self) -> list[int]:
        """The contexts of this thread."""
        if not hasattr(self._thread, "contexts"):
            self._thread.contexts = []
        return self._thread.contexts

    @current.setter
    def current(self, contexts: list[int]) -> None:
        self._thread.contexts = contexts

    def capability(self, ordinal: int) -> tuple[int, int]:
        return divmod(self._arch, 10)

    def load_module(self, code: bytes) -> int:
        number = super().load_module(code)
        self._codes[number] = code
        return number

    def func_of(self, module: int) -> Func | None:
        """The IR that a module was made of, if it is one of ours."""
        return MADE.get(sha256(self._codes[module]).digest())

    def find_function(self, module: int, name: str) -> int:
        func = self.func_of(module)
        if func is None:
            return super().find_function(module, name)
        number = next(self._numbers)
        self.functions[number] = f"{name} {number}"
        self.kernels[self.functions[number]] = lambda values, grid: self._interpret(
            func, values, grid
        )
        return number

    def _interpret(self, func: Func, values: list[int], grid: tuple[int, int, int]) -> None:
        given = _given(func, values)
        logical = tuple(n for slot, n in given.items() if slot.what == "grid") or grid
        arguments = arguments_of(func, values)
        memory = [array_of(Block(a, 1, (len(b) - 256,), (1,), host=True))
                  for a, b in tuple(self.memory.items())]  # fmt: skip
        outcome = reference.run(func, arguments, logical, reachable=memory)
        record = next((n for slot, n in given.items() if slot.what == "record"), 0)
        if record:
            _report(func, outcome, logical, record)


MADE: dict[bytes, Func] = {}
"""The IR of every cubin of this process, by its hash."""


def _given(func: Func, values: list[int]) -> dict[Slot, int]:
    """The parameters of a launch by what they are."""
    wanted = slots(func.signature, reports=bool(sites_of(func)))
    return dict(zip(wanted, values, strict=True))


def arguments_of(func: Func, values: list[int]) -> list[Any]:
    """What a launch was given, as the reference takes it: arrays and numbers."""
    return list(_arguments(func, _given(func, values)))


def _arguments(func: Func, given: dict[Slot, int]) -> Iterator[Any]:
    known = {(slot.what, slot.param, slot.axis): n for slot, n in given.items()}
    for number, spec in enumerate(func.signature.params):
        address = known.get(("address", number, 0))
        if isinstance(spec, TensorSpec | OutputSpec):
            assert address is not None
            yield _array(spec, address, number, known)
        elif address is not None:
            yield address
        else:
            raw = known["scalar", number, 0].to_bytes(8, "little", signed=True)
            yield np.frombuffer(raw, spec.dtype.np, 1)[0]


def _array(spec: TensorSpec | OutputSpec, address: int, number: int, known: Any) -> Any:
    def dims(what: str, static: tuple[int | None, ...]) -> tuple[int, ...]:
        return tuple(
            _small(known[what, number, axis], spec.facts.narrow) if n is None else n
            for axis, n in enumerate(static)
        )

    itemsize = spec.dtype.itemsize
    steps = tuple(n * itemsize for n in dims("stride", spec.strides))
    block = Block(address, itemsize, dims("extent", spec.shape), steps, host=True)
    return array_of(block).view(spec.dtype.np)


def _small(word: int, narrow: bool) -> int:
    return ctypes.c_int32(word).value if narrow else word


def _report(func: Func, outcome: Any, grid: tuple[int, ...], address: int) -> None:
    """Write what a kernel has to report, as it would."""
    words = (ctypes.c_int64 * LAUNCH_WORDS).from_address(address)
    sites = list(sites_of(func))
    whole = (*grid, 1, 1, 1)[: max(len(grid), func.signature.grid_rank)]
    failure = outcome.failure
    if failure is not None and not words[LaunchWord.ERROR_TAKEN]:
        words[LaunchWord.ERROR_TAKEN] = 1
        words[LaunchWord.ERROR_SITE] = sites.index(failure.site)
        words[LaunchWord.ERROR_BLOCK] = _linear(failure.block, whole)
        words[LaunchWord.ERROR_INDEX] = failure.index or 0
        words[LaunchWord.ERROR_EXTENT] = failure.extent or 0
    for printed in outcome.printed:
        data = b"".join(_padded(np.asarray(v).tobytes()) for v in printed.values)
        head = (24 + len(data), sites.index(printed.site), _linear(printed.block, whole))
        record = b"".join(n.to_bytes(8, "little") for n in head) + data
        used = words[LaunchWord.PRINT_USED]
        words[LaunchWord.PRINT_USED] = used + len(record)
        if used + len(record) <= words[LaunchWord.PRINT_CAPACITY]:
            ctypes.memmove(address + 8 * LAUNCH_WORDS + used, record, len(record))


def _linear(block: tuple[int, ...], grid: tuple[int, ...]) -> int:
    assert size(grid) > 0
    return int(np.ravel_multi_index(block, grid))


def _padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % 8)


def install(arch: str) -> None:
    """Let this device be the one GPU of the process, and cubins be known by their IR."""
    make = keeping.artifact

    def artifact(made: Lowered, cubin: bytes, **how: bool) -> Artifact:
        MADE[sha256(cubin).digest()] = made.func
        return make(made, cubin, **how)

    keeping.artifact = tileir.artifact = artifact
    registry._Gpus.found = (CudaDevice(SimulatedCuda(arch), 0),)
