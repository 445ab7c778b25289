"""Runs hand-built kernels as native code, on the arguments the reference takes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from support.execute import execute
from support.ir import Extents, Kernel, checked, poisoned
from support.numbers import assert_same
from tilewright.backend.cpu.stages import compile_func
from tilewright.backend.llvm.object import CpuTarget, host_target
from tilewright.base.dtypes import AnyDType
from tilewright.devices.cpu.native import load
from tilewright.devices.cpu.run import FailureWords
from tilewright.ir.artifact import Artifact, Failure, Printed
from tilewright.ir.core import Block, Func, Value
from tilewright.ir.ops import OPS
from tilewright.ir.signature import PointerSpec, ScalarSpec
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
        self,
        arguments: Sequence[Any],
        grid: Sequence[int] = (1,),
        print_capacity: int = 1 << 20,
        *,
        streamed: bool = False,
    ) -> Report:
        full = (*grid, *[1] * (self.artifact.signature.grid_rank - len(grid)))
        slots = slots_of(self.artifact, arguments)
        scratch = self.artifact.scratch_bytes
        raw = execute(self.function, slots, full, scratch, print_capacity, streamed=streamed)
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


def narrowed() -> CpuTarget:
    """The host with half the registers, where there is such a choice."""
    host = host_target()
    features = [name for name in host.features.split(",") if "512" not in name]
    return replace(host, features=",".join(features))


def run_native(func: Func, arguments: Sequence[Any], grid: Sequence[int] = (1,)) -> Report:
    """Compile and run a kernel once."""
    return Native(func)(arguments, grid)


class Dense(Kernel):
    """A kernel whose tensors are dense along their last axis, as most are."""

    def tensor(self, name: str, dtype: AnyDType, shape: Extents) -> Value:
        """Declare a read-only tensor."""
        value = super().tensor(name, dtype, shape)
        return self._dense(value)

    def output(self, name: str, dtype: AnyDType, shape: Extents, tile: Sequence[int] = ()) -> Value:
        """Declare a mutable tensor."""
        value = super().output(name, dtype, shape, tile)
        return self._dense(value)

    def _dense(self, value: Value) -> Value:
        rank = value.tensor.rank
        strides = (None,) * (rank - 1) + (1,) * (rank > 0)
        self.specs[-1] = replace(self.specs[-1], strides=strides)
        value.type = replace(value.tensor, strides=strides)
        return value


@dataclass(frozen=True, slots=True)
class Case:
    """An op to be applied to the first operands of a test, as many as it takes."""

    name: str
    attrs: dict[str, Any] = field(default_factory=dict[str, Any])
    regions: Callable[[], Sequence[Block]] = tuple


def case(name: str, regions: Callable[[], Sequence[Block]] = tuple, **attrs: Any) -> Case:
    """An op with attributes."""
    return Case(name, attrs, regions)


Operand = tuple[AnyDType, Any]


def kernel_of(
    cases: Sequence[Case], operands: Sequence[Operand], kernel: type[Kernel] = Dense
) -> tuple[Func, list[Array], list[Array]]:
    """A kernel that applies ops to whole arrays; its inputs and its poisoned outputs."""
    k = kernel()
    arrays = [np.array(a, dtype.np, order="C") for dtype, a in operands]
    tiles = []
    for i, ((dtype, _), a) in enumerate(zip(operands, arrays, strict=True)):
        tiles.append(k.load(k.tensor(f"x{i}", dtype, a.ndim), a.shape))
    outputs: list[Array] = []
    for given in cases:
        specs = OPS[given.name].operands
        wanted = [tiles] if specs[0].arity == "*" else tiles[: len(specs)]
        op = k.op(given.name, *wanted, regions=given.regions(), **given.attrs)
        for value in op.results:
            outputs.append(poisoned(value.tile.dtype, value.tile.shape))
            target = k.output(f"z{len(outputs)}", value.tile.dtype, value.tile.rank)
            k.store(value, target, tile=value.tile.shape)
    return k.finish(), arrays, outputs


def both(
    func: Func, arrays: Sequence[Array], outputs: Sequence[Array], grid: Sequence[int] = (1,)
) -> tuple[list[Array], list[Array]]:
    """The outputs by native code, and by the reference."""
    native, expected = ([a.copy(order="K") for a in outputs] for _ in range(2))
    report = run_native(func, [*arrays, *native], grid)
    assert report.failure is None
    checked(func, [*arrays, *expected], grid)
    return native, expected


def assert_ops(cases: Sequence[Case], *operands: Operand, kernel: type[Kernel] = Dense) -> None:
    """All these ops give bit for bit what the reference gives."""
    native, expected = both(*kernel_of(cases, operands, kernel))
    assert len(native) >= len(cases)
    for number, (got, wanted) in enumerate(zip(native, expected, strict=True)):
        print(f"output {number} of {[c.name for c in cases]}")
        assert_same(got, wanted)


def assert_kernel(
    func: Func, arrays: Sequence[Array], outputs: Sequence[Array], grid: Sequence[int] = (1,)
) -> list[Array]:
    """A kernel gives bit for bit what the reference gives; the outputs."""
    native, expected = both(func, arrays, outputs, grid)
    for got, wanted in zip(native, expected, strict=True):
        assert_same(got, wanted)
    return native
