"""Which steps of a loop do something, and which of them need no test: found before the loop runs.

Along the lanes most vectors of a tile at the edge of a tensor are inside; only the last one or two
of a row are not. Where all a nest does is to store to tensors, what lies outside is left out.
"""

from __future__ import annotations

from typing import NamedTuple

from ..functions.text import Value as Vec
from ..plan.index import Axis, Field, Loop
from ..plan.nontemporal import LINE
from ..plan.statements import Effect, ReadBuffer, ReadView, WriteView
from ..plan.values import itemsize
from .frame import Frame
from .memory import Element, element_of
from .nontemporal import is_nontemporal


class Range(NamedTuple):
    """The steps begin .. end - 1 of a loop; `is_whole` if these are surely all."""

    begin: Vec
    end: Vec
    is_whole: bool = False


def used(frame: Frame, level: int) -> Range:
    """The steps of a loop that a nest needs."""
    loop, emitter = frame.nest.loops[level], frame.emitter
    needs = [_needed(frame, effect, loop) for effect in frame.nest.effects]
    found = [steps for steps in needs if steps is not None]
    if not frame.ranged or not needs or len(found) < len(needs):
        return Range(emitter.integer(0), emitter.integer(loop.size), is_whole=True)
    begin, end, _ = found[0]
    for other in found[1:]:
        begin, end = begin.intrinsic("smin", other.begin), end.intrinsic("smax", other.end)
    if level == len(frame.nest.loops) - 1:
        begin = _start(frame, begin)
    return Range(begin, end)


def _start(frame: Frame, begin: Vec) -> Vec:
    """Where the vectors of a row begin, at `begin` or a little before, so that they are aligned.

    Aligned in memory if something goes past the caches, else in the tile: what is read from a
    buffer has nothing before it.
    """
    nest, emitter = frame.nest, frame.emitter
    writes = [e for e in nest.effects if isinstance(e, WriteView) and e.nontemporal]
    if not writes or any(isinstance(read, ReadBuffer) for read in nest.reads):
        return begin & -nest.lanes
    (element,) = _at_start(frame, [writes[0]])
    size = itemsize(writes[0].access.view.tensor.dtype)
    first = emitter.shifted(element.first(), begin, element.kind)
    place = emitter.body.emit(f"ptrtoint {first} to i64", "i64", 1)
    return begin - (place & (min(nest.lanes * size, LINE) - 1)).binary("sdiv", size)


def _needed(frame: Frame, effect: Effect, loop: Loop) -> Range | None:
    """The steps of a loop for which a store has an element inside; None if all are needed."""
    if not isinstance(effect, WriteView):
        return None
    window = frame.windows[effect.access]
    for axis, low, high in zip(effect.index, window.low, window.high, strict=True):
        if _is_alone(axis, loop):
            return Range(low, high)
    return None


def _is_alone(axis: Axis, loop: Loop) -> bool:
    """Whether the coordinate along an axis is the loop's own."""
    return axis == (Field(loop, loop.size),)


def untested(frame: Frame) -> Range | None:
    """From which lane to which everything that the lanes touch is inside.

    The loops around the last one stand somewhere; None if that cannot be known before it runs.
    """
    nest = frame.nest
    statements = (*nest.reads, *nest.effects)
    touching = [s for s in statements if isinstance(s, ReadView | WriteView)]
    moving = [e for e in _at_start(frame, touching) if e.lane_axis is not None]
    if not moving or not all(map(_walks, moving)):
        return None
    begin, end = moving[0].stretch()
    for element in moving[1:]:
        low, high = element.stretch()
        begin, end = begin.intrinsic("smax", low), end.intrinsic("smin", high)
    # An axis may have several loops.
    return Range(begin, end.intrinsic("smin", frame.emitter.blocks * nest.loops[-1].size))


def _at_start(frame: Frame, statements: list[ReadView | WriteView]) -> list[Element]:
    """What statements touch where the innermost loop begins."""
    frame.variables[frame.nest.loops[-1]] = frame.emitter.integer(0)
    return [element_of(frame, statement) for statement in statements]


def _walks(element: Element) -> bool:
    """Whether an element's coordinate grows by one from lane to lane, along one axis."""
    assert element.lane_axis is not None, "it moves"
    steps = [place.step for place in element.places]
    return sum(steps) == 1 and element.places[element.lane_axis].step == 1


def choose_past(frame: Frame, steps: Range) -> None:
    """Decide for each store of a row whether it goes past the caches."""
    for write in frame.nest.effects:
        if isinstance(write, WriteView) and write.nontemporal:
            (element,) = _at_start(frame, [write])
            elem = write.access.view.tensor.dtype
            first = frame.emitter.shifted(element.first(), steps.begin, element.kind)
            length = steps.end - steps.begin
            frame.past[write] = is_nontemporal(frame.emitter, first, length, frame.nest.lanes, elem)
