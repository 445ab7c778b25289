"""Memory of a block: elements by index, watched like all memory; who is outside reads 0."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...base.dtypes import u8
from ...ir.core import Op, Value
from ...ir.types import DYNAMIC, SharedType
from .atomics import COMBINE
from .exact import Array
from .machine import Frame, Results, Rule, SharedData, Steps, filled
from .storage import Region, decode, encode


def meets(frame: Frame, op: Op) -> Steps:
    """An op at which threads meet: whoever runs them gives the results."""
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


def _element(frame: Frame, op: Op, verb: str) -> tuple[Region, Array] | None:
    """Where an element is kept; None, and a report, for one that is outside."""
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


def _region(frame: Frame, data: SharedData, kind: SharedType, name: str) -> Region:
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
    """Change an element atomically; gives the old value."""
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


RULES: dict[str, Rule] = {
    "shared": _shared,
    "dynamic_shared": _dynamic_shared,
    "shared_length": _shared_length,
    "load_shared": _load_shared,
    "store_shared": _store_shared,
    "atomic_shared": _atomic_shared,
    "cas_shared": _cas_shared,
    "sync_threads": meets,
}
