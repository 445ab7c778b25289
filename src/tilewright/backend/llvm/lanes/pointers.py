"""Raw pointers and atomics in lanes: neighbours together, what others may see lane by lane."""

from __future__ import annotations

from collections.abc import Callable

from ....ir.attrs import Ordering
from ....ir.core import Op
from ..emit import access
from ..emit.atomics import compare_and_swap, update
from ..emit.types import register_type
from ..functions.text import Value as Vec
from ..functions.text import where
from .machine import Lanes, Write


def each_lane(lanes: Lanes, mask: Vec, act: Callable[[Vec], None]) -> None:
    """A loop over the lanes of a mask, in order; `act` is given the number of one."""
    emitter, body = lanes.emitter, lanes.emitter.body
    counter = emitter.slot("i64")
    emitter.store(emitter.integer(0), counter)
    words = ("lane", "look", "act", "next", "over")
    head, look, inside, again, done = (emitter.label(word) for word in words)
    body.jump(head)
    body.label(head)
    at = emitter.load(counter, "i64")
    emitter.branch(at < lanes.width, look, done)
    body.label(look)
    emitter.branch(lane(lanes, mask, at), inside, again)
    body.label(inside)
    act(at)
    body.jump(again)
    body.label(again)
    emitter.store(emitter.load(counter, "i64") + 1, counter)
    body.jump(head)
    body.label(done)


def lane(lanes: Lanes, x: Vec, at: Vec) -> Vec:
    """One lane of a value."""
    return x if x.lanes == 1 else lanes.emitter.body.emit(f"extractelement {x}, {at}", x.elem, 1)


def _collected(lanes: Lanes, op: Op, mask: Vec, missing: Vec, act: Callable[[Vec], Vec]) -> None:
    """What `act` gives in each lane of a mask; `missing` in the others."""
    emitter = lanes.emitter
    kind = register_type(op.result.tile.elem)
    slot = emitter.slot(kind, lanes.width)
    emitter.store(missing, slot)

    def one(at: Vec) -> None:
        found = act(at)
        whole = emitter.load(slot, kind, lanes.width)
        text = f"insertelement {whole}, {found}, {at}"
        emitter.store(emitter.body.emit(text, kind, lanes.width), slot)

    each_lane(lanes, mask, one)
    lanes.put(op.result, emitter.load(slot, kind, lanes.width))


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

    _collected(lanes, op, _wanted(lanes, op), padding, load)


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
        return update(emitter, op.attrs["mode"], dtype, pointer, lane(lanes, value, at))

    missing = emitter.literal(dtype, 0, lanes.width)
    _collected(lanes, op, _wanted(lanes, op), missing, act)


def _atomic_cas(lanes: Lanes, op: Op) -> None:
    emitter, dtype = lanes.emitter, op.result.tile.dtype
    addresses = lanes.wide(op.one("target"))
    compare, value = lanes.wide(op.one("compare")), lanes.wide(op.one("value"))

    def act(at: Vec) -> Vec:
        given = (lane(lanes, x, at) for x in (compare, value))
        return compare_and_swap(emitter, dtype, _pointer(lanes, addresses, at), *given)

    mask = _wanted(lanes, op)
    _collected(lanes, op, mask, where(mask, emitter.literal(dtype, 0, lanes.width), compare), act)


TABLE: dict[str, Write] = {
    "load_ptr": _load_ptr,
    "store_ptr": _store_ptr,
    "atomic_rmw": _atomic_rmw,
    "atomic_cas": _atomic_cas,
}
