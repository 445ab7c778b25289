"""Runs kernels as native code of another machine, under emulation, on the reference's arguments.

Needs `qemu-aarch64` and a C compiler for the machine, as Debian's `qemu-user` and
`gcc-aarch64-linux-gnu` are.
"""

from __future__ import annotations

import math
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from support.native import Native, Report, scalar_word
from tilewright.backend.cpu.stages import compile_func
from tilewright.backend.llvm.object import CpuTarget
from tilewright.base.cpu_abi import LAUNCH_WORDS, MAX_GRID_RANK, CpuLaunchWord
from tilewright.devices.cpu.run import FailureWords
from tilewright.ir.artifact import Artifact
from tilewright.ir.core import Func
from tilewright.ir.signature import PointerSpec, ScalarSpec

AARCH64 = CpuTarget("neoverse-n1", "+neon,+fp-armv8,+fullfp16,+lse", "aarch64-unknown-linux-gnu")
"""A machine of 2019: 16-byte vectors, arithmetic of f16, atomics."""
ARMV8 = CpuTarget("generic", "+neon,+fp-armv8", "aarch64-unknown-linux-gnu")
"""The first machines of 64 bits: neither of the latter."""

EMULATOR, COMPILER = "qemu-aarch64", "aarch64-linux-gnu-gcc"
HARNESS = Path(__file__).with_suffix(".c")
THREADS = 2
LITERAL = -1


def is_possible() -> bool:
    """Whether this machine has an emulator and a compiler."""
    return all(map(shutil.which, (EMULATOR, COMPILER)))


@cache
def folder() -> Path:
    """Where programs are built; kept for the process, with the harness in it."""
    found = Path(tempfile.mkdtemp(prefix="emulated-"))
    command = [COMPILER, "-O1", "-Wall", "-Werror", "-c", HARNESS, "-o", found / "harness.o"]
    subprocess.run(command, check=True)
    return found


class Emulated(Native):
    """A compiled kernel that can be run again and again, each time in a process of its own."""

    def __init__(self, func: Func, cpu: CpuTarget | None = None) -> None:
        self.artifact: Artifact = compile_func(func, AARCH64 if cpu is None else cpu)
        assert isinstance(self.artifact.code, bytes)
        self.program = Path(tempfile.mkdtemp(dir=folder())) / "kernel"
        code = self.program.with_suffix(".o")
        code.write_bytes(self.artifact.code)
        name = f"-Wl,--defsym=tilewright_kernel={self.artifact.name}"
        command = [COMPILER, "-static", "-pthread", folder() / "harness.o", code, name, "-lm", "-o",
                   self.program]  # fmt: skip
        linked = subprocess.run(command, capture_output=True, text=True, check=False)
        assert linked.returncode == 0, linked.stderr

    def __call__(
        self,
        arguments: Sequence[Any],
        grid: Sequence[int] = (1,),
        print_capacity: int = 1 << 17,
        *,
        streamed: bool = False,
    ) -> Report:
        full = (*grid, *[1] * (self.artifact.signature.grid_rank - len(grid)))
        launch = np.zeros(LAUNCH_WORDS, np.int64)
        launch[:MAX_GRID_RANK] = (*full, *[1] * (MAX_GRID_RANK - len(full)))
        launch[CpuLaunchWord.STREAM] = streamed
        arrays = [a for a in arguments if isinstance(a, np.ndarray)]
        head = [THREADS, math.prod(full), self.artifact.scratch_bytes, print_capacity]
        given = b"".join([
            words(*head), launch.tobytes(), words(len(arrays)),
            *[part for a in arrays for part in (words(len(bytes_of(a))), bytes_of(a))],
            self._slots(arguments),
        ])  # fmt: skip
        command = [EMULATOR, str(self.program)]
        ended = subprocess.run(command, input=given, capture_output=True, check=False, timeout=600)
        assert ended.returncode == 0, f"exit {ended.returncode}: {ended.stderr.decode()}"
        return self._take(ended.stdout, arrays, full, print_capacity)

    def _slots(self, arguments: Sequence[Any]) -> bytes:
        found: list[int] = []
        piece = 0
        for spec, given in zip(self.artifact.signature.params, arguments, strict=True):
            if isinstance(given, np.ndarray):
                start = np.lib.array_utils.byte_bounds(given)[0]
                found += [piece, int(given.__array_interface__["data"][0]) - start]
                piece += 1
                if not isinstance(spec, PointerSpec):
                    strides = [s // spec.dtype.itemsize for s in given.strides]
                    found += [x for n in (*given.shape, *strides) for x in (LITERAL, n)]
            else:
                word = scalar_word(spec.dtype, given) if isinstance(spec, ScalarSpec) else given
                found += [LITERAL, (int(word) + (1 << 63)) % (1 << 64) - (1 << 63)]
        return words(len(found) // 2, *found)

    def _take(
        self, data: bytes, arrays: Sequence[np.ndarray[Any, Any]], grid: tuple[int, ...],
        print_capacity: int,
    ) -> Report:  # fmt: skip
        launch = np.frombuffer(data, np.int64, LAUNCH_WORDS)
        at = launch.nbytes + print_capacity
        printed = data[launch.nbytes : launch.nbytes + int(launch[CpuLaunchWord.PRINT_USED])]
        for a in arrays:
            size = len(bytes_of(a))
            memory(a)[...] = np.frombuffer(data, np.uint8, size, at)
            at += size
        assert at == len(data)
        failure = None
        if launch[CpuLaunchWord.ERROR_TAKEN]:
            failure = FailureWords(*map(int, launch[CpuLaunchWord.ERROR_SITE :][:4]))
        return Report(self._failure(failure, grid), self._printed(printed, grid))


def words(*numbers: int) -> bytes:
    """Numbers as the harness reads them."""
    return np.array(numbers, np.int64).tobytes()


def memory(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """All bytes between the first and the last of an array, to write."""
    low, high = np.lib.array_utils.byte_bounds(array)
    if array.size == 0:
        return np.empty(0, np.uint8)
    from ctypes import c_uint8

    view: np.ndarray[Any, Any] = np.ctypeslib.as_array((c_uint8 * (high - low)).from_address(low))
    return view


def bytes_of(array: np.ndarray[Any, Any]) -> bytes:
    """The same, as a copy."""
    return memory(array).tobytes()
