"""Shared memory and warp operations in lanes."""

from __future__ import annotations

from collections.abc import Callable

from ...analysis.uniformity import shared_layout
from ...base.dtypes import AnyDType, f32
from ...ir.attrs import AtomicMode, ShuffleMode, VoteMode
from ...ir.core import Op
from ...ir.types import SharedType
from ..cpu.emit import access
from ..cpu.emit.atomics import FLOAT_COMBINE
from ..cpu.emit.elementwise import NARROW
from ..cpu.emit.emitter import LlvmEmitter, memory_type
from ..llvm.builder import Vec, any_lane, vector, where
from .machine import Lanes, Write
from .memory import collected, each_lane, lane, load_one, load_row, store_row

# -------------------------------------------------------------------------------------------------
# Shared memory in lanes. A block runs on one worker, so updates of it need no lock.

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
    """Bind shared memory to the start of scratch; an array is the address of its elements."""
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
    """Return the number of the element that each lane means; of rows, that of the first lane."""
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
    """Return whether all lanes mean one element."""
    values = (op.one("memory"), *op.all("index"))
    return not any(v in lanes.facts.varying for v in values)


def _is_row(lanes: Lanes, op: Op) -> bool:
    """Return whether lanes mean neighbours, in their order."""
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

    def act(address: Vec, value: Vec) -> Vec:
        old = access.load_dense(emitter, address, elem, 1)
        new = _combined(emitter, op.attrs["mode"], elem, old, value)
        access.store_dense(emitter, new, address, elem)
        return old

    _update(lanes, op, emitter.literal(elem, 0, lanes.width), [lanes.get(op.one("value"))], act)


def _combined(emitter: LlvmEmitter, mode: AtomicMode, elem: AnyDType, old: Vec, value: Vec) -> Vec:
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
    compare, value = lanes.get(op.one("compare")), lanes.get(op.one("value"))

    def act(address: Vec, expected: Vec, new: Vec) -> Vec:
        old = access.load_dense(emitter, address, elem, 1)
        same = as_bits(old).eq(as_bits(expected))
        access.store_dense(emitter, where(same, new, old), address, elem)
        return old

    _update(lanes, op, emitter.splat(compare, lanes.width), [compare, value], act)


def as_bits(x: Vec) -> Vec:
    """Return the bits of a number, as an integer."""
    return x.bits() if x.is_float else x


def _update(lanes: Lanes, op: Op, missing: Vec, given: list[Vec], act: Callable[..., Vec]) -> None:
    """Update lane by lane, in order; collect the old values if they are used.

    `act` is given an address, and what the lane has of each of the others.
    """
    begin, numbers = lanes.get(op.one("memory")), _numbers(lanes, op, of_rows=False)
    numbers = lanes.emitter.splat(numbers, lanes.width)

    def one(at: Vec, number: Vec, *values: Vec) -> Vec:
        start = lane(lanes, begin, at)
        text = f"getelementptr {memory_type(_memory(op).dtype)}, {start}, {number}"
        return act(lanes.emitter.body.emit(text, "ptr", 1), *values)

    def of_lane(at: Vec) -> Vec:
        return one(at, *(lane(lanes, x, at) for x in (numbers, *given)))

    if lanes.is_used(op.result):
        collected(lanes, op, lanes.mask(), missing, of_lane)
    elif lanes.live is None:
        _unrolled(lanes, [numbers, *given], one)
    else:
        _most_often_all(
            lanes, lambda: _unrolled(lanes, [numbers, *given], one), lambda at: of_lane(at)
        )


def _most_often_all(
    lanes: Lanes, together: Callable[[], None], alone: Callable[[Vec], object]
) -> None:
    """Emit two versions: for groups whose lanes are all live, and for others lane by lane."""
    emitter, body = lanes.emitter, lanes.emitter.body
    every, some, after = (emitter.label(word) for word in ("every", "some", "after"))
    emitter.branch(any_lane(lanes.mask() ^ 1), some, every)
    body.label(every)
    together()
    body.jump(after)
    body.label(some)

    def act(at: Vec) -> None:
        alone(at)

    each_lane(lanes, lanes.mask(), act)
    body.jump(after)
    body.label(after)


