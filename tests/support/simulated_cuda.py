"""A CUDA device without a GPU: the driver in Python, and kernels run as what they were compiled to.

Everything that the host does is as on a GPU: code is generated and written as bytecode or PTX,
launches are packed, memory is copied, reports are read. A launch reads the bytecode of a tile
kernel, or the PTX of a SIMT kernel, back, and interprets it on the memory of this driver, with the
parameters that the driver was given. Kernels in other forms are not known, unless they are Python
functions.

Nothing is assembled unless that is asked for; what stands for a cubin is the bytecode.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, wraps
from hashlib import sha256
from typing import Any

import numpy as np
from numpy.lib.array_utils import byte_bounds

from simulator.ptx.memory import MemorySegment
from simulator.ptx.program import PtxError
from simulator.tile_ir.launch import run
from simulator.tile_ir.machine import TileIRError
from simulator.tile_ir.storage import Allocation, DeviceMemory
from support.fake_cuda import FakeCuda
from support.native_cuda import NativeCuda
from support.simulated_threads import Threads, interpret, made_threads, note_threads
from tilewright.backend.tileir import lowered
from tilewright.backend.tileir import stages as tileir
from tilewright.backend.tileir.bytecode.enums import NEWEST
from tilewright.backend.tileir.bytecode.program import Kernel
from tilewright.backend.tileir.bytecode.reader import read
from tilewright.backend.tileir.lowered import Lowered
from tilewright.backend.tileir.target import ParameterSlot, slots
from tilewright.backend.tileir.toolchain import Toolchain
from tilewright.base.elf import MAGIC
from tilewright.devices import registry
from tilewright.devices.blocks import array_of
from tilewright.devices.cuda.device import CudaDevice
from tilewright.devices.cuda.results import NOT_FOUND, refusal
from tilewright.devices.protocol import Block
from tilewright.ir.artifact import Artifact, sites_of
from tilewright.ir.core import Func
from tilewright.ir.signature import OutputSpec, TensorSpec

WAITING = ("query", "await_event", "await_any", "idle", "drain")
"""Calls in which other threads must get on."""
LAUNCH_FAILED = 719
"""What the driver says of all that follows a kernel that failed."""
SPARE, PINNED_SPARE = 256, 64
"""Bytes that the driver allocates beyond what it was asked for."""
Patch = Callable[[Any, str, Any], None]
"""Sets an attribute, perhaps for a while."""


class _Pinned(dict[int, Any]):
    """Pinned memory, by its address; also what lies inside of it is there."""

    def __contains__(self, address: object) -> bool:
        assert isinstance(address, int)
        return any(start <= address < start + len(block) for start, block in tuple(self.items()))


@dataclass(frozen=True)
class Made:
    """A compiled kernel: its IR, and the bytecode that was, or would be, assembled."""

    func: Func
    bytecode: bytes

    @cached_property
    def kernel(self) -> Kernel:
        """The kernel, read back from its bytecode."""
        program, _ = read(self.bytecode)
        (kernel,) = program.kernels
        return kernel


MADE: dict[bytes, Made] = {}
"""What every cubin of this process was made of, by its hash."""


class SimulatedCuda(NativeCuda):
    """A driver whose modules are the Tile IR that they were made of."""

    def __init__(self, arch: str, devices: int = 1) -> None:
        self._arch = int(arch.removeprefix("sm_"))
        self._lock = threading.RLock()
        self._thread = threading.local()
        super().__init__(devices)
        self.pinned = _Pinned()
        self.undefined: list[TileIRError | PtxError] = []
        """What was wrong with kernels that ran."""
        self._codes: dict[int, bytes] = {}
        self._tiles: dict[str, Made] = {}
        self._threads: dict[str, tuple[Threads, str]] = {}
        self._loaded: dict[int, Threads] = {}
        self._written: dict[int, Any] = {}
        """Which bytes of an allocation were written, by its address."""
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

    def most_shared(self, ordinal: int) -> int:
        return 227 << 10

    def total_memory(self, ordinal: int) -> int:
        """None is kept that is unused: which bytes of an allocation were written is known."""
        return 0

    # Code

    def load_module(self, code: bytes) -> int:
        number = super().load_module(code)
        self._codes[number] = code
        return number

    def made_of(self, module: int) -> Made | None:
        """What a module was made of, if it is one of ours."""
        return MADE.get(sha256(self._codes[module]).digest())

    def find_function(self, module: int, name: str) -> int:
        made = self.made_of(module)
        if made is None:
            return self._find_threads(module, name)
        if name != made.kernel.name:
            raise self.describe("find_function", NOT_FOUND)
        number = next(self._numbers)
        self.functions[number] = f"{name} {number}"
        self._tiles[self.functions[number]] = made
        return number

    def _find_threads(self, module: int, name: str) -> int:
        """A kernel of PTX; Python functions of that name stand for it where a test gives one."""
        threads = self.threads_of(module)
        if threads is None or name in self.kernels:
            return super().find_function(module, name)
        if name not in threads.names():
            raise self.describe("find_function", NOT_FOUND)
        number = next(self._numbers)
        self.functions[number] = f"{name} {number}"
        self._threads[self.functions[number]] = threads, name
        return number

    def threads_of(self, module: int) -> Threads | None:
        """The PTX of a module, if it is some."""
        if module not in self._loaded and (made := made_threads(self._codes[module])):
            self._loaded[module] = made
        return self._loaded.get(module)

    # Launches

    def _launch(self, words: Any, values: list[int], stream: int) -> int:
        with self._lock:
            return super()._launch(words, values, stream)

    def _bound(self, name: str, values: list[int], shape: Any) -> Callable[[], None]:
        made, threads = self._tiles.get(name), self._threads.get(name)
        seen = dict(self.memory)  # freed in the order of the stream: it is there until then
        if threads is not None:
            return lambda: self._interpret_threads(*threads, values, shape, seen)
        if made is None:
            for value in values:  # who knows what the kernels of others write
                self._note_written(value)
            return super()._bound(name, values, shape)
        return lambda: self._interpret(made, values, shape[0], seen)

    def _interpret_threads(
        self, threads: Threads, name: str, values: list[int], shape: Any, seen: dict[int, Any]
    ) -> None:
        found = [*self._allocations(seen), *self._pinned_allocations()]
        segments = [MemorySegment(each.start, each.data, each.written) for each in found]
        arguments = None if threads.func is None else arguments_of(threads.func, values)
        try:
            interpret(threads, name, values, shape, segments, arguments)
        except PtxError as error:
            self._fail(error)

    def _interpret(self, made: Made, values: list[int], grid: Any, seen: dict[int, Any]) -> None:
        memory = DeviceMemory([*self._allocations(seen), *self._pinned_allocations()])
        try:
            run(made.kernel, values, tuple(grid), memory, spans=dict(_spans(made.func, values)))
        except TileIRError as error:
            self._fail(error)

    def _fail(self, error: TileIRError | PtxError) -> None:
        """End all work, as a GPU does behind a wrong access."""
        self.undefined.append(error)
        self.lost = LAUNCH_FAILED

    def describe(self, call: str, status: int) -> Exception:
        if status != LAUNCH_FAILED or not self.undefined:
            return super().describe(call, status)
        return refusal(call, status, "CUDA_ERROR_LAUNCH_FAILED", str(self.undefined[0]))

    def _allocations(self, seen: dict[int, Any]) -> Iterator[Allocation]:
        for address, block in {**seen, **self.memory}.items():
            yield Allocation(
                address, _bytes(address, len(block) - SPARE), self._written.get(address)
            )

    def _pinned_allocations(self) -> Iterator[Allocation]:
        for address, block in tuple(self.pinned.items()):
            yield Allocation(address, _bytes(address, len(block) - PINNED_SPARE))

    # Which memory was written; from when on it will be is enough

    def allocate(self, nbytes: int, pool: int, stream: int) -> int:
        address = super().allocate(nbytes, pool, stream)
        self._written[address] = np.zeros(nbytes, np.bool_)
        return address

    def free(self, address: int, stream: int) -> None:
        super().free(address, stream)
        self._written.pop(address, None)

    def _note_written(self, target: int, nbytes: int | None = None) -> None:
        for start, flags in tuple(self._written.items()):
            if start <= target < start + len(flags):
                first = 0 if nbytes is None else target - start
                flags[first : None if nbytes is None else first + nbytes] = True

    def copy_in(self, target: int, source: int, nbytes: int, stream: int) -> None:
        self._note_written(target, nbytes)
        super().copy_in(target, source, nbytes, stream)

    def copy_within(self, target: int, source: int, nbytes: int, stream: int) -> None:
        self._note_written(target, nbytes)
        super().copy_within(target, source, nbytes, stream)

    def copy_between(self, target: int, source: int, nbytes: int, stream: int) -> None:
        self._note_written(target, nbytes)
        super().copy_between(target, source, nbytes, stream)

    def fill(self, target: int, element: int, itemsize: int, count: int, stream: int) -> None:
        self._note_written(target, itemsize * count)
        super().fill(target, element, itemsize, count, stream)


def _bytes(address: int, nbytes: int) -> Any:
    return np.frombuffer((ctypes.c_ubyte * nbytes).from_address(address), np.uint8)


def _given(func: Func, values: list[int]) -> dict[ParameterSlot, int]:
    """The parameters of a launch by what they are."""
    wanted = slots(func.signature, reports=bool(sites_of(func)))
    return dict(zip(wanted, values, strict=True))


def _spans(func: Func, values: list[int]) -> Iterator[tuple[int, tuple[int, int]]]:
    """What the addresses of tensors may reach, by their position: all elements of the tensor."""
    arrays = {
        number: array
        for number, array in enumerate(arguments_of(func, values))
        if isinstance(array, np.ndarray)
    }
    for position, slot in enumerate(_given(func, values)):
        if slot.what == "address" and slot.param in arrays:
            array = arrays[slot.param]
            start = array.ctypes.data
            yield position, byte_bounds(array) if array.size else (start, start)


def arguments_of(func: Func, values: list[int]) -> list[Any]:
    """What a launch was given: arrays and numbers."""
    return list(_arguments(func, _given(func, values)))


def _arguments(func: Func, given: dict[ParameterSlot, int]) -> Iterator[Any]:
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


# Compilation


def note_what_is_made(patch: Patch = setattr) -> None:
    """Let cubins be known by what they were made of."""
    make = lowered.artifact

    def artifact(made: Lowered, cubin: bytes, **more: Any) -> Artifact:
        found = make(made, cubin, **more)
        # What was selected is lowered already.
        careful = bool(more.get("careful"))
        assembled = tileir._with_care(made, made.decisions.choices) if careful else made
        MADE[sha256(cubin).digest()] = Made(made.func, assembled.bytecode())
        return found

    patch(lowered, "artifact", artifact)
    patch(tileir, "artifact", artifact)
    note_threads(patch)


def do_without_assembler(patch: Patch = setattr) -> None:
    """Let bytecode, behind the first bytes of a cubin, stand for one, also without an assembler."""
    patch(tileir, "find_toolchain", lambda: Toolchain("", "simulated", NEWEST, 0, is_here=False))
    patch(tileir, "_artifact", lambda made, tool: tileir.artifact(made, MAGIC + made.bytecode()))
    patch(lowered, "_needs", lambda cubin: ())


def install(arch: str, *, assemble: bool = False, patch: Patch = setattr, devices: int = 1) -> None:
    """Let such devices be the GPUs of the process; `assemble` if kernels shall be."""
    note_what_is_made(patch)
    if not assemble:
        do_without_assembler(patch)
    calls = SimulatedCuda(arch, devices)
    found = tuple([CudaDevice(calls, number) for number in range(devices)])
    patch(registry._Gpus, "found", found)
