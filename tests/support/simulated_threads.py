"""SIMT kernels of the simulated CUDA device: run as the PTX that is loaded."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from typing import Any

import numpy as np
from numpy.lib.array_utils import byte_bounds

from simulator.ptx.launch import PtxCode, run
from simulator.ptx.memory import MemorySegment, MemorySpan, PtxMemory
from simulator.ptx.program import parse
from tilewright.backend.ptx import module
from tilewright.backend.ptx.module import PtxTarget, Written
from tilewright.base.cuda_abi import LAUNCH_WORDS, CudaLaunchWord
from tilewright.ir.artifact import Artifact, sites_of
from tilewright.ir.core import Func
from tilewright.ir.signature import OutputSpec, TensorSpec

Shape = tuple[int, int, int]
THREADS: dict[bytes, Func] = {}
"""What the PTX of this process was made of, by its hash."""
WORD = 8


def is_ptx(code: bytes) -> bool:
    """Whether code is text of PTX."""
    return b".address_size" in code[:1000]


@dataclass(frozen=True)
class Threads:
    """PTX that was loaded; its IR, if it was compiled here."""

    ptx: bytes
    func: Func | None = None

    @cached_property
    def module(self) -> Any:
        """The text, read."""
        return parse(self.ptx.decode("ascii"))

    @cached_property
    def _codes(self) -> dict[str, PtxCode]:
        return {}

    def code(self, name: str) -> PtxCode:
        """A kernel, decoded."""
        if name not in self._codes:
            self._codes[name] = PtxCode(self.module, name)
        return self._codes[name]

    def names(self) -> list[str]:
        """All kernels."""
        return [name for name, function in self.module.functions.items() if function.is_entry]


def made_threads(code: bytes) -> Threads | None:
    """The PTX that was loaded, if it is some."""
    if not is_ptx(code):
        return None
    text = code.rstrip(b"\0")  # the driver asks for a zero behind it
    return Threads(text, THREADS.get(sha256(text).digest()))


def interpret(
    threads: Threads, name: str, values: list[int], shape: tuple[Shape, Shape, int],
    segments: list[MemorySegment], arguments: list[Any] | None,
) -> None:  # fmt: skip
    """Run a launch: over a grid, in blocks, with so many bytes of shared memory."""
    grid, block, dynamic = shape
    spans = None
    if threads.func is not None and arguments is not None:
        spans = list(_spans(threads.func, values, arguments, segments))
    run(threads.code(name), values, grid, block, PtxMemory(segments, spans), dynamic=dynamic)


def _spans(
    func: Func, values: list[int], arguments: list[Any], segments: list[MemorySegment]
) -> Iterator[MemorySpan]:
    """What a kernel may reach: its slices and its record; with a pointer, everything."""
    pointers = False
    for spec, value in zip(func.signature.params, arguments, strict=True):
        if isinstance(spec, TensorSpec | OutputSpec):
            if value.size:
                low, high = byte_bounds(value)
                yield MemorySpan(low, high, writable=isinstance(spec, OutputSpec))
        else:
            pointers |= not isinstance(value, np.generic)
    if pointers:
        yield from (MemorySpan(each.start, each.start + len(each.data)) for each in segments)
    elif sites_of(func):
        record = values[-1]
        words = (ctypes.c_int64 * LAUNCH_WORDS).from_address(record)
        room = WORD * LAUNCH_WORDS + words[CudaLaunchWord.PRINT_CAPACITY]
        yield MemorySpan(record, record + room)


def note_threads(patch: Any) -> None:
    """Let PTX be known by what it was made of."""
    make = module.artifact

    def artifact(made: Written, target: PtxTarget, ptx: bytes) -> Artifact:
        THREADS[sha256(ptx).digest()] = made.func
        return make(made, target, ptx)

    patch(module, "artifact", artifact)
