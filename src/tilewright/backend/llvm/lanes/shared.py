"""The memory of a block in lanes. A block runs on one worker, so updates of it need no lock."""

from __future__ import annotations

from collections.abc import Callable

from ....analysis.shared import shared_layout
from ....base.dtypes import AnyDType, f32
from ....ir.attrs import AtomicMode
from ....ir.core import Op
from ....ir.types import SharedType
from ..emit import access
from ..emit.atomics import FLOAT_COMBINE
from ..emit.emitter import Emitter
from ..emit.floats import NARROW
from ..emit.types import memory_type
from ..functions.text import Value as Vec
from ..functions.text import where
from .machine import Lanes, Write
from .memory import collected, each_lane, lane, load_one, load_row, store_row

INTEGER_COMBINE: dict[AtomicMode, Callable[[Vec, Vec, bool], Vec]] = {
    AtomicMode.ADD: lambda old, value, signed: old + value,
    AtomicMode.AND: lambda old, value, signed: old & value,
    AtomicMode.OR: lambda old, value, signed: old | value,
    AtomicMode.XOR: lambda old, value, signed: old ^ value,
    AtomicMode.MAX: lambda old, value, signed: old.intrinsic("smax" if signed else "umax", value),
    AtomicMode.MIN: lambda old, value, signed: old.intrinsic("smin" if signed else "umin", value),
}


def _memory(op: Op) -> SharedType:
    kind = op.one("memory").type
    assert isinstance(kind, SharedType), "memory of a block"
    return kind


def _shared(lanes: Lanes, op: Op) -> None:
    layout = shared_layout(lanes.func)
    _begin(lanes, op, lanes.emitter.integer(layout.offsets[op.attrs["number"]]))


def _dynamic_shared(lanes: Lanes, op: Op) -> None:
    offset = lanes.get(op.one("offset")).cast("sext", "i64")
    _begin(lanes, op, offset + shared_layout(lanes.func).dynamic)


def _begin(lanes: Lanes, op: Op, offset: Vec) -> None:
    """Shared memory is at the start of scratch; a value of it is where its elements begin."""
    text = f"getelementptr i8, ptr %scratch, {offset}"
    lanes.names[op.result] = lanes.emitter.body.emit(text, "ptr", offset.lanes)


def _shared_length(lanes: Lanes, op: Op) -> None:
    begin = lanes.get(op.one("memory"))
    base = lanes.emitter.body.emit("ptrtoint ptr %scratch to i64", "i64", 1)
    address = begin.cast("ptrtoint", "i64")
    end = base + (shared_layout(lanes.func).dynamic + lanes.func.signature.shared_bytes)
    left = (lanes.emitter.splat(end, address.lanes) - address).intrinsic("smax", 0)
    lanes.put(op.result, left.binary("udiv", _memory(op).dtype.itemsize).cast("trunc", "i32"))


# --- where an element is -------------------------------------------------------------------------


def _numbers(lanes: Lanes, op: Op, *, of_rows: bool) -> Vec:
    """The number of the element that each lane means; of rows, that of the first lane."""
    number: Vec | None = None
    indices = op.all("index")
    for axis, index in enumerate(indices):
        known = of_rows and index in lanes.rows and axis == len(indices) - 1
        at = (lanes.rows[index] if known else lanes.get(index)).cast("sext", "i64")
        if number is None:
            number = at
            continue
        extent = _memory(op).shape[axis]
        assert extent is not None, "dynamic memory has one axis"
        width = max(at.lanes, number.lanes)
        number = lanes.emitter.splat(number * extent, width) + lanes.emitter.splat(at, width)
    assert number is not None
    return number


def _is_alike(lanes: Lanes, op: Op) -> bool:
    """Whether all lanes mean one element."""
    values = (op.one("memory"), *op.all("index"))
    return not any(v in lanes.facts.varying for v in values)


def _is_row(lanes: Lanes, op: Op) -> bool:
    """Whether lanes mean neighbours, in their order."""
    *outer, last = op.all("index")
    alike = (op.one("memory"), *outer)
    return last in lanes.rows and not any(v in lanes.facts.varying for v in alike)


def _address(lanes: Lanes, op: Op, number: Vec) -> Vec:
    begin = lanes.get(op.one("memory"))
    text = f"getelementptr {memory_type(_memory(op).dtype)}, {begin}, {number}"
    return lanes.emitter.body.emit(text, "ptr", max(begin.lanes, number.lanes))


# --- reads and writes ----------------------------------------------------------------------------


