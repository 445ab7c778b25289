"""Runs cubins on CUDA devices: packs parameters, stages host arrays, reads what was reported."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import partial
from typing import Any

from .._core import write_addresses
from ..backend.tileir.target import ParameterSlot, slots
from ..base.cuda_abi import HARDWARE_RANK, MAX_GRID
from ..base.dtypes import AnyDType
from ..base.errors import LaunchError
from ..base.shapes import Shape, ceil_div, size
from ..devices.cpu.run import RawReport
from ..devices.cuda.device import CudaDevice
from ..devices.cuda.memory import DeviceMemory
from ..devices.cuda.record import REPORT_BYTES, PinnedReport, Record, first_slot
from ..devices.cuda.stream import CudaStream
from ..devices.protocol import Block, Device, Stream
from ..ir.artifact import Artifact
from ..tensors.region import Region
from .arguments import Arg, Bound, OutputArg, PointerArg, ScalarArg, TensorArg
from .code import Later, Lending, Recorded, RunOver
from .cuda_plan import CudaPlan, Reporting, label_of
from .launch_plan import called_plan
from .records import print_room, report_of
from .report import QUIET, Report, deliver
from .scalars import slot_of

ONE_THREAD = (1, 1, 1)
"""Tile kernels are launched in blocks of one thread; the driver knows how many they need."""


class Loaded:
    """An artifact, its code on a device and the hidden memory it works on."""

    __slots__ = ("artifact", "device", "function", "hidden", "module", "room")

    def __init__(self, device: CudaDevice, artifact: Artifact, hidden: Sequence[Region]) -> None:
        assert isinstance(artifact.code, bytes)
        self.artifact, self.device, self.hidden = artifact, device, hidden
        self.module = device.load_module(artifact.code, trusted=True)  # our own, or checksummed
        self.function = self.module.function(artifact.name, artifact.signature.shared_bytes)
        self.room = print_room(artifact)

    def new_report(self) -> PinnedReport:
        """Return a place to report in."""
        return PinnedReport(self.device.staging.allocate(REPORT_BYTES + self.room), self.room)


def load_cuda(device: Device, artifact: Artifact, hidden: Sequence[Region]) -> RunOver:
    """Load a cubin on a device."""
    assert isinstance(device, CudaDevice)
    return partial(CudaRun, Loaded(device, artifact, hidden))


class CudaRun:
    """A cubin over one grid, for arguments of known layouts: addresses and numbers go in."""

    def __init__(self, loaded: Loaded, args: Sequence[Arg], grid: Shape) -> None:
        self._loaded, self._args, self._grid = loaded, args, grid
        artifact = loaded.artifact
        self._name, self._in_words = artifact.name, f"`{artifact.name}`"
        self._reports = bool(artifact.sites)
        wanted = slots(artifact.signature, reports=self._reports)
        places = _places(args)
        self._words = [_constant(slot, args, loaded.hidden, grid) for slot in wanted]
        first = first_slot(len(wanted))
        memory: dict[int, int] = {}
        self._numbers: list[tuple[int, int, AnyDType]] = []
        for place, slot in enumerate(wanted, first):
            if slot.what == "scalar":
                self._numbers.append((place, places[slot.param], slot.dtype))
            elif slot.what == "address" and slot.param < len(args):
                memory[places[slot.param]] = place
        self._count = len(memory)
        self._memory = (ctypes.c_int64 * self._count)(*[memory[i] for i in range(self._count)])
        """Which words of a record are the addresses of the launch's memory."""
        self._memory_at = ctypes.addressof(self._memory)
        self._hardware, self._block = _hardware(artifact, grid)
        self._reads_arrays = any(isinstance(arg, TensorArg) and arg.home is None for arg in args)
        """Whether some of its memory may be on the host."""
        self._idle: list[Record] = []
        self._written = sum(isinstance(arg, OutputArg | PointerArg) for arg in args)
        self._lends = not (
            self._reports or loaded.hidden or any(isinstance(arg, PointerArg) for arg in args)
        )
        self.plan, self.called = self._new_plan(), called_plan(args)

    @property
    def lending(self) -> Lending | None:
        """How launches run on memory that is unknown here."""
        return self._lend if self._lends else None

    def _new_plan(self) -> CudaPlan:
        loaded = self._loaded
        tell = partial(_tell, loaded, self._grid)
        return CudaPlan(
            loaded.device.context, self._bare_record(), self._memory, self._written, self._numbers,
            partial(label_of, self._name), loaded,
            reporting=Reporting(self._name, loaded.new_report, tell) if self._reports else None,
            pools=(loaded.device.pool, loaded.device.staging.pool) if self._reads_arrays else None,
        )  # fmt: skip

    def _bare_record(self) -> Record:
        """Return a record without an address for reports."""
        loaded = self._loaded
        context = loaded.device.context.handle
        shared = loaded.artifact.signature.shared_bytes
        return Record(context, loaded.function, self._hardware, self._block, shared, self._words)

    def _new_record(self) -> Record:
        record = self._bare_record()
        if self._reports:
            record.report = self._loaded.new_report()
            record.words[-1] = record.report.address
        return record

    def _fill(
        self, record: Record, bound: Bound, stream: CudaStream, staged: list[DeviceMemory]
    ) -> None:
        """Write what differs between launches alike; lists memory that was made for this one."""
        words = record.words
        if bound.held is not None and not self._reads_arrays:
            write_addresses(bound.held[-2], self._count, record.address, self._memory_at)
        else:
            addresses = self._staged(bound, stream, staged)
            for place, address in zip(self._memory, addresses, strict=True):
                words[place] = address
        for place, which, dtype in self._numbers:
            words[place] = slot_of(dtype, bound.numbers[which])

    def _label_of(self, kept: tuple[Bound, *tuple[object, ...]]) -> str:
        return label_of(self._name, kept[0].location)

    def start(self, bound: Bound, stream: Stream, *, inline: bool) -> Later:
        """Enqueue a launch, and keep its arguments alive until it has passed."""
        assert isinstance(stream, CudaStream)
        record = self._taken_record()
        staged: list[DeviceMemory] = []
        kept = (bound, staged, record)
        try:
            self._fill(record, bound, stream, staged)
            stream.launch(record, self._label_of, kept)
        except BaseException:
            if staged:  # copies may be on their way
                stream.keep(None, kept)
            raise
        if self._reports:
            return AskedLater(self, record)
        self._idle.append(record)  # the driver has read it
        return self._quiet

    def _lend(self, addresses: list[int], numbers: tuple[Any, ...], stream: Stream) -> bool:
        """Enqueue a launch on another library's stream, which orders all uses of its memory."""
        assert isinstance(stream, CudaStream)
        record = self._taken_record()
        words = record.words
        for place, address in zip(self._memory, addresses, strict=True):
            words[place] = address
        for place, which, dtype in self._numbers:
            words[place] = slot_of(dtype, numbers[which])
        stream.launch(record, self._in_words, self)
        self._idle.append(record)  # the driver has read it
        return True

    def _taken_record(self) -> Record:
        try:
            return self._idle.pop()
        except IndexError:
            return self._new_record()

    def is_brief(self) -> bool:
        """Return False: no launch runs on the caller."""
        return False

    def record(self, bound: Bound, stream: Stream) -> Recorded:
        """Record a launch in a capture, with a separate record."""
        assert isinstance(stream, CudaStream)
        number = stream.captured
        record = self._new_record()
        staged: list[DeviceMemory] = []
        self._fill(record, bound, stream, staged)
        node = stream.launch(record, self._label_of, (bound, (staged, self)))
        assert node is not None, "the stream is capturing"
        node.number = number

        def refill(other: Bound) -> None:
            if staged or _host_arrays(other, self._loaded.device):
                raise LaunchError(
                    f"a node of `{self._name}` on {self._loaded.device.name} cannot take other"
                    " arrays of the host",
                    hint="give it tensors of the device",
                )
            self._fill(record, other, stream, [])
            node.refill(record)

        return Recorded(self._report, refill)

    def _staged(self, bound: Bound, stream: CudaStream, made: list[DeviceMemory]) -> Sequence[int]:
        """Return the addresses of all memory; that of host arrays is copied to the device, and
        listed.
        """
        device = self._loaded.device
        if not _host_arrays(bound, device):
            return [region.address for region in bound.used]
        addresses: list[int] = []
        for region in bound.used:
            if region.storage.device is device:
                addresses.append(region.address)
                continue
            nbytes = region.end - region.start
            memory = device.allocate(nbytes, zeroed=False)
            made.append(memory)
            target = Block(memory.address, 1, (nbytes,), (1,), host=False)
            stream.copy(target, Block(region.start, 1, (nbytes,), (1,), host=True))
            addresses.append(memory.address + region.address - region.start)
        return addresses

    def _quiet(self) -> Report:
        lost = self._loaded.device.context.lost
        return QUIET if lost is None else Report(error=lost)

    def read(self, record: Record) -> Report:
        """Return the report that a passed launch has left in its record."""
        assert record.report is not None
        raw = record.report.read()
        return self._quiet() if raw is None else self._report(raw)

    def recycle(self, record: Record) -> None:
        """Make a record that was read available again."""
        assert record.report is not None
        record.report.clear()
        self._idle.append(record)

    def _report(self, raw: RawReport) -> Report:
        return report_of(self._loaded.artifact, self._grid, raw)


