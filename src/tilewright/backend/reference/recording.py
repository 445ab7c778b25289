"""Records which block reads and writes which elements, while the interpreter runs a kernel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from time import monotonic
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from ...ir.core import Op
from .floating import Array

if TYPE_CHECKING:
    from .storage import Member
    from .watch import Actor

Box: TypeAlias = tuple[tuple[int, int], ...]
"""For each axis of a tensor: the first element, and the one after the last."""


@dataclass(slots=True)
class Access:
    """An access of a tensor by a block; those of a block's threads are one."""

    op: Op
    verb: str
    """`reads`, `writes` or `updates`."""
    block: tuple[int, ...]
    tensor: str
    window: Box
    """The elements it is about, which may lie outside the tensor."""
    box: Box | None
    """Those around all that it touches; None if it touches nothing."""
    touched: int
    """Elements that are read or written; all others of the window are padding, or masked."""
    elements: int
    """Elements that are asked for."""

    @property
    def is_dense(self) -> bool:
        """Whether it touches the whole box."""
        return self.box is not None and self.touched >= prod(high - low for low, high in self.box)


class EnoughError(Exception):
    """Raised in a run that has been recorded for long enough."""


class Recorder:
    """The accesses of a run, up to a number of them, or up to a time."""

    def __init__(self, most: int, seconds: float) -> None:
        self.accesses: list[Access] = []
        self._most = most
        self._end = monotonic() + seconds
        self._window: tuple[str, Box] | None = None
        self._of_threads: dict[tuple[tuple[int, ...], Op, str, str], Access] = {}

    @property
    def is_over(self) -> bool:
        """Whether nothing more is to be recorded."""
        return len(self.accesses) >= self._most or monotonic() > self._end

    def about(self, tensor: str, coordinates: Sequence[tuple[int, Array]], rank: int) -> None:
        """Note the window of the next access: the coordinates along some axes of a tensor."""
        found = [(0, 1)] * rank
        for axis, along in coordinates:
            if along.size:
                found[axis] = (int(along.min()), int(along.max()) + 1)
        self._window = tensor, tuple(found)

    def note(
        self, actor: Actor, op: Op, verb: str, member: Member | None, addresses: Array,
        elements: int,
    ) -> None:  # fmt: skip
        """Record an access; `addresses` are those of the elements that it touches, in `member`."""
        if self.is_over:
            raise EnoughError
        about, self._window = self._window, None
        box = None if member is None else box_of(member, addresses)
        # What goes through pointers has no window, and is about nothing where all is masked.
        name, window = about or ("", box)
        name = name or ("" if member is None else member.name)
        if window is None or not name:
            return
        access = Access(op, verb, actor.place, name, window, box, len(addresses), elements)
        if actor.thread is None:
            self.accesses.append(access)
            return
        key = actor.place, op, verb, name
        known = self._of_threads.get(key)
        if known is None:
            self._of_threads[key] = access
            self.accesses.append(access)
            return
        known.window, known.box = _around(known.window, window), _around(known.box, box)
        known.touched += access.touched
        known.elements += elements


def _around(one: Box | None, other: Box | None) -> Box:
    """Return what encloses two boxes."""
    if not one or not other:
        return one or other or ()
    pairs = zip(one, other, strict=True)
    return tuple((min(a, c), max(b, d)) for (a, b), (c, d) in pairs)


def box_of(member: Member, addresses: Array) -> Box | None:
    """Return the box around elements of an array; None if there are none."""
    if not addresses.size:
        return None
    rest = addresses.astype(np.int64) - member.bounds[0]
    array = member.array
    box = [(0, 1)] * array.ndim
    for axis in sorted(range(array.ndim), key=lambda k: -abs(array.strides[k])):
        n, stride = array.shape[axis], abs(array.strides[axis])
        if n > 1 and stride:
            index, rest = np.divmod(rest, stride)
            low, high = int(index.min()), int(index.max())
            box[axis] = (low, high + 1) if array.strides[axis] > 0 else (n - 1 - high, n - low)
    return tuple(box)
