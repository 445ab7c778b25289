"""SIMT ops: threads, slices, shared memory, warps."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

import numpy as np

from ...base.dtypes import i32, int_range, u8
from ...ir.attrs import WARP_SIZE, ShuffleMode, ThreadCoordinate, VoteMode
from ...ir.core import Op, Value
from ...ir.types import DYNAMIC, SharedType
from .floating import Array
from .machine import Frame, Results, Rule, SharedData, Steps, filled
from .memory import COMBINE
from .storage import MemoryRegion, decode, encode

# -------------------------------------------------------------------------------------------------
# Coordinates of a thread, and its own index in launches of one and of two axes.

NOWHERE = int_range(i32)[1]
"""An index beyond every slice."""


def _sizes(frame: Frame, what: ThreadCoordinate) -> tuple[int, ...]:
    """Return a place or a size along x, y and z."""
    assert frame.thread is not None, "an op of SIMT kernels"
    known = {
        ThreadCoordinate.THREAD: frame.thread,
        ThreadCoordinate.BLOCK: frame.block,
        ThreadCoordinate.BLOCK_SIZE: frame.launch.func.signature.block_dims,
        ThreadCoordinate.GRID_SIZE: tuple(reversed(frame.launch.grid)),
    }
    return known[what]


def _along(frame: Frame, axis: int) -> int:
    """Return the thread's place in the whole launch along an axis."""
    parts = (ThreadCoordinate.BLOCK, ThreadCoordinate.BLOCK_SIZE, ThreadCoordinate.THREAD)
    block, size, thread = (_sizes(frame, what)[axis] for what in parts)
    return block * size + thread


def _is_used(frame: Frame, axis: int) -> bool:
    """Return whether the launch has more than one thread along an axis."""
    return (
        _sizes(frame, ThreadCoordinate.BLOCK_SIZE)[axis]
        * _sizes(frame, ThreadCoordinate.GRID_SIZE)[axis]
        > 1
    )


def _number(n: int) -> Array:
    return np.asarray(min(n, NOWHERE), np.int32)


def _index_1d(frame: Frame, op: Op) -> Results:
    invalid = _is_used(frame, 1) or _is_used(frame, 2)
    return (_number(NOWHERE if invalid else _along(frame, 0)),)


def _index_2d(frame: Frame, op: Op) -> Results:
    width, row, col = frame.integer(op.one("width")), _along(frame, 1), _along(frame, 0)
    invalid = col >= width or _is_used(frame, 2)
    return (_number(NOWHERE if invalid else row * width + col),)


def _number_in_block(frame: Frame) -> int:
    assert frame.thread is not None, "an op of SIMT kernels"
    (x, y, z), (width, height, _) = frame.thread, _sizes(frame, ThreadCoordinate.BLOCK_SIZE)
    return x + width * (y + height * z)