def _load(lanes: Lanes, op: Op) -> None:
    elem, emitter = _memory(op).dtype, lanes.emitter
    if _is_alike(lanes, op):
        address = _address(lanes, op, _numbers(lanes, op, of_rows=False))
        lanes.put(op.result, load_one(lanes, address, None, elem))
        return
    padding = access.to_memory(emitter.literal(elem, 0, lanes.width), elem)
    if _is_row(lanes, op):
        address = _address(lanes, op, _numbers(lanes, op, of_rows=True))
        lanes.put(op.result, load_row(emitter, address, lanes.live, padding, elem))
        return
    addresses = _wide_address(lanes, op)
    lanes.put(op.result, access.gather(emitter, addresses, lanes.mask(), padding, elem))


def _wide_address(lanes: Lanes, op: Op) -> Vec:
    number = _numbers(lanes, op, of_rows=False)
    return _address(lanes, op, lanes.emitter.splat(number, lanes.width))


def _store(lanes: Lanes, op: Op) -> None:
    elem, emitter, value = _memory(op).dtype, lanes.emitter, lanes.get(op.one("value"))
    if _is_alike(lanes, op) and value.lanes == 1:
        address = _address(lanes, op, _numbers(lanes, op, of_rows=False))
        access.perform_if(
            emitter, lanes.any_live(), lambda: access.store_dense(emitter, value, address, elem)
        )
        return
    wide = emitter.splat(value, lanes.width)
    if not _is_row(lanes, op):
        access.scatter(emitter, wide, _wide_address(lanes, op), lanes.mask(), elem)
        return
    address = _address(lanes, op, _numbers(lanes, op, of_rows=True))
    if lanes.live is None:
        access.store_dense(emitter, wide, address, elem)
    else:
        store_row(emitter, access.to_memory(wide, elem), address, lanes.live, elem)


# --- updates -------------------------------------------------------------------------------------


def _atomic(lanes: Lanes, op: Op) -> None:
    emitter, elem = lanes.emitter, _memory(op).dtype
    addresses, value = _wide_address(lanes, op), lanes.wide(op.one("value"))

    def act(at: Vec) -> Vec:
        address = lane(lanes, addresses, at)
        old = access.load_dense(emitter, address, elem, 1)
        new = _combined(emitter, op.attrs["mode"], elem, old, lane(lanes, value, at))
        access.store_dense(emitter, new, address, elem)
        return old

    _each(lanes, op, emitter.literal(elem, 0, lanes.width), act)


def _combined(emitter: Emitter, mode: AtomicMode, elem: AnyDType, old: Vec, value: Vec) -> Vec:
    if mode is AtomicMode.XCHG:
        return value
    if not (elem.is_float and mode in FLOAT_COMBINE):
        return INTEGER_COMBINE[mode](old, value, elem.is_signed)
    if elem not in NARROW:
        return FLOAT_COMBINE[mode](old, value)
    wide = [emitter.convert(x, elem, f32) for x in (old, value)]
    return emitter.convert(FLOAT_COMBINE[mode](*wide), f32, elem)


def _cas(lanes: Lanes, op: Op) -> None:
    emitter, elem = lanes.emitter, _memory(op).dtype
    addresses = _wide_address(lanes, op)
    compare, value = lanes.wide(op.one("compare")), lanes.wide(op.one("value"))

    def act(at: Vec) -> Vec:
        address = lane(lanes, addresses, at)
        old = access.load_dense(emitter, address, elem, 1)
        expected, new = (lane(lanes, x, at) for x in (compare, value))
        same = as_bits(old).eq(as_bits(expected))
        access.store_dense(emitter, where(same, new, old), address, elem)
        return old

    _each(lanes, op, compare, act)


def as_bits(x: Vec) -> Vec:
    """The bits of a number, as an integer."""
    return x.bits() if x.is_float else x


def _each(lanes: Lanes, op: Op, missing: Vec, act: Callable[[Vec], Vec]) -> None:
    """Lane by lane, in order; the old values are collected where anybody asks for them."""
    if lanes.is_used(op.result):
        collected(lanes, op, lanes.mask(), missing, act)
        return

    def only_act(at: Vec) -> None:
        act(at)

    each_lane(lanes, lanes.mask(), only_act)


TABLE: dict[str, Write] = {
    "shared": _shared,
    "dynamic_shared": _dynamic_shared,
    "shared_length": _shared_length,
    "load_shared": _load,
    "store_shared": _store,
    "atomic_shared": _atomic,
    "cas_shared": _cas,
}
