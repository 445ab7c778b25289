"""Runs native code on the CPU: packs argument slots, reads failure and print records back."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..base.shapes import Shape, size
from ..driver.cpu import FailureWords, NativeFunction, execute, load
from ..ir.artifact import Artifact, Failure, Printed, Site
from ..ir.signature import ScalarSpec
from ..ir.types import PtrType, TileType
from .arguments import Arg, OutputArg, PointerArg, ScalarArg
from .report import Report
from .scalars import slot_of

PRINT_CAPACITY = 1 << 20
"""Bytes of print records one launch may write."""
STREAMED = 8 << 20
"""Outputs of more bytes than this, all together, are written past the caches.

A constant, because what systems report is often the sum of caches that cores do not share. Up to
here nothing is lost by keeping outputs, and whoever reads them next finds them near.
"""


class Loaded(NamedTuple):
    """An artifact, its code in memory, and whether it may print."""

    artifact: Artifact
    function: NativeFunction
    prints: bool


class Native:
    """The loaded code of one kernel's artifacts."""

    def __init__(self) -> None:
        self._loaded: dict[int, Loaded] = {}

    def run(self, artifact: Artifact, args: Sequence[Arg], grid: Shape) -> Report:
        """Run an artifact on its arguments; they are kept alive until it is done."""
        slots = np.array(slots_of(artifact, args), np.uint64)
        loaded = self._load(artifact)
        room = PRINT_CAPACITY if loaded.prints else 0
        streamed = output_bytes(args) > STREAMED
        raw = execute(loaded.function, slots, grid, artifact.scratch_bytes, room, streamed=streamed)
        if raw.truncated:
            warnings.warn(
                f"`{artifact.name}` printed more than {PRINT_CAPACITY} bytes; the rest is lost",
                RuntimeWarning,
                stacklevel=2,
            )
        failure = _failure(artifact.sites, raw.failure, grid) if raw.failure else None
        printed = _printed(artifact.sites, raw.printed, grid) if raw.printed else ()
        return Report(failure, tuple(printed))

    def _load(self, artifact: Artifact) -> Loaded:
        # Found by identity: hashing an artifact would read its code. Kept, so it stays the same.
        found = self._loaded.get(id(artifact))
        if found is None:
            assert isinstance(artifact.code, bytes)
            prints = any(site.kind == "print" for site in artifact.sites)
            found = Loaded(artifact, load(artifact.code, artifact.name), prints)
            self._loaded[id(artifact)] = found
        return found


def output_bytes(args: Sequence[Arg]) -> int:
    """Bytes that a launch may write to its outputs."""
    outputs = (arg.region for arg in args if isinstance(arg, OutputArg))
    return sum(size(region.shape) * region.dtype.itemsize for region in outputs)


def slots_of(artifact: Artifact, args: Sequence[Arg]) -> list[int]:
    """The argument slots, as `base.cpu_abi` lays them out."""
    slots: list[int] = []
    for spec, arg in zip(artifact.signature.params, args, strict=True):
        if isinstance(arg, ScalarArg):
            assert isinstance(spec, ScalarSpec)
            slots.append(slot_of(spec.dtype, arg.value))
        elif isinstance(arg, PointerArg):
            slots.append(arg.pointer.address)
        else:
            slots += arg.region.words
    return slots


def _failure(sites: Sequence[Site], words: FailureWords, grid: Shape) -> Failure:
    return Failure(sites[words.site], _block(words.block, grid), words.index, words.extent)


def _block(number: int, grid: Shape) -> Shape:
    return tuple(int(i) for i in np.unravel_index(number, grid))


def _printed(sites: Sequence[Site], records: bytes, grid: Shape) -> list[Printed]:
    """The print records in block order; those of one block in the order they were written."""
    found: list[tuple[int, Printed]] = []
    at = 0
    while at < len(records):
        nbytes, number, block = (int(n) for n in np.frombuffer(records, np.int64, 3, at))
        site = sites[number]
        found.append((block, Printed(site, _block(block, grid), _values(site, records, at + 24))))
        at += nbytes
    return [record for _, record in sorted(found, key=lambda pair: pair[0])]


def _values(site: Site, records: bytes, at: int) -> tuple[Any, ...]:
    values: list[Any] = []
    for kind in site.types:
        dtype = _memory_dtype(kind)
        count = size(kind.shape)
        values.append(np.frombuffer(records, dtype, count, at).reshape(kind.shape))
        at += -(-count * dtype.itemsize // 8) * 8
    return tuple(values)


def _memory_dtype(kind: TileType) -> np.dtype[Any]:
    return np.dtype(np.uint64) if isinstance(kind.elem, PtrType) else kind.elem.np
