"""What the lanes of a warp do together, as operations on vectors.

All lanes of a group run in step, so they have met already. Those take part that are live, and of
these the ones that `mask` names.
"""

from __future__ import annotations

from collections.abc import Callable

from ....ir.attrs import ShuffleMode, VoteMode
from ....ir.core import Op
from ..emit import access
from ..emit.types import memory_type
from ..functions.text import Value as Vec
from ..functions.text import any_lane, vector, where
from .machine import Lanes, Write
from .memory import lane
from .shared import as_bits


def _partners(lanes: Lanes, op: Op) -> Vec | None:
    """The lanes that take part; None: all of them."""
    mask = op.maybe("mask")
    return lanes.live if mask is None else lanes.narrowed(_named(lanes, lanes.get(mask)))


def _named(lanes: Lanes, mask: Vec) -> Vec:
    """Whether each lane is in a mask: in that of all, or in its own."""
    if mask.lanes == 1:
        return mask.body.emit(f"bitcast {mask} to {vector('i1', lanes.width)}", "i1", lanes.width)
    own = mask.lshr(lanes.emitter.lanes_of("i32", lanes.width))
    return own.cast("trunc", "i1")


def _bits(flags: Vec) -> Vec:
    """A bit for each lane."""
    return flags.body.emit(f"bitcast {flags} to i{flags.lanes}", f"i{flags.lanes}", 1)


def _holding(lanes: Lanes, op: Op) -> Vec:
    """The lanes that take part and for which the condition holds."""
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
        # A lane that takes no part gives nothing; the own value stands for what it would give.
        taken = where(_taken_bits(lanes, partners, chosen), taken, given)
    if op.result not in lanes.facts.varying:
        taken = access.first_lane(emitter, taken)
    lanes.put(op.result, taken)


def _by_number(lanes: Lanes, op: Op, given: Vec, by: int) -> tuple[Vec, Vec]:
    """The same for all lanes: known while compiling."""
    width, mode = op.attrs["width"], op.attrs["mode"]
    order = [k - k % width + SOURCES[mode](k % width, by, width) for k in range(lanes.width)]
    numbers = ", ".join(f"i32 {k}" for k in order)
    places = Vec(given.body, f"<{numbers}>", "i32", lanes.width)
    text = f"shufflevector {given}, {given.type} poison, {places}"
    return given.body.emit(text, given.elem, given.lanes), places


def _by_lane(lanes: Lanes, op: Op, given: Vec) -> tuple[Vec, Vec]:
    """Through memory, where every lane finds what any other has."""
    emitter, elem = lanes.emitter, op.result.tile.dtype
    places = _places(lanes, op)
    slot = emitter.slot(memory_type(elem), lanes.width)
    stored = access.to_memory(given, elem)
    emitter.store(stored, slot)
    addresses = access.addresses(emitter, slot, places.cast("zext", "i64"), elem)
    return access.gather(emitter, addresses, lanes.all(), stored, elem), places


def _places(lanes: Lanes, op: Op) -> Vec:
    """The lane that each lane takes from."""
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
    """Whether the lane that each lane takes from takes part."""
    bits = lanes.emitter.splat(_bits(partners), lanes.width)
    return bits.lshr(places).cast("trunc", "i1")


def _sync_warp(lanes: Lanes, op: Op) -> None:
    """Lanes run in step."""


TABLE: dict[str, Write] = {
    "sync_warp": _sync_warp,
    "shuffle": _shuffle,
    "vote": _vote,
    "ballot": _ballot,
    "match": _match,
}
