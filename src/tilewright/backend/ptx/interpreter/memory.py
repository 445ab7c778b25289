"""Memory of the device and of threads: what may be reached, and which bytes were written.

Addresses of the device are those of the launch. A kernel may reach the spans that it was given.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from .values import ALL, BITS, Array, Lanes, UndefinedError, first

LINE = 16
"""Bytes of the widest access; memory is filled up to a multiple."""
FIRST = np.arange(1)
"""The column of a load that is no vector."""
WORD = 4
"""Bytes that a compare-and-swap of a smaller element reads and writes."""


@dataclass(slots=True)
class Segment:
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
class Span:
    """Addresses that a launch may reach: the first, one behind the last, whether it may write."""

    start: int
    end: int
    writable: bool = True


class _Reach:
    """Disjoint spans, in order."""

    def __init__(self, spans: Iterable[Span]) -> None:
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
            raise UndefinedError(f"{what} at {int(addresses[0]):#x}: there is no such memory", 0)
        if slack > 1:
            starts, ends = self.starts // slack * slack, -(-self.ends // slack) * slack
        else:
            starts, ends = self.starts, self.ends
        found = np.searchsorted(starts, addresses, side="right") - 1
        wrong = (found < 0) | (addresses + nbytes > ends[found])
        if wrong.any():
            which = first(wrong)
            raise UndefinedError(self._complaint(int(addresses[which]), nbytes, what), which)

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


class Memory:
    """All memory of the device that a launch may reach."""

    def __init__(self, segments: Sequence[Segment], spans: Iterable[Span] | None = None) -> None:
        self.segments = sorted(segments, key=lambda each: each.start)
        self._starts = np.array([each.start for each in self.segments], np.int64)
        self.spans = list(spans) if spans is not None else [_whole(each) for each in segments]
        self._readable = _Reach(self.spans)
        self._writable = _Reach(span for span in self.spans if span.writable)

    def with_statics(self, segments: Sequence[Segment]) -> Memory:
        """Return the same, and variables of a module, which it only reads."""
        more = [Span(each.start, each.start + len(each.data), writable=False) for each in segments]
        return Memory([*self.segments, *segments], [*self.spans, *more])

    def _pieces(self, addresses: Array) -> Iterator[tuple[Segment, Array | slice, Array]]:
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


def _whole(segment: Segment) -> Span:
    return Span(segment.start, segment.start + len(segment.data))


def _check_written(segment: Segment, offsets: Array, nbytes: int) -> None:
    written = segment.written
    if written is None:
        return
    last = np.minimum(offsets + nbytes - 1, len(written) - 1)
    known = written[offsets] | written[last]
    if not known.all():
        which = first(~known)
        raise UndefinedError(
            f"byte {int(offsets[which])} of an allocation is read, but was never written", which
        )


def _check_constant(dirty: Array, offsets: Array, nbytes: int) -> None:
    wrong = dirty[offsets] | dirty[offsets + nbytes - 1]
    if wrong.any():
        raise UndefinedError("ld.global.nc reads what this launch has written", first(wrong))


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
            raise UndefinedError(
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
            raise UndefinedError("memory of a thread is read, but was never written", first(~known))
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
