"""Elements of memory in lanes: one for all of them, a row of neighbours, or one lane at a time."""

from __future__ import annotations

from collections.abc import Callable

from ....ir.core import Op
from ....ir.types import Elem
from ..emit import access
from ..emit.emitter import Emitter
from ..emit.types import memory_type, register_type
from ..functions.text import Value as Vec
from ..functions.text import vector
from .machine import Lanes


def load_one(lanes: Lanes, address: Vec, guard: Vec | None, elem: Elem) -> Vec:
    """An element that all live lanes read; where none is live it may not be there."""
    emitter = lanes.emitter
    if lanes.live is not None:
        guard = lanes.any_live() if guard is None else lanes.any_live() & guard
    if guard is None:
        return access.load_dense(emitter, address, elem, 1)
    padding = access.to_memory(emitter.literal(elem, 0, 1), elem)
    return access.load_if(emitter, guard, address, padding, elem)


def load_row(emitter: Emitter, address: Vec, mask: Vec | None, padding: Vec, elem: Elem) -> Vec:
    """Neighbouring elements where mask, else padding (in memory form)."""
    lanes = padding.lanes
    if mask is None:
        return access.load_dense(emitter, address, elem, lanes)
    kind = memory_type(elem)
    wide = vector(kind, lanes)
    symbol = f"@llvm.masked.load.{access.mangled(kind, lanes)}.p0"
    emitter.body.declarations.add(f"declare {wide} {symbol}(ptr, i32, {mask.type}, {wide})")
    args = f"{address}, i32 {access.alignment(elem)}, {mask}, {padding}"
    loaded = emitter.body.emit(f"call {wide} {symbol}({args})", kind, lanes)
    return access.from_memory(loaded, elem)


def store_row(emitter: Emitter, stored: Vec, address: Vec, mask: Vec, elem: Elem) -> None:
    """Neighbouring elements, in memory form, where mask."""
    symbol = f"@llvm.masked.store.{access.mangled(stored.elem, stored.lanes)}.p0"
    emitter.body.declarations.add(f"declare void {symbol}({stored.type}, ptr, i32, {mask.type})")
    emitter.do(f"call void {symbol}({stored}, {address}, i32 {access.alignment(elem)}, {mask})")


def each_lane(lanes: Lanes, mask: Vec, act: Callable[[Vec], None]) -> None:
    """A loop over the lanes of a mask, in order; `act` is given the number of one."""
    emitter, body, kind = lanes.emitter, lanes.emitter.body, f"i{lanes.width}"
    left = emitter.slot(kind)
    emitter.store(body.emit(f"bitcast {mask} to {kind}", kind, 1), left)
    head, inside, done = (emitter.label(word) for word in ("lanes", "lane", "over"))
    body.jump(head)
    body.label(head)
    bits = emitter.load(left, kind)
    emitter.branch(bits.ne(0), inside, done)
    body.label(inside)
    emitter.store(bits & (bits - 1), left)
    act(lowest(bits))
    body.jump(head)
    body.label(done)


def lowest(bits: Vec) -> Vec:
    """The number of the lowest bit that is set, i64; one is."""
    symbol = f"@llvm.cttz.{bits.elem}"
    bits.body.declarations.add(f"declare {bits.elem} {symbol}({bits.elem}, i1)")
    found = bits.body.emit(f"call {bits.elem} {symbol}({bits}, i1 true)", bits.elem, 1)
    return found if bits.elem == "i64" else found.cast("zext", "i64")


def lane(lanes: Lanes, x: Vec, at: Vec) -> Vec:
    """One lane of a value."""
    return x if x.lanes == 1 else lanes.emitter.body.emit(f"extractelement {x}, {at}", x.elem, 1)


def collected(lanes: Lanes, op: Op, mask: Vec, missing: Vec, act: Callable[[Vec], Vec]) -> None:
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