class AskedLater:
    """What a launch reports, once its stream has passed it; may be asked again."""

    __slots__ = ("_found", "_record", "_run")

    def __init__(self, run: CudaRun, record: Record) -> None:
        self._run = run
        self._record: Record | None = record
        self._found: Report | None = None

    def __call__(self) -> Report:
        """Return the value as of the first call."""
        found, record = self._found, self._record
        if found is None:
            assert record is not None
            self._found = found = self._run.read(record)
        # Where an interrupt comes behind this, it is lost, and another one is made.
        self._record = None
        if record is not None:
            self._run.recycle(record)
        return found


def _tell(loaded: Loaded, grid: Shape, raw: RawReport) -> None:
    """Deliver what a launch reported that is over; raises its error.

    No method: a run whose plan knew it would wait for Python's collector, and its code with it.
    """
    artifact = loaded.artifact
    if (error := deliver(artifact.name, report_of(artifact, grid, raw))) is not None:
        raise error


def _host_arrays(bound: Bound, device: Device) -> bool:
    return any(region.storage.device is not device for region in bound.memory)


def _places(args: Sequence[Arg]) -> list[int]:
    """Return the index of each argument among the numbers, or in `Bound.used`."""
    outputs = sum(isinstance(arg, OutputArg) for arg in args)
    written = outputs + sum(isinstance(arg, PointerArg) for arg in args)
    counts: dict[type[Arg], int] = {
        OutputArg: 0, PointerArg: outputs, TensorArg: written, ScalarArg: 0
    }  # fmt: skip
    places: list[int] = []
    for arg in args:
        places.append(counts[type(arg)])
        counts[type(arg)] += 1
    return places


