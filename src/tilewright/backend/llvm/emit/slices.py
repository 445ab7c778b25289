"""Elements of slices, for one thread of a GPU. On a CPU they are read in lanes."""

from __future__ import annotations

from collections.abc import Callable

from ....ir.core import Op
from ..functions.text import Value as Vec
from .access import load_dense, load_if, perform_if, store_dense, to_memory
from .debug import report
from .emitter import Emitter
from .types import memory_type


def _length(emitter: Emitter, op: Op) -> None:
    emitter.names[op.result] = emitter.tensors[op.one("slice")].extents[0].cast("trunc", "i32")


def _check_index(emitter: Emitter, op: Op) -> None:
    index, length = (emitter.scalar(v) for v in op.operands)
    ok = index.compare("", "ult", length)
    emitter.names[op.result] = ok
    report(emitter, ok, op, index.cast("sext", "i64"), length.cast("sext", "i64"))


def _address(emitter: Emitter, op: Op) -> Vec:
    index = emitter.scalar(op.one("index")).cast("sext", "i64")
    elem = op.one("slice").tensor.dtype
    return emitter.shifted(emitter.tensors[op.one("slice")].address, index, memory_type(elem))


def _load_slice(emitter: Emitter, op: Op) -> None:
    elem, guard = op.result.tile.dtype, op.maybe("guard")
    address = _address(emitter, op)
    if guard is None:
        emitter.names[op.result] = load_dense(emitter, address, elem, 1)
        return
    padding = to_memory(emitter.literal(elem, 0, 1), elem)
    ok = emitter.scalar(guard)
    emitter.names[op.result] = load_if(emitter, ok, address, padding, elem)


def _store_slice(emitter: Emitter, op: Op) -> None:
    value, guard = op.one("value"), op.maybe("guard")
    address, elem = _address(emitter, op), value.tile.dtype

    def store() -> None:
        store_dense(emitter, emitter.scalar(value), address, elem)

    if guard is None:
        store()
    else:
        perform_if(emitter, emitter.scalar(guard), store)


def _slice_pointer(emitter: Emitter, op: Op) -> None:
    emitter.names[op.result] = _address(emitter, op).cast("ptrtoint", "i64")


TABLE: dict[str, Callable[[Emitter, Op], None]] = {
    "length": _length,
    "check_index": _check_index,
    "load_slice": _load_slice,
    "store_slice": _store_slice,
    "slice_pointer": _slice_pointer,
}