def _place(frame: Frame, op: Op) -> Results:
    what = op.attrs["what"]
    if what is ThreadCoordinate.LANE:
        return (_number(_number_in_block(frame) % WARP_SIZE),)
    if what is ThreadCoordinate.WARP:
        return (_number(_number_in_block(frame) // WARP_SIZE),)
    return (np.asarray(_sizes(frame, what)[op.attrs["axis"]], np.int32),)


# -------------------------------------------------------------------------------------------------
# Slices: elements are read and written one at a time, in bounds only.


def _length(frame: Frame, op: Op) -> Results:
    return (np.asarray(frame.tensor(op.one("slice")).extents[0], np.int32),)


def _check_index(frame: Frame, op: Op) -> Results:
    index, length = frame.integer(op.one("index")), frame.integer(op.one("length"))
    ok = 0 <= index < length
    if not ok:
        frame.fail(op, index, length)
    return (np.asarray(ok),)


def _address(frame: Frame, op: Op) -> tuple[Array, Array]:
    """Return the address of an element, and whether it may be touched."""
    guard, tensor = op.maybe("guard"), frame.tensor(op.one("slice"))
    inside = guard is None or bool(frame.array(guard))
    index = frame.integer(op.one("index")) if inside else 0
    itemsize = op.one("slice").tensor.dtype.itemsize
    return np.asarray(tensor.address + index * itemsize, np.int64), np.asarray(inside)


def _load_slice(frame: Frame, op: Op) -> Results:
    address, inside = _address(frame, op)
    memory = frame.launch.memory
    return (memory.read(memory.watch.enter(op), address, inside, op.result.tile.dtype),)


def _store_slice(frame: Frame, op: Op) -> Results:
    address, inside = _address(frame, op)
    memory, value = frame.launch.memory, op.one("value")
    memory.write(memory.watch.enter(op), address, inside, frame.array(value), value.tile.dtype)
    return ()


def _slice_pointer(frame: Frame, op: Op) -> Results:
    index, itemsize = frame.integer(op.one("index")), op.one("slice").tensor.dtype.itemsize
    return (np.asarray(frame.tensor(op.one("slice")).address + index * itemsize, np.int64),)


# -------------------------------------------------------------------------------------------------
# Shared memory: elements by index, watched like all memory; reads out of bounds return 0.


def meets(frame: Frame, op: Op) -> Steps:
    """Return an op at which threads synchronize; the scheduler supplies the results."""
    results = yield op
    return results


def _shared(frame: Frame, op: Op) -> Results:
    return (SharedData(op.attrs["number"], op.attrs["shape"]),)


def _dynamic_shared(frame: Frame, op: Op) -> Results:
    offset, room = frame.integer(op.one("offset")), frame.launch.func.signature.shared_bytes
    length = max(0, room - offset) // op.attrs["dtype"].itemsize
    return (SharedData(DYNAMIC, (length if offset >= 0 else 0,), offset),)


def _shared_length(frame: Frame, op: Op) -> Results:
    return (np.asarray(_data(frame, op.one("memory")).extents[0], np.int32),)


def _data(frame: Frame, value: Value) -> SharedData:
    data = frame.values[value]
    assert isinstance(data, SharedData), f"expected shared memory, got {data}"
    return data


def _kind(value: Value) -> SharedType:
    assert isinstance(value.type, SharedType), f"expected shared memory, got {value.type}"
    return value.type


def _element(frame: Frame, op: Op, verb: str) -> tuple[MemoryRegion, Array] | None:
    """Return the address of an element; None, and a report, if it is out of bounds."""
    memory = op.one("memory")
    data, kind = _data(frame, memory), _kind(memory)
    index = tuple(frame.integer(v) for v in op.all("index"))
    name = memory.name or "shared"
    if not all(0 <= i < n for i, n in zip(index, data.extents, strict=True)):
        shown = f"{name}[{', '.join(map(str, index))}]"
        frame.launch.memory.watch.complain(
            "outside", op,
            f"out of bounds: {shown} of shared memory of shape {data.extents}, {verb} by",
        )  # fmt: skip
        return None
    region = _region(frame, data, kind, name)
    flat = int(np.ravel_multi_index(index, data.extents))
    address = np.asarray([region.low + data.offset + flat * kind.dtype.itemsize], np.int64)
    return region, region.cells(address, kind.dtype.itemsize)


def _region(frame: Frame, data: SharedData, kind: SharedType, name: str) -> MemoryRegion:
    if data.number != DYNAMIC:
        return frame.shared.region(data.number, name, data.extents, kind.dtype)
    room = frame.launch.func.signature.shared_bytes
    return frame.shared.region(DYNAMIC, "byte of dynamic shared memory", (room,), u8)


def _load_shared(frame: Frame, op: Op) -> Results:
    dtype, found = op.result.tile.dtype, _element(frame, op, "read")
    if found is None:
        return (filled(dtype, (), 0),)
    region, cells = found
    watch = frame.launch.memory.watch
    watch.read(watch.enter(op), region, cells)
    return (decode(region.get(cells), dtype, ()),)


def _store_shared(frame: Frame, op: Op) -> Results:
    found = _element(frame, op, "written")
    if found is not None:
        region, cells = found
        watch, value = frame.launch.memory.watch, op.one("value")
        watch.write(watch.enter(op), region, cells)
        region.put(cells, encode(frame.array(value), value.tile.dtype))
    return ()


def _updated(frame: Frame, op: Op, change: Callable[[Array], Array]) -> Results:
    """Change an element atomically; return the old value."""
    dtype, found = op.result.tile.dtype, _element(frame, op, "updated")
    if found is None:
        return (filled(dtype, (), 0),)
    region, cells = found
    watch = frame.launch.memory.watch
    watch.update(watch.enter(op), region, cells)
    old = decode(region.get(cells), dtype, ())
    region.put(cells, encode(change(old), dtype))
    return (old,)


def _atomic_shared(frame: Frame, op: Op) -> Results:
    dtype, value = op.result.tile.dtype, frame.array(op.one("value"))
    combine = COMBINE[op.attrs["mode"]]
    return _updated(frame, op, lambda old: np.asarray(combine(dtype, old, value)))


def _cas_shared(frame: Frame, op: Op) -> Results:
    dtype, value = op.result.tile.dtype, frame.array(op.one("value"))
    expected = encode(frame.array(op.one("compare")), dtype)
    return _updated(
        frame, op, lambda old: value if np.array_equal(encode(old, dtype), expected) else old
    )


# -------------------------------------------------------------------------------------------------
# Warp ops: from the operands of all lanes to the results of all lanes.

Lanes: TypeAlias = Mapping[int, Frame]
"""The lanes of a warp that take part, by number."""
Together: TypeAlias = Callable[[Op, Lanes], dict[int, Results]]


def _flipped(lane: int, start: int, by: int, width: int) -> int:
    return start + ((lane - start) ^ (by & (width - 1)))


def _below(lane: int, start: int, by: int, width: int) -> int:
    return lane - by if by >= 0 and lane - by >= start else lane


def _above(lane: int, start: int, by: int, width: int) -> int:
    return lane + by if by >= 0 and lane + by < start + width else lane


SOURCES: dict[ShuffleMode, Callable[[int, int, int, int], int]] = {
    ShuffleMode.IDX: lambda lane, start, by, width: start + (by & (width - 1)),
    ShuffleMode.XOR: _flipped,
    ShuffleMode.UP: _below,
    ShuffleMode.DOWN: _above,
}
"""From a lane, the first of its neighbours, the given number and the width to the lane asked."""


def _shuffle(op: Op, lanes: Lanes) -> dict[int, Results]:
    width: int = op.attrs["width"]
    source = SOURCES[op.attrs["mode"]]
    results: dict[int, Results] = {}
    for lane, frame in lanes.items():
        start = lane - lane % width
        wanted = source(lane, start, frame.integer(op.one("lane")), width)
        if wanted not in lanes:
            watch = frame.launch.memory.watch
            watch.resume(frame.actor)
            watch.complain("inactive", op, f"a shuffle from lane {wanted}, which is inactive, by")
        results[lane] = (lanes.get(wanted, frame).array(op.one("value")),)
    return results


def _vote(op: Op, lanes: Lanes) -> dict[int, Results]:
    said = [bool(frame.array(op.one("cond"))) for frame in lanes.values()]
    answer = all(said) if op.attrs["mode"] is VoteMode.ALL else any(said)
    return dict.fromkeys(lanes, (np.asarray(answer),))


def _ballot(op: Op, lanes: Lanes) -> dict[int, Results]:
    votes = [k for k, frame in lanes.items() if bool(frame.array(op.one("cond")))]
    return dict.fromkeys(lanes, (_bits(votes),))


def _match(op: Op, lanes: Lanes) -> dict[int, Results]:
    value = op.one("value")
    given = {k: encode(f.array(value), value.tile.dtype).tobytes() for k, f in lanes.items()}
    return {k: (_bits([j for j in given if given[j] == given[k]]),) for k in given}


def _bits(lanes: list[int]) -> Array:
    return np.asarray(sum(1 << k for k in lanes), np.uint32)


def _sync(op: Op, lanes: Lanes) -> dict[int, Results]:
    for frame in lanes.values():
        blocks, warps = frame.actor.epoch
        frame.actor.epoch = blocks, warps + 1
    return dict.fromkeys(lanes, ())


TOGETHER: dict[str, Together] = {
    "sync_warp": _sync,
    "shuffle": _shuffle,
    "vote": _vote,
    "ballot": _ballot,
    "match": _match,
}

RULES: dict[str, Rule] = {
    "index_1d": _index_1d,
    "index_2d": _index_2d,
    "place": _place,
    "length": _length,
    "check_index": _check_index,
    "load_slice": _load_slice,
    "store_slice": _store_slice,
    "slice_pointer": _slice_pointer,
    "shared": _shared,
    "dynamic_shared": _dynamic_shared,
    "shared_length": _shared_length,
    "load_shared": _load_shared,
    "store_shared": _store_shared,
    "atomic_shared": _atomic_shared,
    "cas_shared": _cas_shared,
    "sync_threads": meets,
    **dict.fromkeys(TOGETHER, meets),
}
