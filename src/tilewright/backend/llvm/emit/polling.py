"""Lets a kernel that lasts be stopped: loops that may run for ever look up now and then.

A loop counts its rounds down, in a register, and asks the driver when there are none left, which
says how many there are until the next time: so many as take about a millisecond. Zero says that the
launch was cancelled; then the kernel returns at once, as what follows a loop may rely on its end.
"""

from __future__ import annotations

from ....base.cpu_abi import LaunchWord
from ..functions.text import Value as Vec
from .emitter import Emitter

FIRST = 64
"""Rounds until the first look: few where each takes long, many where a look would."""
BRIEF = 1 << 16
"""So many rounds, known when the kernel is compiled, are over before anybody would stop them."""

LOOK = "cold nounwind memory(argmem: readwrite, inaccessiblemem: readwrite)"
"""It touches no memory of the kernel's, so values may stay in registers."""


def poll(emitter: Emitter, rounds: tuple[Vec, Vec, Vec] | None = None) -> None:
    """End a round of a loop; of a `for`, with its bounds and its step."""
    if emitter.record.cancel is None or (rounds is not None and _is_brief(*rounds)):
        return
    if emitter.patience is None:
        emitter.patience = emitter.slot("i64")
        emitter.slots.append(f"  store i64 {FIRST}, {emitter.patience}, align 8")
    body, left = emitter.body, emitter.patience
    count = emitter.load(left, "i64", align=8) - 1
    emitter.store(count, left, align=8)
    look, leave, onward = (emitter.label(word) for word in ("look", "leave", "onward"))
    emitter.branch(count.eq(0), look, onward)
    body.label(look)
    word = f"getelementptr i64, ptr %launch, i64 {LaunchWord.LOOK.value}"
    driver = emitter.load(body.emit(word, "ptr", 1), "ptr", align=8)
    following = body.emit(f"call i64 {driver.name}(ptr %launch) {LOOK}", "i64", 1)
    emitter.store(following, left, align=8)
    emitter.branch(following.eq(0), leave, onward)
    body.label(leave)
    emitter.do("ret void")
    body.label(onward)


def _is_brief(lower: Vec, upper: Vec, step: Vec) -> bool:
    """Whether a `for` is known to run few rounds."""
    try:
        first, end, by = (int(each.name) for each in (lower, upper, step))
    except ValueError:
        return False
    return by <= 0 or end - first <= BRIEF * by
