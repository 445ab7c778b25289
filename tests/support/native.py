"""Runs hand-built kernels as native code, on the arguments the reference takes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tilewright.backend.llvm import CpuTarget, compile_func
from tilewright.base.dtypes import AnyDType
from tilewright.driver.cpu import FailureWords, execute, load
from tilewright.ir import Func, PointerSpec, ScalarSpec
from tilewright.ir.artifact import Artifact, Failure, Printed
from tilewright.ir.types import TileType

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True, slots=True)
class Report:
    """What a native launch reported, in the reference's terms."""

    failure: Failure | None
    printed: tuple[Printed, ...]


class Native:
    """A compiled kernel that can be run again and again."""

    def __init__(self, func: Func, cpu: CpuTarget | None = None) -> None:
        self.artifact: Artifact = compile_func(func, cpu)
        assert isinstance(self.artifact.code, bytes)
        self.function = load(self.artifact.code, self.artifact.name)

    def __call__(
        self, arguments: Sequence[Any], grid: Sequence[int] = (1,), print_capacity: int = 1 << 20
    ) -> Report:
        full = (*grid, *[1] * (self.artifact.signature.grid_rank - len(grid)))
        slots = slots_of(self.artifact, arguments)
        raw = execute(self.function, slots, full, self.artifact.scratch_bytes, print_capacity)
        return Report(self._failure(raw.failure, full), self._printed(raw.printed, full))

    def _failure(self, words: FailureWords | None, grid: tuple[int, ...]) -> Failure | None:
        if words is None:
            return None
        site = self.artifact.sites[words.site]
        return Failure(site, logical(words.block, grid), words.index, words.extent)

    def _printed(self, data: bytes, grid: tuple[int, ...]) -> tuple[Printed, ...]:
        records: list[tuple[int, Printed]] = []
        at = 0
        while at < len(data):
            size, number, block = np.frombuffer(data, np.int64, 3, at)
            site = self.artifact.sites[number]
            values = operands(data[at + 24 : at + size], site.types)
            records.append((int(block), Printed(site, logical(int(block), grid), values)))
            at += int(size)
        return tuple(record for _, record in sorted(records, key=lambda r: r[0]))


def operands(data: bytes, types: Sequence[TileType]) -> tuple[Array, ...]:
    """The operands of a print record."""
    values: list[Array] = []
    at = 0
    for t in types:
        array = np.frombuffer(data, t.dtype.np, t.size, at).reshape(t.shape)
        values.append(array)
        at += -(-array.nbytes // 8) * 8
    return tuple(values)


def logical(number: int, grid: tuple[int, ...]) -> tuple[int, ...]:
    """The index of a block; the last axis varies fastest."""
    return tuple(int(i) for i in np.unravel_index(number, grid))


def slots_of(artifact: Artifact, arguments: Sequence[Any]) -> Array:
    """The arguments as the calling convention lays them out."""
    words: list[int] = []
    for spec, given in zip(artifact.signature.params, arguments, strict=True):
        if isinstance(spec, ScalarSpec):
            words.append(scalar_word(spec.dtype, given))
        elif isinstance(spec, PointerSpec):
            words.append(address(given) if isinstance(given, np.ndarray) else int(given))
        else:
            strides = [s // spec.dtype.itemsize for s in given.strides]
            words += [address(given), *given.shape, *strides]
    return np.array([w % (1 << 64) for w in words], np.uint64)


def address(array: Array) -> int:
    """Where the first element of an array is."""
    return int(array.__array_interface__["data"][0])


def scalar_word(dtype: AnyDType, value: Any) -> int:
    """A scalar's bits in the low end of a word."""
    if dtype.is_float:
        return int(np.asarray(value, np.float64).astype(dtype.np).view(f"u{dtype.itemsize}"))
    return int(value)


def run_native(func: Func, arguments: Sequence[Any], grid: Sequence[int] = (1,)) -> Report:
    """Compile and run a kernel once."""
    return Native(func)(arguments, grid)
