"""Elements of slices in lanes: neighbours together, others one by one, masked where lanes rest."""

from __future__ import annotations

from ....ir.core import Op
from ..emit import access
from ..emit.nontemporal import store_nontemporal
from ..functions.text import Value as Vec
from .machine import Lanes, Write
from .memory import load_one, load_row, store_row
from .report import fail_where


def _length(lanes: Lanes, op: Op) -> None:
    lanes.put(op.result, lanes.emitter.tensors[op.one("slice")].extents[0].cast("trunc", "i32"))


def _check_index(lanes: Lanes, op: Op) -> None:
    if op.result in lanes.known:
        lanes.put(op.result, lanes.emitter.body.constant("i1", 1, lanes.known[op.result]))
        return
    width = max(lanes.get(v).lanes for v in op.operands)
    index, length = (lanes.emitter.splat(lanes.get(v), width) for v in op.operands)
    # One comparison: a negative index is a large one.
    ok = index.compare("", "ult", length)
    lanes.put(op.result, ok)
    fail_where(lanes, ok ^ 1, op, index, length)


def _guard(lanes: Lanes, op: Op) -> Vec | None:
    """The condition of an access; None where it always holds."""
    guard = op.maybe("guard")
    if guard is None or lanes.known.get(guard):
        return None
    return lanes.get(guard)


def _address(lanes: Lanes, op: Op, index: Vec) -> Vec:
    """One address, or one per lane."""
    base, elem = lanes.emitter.tensors[op.one("slice")].address, op.one("slice").tensor.dtype
    return access.addresses(lanes.emitter, base, index.cast("sext", "i64"), elem)


def _load_slice(lanes: Lanes, op: Op) -> None:
    emitter, elem = lanes.emitter, op.result.tile.dtype
    index, guard = op.one("index"), _guard(lanes, op)
    if op.result not in lanes.facts.varying:
        lanes.put(op.result, _load_one(lanes, op, guard))
        return
    mask = lanes.narrowed(guard)
    padding = access.to_memory(emitter.literal(elem, 0, lanes.width), elem)
    if index in lanes.rows:
        address = _address(lanes, op, lanes.rows[index])
        lanes.put(op.result, load_row(emitter, address, mask, padding, elem))
    else:
        wanted = lanes.all() if mask is None else mask
        addresses = _address(lanes, op, lanes.wide(index))
        lanes.put(op.result, access.gather(emitter, addresses, wanted, padding, elem))


def _load_one(lanes: Lanes, op: Op, guard: Vec | None) -> Vec:
    """An element that all threads read."""
    return load_one(lanes, _address(lanes, op, lanes.scalar(op.one("index"))), guard,
                    op.result.tile.dtype)  # fmt: skip


def _store_slice(lanes: Lanes, op: Op) -> None:
    emitter, value, index = lanes.emitter, lanes.wide(op.one("value")), op.one("index")
    elem, mask = op.one("value").tile.dtype, lanes.narrowed(_guard(lanes, op))
    if index not in lanes.rows:
        wanted = lanes.all() if mask is None else mask
        access.scatter(emitter, value, _address(lanes, op, lanes.wide(index)), wanted, elem)
        return
    address = _address(lanes, op, lanes.rows[index])
    if mask is not None:
        store_row(emitter, access.to_memory(value, elem), address, mask, elem)
    elif lanes.past is not None:
        store_nontemporal(emitter, lanes.past, value, address, elem)
    else:
        access.store_dense(emitter, value, address, elem)


def _slice_pointer(lanes: Lanes, op: Op) -> None:
    address = _address(lanes, op, lanes.get(op.one("index")))
    lanes.put(op.result, address.cast("ptrtoint", "i64"))


TABLE: dict[str, Write] = {
    "length": _length,
    "check_index": _check_index,
    "load_slice": _load_slice,
    "store_slice": _store_slice,
    "slice_pointer": _slice_pointer,
}
