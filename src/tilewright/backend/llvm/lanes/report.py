"""What lanes report: the first that fails a check or an assertion, and what each of them prints."""

from __future__ import annotations

from ....ir.core import Op, Value
from ..emit import access
from ..emit.debug import HEADER_WORDS, fail_helper, print_room
from ..functions.text import Value as Vec
from ..functions.text import any_lane
from ..plan.values import itemsize
from .machine import Lanes, Write
from .memory import each_lane, lane, lowest


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
    """The first lane of a mask that has one."""
    kind = f"i{lanes.width}"
    return lowest(lanes.emitter.body.emit(f"bitcast {mask} to {kind}", kind, 1))


def _assert(lanes: Lanes, op: Op) -> None:
    zero = lanes.emitter.integer(0, "i32")
    fail_where(lanes, lanes.get(op.one("cond")) ^ 1, op, zero, zero)


def _print(lanes: Lanes, op: Op) -> None:
    """One record per live lane, in the order of the lanes."""
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


TABLE: dict[str, Write] = {"assert": _assert, "print": _print}
