"""Memory of the device, of blocks and of threads: what may be reached, races, variables.

Addresses of the device are those of the launch. A kernel may reach the spans that it was given.

Two accesses to a byte by different threads, one of them a write and not both of them atomic, race
unless a barrier of the block lies between them, or one of their warp. The record of a byte is its
last write and its last read since the last barrier; a byte that several threads have read is known
as such.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from .program import Operand, PtxAddress, PtxError, PtxFunction, PtxModule, PtxVariable, Register
from .values import ALL, BITS, Array, Lanes, UndefinedPtxError, first

if TYPE_CHECKING:
    from .threads import PtxThreads

# --- memory of the device and of threads -------------------------------------------------------

LINE = 16
"""Bytes of the widest access; memory is filled up to a multiple."""
FIRST = np.arange(1)
"""The column of a load that is no vector."""
WORD = 4
"""Bytes that a compare-and-swap of a smaller element reads and writes."""


@dataclass(slots=True)
class MemorySegment:
    """Memory in one piece: where it starts, its bytes, which of them were ever written."""

    start: int
    data: Array
    written: Array | None = None
    """One flag per byte; None where all of it counts as written."""
    dirty: Array | None = None
    """Which bytes this launch has written."""
    words: dict[int, Array] = field(init=False)

    def __post_init__(self) -> None:
        if self.start % LINE:
            raise ValueError(f"memory starts at {self.start:#x}, not at a multiple of {LINE}")
        room = -(-len(self.data) // LINE) * LINE
        if room != len(self.data):
            self.data = np.lib.stride_tricks.as_strided(self.data, (room,), (1,))
        self.words = {size: self.data.view(BITS[8 * size]) for size in (1, 2, 4, 8)}
        if self.written is not None and self.written.all():
            self.written = None


@dataclass(frozen=True, slots=True)
class MemorySpan:
    """Addresses that a launch may reach: the first, one behind the last, whether it may write."""

    start: int
    end: int
    writable: bool = True


class _Reach:
    """Disjoint spans, in order."""

    def __init__(self, spans: Iterable[MemorySpan]) -> None:
        merged: list[list[int]] = []
        for span in sorted(spans, key=lambda each: each.start):
            if merged and span.start <= merged[-1][1]:
                merged[-1][1] = max(merged[-1][1], span.end)
            else:
                merged.append([span.start, span.end])
        self.starts = np.array([start for start, _ in merged], np.int64)
        self.ends = np.array([end for _, end in merged], np.int64)

    def check(self, addresses: Array, nbytes: int, what: str, slack: int) -> None:
        """Raise for an access that is not inside one of the spans."""
        if not len(self.starts):
            raise UndefinedPtxError(f"{what} at {int(addresses[0]):#x}: there is no such memory", 0)
        if slack > 1:
            starts, ends = self.starts // slack * slack, -(-self.ends // slack) * slack
        else:
            starts, ends = self.starts, self.ends
        found = np.searchsorted(starts, addresses, side="right") - 1
        wrong = (found < 0) | (addresses + nbytes > ends[found])
        if wrong.any():
            which = first(wrong)
            raise UndefinedPtxError(self._complaint(int(addresses[which]), nbytes, what), which)

    def _complaint(self, address: int, nbytes: int, what: str) -> str:
        gaps = [
            (min(abs(address - start), abs(address - end)), start, end)
            for start, end in zip(self.starts.tolist(), self.ends.tolist(), strict=True)
        ]
        _, start, end = min(gaps)
        return (
            f"{what} of {nbytes} bytes at {address:#x} is outside of what the launch may use so; "
            f"nearest are {end - start} bytes, of which it begins at byte {address - start}"
        )


class PtxMemory:
    """All memory of the device that a launch may reach."""

    def __init__(
        self, segments: Sequence[MemorySegment], spans: Iterable[MemorySpan] | None = None
    ) -> None:
        self.segments = sorted(segments, key=lambda each: each.start)
        self._starts = np.array([each.start for each in self.segments], np.int64)
        self.spans = list(spans) if spans is not None else [_whole(each) for each in segments]
        self._readable = _Reach(self.spans)
        self._writable = _Reach(span for span in self.spans if span.writable)

    def with_statics(self, segments: Sequence[MemorySegment]) -> PtxMemory:
        """Return a copy with the variables of a module, which a launch only reads."""
        more = [
            MemorySpan(each.start, each.start + len(each.data), writable=False) for each in segments
        ]
        return PtxMemory([*self.segments, *segments], [*self.spans, *more])

    def _pieces(self, addresses: Array) -> Iterator[tuple[MemorySegment, Array | slice, Array]]:
        numbers = np.searchsorted(self._starts, addresses, side="right") - 1
        low = int(numbers[0])
        if (numbers == low).all():
            yield self.segments[low], ALL, addresses - self.segments[low].start
            return
        known: list[int] = np.unique(numbers).tolist()
        for number in known:
            chosen = np.flatnonzero(numbers == number)
            segment = self.segments[number]
            yield segment, chosen, addresses[chosen] - segment.start

    def load(
        self,
        addresses: Array,
        size: int,
        columns: Array = FIRST,
        *,
        constant: bool = False,
        slack: int = 1,
    ) -> Array:
        """Read elements: for each address a row of some of those that follow it."""
        first_byte, nbytes = _extent(size, columns)
        self._readable.check(addresses + first_byte, nbytes, "a load", slack)
        made = np.empty((len(addresses), len(columns)), BITS[8 * size])
        for segment, chosen, offsets in self._pieces(addresses):
            _check_written(segment, offsets + first_byte, nbytes)
            if constant and segment.dirty is not None:
                _check_constant(segment.dirty, offsets + first_byte, nbytes)
            at: Array = (offsets // size)[:, None] + columns
            made[chosen] = segment.words[size][at]
        return made

    def store(self, addresses: Array, values: Array, *, slack: int = 1) -> None:
        """Write rows of elements."""
        count, size = int(values.shape[1]), values.dtype.itemsize
        self._writable.check(addresses, size * count, "a store", slack)
        for segment, chosen, offsets in self._pieces(addresses):
            at: Array = (offsets // size)[:, None] + np.arange(count)
            segment.words[size][at] = values[chosen]
            if segment.dirty is None:
                segment.dirty = np.zeros(len(segment.data), np.bool_)
            for byte in range(size * count):
                segment.dirty[offsets + byte] = True
                if segment.written is not None:
                    there = offsets + byte
                    segment.written[there[there < len(segment.written)]] = True


def _extent(size: int, columns: Array) -> tuple[int, int]:
    """Return the first byte of some columns, and the bytes up to the last."""
    first_byte = int(columns[0]) * size
    return first_byte, (int(columns[-1]) + 1) * size - first_byte


def _whole(segment: MemorySegment) -> MemorySpan:
    return MemorySpan(segment.start, segment.start + len(segment.data))


def _check_written(segment: MemorySegment, offsets: Array, nbytes: int) -> None:
    written = segment.written
    if written is None:
        return
    last = np.minimum(offsets + nbytes - 1, len(written) - 1)
    known = written[offsets] | written[last]
    if not known.all():
        which = first(~known)
        raise UndefinedPtxError(
            f"byte {int(offsets[which])} of an allocation is read, but was never written", which
        )


def _check_constant(dirty: Array, offsets: Array, nbytes: int) -> None:
    wrong = dirty[offsets] | dirty[offsets + nbytes - 1]
    if wrong.any():
        raise UndefinedPtxError("ld.global.nc reads what this launch has written", first(wrong))


def bytes_in(size: int, columns: Array) -> Array:
    """Return the bytes of some columns, counted from the address."""
    found: Array = (columns[:, None] * size + np.arange(size)).reshape(-1)
    return found


class LocalMemory:
    """Memory that each thread has for itself."""

    def __init__(self, threads: int, nbytes: int) -> None:
        self.nbytes = nbytes
        self.room = -(-nbytes // LINE) * LINE
        self.data = np.zeros((threads, self.room), np.uint8)
        self.written = np.zeros((threads, self.room), np.bool_)

    def forget(self, lanes: Lanes, start: int, end: int) -> None:
        """Mark a part as never written."""
        self.written[lanes, start:end] = False

    def _at(self, threads: Array, offsets: Array, bytes_of: Array, what: str) -> Array:
        nbytes = int(bytes_of[-1]) + 1
        wrong = (offsets < 0) | (offsets + nbytes > self.nbytes)
        if wrong.any():
            which = first(wrong)
            raise UndefinedPtxError(
                f"{what} of {nbytes} bytes at byte {int(offsets[which])} of the memory of a "
                f"thread, which has {self.nbytes}", which
            )  # fmt: skip
        at: Array = threads[:, None] * self.room + offsets[:, None] + bytes_of
        return at

    def load(self, threads: Array, offsets: Array, size: int, columns: Array = FIRST) -> Array:
        """Read elements: for each thread a row of some of those that follow an offset."""
        at = self._at(threads, offsets, bytes_in(size, columns), "a load")
        known = np.asarray(self.written.reshape(-1)[at].any(1))
        if not known.all():
            raise UndefinedPtxError(
                "memory of a thread is read, but was never written", first(~known)
            )
        return self.data.reshape(-1)[at].view(BITS[8 * size])

    def store(self, threads: Array, offsets: Array, values: Array) -> None:
        """Write rows of elements."""
        raw = np.ascontiguousarray(values).view(np.uint8)
        at = self._at(threads, offsets, np.arange(int(raw.shape[1])), "a store")
        self.data.reshape(-1)[at] = raw
        self.written.reshape(-1)[at] = True


class ParamMemory(LocalMemory):
    """The parameters and results of functions."""

    def copy(self, lanes: Lanes, source: int, target: int, nbytes: int) -> None:
        """Pass a parameter, or a result, from one function to another."""
        for memory in (self.data, self.written):
            memory[lanes, target : target + nbytes] = memory[lanes, source : source + nbytes]


# --- memory of a block, and a detector of races in it ------------------------------------------

NOBODY, SEVERAL = -1, -2


class _Last:
    """The last access of a kind to each byte: by whom, and after how many barriers."""

    def __init__(self, nbytes: int) -> None:
        self.thread = np.full(nbytes, NOBODY, np.int64)
        self.warp = np.full(nbytes, NOBODY, np.int64)
        self.epoch = np.zeros(nbytes, np.int64)
        self.warp_epoch = np.zeros(nbytes, np.int64)
        self.atomic = np.zeros(nbytes, np.bool_)


class BlockMemory:
    """The memory of some blocks, side by side."""

    def __init__(self, blocks: int, nbytes: int, threads: PtxThreads) -> None:
        self.nbytes = nbytes
        self.room = -(-nbytes // LINE) * LINE
        self.threads = threads
        total = blocks * self.room
        self.data = np.zeros(total, np.uint8)
        self.written = np.zeros(total, np.bool_)
        self.writes, self.reads = _Last(total), _Last(total)

    def _at(self, threads: Array, addresses: Array, bytes_of: Array, what: str) -> Array:
        nbytes = int(bytes_of[-1]) + 1
        offsets = addresses - SHARED_START
        wrong = (offsets < 0) | (offsets + nbytes > self.nbytes)
        if wrong.any():
            which = first(wrong)
            raise UndefinedPtxError(
                f"{what} of {nbytes} bytes at byte {int(offsets[which])} of the shared memory "
                f"of a block, which has {self.nbytes}", which
            )  # fmt: skip
        start = self.threads.block[threads] * self.room + offsets
        at: Array = start[:, None] + bytes_of
        return at

    def load(self, threads: Array, addresses: Array, size: int, columns: Array = FIRST) -> Array:
        """Read elements: for each address a row of some of those that follow it."""
        at = self._at(threads, addresses, bytes_in(size, columns), "a load")
        known = np.asarray(self.written[at].all(1))
        if not known.all():
            raise UndefinedPtxError("shared memory is read, but was never written", first(~known))
        self._judge(threads, at, self.writes, "a read of what", "wrote", atomic=False)
        self._note_reads(threads, at)
        return self.data[at].view(BITS[8 * size])

    def store(self, threads: Array, addresses: Array, values: Array) -> None:
        """Write rows of elements."""
        raw = np.ascontiguousarray(values).view(np.uint8)
        at = self._at(threads, addresses, np.arange(int(raw.shape[1])), "a store")
        self._judge(threads, at, self.writes, "a write to what", "wrote", atomic=False)
        self._judge(threads, at, self.reads, "a write to what", "read", atomic=False)
        self.data[at] = raw
        wrong = (self.data[at] != raw).any(1)
        if wrong.any():
            raise UndefinedPtxError(
                "a race in shared memory: two threads write at once", first(wrong)
            )
        self.written[at] = True
        self._note_writes(threads, at, atomic=False)

    def update(self, threads: Array, addresses: Array, size: int) -> tuple[Array, Array]:
        """Return the bytes, by address, that atomic updates of elements change."""
        at = self._at(threads, addresses, np.arange(size), "an atomic update")
        known = np.asarray(self.written[at].all(1))
        if not known.all():
            raise UndefinedPtxError(
                "shared memory is updated, but was never written", first(~known)
            )
        self._judge(threads, at, self.writes, "an atomic update of what", "wrote", atomic=True)
        self._judge(threads, at, self.reads, "an atomic update of what", "read", atomic=True)
        self._note_writes(threads, at, atomic=True)
        return self.data.view(BITS[8 * size]), at[:, 0] // size

    # --- races ---------------------------------------------------------------------------------

    def _judge(
        self, threads: Array, at: Array, last: _Last, what: str, did: str, *, atomic: bool
    ) -> None:
        """Raise for accesses that are not ordered after earlier ones."""
        state = self.threads
        who = threads[:, None]
        earlier = last.thread[at]
        race = (earlier != NOBODY) & (earlier != who)
        race &= last.epoch[at] == state.epoch[state.block[threads]][:, None]
        if not race.any():
            return
        ordered = last.warp[at] == state.warp[who]
        ordered &= last.warp_epoch[at] < state.warp_epoch[who]
        race &= ~ordered
        if atomic:
            race &= ~last.atomic[at]
        if race.any():
            which = first(race.any(1))
            other = int(earlier[which][first(race[which])])
            name = state.described(other) if other != SEVERAL else "several threads"
            raise UndefinedPtxError(
                f"a race in shared memory: {what} {name} {did}, with no barrier between", which
            )

    def _note_writes(self, threads: Array, at: Array, *, atomic: bool) -> None:
        state, who = self.threads, threads[:, None]
        # A plain write of this barrier's time stays on record when atomic updates follow it.
        self.writes.atomic[at] = atomic
        self.writes.thread[at] = who
        self.writes.warp[at] = state.warp[who]
        self.writes.epoch[at] = state.epoch[state.block[threads]][:, None]
        self.writes.warp_epoch[at] = state.warp_epoch[who]

    def _note_reads(self, threads: Array, at: Array) -> None:
        state, who, last = self.threads, threads[:, None], self.reads
        epoch = state.epoch[state.block[threads]][:, None]
        others = (last.thread[at] != NOBODY) & (last.epoch[at] == epoch)
        before, before_warp = last.thread[at], last.warp[at]
        last.thread[at] = np.where(others & (before != who), SEVERAL, who)
        last.warp[at] = np.where(
            others & (before_warp != state.warp[who]), SEVERAL, state.warp[who]
        )
        # Of threads that read the same byte at once, the last one is on record by now.
        several = last.thread[at] != who
        last.thread[at[several]] = SEVERAL
        mixed = (last.warp[at] != state.warp[who]) & (last.warp[at] != SEVERAL)
        last.warp[at[mixed]] = SEVERAL
        last.warp_epoch[at] = np.where(
            others, np.maximum(last.warp_epoch[at], state.warp_epoch[who]), state.warp_epoch[who]
        )
        last.epoch[at] = np.broadcast_to(epoch, at.shape)


# --- where variables lie -----------------------------------------------------------------------

STATIC = 1 << 58
"""Where the variables of the module begin."""
SHARED_START = 1 << 10
"""Where the memory of a block begins: 0 is no address."""
SHARED_WINDOW, LOCAL_WINDOW = 1 << 60, 1 << 61
"""Where memory of a block and of a thread stand among generic addresses."""
DYNAMIC_ALIGNMENT = 16


@dataclass(slots=True)
class ParamPlace:
    """A parameter, or a result, of a thread: where it lies in the memory of the thread."""

    start: int
    nbytes: int


@dataclass(slots=True)
class PtxLayout:
    """Where everything is that instructions name, in one function at a time."""

    module: PtxModule
    entry: PtxFunction
    function: PtxFunction = field(init=False)
    """The one whose instructions are being read."""
    addresses: dict[tuple[str, str], int] = field(default_factory=dict[tuple[str, str], int])
    """Of variables, by function ("" for those of the module) and name."""
    spaces: dict[tuple[str, str], str] = field(default_factory=dict[tuple[str, str], str])
    places: dict[tuple[str, str], ParamPlace] = field(
        default_factory=dict[tuple[str, str], ParamPlace]
    )
    """Of parameters of functions and of calls, by function and name."""
    kernel_params: dict[str, ParamPlace] = field(default_factory=dict[str, ParamPlace])
    statics: list[tuple[int, PtxVariable]] = field(default_factory=list[tuple[int, PtxVariable]])
    shared_end: int = SHARED_START
    local_end: int = 0
    param_end: int = 0
    local_of: dict[str, tuple[int, int]] = field(default_factory=dict[str, tuple[int, int]])
    """The part of a thread's memory that belongs to a function: uninitialized when it begins."""

    _uses: dict[str, Counter[Register]] = field(default_factory=dict[str, Counter[Register]])

    def __post_init__(self) -> None:
        self.function = self.entry
        self._place_statics()
        for function in self.module.functions.values():
            self._place_function(function)
        # What a launch asks for lies behind everything else.
        self.shared_end = _aligned(self.shared_end, DYNAMIC_ALIGNMENT)
        for key, space in self.spaces.items():
            if space == "shared" and key not in self.addresses:
                self.addresses[key] = self.shared_end
        offset = 0
        for param in self.entry.params:
            offset = _aligned(offset, param.align)
            self.kernel_params[param.name] = ParamPlace(offset, param.nbytes)
            offset += param.nbytes

    def _place_statics(self) -> None:
        at = STATIC
        for variable in self.module.variables.values():
            key = "", variable.name
            self.spaces[key] = variable.space
            if variable.space in ("global", "const"):
                at = _aligned(at, max(variable.align, 16))
                self.addresses[key] = at
                self.statics.append((at, variable))
                at += variable.nbytes
            elif variable.space == "shared":
                self._place_shared(key, variable)
            else:
                raise PtxError(f"a variable of the module in {variable.space} memory")

    def _place_shared(self, key: tuple[str, str], variable: PtxVariable) -> None:
        if variable.nbytes:
            self.shared_end = _aligned(self.shared_end, variable.align)
            self.addresses[key] = self.shared_end
            self.shared_end += variable.nbytes

    def _place_function(self, function: PtxFunction) -> None:
        start = self.local_end
        for variable in function.variables.values():
            key = function.name, variable.name
            self.spaces[key] = variable.space
            if variable.space == "shared":
                self._place_shared(key, variable)
            elif variable.space == "local":
                self.local_end = _aligned(self.local_end, variable.align)
                self.addresses[key] = self.local_end
                self.local_end += variable.nbytes
            else:
                self._place_param(key, variable)
        self.local_of[function.name] = start, self.local_end
        if not function.is_entry:
            for variable in (*function.params, *function.results):
                self._place_param((function.name, variable.name), variable)

    def _place_param(self, key: tuple[str, str], variable: PtxVariable) -> None:
        self.param_end = _aligned(self.param_end, max(variable.align, 16))
        self.places[key] = ParamPlace(self.param_end, variable.nbytes)
        self.param_end += variable.nbytes

    # --- questions -----------------------------------------------------------------------------

    def _key(self, name: str) -> tuple[str, str]:
        for key in ((self.function.name, name), ("", name)):
            if key in self.spaces:
                return key
        raise PtxError(f"{name} is not declared in {self.function.name}")

    def address(self, name: str) -> int:
        """Return the address of a variable in its own space."""
        return self.addresses[self._key(name)]

    def space(self, name: str) -> str:
        """Return the space of a variable."""
        return self.spaces[self._key(name)]

    def is_used(self, register: Operand) -> bool:
        """Return whether anything but the one instruction that writes a register names it."""
        name = self.function.name
        if name not in self._uses:
            self._uses[name] = Counter(_registers(self.function))
        return isinstance(register, Register) and self._uses[name][register] > 1

    def param(self, name: str, function: str = "") -> ParamPlace:
        """Return the location of a parameter of a called function."""
        owner = function or self.function.name
        if (owner, name) not in self.places:
            raise PtxError(f"{name} is no parameter of {owner}")
        return self.places[owner, name]


def _registers(function: PtxFunction) -> Iterator[Register]:
    for instr in function.code:
        if instr.guard is not None:
            yield instr.guard.register
        for operand in instr.operands:
            for part in operand if isinstance(operand, tuple) else (operand,):
                named = part.base if isinstance(part, PtxAddress) else part
                if isinstance(named, Register):
                    yield named


def _aligned(offset: int, align: int) -> int:
    return -(-offset // align) * align