def _unrolled(lanes: Lanes, given: list[Vec], act: Callable[..., Vec]) -> None:
    """Emit all lanes one after the other; varying values go through memory, which is fastest."""
    places = [_spilled(lanes, x) if x.lanes > 1 else None for x in given]
    for number in range(lanes.width):
        at = lanes.emitter.integer(number)
        values = [
            x if place is None else _reloaded(lanes, x, place, at)
            for x, place in zip(given, places, strict=True)
        ]
        act(at, *values)


def _spilled(lanes: Lanes, x: Vec) -> Vec:
    slot = lanes.emitter.slot(x.elem, lanes.width)
    # Volatile, since LLVM would rather take registers apart, which takes longer.
    lanes.emitter.do(f"store volatile {x}, {slot}, align 64")
    return slot


def _reloaded(lanes: Lanes, x: Vec, place: Vec, at: Vec) -> Vec:
    if x.elem == "i1":  # packed, eight to a byte
        return lane(lanes, x, at)
    address = lanes.emitter.shifted(place, at, x.elem)
    return lanes.emitter.body.emit(f"load volatile {x.elem}, {address}", x.elem, 1)


# -------------------------------------------------------------------------------------------------
# Warp ops as operations on vectors.
#
# All lanes of a group run in step, so they are synchronized already. The live lanes participate, of
# these only the ones in `mask`.


def _partners(lanes: Lanes, op: Op) -> Vec | None:
    """Return the lanes that take part; None: all of them."""
    mask = op.maybe("mask")
    return lanes.live if mask is None else lanes.narrowed(_named(lanes, lanes.get(mask)))


def _named(lanes: Lanes, mask: Vec) -> Vec:
    """Return whether each lane is in a mask: in that of all, or in its own."""
    if mask.lanes == 1:
        return mask.body.emit(f"bitcast {mask} to {vector('i1', lanes.width)}", "i1", lanes.width)
    own = mask.lshr(lanes.emitter.lanes_of("i32", lanes.width))
    return own.cast("trunc", "i1")


def _bits(flags: Vec) -> Vec:
    """Return a bit for each lane."""
    return flags.body.emit(f"bitcast {flags} to i{flags.lanes}", f"i{flags.lanes}", 1)


def _holding(lanes: Lanes, op: Op) -> Vec:
    """Return the lanes that take part and for which the condition holds."""
    partners, cond = _partners(lanes, op), lanes.wide(op.one("cond"))
    return cond if partners is None else cond & partners


def _vote(lanes: Lanes, op: Op) -> None:
    if op.attrs["mode"] is VoteMode.ANY:
        lanes.put(op.result, any_lane(_holding(lanes, op)))
        return
    against, partners = lanes.wide(op.one("cond")) ^ 1, _partners(lanes, op)
    lanes.put(op.result, any_lane(against if partners is None else against & partners) ^ 1)


def _ballot(lanes: Lanes, op: Op) -> None:
    lanes.put(op.result, _bits(_holding(lanes, op)))


def _match(lanes: Lanes, op: Op) -> None:
    """Compare all lanes with each of them in turn."""
    emitter, width = lanes.emitter, lanes.width
    partners = _partners(lanes, op)
    values = as_bits(lanes.wide(op.one("value")))
    found = lanes.emitter.body.constant("i32", width, 0)
    for number in range(width):
        one = emitter.splat(lane(lanes, values, emitter.integer(number)), width)
        same = values.eq(one)
        bits = _bits(same if partners is None else same & partners)
        found = emitter.body.emit(f"insertelement {found}, {bits}, i64 {number}", "i32", width)
    if op.result not in lanes.facts.varying:
        found = access.first_lane(emitter, found)
    lanes.put(op.result, found)


# --- shuffles ------------------------------------------------------------------------------------