def _constant(
    slot: ParameterSlot, args: Sequence[Arg], hidden: Sequence[Region], grid: Shape
) -> int:
    """Return the value of a parameter that is the same in all similar launches, else 0."""
    if slot.what == "grid":
        return grid[slot.axis]
    if slot.what == "address" and slot.param >= len(args):
        return hidden[slot.param - len(args)].address
    if slot.what in ("extent", "stride"):
        arg = args[slot.param]
        assert isinstance(arg, OutputArg | TensorArg)
        first = len(arg.layout.shape) if slot.what == "stride" else 0
        return arg.layout.words[first + slot.axis]
    return 0


def _hardware(artifact: Artifact, grid: Shape) -> tuple[Shape, Shape]:
    """Return the blocks, and the threads of each, as the driver launches them."""
    signature = artifact.signature
    if signature.block is not None:  # its x axis comes last in a grid, as the fastest one does
        return tuple(reversed(grid)), signature.block_dims
    if artifact.turned:
        return tuple(reversed(grid)), ONE_THREAD
    return hardware_grid(artifact.name, grid, folded=signature.folded), ONE_THREAD


def hardware_grid(kernel: str, grid: Shape, *, folded: bool) -> Shape:
    """Return the grid that is launched: as it is, or any that has at least as many blocks."""
    if not folded:
        return (*grid, 1, 1, 1)[:HARDWARE_RANK]
    left, found = size(grid), list[int]()
    for most in MAX_GRID:
        found.append(min(left, most))
        left = ceil_div(left, found[-1])
    if left > 1:
        raise LaunchError(
            f"the grid of `{kernel}` is too large for this device",
            expected=f"at most {size(MAX_GRID)} blocks in all",
            got=str(grid),
            hint="use larger tiles, so that there are fewer blocks",
        )
    return tuple(found)
