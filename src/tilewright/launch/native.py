"""Runs native code on the CPU: packs argument slots, and makes reports of what it leaves."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import partial

from .._core import run_external, write_addresses
from ..base.shapes import Shape, size
from ..devices.cpu.native import load
from ..devices.cpu.record import SLOTS, Record
from ..devices.cpu.run import QUIET as DRIVER_QUIET
from ..devices.cpu.run import Launcher, RawReport
from ..devices.cpu.stream import CpuStream
from ..devices.protocol import Stream
from ..ir.artifact import Artifact
from ..ir.signature import ScalarSpec
from ..tensors.region import Region
from .arguments import Arg, Bound, OutputArg, PointerArg, ScalarArg, TensorArg
from .code import Later, Lending, Recorded, RunOver
from .cpu_plan import CpuPlan
from .launch_plan import called_plan
from .records import print_room, report_of
from .report import QUIET, Report, deliver
from .scalars import slot_of

STREAMED = 8 << 20
"""Outputs of more bytes than this, all together, are written by non-temporal stores.

A constant, because the size that systems report is often the sum of caches that cores do not share.
Up to this size, cached outputs cost nothing, and the next reader finds them in the cache.
"""


class Loaded:
    """An artifact, its code in memory and the hidden memory it works on; kept while it can run."""

    __slots__ = ("artifact", "function", "hidden", "room")

    def __init__(self, artifact: Artifact, hidden: Sequence[Region]) -> None:
        assert isinstance(artifact.code, bytes)
        self.artifact = artifact
        self.hidden = hidden
        self.function = load(artifact.code, artifact.name)
        self.room = print_room(artifact)


def load_native(artifact: Artifact, hidden: Sequence[Region]) -> RunOver:
    """Load native code."""
    return partial(NativeRun, Loaded(artifact, hidden))


class NativeRun:
    """Native code over one grid, for arguments of known layouts: addresses and numbers go in."""

    def __init__(self, loaded: Loaded, args: Sequence[Arg], grid: Shape) -> None:
        artifact = loaded.artifact
        self._loaded, self._grid = loaded, grid
        slots, places = slots_of(args, loaded.hidden)
        self._launcher = Launcher(
            loaded.function, slots, grid, artifact.scratch_bytes, loaded.room,
            streamed=output_bytes(args) > STREAMED, together=artifact.together,
        )  # fmt: skip
        pointers = places[PointerArg]
        written = places[OutputArg] + pointers
        memory = written + places[TensorArg]
        self._count = len(memory)
        self._memory = (ctypes.c_int64 * self._count)(*memory)
        self._memory_at = ctypes.addressof(self._memory)
        dtypes = [s.dtype for s in artifact.signature.params if isinstance(s, ScalarSpec)]
        self._numbers = list(zip(places[ScalarArg], dtypes, strict=True))
        self.plan, self.called = self._new_plan(len(written)), called_plan(args)
        self._lends = not (pointers or loaded.hidden)

    @property
    def lending(self) -> Lending | None:
        """How launches run on memory that is unknown here."""
        return partial(run_external, self.plan) if self._lends else None

    def _new_plan(self, written: int) -> CpuPlan:
        numbers = [(place, i, dtype) for i, (place, dtype) in enumerate(self._numbers)]
        artifact = self._loaded.artifact
        quiet = not (artifact.sites or artifact.scratch_bytes)
        tell = partial(_tell, self._loaded, self._grid)
        return CpuPlan(self._launcher, self._memory, written, numbers, tell, quiet=quiet)

    def start(self, bound: Bound, stream: Stream, *, inline: bool) -> Report | Later:
        """Enqueue a launch, and keep its arguments alive until it has passed."""
        assert isinstance(stream, CpuStream)
        launcher = self._launcher
        record = launcher.record()
        self._fill(record, bound)
        if not stream.launch(record, inline=inline, keep=(self, bound)):
            return partial(self._later, [record])
        raw = launcher.report(record)
        return QUIET if raw is DRIVER_QUIET else self._report(raw)

    def is_brief(self) -> bool:
        """Return whether similar launches were over at once."""
        return self._launcher.is_brief()

    def record(self, bound: Bound, stream: Stream) -> Recorded:
        """Record a launch in a capture, with a separate record."""
        assert isinstance(stream, CpuStream)
        record = self._launcher.new_record()
        self._fill(record, bound)
        stream.launch(record, keep=self)
        return Recorded(self._report, partial(self._fill, record))

    def _fill(self, record: Record, bound: Bound) -> None:
        words = record.words
        if bound.held is not None:
            write_addresses(bound.held[-2], self._count, record.address, self._memory_at)
        else:
            for place, region in zip(self._memory, bound.used, strict=True):
                words[place] = region.address
        for (place, dtype), number in zip(self._numbers, bound.numbers, strict=True):
            words[place] = slot_of(dtype, number)

    def _later(self, run: list[Record]) -> Report:
        raw = self._launcher.report_again(run)
        return QUIET if raw is DRIVER_QUIET else self._report(raw)

    def _report(self, raw: RawReport) -> Report:
        return report_of(self._loaded.artifact, self._grid, raw)


def _tell(loaded: Loaded, grid: Shape, raw: RawReport) -> None:
    """Deliver what a launch reported that is over; raises its error.

    No method: a run whose plan knew it would wait for Python's collector, and its code with it.
    """
    artifact = loaded.artifact
    if (error := deliver(artifact.name, report_of(artifact, grid, raw))) is not None:
        raise error


def output_bytes(args: Sequence[Arg]) -> int:
    """Return bytes that a launch may write to its outputs."""
    layouts = [arg.layout for arg in args if isinstance(arg, OutputArg)]
    return sum(size(layout.shape) * layout.dtype.itemsize for layout in layouts)


def slots_of(
    args: Sequence[Arg], hidden: Sequence[Region]
) -> tuple[list[int], dict[type[Arg], list[int]]]:
    """Return the constant argument slots as `base.cpu_abi` lays them out.

    And the places in the record of the other slots, by kind of argument: addresses and numbers.
    """
    slots: list[int] = []
    places: dict[type[Arg], list[int]] = {
        kind: [] for kind in (OutputArg, TensorArg, ScalarArg, PointerArg)
    }
    for arg in args:
        places[type(arg)].append(SLOTS + len(slots))
        slots.append(0)
        if isinstance(arg, OutputArg | TensorArg):
            slots += arg.layout.words
    slots += [region.address for region in hidden]
    return slots, places
