"""Memory of a block of threads on a GPU. On a CPU the threads are lanes: `backend.llvm.lanes`."""

from __future__ import annotations

from collections.abc import Callable

from ....base.shapes import size
from ....ir.core import Op, Value
from ....ir.types import SharedType
from ..functions.text import Value as Vec
from ..functions.text import where
from .access import load_dense, store_dense
from .atomics import compare_and_swap, update
from .emitter import Area, Emitter
from .types import memory_type

SHARED = "ptr addrspace(3)"
DYNAMIC = "@tw_dynamic_shared"
LINE = 16
"""Bytes that arrays are aligned to: the widest access of a thread."""


def _shared(emitter: Emitter, op: Op) -> None:
    kind = _kind(op.result)
    symbol = f"@tw_shared_{kind.number}"
    count = size(op.attrs["shape"])
    text = f"internal addrspace(3) global [{count} x {memory_type(kind.dtype)}] undef"
    emitter.helper(symbol, lambda: f"{symbol} = {text}, align {LINE}")
    emitter.areas[op.result] = Area(Vec(emitter.body, symbol, SHARED, 1))


def _dynamic_shared(emitter: Emitter, op: Op) -> None:
    text = f"external addrspace(3) global [0 x i8], align {LINE}"
    emitter.helper(DYNAMIC, lambda: f"{DYNAMIC} = {text}")
    offset = emitter.scalar(op.one("offset"))
    start = f"getelementptr i8, {SHARED} {DYNAMIC}, {offset}"
    emitter.areas[op.result] = Area(emitter.body.emit(start, SHARED, 1), offset)


def _shared_length(emitter: Emitter, op: Op) -> None:
    symbol = "@llvm.nvvm.read.ptx.sreg.dynamic_smem_size"
    emitter.body.declarations.add(f"declare i32 {symbol}()")
    room = emitter.body.emit(f"call i32 {symbol}()", "i32", 1)
    memory = op.one("memory")
    offset = emitter.areas[memory].offset
    assert offset is not None, "only what a launch asks for has a length"
    fits = offset.compare("", "ule", room)
    rest = where(fits, room - offset, 0)
    emitter.names[op.result] = rest.lshr(_kind(memory).dtype.itemsize.bit_length() - 1)


def _kind(value: Value) -> SharedType:
    assert isinstance(value.type, SharedType), f"expected shared memory, got {value.type}"
    return value.type


def _address(emitter: Emitter, op: Op) -> Vec:
    memory = op.one("memory")
    kind = _kind(memory)
    place = emitter.integer(0, "i32")
    for extent, index in zip(kind.shape, op.all("index"), strict=True):
        given = emitter.scalar(index)
        place = given if extent is None else place * extent + given
    text = f"getelementptr {memory_type(kind.dtype)}, {emitter.areas[memory].base}, {place}"
    return emitter.body.emit(text, SHARED, 1)


def _load_shared(emitter: Emitter, op: Op) -> None:
    address = _address(emitter, op)
    # What nobody has written may have any bits, but the same ones at each use.
    emitter.names[op.result] = load_dense(emitter, address, op.result.tile.dtype, 1).frozen()


def _store_shared(emitter: Emitter, op: Op) -> None:
    value = op.one("value")
    store_dense(emitter, emitter.scalar(value), _address(emitter, op), value.tile.dtype)


def _atomic_shared(emitter: Emitter, op: Op) -> None:
    address, value = _address(emitter, op), emitter.scalar(op.one("value"))
    emitter.names[op.result] = update(emitter, op, op.result.tile.dtype, address, value)


def _cas_shared(emitter: Emitter, op: Op) -> None:
    address = _address(emitter, op)
    compare, value = (emitter.scalar(op.one(name)) for name in ("compare", "value"))
    emitter.names[op.result] = compare_and_swap(emitter, op, address, compare, value)


def _sync_threads(emitter: Emitter, op: Op) -> None:
    symbol = "@llvm.nvvm.barrier.cta.sync.aligned.all"
    emitter.body.declarations.add(f"declare void {symbol}(i32)")
    emitter.do(f"call void {symbol}(i32 0)")


TABLE: dict[str, Callable[[Emitter, Op], None]] = {
    "shared": _shared,
    "dynamic_shared": _dynamic_shared,
    "shared_length": _shared_length,
    "load_shared": _load_shared,
    "store_shared": _store_shared,
    "atomic_shared": _atomic_shared,
    "cas_shared": _cas_shared,
    "sync_threads": _sync_threads,
}
