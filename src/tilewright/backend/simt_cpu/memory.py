"""Memory in lanes: elements, slices, raw pointers, and reports of lanes."""

from __future__ import annotations

from collections.abc import Callable

from ...ir.attrs import Ordering
from ...ir.core import Op, Value
from ...ir.types import Elem
from ..cpu.emit import access
from ..cpu.emit.atomics import compare_and_swap, update
from ..cpu.emit.control import HEADER_WORDS, fail_helper, print_room
from ..cpu.emit.emitter import LlvmEmitter, memory_type, register_type
from ..cpu.emit.memory import store_nontemporal
from ..cpu.loopnest.nodes import itemsize
from ..llvm.builder import Vec, any_lane, vector, where
from .machine import Lanes, Write

# -------------------------------------------------------------------------------------------------
# Elements of memory in lanes: a broadcast, a dense vector, or one lane at a time.


def load_one(lanes: Lanes, address: Vec, guard: Vec | None, elem: Elem) -> Vec:
    """Return an element that all live lanes read; where none is live it may not be there."""
    emitter = lanes.emitter
    if lanes.live is not None:
        guard = lanes.any_live() if guard is None else lanes.any_live() & guard
    if guard is None:
        return access.load_dense(emitter, address, elem, 1)
    padding = access.to_memory(emitter.literal(elem, 0, 1), elem)
    return access.load_if(emitter, guard, address, padding, elem)


def load_row(emitter: LlvmEmitter, address: Vec, mask: Vec | None, padding: Vec, elem: Elem) -> Vec:
    """Load adjacent elements where the mask holds, else padding (in memory form)."""
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


def store_row(emitter: LlvmEmitter, stored: Vec, address: Vec, mask: Vec, elem: Elem) -> None:
    """Store adjacent elements, in memory form, where the mask holds."""
    symbol = f"@llvm.masked.store.{access.mangled(stored.elem, stored.lanes)}.p0"
    emitter.body.declarations.add(f"declare void {symbol}({stored.type}, ptr, i32, {mask.type})")
    emitter.do(f"call void {symbol}({stored}, {address}, i32 {access.alignment(elem)}, {mask})")


def each_lane(lanes: Lanes, mask: Vec, act: Callable[[Vec], None]) -> None:
    """Emit a loop over the lanes of a mask, in order; `act` takes the number of a lane."""
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
    """Return the number of the lowest bit that is set, i64; one is."""
    symbol = f"@llvm.cttz.{bits.elem}"
    bits.body.declarations.add(f"declare {bits.elem} {symbol}({bits.elem}, i1)")
    found = bits.body.emit(f"call {bits.elem} {symbol}({bits}, i1 true)", bits.elem, 1)
    return found if bits.elem == "i64" else found.cast("zext", "i64")


def lane(lanes: Lanes, x: Vec, at: Vec) -> Vec:
    """Return one lane of a value."""
    return x if x.lanes == 1 else lanes.emitter.body.emit(f"extractelement {x}, {at}", x.elem, 1)


def collected(lanes: Lanes, op: Op, mask: Vec, missing: Vec, act: Callable[[Vec], Vec]) -> None:
    """Collect the result of `act` in each lane of a mask; `missing` in the others."""
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


# -------------------------------------------------------------------------------------------------
# Reports: the first lane that fails a check or an assertion, and the prints of each lane.


def fail_where(lanes: Lanes, failed: Vec, op: Op, index: Vec, extent: Vec) -> None:
    """Record a failure if a live lane has one; that of the first such lane."""
    emitter = lanes.emitter
    bad = lanes.mask() & emitter.splat(failed, lanes.width)

    def act() -> None:
        at = _first(lanes, bad)
        number = lanes.place.number + at
        words = [emitter.integer(emitter.plan.sites[op]), number]
        words += [lane(lanes, x, at).cast("sext", "i64") for x in (index, extent)]
        symbol = fail_helper(emitter)
        emitter.do(f"call void {symbol}(ptr %launch, {', '.join(map(str, words))})")

    access.perform_if(emitter, any_lane(bad), act)


def _first(lanes: Lanes, mask: Vec) -> Vec:
    """Return the first lane of a mask that has one."""
    kind = f"i{lanes.width}"
    return lowest(lanes.emitter.body.emit(f"bitcast {mask} to {kind}", kind, 1))


def _assert(lanes: Lanes, op: Op) -> None:
    zero = lanes.emitter.integer(0, "i32")
    fail_where(lanes, lanes.get(op.one("cond")) ^ 1, op, zero, zero)


def _print(lanes: Lanes, op: Op) -> None:
    """Emit one print record per live lane, in the order of the lanes."""
    each_lane(lanes, lanes.mask(), lambda at: _record(lanes, op, at))


def _record(lanes: Lanes, op: Op, at: Vec) -> None:
    emitter = lanes.emitter
    total = emitter.integer(8 * (HEADER_WORDS + len(op.operands)))
    start, base, fits = print_room(emitter, total)

    def write() -> None:
        record = emitter.shifted(base, start, "i8")
        site = emitter.integer(emitter.plan.sites[op])
        for number, word in enumerate((total, site, lanes.place.number + at)):
            emitter.store(word, emitter.shifted(record, emitter.integer(number), "i64"), 8)
        for number, value in enumerate(op.operands, HEADER_WORDS):
            _write(lanes, value, at, emitter.shifted(record, emitter.integer(number), "i64"))

    access.perform_if(emitter, fits, write)


def _write(lanes: Lanes, value: Value, at: Vec, address: Vec) -> None:
    elem = value.tile.elem
    assert itemsize(elem) <= 8, "a scalar fits in a word"
    stored = access.to_memory(lane(lanes, lanes.get(value), at), elem)
    lanes.emitter.store(stored, address, access.alignment(elem))


# -------------------------------------------------------------------------------------------------
# Elements of slices in lanes: dense vectors if adjacent, else gathered; masked by live lanes.


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
    """Return the condition of an access; None where it always holds."""
    guard = op.maybe("guard")
    if guard is None or lanes.known.get(guard):
        return None
    return lanes.get(guard)


def _address(lanes: Lanes, op: Op, index: Vec) -> Vec:
    """Return one address, or one per lane."""
    base, elem = lanes.emitter.tensors[op.one("slice")].address, op.one("slice").tensor.dtype
    return access.addresses(lanes.emitter, base, index.cast("sext", "i64"), elem)


def _load_slice(lanes: Lanes, op: Op) -> None:
    emitter, elem = lanes.emitter, op.result.tile.dtype
    index, guard = op.one("index"), _guard(lanes, op)
    if op.result not in lanes.facts.varying:
        lanes.put(op.result, _load_element(lanes, op, guard))
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


def _load_element(lanes: Lanes, op: Op, guard: Vec | None) -> Vec:
    """Return an element that all threads read."""
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


# -------------------------------------------------------------------------------------------------
# Raw pointers and atomics in lanes: dense if adjacent; ordered accesses lane by lane.


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
        lanes.put(op.result, _load_pointer(lanes, op))
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


def _load_pointer(lanes: Lanes, op: Op) -> Vec:
    """Load through one pointer for all lanes."""
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
    "assert": _assert,
    "print": _print,
    "length": _length,
    "check_index": _check_index,
    "load_slice": _load_slice,
    "store_slice": _store_slice,
    "slice_pointer": _slice_pointer,
    "load_ptr": _load_ptr,
    "store_ptr": _store_ptr,
    "atomic_rmw": _atomic_rmw,
    "atomic_cas": _atomic_cas,
}