SOURCES: dict[ShuffleMode, Callable[[int, int, int], int]] = {
    ShuffleMode.IDX: lambda lane, by, width: by & (width - 1),
    ShuffleMode.XOR: lambda lane, by, width: lane ^ (by & (width - 1)),
    ShuffleMode.UP: lambda lane, by, width: lane - by if 0 <= by <= lane else lane,
    ShuffleMode.DOWN: lambda lane, by, width: lane + by if 0 <= by < width - lane else lane,
}
"""From which lane of its segment a lane takes."""


def _shuffle(lanes: Lanes, op: Op) -> None:
    emitter, value = lanes.emitter, op.one("value")
    given = lanes.wide(value)
    by = lanes.plan.numbers.get(op.one("lane"))
    if isinstance(by, int):
        taken, chosen = _by_number(lanes, op, given, by)
    else:
        taken, chosen = _by_lane(lanes, op, given)
    partners = _partners(lanes, op)
    if partners is not None:
        # An inactive lane contributes nothing: its own value replaces what it would have passed.
        taken = where(_taken_bits(lanes, partners, chosen), taken, given)
    if op.result not in lanes.facts.varying:
        taken = access.first_lane(emitter, taken)
    lanes.put(op.result, taken)


def _by_number(lanes: Lanes, op: Op, given: Vec, by: int) -> tuple[Vec, Vec]:
    """Shuffle by distances known at compile time; return the values and their source lanes."""
    width, mode = op.attrs["width"], op.attrs["mode"]
    order = [k - k % width + SOURCES[mode](k % width, by, width) for k in range(lanes.width)]
    numbers = ", ".join(f"i32 {k}" for k in order)
    places = Vec(given.body, f"<{numbers}>", "i32", lanes.width)
    text = f"shufflevector {given}, {given.type} poison, {places}"
    return given.body.emit(text, given.elem, given.lanes), places


def _by_lane(lanes: Lanes, op: Op, given: Vec) -> tuple[Vec, Vec]:
    """Pass values through memory, where every lane can read those of all others."""
    emitter, elem = lanes.emitter, op.result.tile.dtype
    places = _places(lanes, op)
    slot = emitter.slot(memory_type(elem), lanes.width)
    stored = access.to_memory(given, elem)
    emitter.store(stored, slot)
    addresses = access.addresses(emitter, slot, places.cast("zext", "i64"), elem)
    return access.gather(emitter, addresses, lanes.all(), stored, elem), places


def _places(lanes: Lanes, op: Op) -> Vec:
    """Return the lane that each lane takes from."""
    width: int = op.attrs["width"]
    mode: ShuffleMode = op.attrs["mode"]
    own = lanes.emitter.lanes_of("i32", lanes.width)
    by = lanes.wide(op.one("lane"))
    start, inside = own & -width, own & (width - 1)
    if mode is ShuffleMode.IDX:
        return start | (by & (width - 1))
    if mode is ShuffleMode.XOR:
        return start | (inside ^ (by & (width - 1)))
    # Read as unsigned, a negative number is too far away.
    room = inside if mode is ShuffleMode.UP else (width - 1) - inside
    reached = by.compare("", "ule", room)
    return where(reached, own - by if mode is ShuffleMode.UP else own + by, own)


def _taken_bits(lanes: Lanes, partners: Vec, places: Vec) -> Vec:
    """Return whether the lane that each lane takes from takes part."""
    bits = lanes.emitter.splat(_bits(partners), lanes.width)
    return bits.lshr(places).cast("trunc", "i1")


def _sync_warp(lanes: Lanes, op: Op) -> None:
    """Emit nothing: lanes run in lockstep."""


TABLE: dict[str, Write] = {
    "shared": _shared,
    "dynamic_shared": _dynamic_shared,
    "shared_length": _shared_length,
    "load_shared": _load,
    "store_shared": _store,
    "atomic_shared": _atomic,
    "cas_shared": _cas,
    "sync_warp": _sync_warp,
    "shuffle": _shuffle,
    "vote": _vote,
    "ballot": _ballot,
    "match": _match,
}
