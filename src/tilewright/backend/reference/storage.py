"""The memory a launch may touch: arguments as regions of bytes, accessed by address only.

Every access of a kernel, through a view or a pointer, arrives here as an array of addresses.
Nothing outside the regions is ever touched: such reads return 0, such writes are dropped, and both
are reported.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import gcd

import numpy as np

from ...base.dtypes import AnyDType, bool_, f4e2m1fn
from .floating import Array
from .watch import Recorder, Shadow, Watch


@dataclass(frozen=True, slots=True)
class Member:
    """An argument array, by the name of its parameter."""

    name: str
    array: Array

    @property
    def bounds(self) -> tuple[int, int]:
        """The addresses of its first byte and of the first byte after it."""
        low = high = self.array.ctypes.data
        for n, stride in zip(self.array.shape, self.array.strides, strict=True):
            low += min((n - 1) * stride, 0)
            high += max((n - 1) * stride, 0)
        return low, high + self.array.itemsize

    def element_at(self, address: int) -> tuple[int, ...] | None:
        """Return the index of the element at an address, or None where the array has none there."""
        index = [0] * self.array.ndim
        rest = address - self.bounds[0]
        strides = self.array.strides
        # A number in mixed radix: the largest stride is the most significant digit.
        for axis in sorted(range(self.array.ndim), key=lambda k: -abs(strides[k])):
            n, stride = self.array.shape[axis], abs(strides[axis])
            if n > 1 and stride:
                count, rest = divmod(rest, stride)
                index[axis] = count if strides[axis] > 0 else n - 1 - count
        inside = all(0 <= i < n for i, n in zip(index, self.array.shape, strict=True))
        return tuple(index) if inside and 0 <= rest < self.array.itemsize else None


class MemoryRegion:
    """A stretch of bytes that arguments share, in cells of `unit` bytes, each with its shadow."""

    def __init__(self, members: Sequence[Member]) -> None:
        bounds = [m.bounds for m in members]
        self.members = tuple(members)
        self.low, self.high = min(low for low, _ in bounds), max(high for _, high in bounds)
        self.writable = any(m.array.flags.writeable for m in members)
        # The largest cell that divides all elements and their places: shadows are per cell, so that
        # f32 tensors have a quarter of the shadow that bytes would need.
        self.unit = gcd(
            *(n for m in members for n in (m.array.itemsize, *m.array.strides)),
            *(end - self.low for pair in bounds for end in pair),
        )
        # By address, since the strided views of several arguments may overlap in one region.
        raw = (ctypes.c_uint8 * (self.high - self.low)).from_address(self.low)
        self.data: Array = np.ctypeslib.as_array(raw).reshape(-1, self.unit)
        self.shadow = Shadow(len(self.data))

    def cells(self, addresses: Array, size: int) -> Array:
        """Return the cells of elements of `size` bytes: one row for each address."""
        offsets = addresses - self.low
        if size % self.unit or np.any(offsets % self.unit):
            self._refine()
        return offsets[:, None] // self.unit + np.arange(size // self.unit)

    def _refine(self) -> None:
        """Divide the cells into bytes, for accesses that do not fit the larger ones."""
        self.shadow = self.shadow.repeated(self.unit)
        self.data, self.unit = self.data.reshape(-1, 1), 1

    def member_at(self, address: int) -> Member:
        """Return the argument that an address belongs to; the first, if it is between them."""
        found = (m for m in self.members if m.element_at(address) is not None)
        return next(found, self.members[0])

    def get(self, cells: Array) -> Array:
        """Return the bytes of elements, one row each."""
        return self.data[cells].reshape(len(cells), -1)

    def put(self, cells: Array, rows: Array) -> None:
        """Overwrite the bytes of elements; of two rows for one cell the later stays."""
        self.data[cells] = rows.reshape(*cells.shape, self.unit)

    def name_of(self, cell: int) -> str:
        """Return the name of a cell, as `x[2, 3]`."""
        address = self.low + cell * self.unit
        for member in self.members:
            if (index := member.element_at(address)) is not None:
                return f"{member.name}[{', '.join(map(str, index))}]" if index else member.name
        return f"address {address:#x} in {self.members[0].name}"


def regions_of(members: Sequence[Member]) -> list[MemoryRegion]:
    """Return regions in order of address; arrays that overlap share one."""
    groups: list[list[Member]] = []
    end = 0
    for member in sorted((m for m in members if m.array.size), key=lambda m: m.bounds):
        low, high = member.bounds
        if groups and low < end:
            groups[-1].append(member)
        else:
            groups.append([member])
        end = max(end, high)
    return [MemoryRegion(group) for group in groups]


Change = Callable[[Array, Array], Array]
"""From the old values and the positions they belong to, to the new values."""


class LaunchMemory:
    """All regions of a launch, and the watch that is kept over them."""

    def __init__(
        self, members: Sequence[Member], watch: Watch, recorder: Recorder | None = None
    ) -> None:
        self.watch = watch
        self.recorder = recorder
        self.regions = regions_of(members)
        self._lows: Array = np.array([r.low for r in self.regions], np.int64)
        self._highs: Array = np.array([r.high for r in self.regions], np.int64)

    def forget(self, names: frozenset[str]) -> None:
        """Mark the elements of these parameters as never written."""
        for region in self.regions:
            for member in (m for m in region.members if m.name in names):
                region.shadow.unset[region.cells(_addresses(member), member.array.itemsize)] = True

    def poison(self, names: frozenset[str]) -> None:
        """Overwrite unwritten elements of these parameters: floats with NaN, integers with -1."""
        for region in self.regions:
            if any(m.name in names for m in region.members):
                flags = any(m.array.dtype == np.bool_ for m in region.members)
                # All bits set is NaN in every float type, and -1 in integers; booleans have no
                # third value.
                region.data[region.shadow.unset] = 1 if flags else 0xFF

    def read(self, event: int, addresses: Array, mask: Array, dtype: AnyDType) -> Array:
        """Return the elements at the addresses where mask; elsewhere bytes of 0."""
        rows = np.zeros((addresses.size, dtype.itemsize), np.uint8)
        for region, at, cells in self._parts(event, addresses, mask, dtype, "reads"):
            self.watch.read(event, region, cells)
            rows[at] = region.get(cells)
        return decode(rows, dtype, addresses.shape)

    def write(
        self, event: int, addresses: Array, mask: Array, values: Array, dtype: AnyDType
    ) -> None:
        """Store values at the addresses where mask."""
        rows = encode(values, dtype)
        for region, at, cells in self._parts(event, addresses, mask, dtype, "writes"):
            if self.watch.may_write(event, region, cells):
                self.watch.write(event, region, cells)
                region.put(cells, rows[at])

    def update(
        self, event: int, addresses: Array, mask: Array, dtype: AnyDType, change: Change
    ) -> Array:
        """Change elements atomically where mask, those of one address in turn; return the old."""
        old = np.zeros((addresses.size, dtype.itemsize), np.uint8)
        for region, at, cells in self._parts(event, addresses, mask, dtype, "updates"):
            if not self.watch.may_write(event, region, cells):
                continue
            self.watch.update(event, region, cells)
            # NumPy would apply one of several updates of an address: they go in passes of distinct
            # addresses, in the order of the lanes.
            for turn in _turns(cells[:, 0]):
                old[at[turn]] = rows = region.get(cells[turn])
                new = change(decode(rows, dtype, turn.shape), at[turn])
                region.put(cells[turn], encode(new, dtype))
        return decode(old, dtype, addresses.shape)

    def _parts(
        self, event: int, addresses: Array, mask: Array, dtype: AnyDType, verb: str
    ) -> Iterator[tuple[MemoryRegion, Array, Array]]:
        """Yield each region touched, with positions in the tile and cells of the elements."""
        at = np.flatnonzero(np.broadcast_to(mask, addresses.shape))
        wanted = addresses.reshape(-1)[at]
        # Regions are sorted and disjoint: the last one that begins at or before an address.
        which = np.searchsorted(self._lows, wanted, side="right") - 1
        known = which >= 0
        known[known] = wanted[known] + dtype.itemsize <= self._highs[which[known]]
        if not known.all():
            self.watch.outside(event, int(wanted[~known][0]), verb)
        touched: list[int] = np.flatnonzero(np.bincount(which[known])).tolist()
        for i in touched:
            here = known & (which == i)
            region = self.regions[i]
            self._record(event, verb, region, wanted[here], addresses.size)
            yield region, at[here], region.cells(wanted[here], dtype.itemsize)
        if not touched:
            self._record(event, verb, None, wanted[:0], addresses.size)

    def _record(
        self, event: int, verb: str, region: MemoryRegion | None, touched: Array, elements: int
    ) -> None:
        """Record an access, if there is a recorder."""
        if self.recorder is None:
            return
        member = None if region is None else region.member_at(int(touched[0]))
        self.recorder.note(*self.watch.actor_and_op(event), verb, member, touched, elements)


def _addresses(member: Member) -> Array:
    """Return the addresses of all elements of an array, flat."""
    total = np.full((), member.array.ctypes.data, np.int64)
    for n, stride in zip(member.array.shape, member.array.strides, strict=True):
        total = total[..., None] + np.arange(n, dtype=np.int64) * stride
    return np.asarray(total).reshape(-1)


def _turns(keys: Array) -> Iterator[Array]:
    """Yield positions in passes: each pass has a key at most once, passes keep the order."""
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    first = np.searchsorted(ordered, ordered, side="left")
    # The rank of each position among those of its key, by a stable sort.
    turn = np.empty_like(order)
    turn[order] = np.arange(len(keys)) - first
    for number in range(int(turn.max(initial=-1)) + 1):
        yield np.flatnonzero(turn == number)


def encode(values: Array, dtype: AnyDType) -> Array:
    """Return elements as rows of bytes, in their memory form."""
    flat = np.ascontiguousarray(values, dtype.np).reshape(-1, 1)
    return flat.view(np.uint8).reshape(len(flat), dtype.itemsize)


def decode(rows: Array, dtype: AnyDType, shape: tuple[int, ...]) -> Array:
    """Return rows of bytes as elements; any byte that is not 0 is true."""
    if dtype is bool_:
        return np.not_equal(rows, 0).reshape(shape)
    # Single f4 elements have a byte each, of which the upper half is undefined.
    if dtype is f4e2m1fn:
        rows = rows & np.uint8(0xF)
    return np.ascontiguousarray(rows).view(dtype.np).reshape(shape)


class SharedMemory:
    """The memory of one block of threads: static arrays by number, made when first asked for."""

    def __init__(self) -> None:
        self._regions: dict[int, tuple[Array, MemoryRegion]] = {}

    def region(
        self, number: int, name: str, shape: tuple[int, ...], dtype: AnyDType
    ) -> MemoryRegion:
        """Return the region of an array; a new one counts as unwritten."""
        if number not in self._regions:
            array = np.zeros(shape, dtype.np)
            region = MemoryRegion([Member(name, array)])
            region.shadow.unset[:] = True
            # The region reads by address, so the array has to be kept.
            self._regions[number] = array, region
        return self._regions[number][1]
