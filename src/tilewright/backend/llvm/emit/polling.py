"""Lets a kernel that lasts be stopped: loops that may run for ever look up now and then.

A loop counts its rounds down, in a register, and asks the driver when there are none left, which
says how many there are until the next time: so many as take about a millisecond. Zero says that the
launch was cancelled; then the kernel returns at once, as what follows a loop may rely on its end.
"""

from __future__ import annotations

from collections.abc import Sequence

from ....base.cpu_abi import LaunchWord
from ....ir.core import Op
from ..functions.text import Value as Vec
from .emitter import Emitter

FIRST = 64
"""Rounds until the first look: few where each takes long, many where a look would."""
BRIEF = 1 << 16
"""So many rounds, known when the kernel is compiled, are over before anybody would stop them; those
of loops inside are counted as often as they run."""

SHORT = {"i8": 1 << 8, "i16": 1 << 16}
"""How often loops run at most that are counted in these."""

LOOK = "cold nounwind memory(argmem: readwrite, inaccessiblemem: readwrite)"
"""It touches no memory of the kernel's, so values may stay in registers."""


def poll(emitter: Emitter) -> None:
    """End a round of a loop that nobody counts."""
    if emitter.record.cancel is None:
        return
    left = _patience(emitter)
    count = emitter.load(left, "i64", align=8) - 1
    emitter.store(count, left, align=8)
    look, onward = emitter.label("look"), emitter.label("onward")
    emitter.branch(count.eq(0), look, onward)
    emitter.body.label(look)
    _look(emitter, left, onward)
    emitter.body.label(onward)


def enter(emitter: Emitter) -> int:
    """Begin a loop; gives what `look_up` must be given."""
    outer, emitter.unseen = emitter.unseen, 0
    return outer


def look_up(emitter: Emitter, outer: int, most: int | None = None) -> None:
    """End a round of a loop that runs so many at most, if that is known; many are polled."""
    rounds = None if most is None else most * max(emitter.unseen, 1)
    emitter.unseen = outer
    if rounds is None or rounds > BRIEF:
        poll(emitter)
    else:
        emitter.unseen += rounds


class Rounds:
    """The rounds of a `for` from 0 on: as many as there are, and who looks up meanwhile.

    A loop inside which there is no other one runs a few rounds at a time: its end is compared with
    the number of each round in any case, so an end that comes earlier costs a round nothing.
    """

    def __init__(self, emitter: Emitter, op: Op, rounds: Vec, bounds: Sequence[Vec]) -> None:
        """`bounds` are where it begins, where it ends, and its step."""
        self._emitter, self._rounds = emitter, rounds
        self._outer, self._most = enter(emitter), most_rounds(rounds.elem, *bounds)
        is_long = self._most is None or self._most > BRIEF
        polled = emitter.record.cancel is not None and is_long
        innermost = not any(each.name in ("for", "loop") for each in op.regions[0].walk())
        self._until = emitter.slot(rounds.elem) if polled and innermost else None
        """Up to which round nobody looks."""
        if self._until is not None:
            emitter.store(self._patience(), self._until)

    def begin(self, count: Vec, inside: str, done: str) -> None:
        """Go on with a round, if there is one more."""
        emitter, body = self._emitter, self._emitter.body
        if self._until is None:
            emitter.branch(count.compare("", "ult", self._rounds), inside, done)
            return
        words = ("edge", "look", "onward", "over")
        edge, look, onward, over = (emitter.label(word) for word in words)
        until = emitter.load(self._until, count.elem)
        end = until.intrinsic("umin", self._rounds)
        emitter.branch(count.compare("", "ult", end), inside, edge)
        body.label(edge)
        emitter.branch(count.compare("", "ult", self._rounds), look, over)
        body.label(look)
        _look(emitter, _patience(emitter), onward)
        body.label(onward)
        emitter.store(count.intrinsic("uadd.sat", self._patience()), self._until)
        body.jump(inside)
        body.label(over)
        left = (until - count).intrinsic("umax", 1)
        left = left if left.elem == "i64" else left.cast("zext", "i64")
        emitter.store(left, _patience(emitter), align=8)
        body.jump(done)

    def end(self) -> None:
        """End a round."""
        if self._until is None:
            look_up(self._emitter, self._outer, self._most)
        else:
            self._emitter.unseen = self._outer

    def _patience(self) -> Vec:
        """How many rounds there are until the next look."""
        left = self._emitter.load(_patience(self._emitter), "i64", align=8)
        kind = self._rounds.elem
        return left if kind == "i64" else left.cast("trunc", kind)


def most_rounds(kind: str, lower: Vec, upper: Vec, step: Vec) -> int | None:
    """How many rounds a `for` runs at most that is counted in such integers; None: any number."""
    try:
        first, end, by = (int(each.name) for each in (lower, upper, step))
    except ValueError:
        return SHORT.get(kind)
    if by <= 0:  # it runs not at all, or is unsigned, and half of all numbers
        return 2
    return -((first - end) // by) if first <= end else SHORT.get(kind)  # it may be unsigned


def _patience(emitter: Emitter) -> Vec:
    """Where it says how many rounds there are until the next look."""
    if emitter.patience is None:
        emitter.patience = emitter.slot("i64")
        emitter.slots.append(f"  store i64 {FIRST}, {emitter.patience}, align 8")
    return emitter.patience


def _look(emitter: Emitter, left: Vec, onward: str) -> None:
    """Ask the driver, which says for how many rounds to go on, if at all."""
    body, leave = emitter.body, emitter.label("leave")
    word = f"getelementptr i64, ptr %launch, i64 {LaunchWord.LOOK.value}"
    driver = emitter.load(body.emit(word, "ptr", 1), "ptr", align=8)
    following = body.emit(f"call i64 {driver.name}(ptr %launch) {LOOK}", "i64", 1)
    emitter.store(following, left, align=8)
    emitter.branch(following.eq(0), leave, onward)
    body.label(leave)
    emitter.do("ret void")
