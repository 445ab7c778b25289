"""Raw pointers and atomics in lanes: neighbours together, what others may see lane by lane."""

from __future__ import annotations

from ....ir.attrs import Ordering
from ....ir.core import Op
from ..emit import access
from ..emit.atomics import compare_and_swap, update
from ..functions.text import Value as Vec
from ..functions.text import where
from .machine import Lanes, Write
from .memory import collected, each_lane, lane, load_one


def _mask(lanes: Lanes, op: Op) -> Vec | None:
    mask = op.maybe("mask")
    return lanes.narrowed(None if mask is None else lanes.get(mask))


def _wanted(lanes: Lanes, op: Op) -> Vec:
    mask = _mask(lanes, op)
    return lanes.all() if mask is None else mask


def _pointer(lanes: Lanes, addresses: Vec, at: Vec) -> Vec:
    return access.as_pointer(lanes.emitter, lane(lanes, addresses, at))


def _is_ordered(op: Op) -> bool:
    return op.attrs["ordering"] is not Ordering.WEAK


def _load_ptr(lanes: Lanes, op: Op) -> None:
    emitter, elem = lanes.emitter, op.result.tile.dtype
    if op.result not in lanes.facts.varying:
        lanes.put(op.result, _load_one(lanes, op))
        return
    addresses, given = lanes.wide(op.one("source")), op.maybe("padding")
    padding = emitter.literal(elem, 0, lanes.width) if given is None else lanes.wide(given)
    if not _is_ordered(op):
        stored = access.to_memory(padding, elem)
        loaded = access.load_through(emitter, addresses, _mask(lanes, op), stored, elem, False)
        lanes.put(op.result, loaded)
        return
    yes = access.truths(emitter, 1)
    zero = access.to_memory(emitter.literal(elem, 0, 1), elem)

    def load(at: Vec) -> Vec:
        return access.load_if(
            emitter, yes, _pointer(lanes, addresses, at), zero, elem, ordered=True
        )

    collected(lanes, op, _wanted(lanes, op), padding, load)


def _load_one(lanes: Lanes, op: Op) -> Vec:
    """What all lanes read through one pointer."""
    elem, mask, given = op.result.tile.dtype, op.maybe("mask"), op.maybe("padding")
    wanted = None if mask is None else lanes.scalar(mask)
    address = access.as_pointer(lanes.emitter, lanes.scalar(op.one("source")))
    loaded = load_one(lanes, address, wanted, elem)
    if wanted is None or given is None:
        return loaded
    return where(wanted, loaded, lanes.scalar(given))


def _store_ptr(lanes: Lanes, op: Op) -> None:
    emitter, elem = lanes.emitter, op.one("value").tile.dtype
    addresses, value = lanes.wide(op.one("target")), lanes.wide(op.one("value"))
    if not _is_ordered(op):
        access.store_through(emitter, value, addresses, _mask(lanes, op), elem, False)
        return

    def store(at: Vec) -> None:
        stored = access.to_memory(lane(lanes, value, at), elem)
        address, align = _pointer(lanes, addresses, at), access.alignment(elem)
        emitter.do(f"store atomic {stored}, {address} seq_cst, align {align}")

    each_lane(lanes, _wanted(lanes, op), store)


def _atomic_rmw(lanes: Lanes, op: Op) -> None:
    emitter, dtype = lanes.emitter, op.result.tile.dtype
    addresses, value = lanes.wide(op.one("target")), lanes.wide(op.one("value"))

    def act(at: Vec) -> Vec:
        pointer = _pointer(lanes, addresses, at)
        return update(emitter, op, dtype, pointer, lane(lanes, value, at))

    missing = emitter.literal(dtype, 0, lanes.width)
    collected(lanes, op, _wanted(lanes, op), missing, act)


def _atomic_cas(lanes: Lanes, op: Op) -> None:
    emitter, dtype = lanes.emitter, op.result.tile.dtype
    addresses = lanes.wide(op.one("target"))
    compare, value = lanes.wide(op.one("compare")), lanes.wide(op.one("value"))

    def act(at: Vec) -> Vec:
        given = (lane(lanes, x, at) for x in (compare, value))
        return compare_and_swap(emitter, op, _pointer(lanes, addresses, at), *given)

    mask = _wanted(lanes, op)
    collected(lanes, op, mask, where(mask, emitter.literal(dtype, 0, lanes.width), compare), act)


TABLE: dict[str, Write] = {
    "load_ptr": _load_ptr,
    "store_ptr": _store_ptr,
    "atomic_rmw": _atomic_rmw,
    "atomic_cas": _atomic_cas,
}
