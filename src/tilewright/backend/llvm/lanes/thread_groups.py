"""Emits loops over the SIMD groups of a block, with the thread indices of each group."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from ....base.shapes import ceil_div
from ..emit.emitter import Emitter
from ..functions.text import Value as Vec
from .barrier_plan import CooperativePlan
from .machine import Place
from .plan import Threads

Act: TypeAlias = Callable[[Place, Vec | None], None]
"""Writes what a group does: where it stands, and which of its lanes are threads; None: all."""

IN_ORDER = 'fence syncscope("singlethread") seq_cst'
"""Costs no instruction, but LLVM moves no access to memory across it.

Sums over memory took a fifth longer where one of eight groups was read before its turn.
"""


class ThreadGroups:
    """The groups of one block: its number, its place and the sizes of the grid along x, y and z."""

    def __init__(
        self, emitter: Emitter, plan: Threads, cooperation: CooperativePlan, number: Vec,
        ids: list[Vec], sizes: list[Vec],
    ) -> None:  # fmt: skip
        self.emitter = emitter
        self.plan = plan
        self.cooperation = cooperation
        self.first = number * (cooperation.rows * cooperation.length)
        """The number of the block's first thread in the whole launch."""
        self.ids = ids
        self.sizes = sizes

    @property
    def is_one_row(self) -> bool:
        """Whether the threads of the block follow each other along x."""
        return (
            self.plan.func.signature.block_dims[0]
            == self.cooperation.rows * self.cooperation.length
        )

    def front(self) -> Place:
        """Where the block's first group stands."""
        zero = self.emitter.integer(0)
        return self._place(zero, zero, zero)

    def each_group(self, act: Act, *, unrolled: bool) -> None:
        """Loops over the groups of a block: whole ones, then those at the ends of rows."""
        rows, length, width = self.cooperation.rows, self.cooperation.length, self.plan.width
        whole, all_ = length // width, ceil_div(length, width)

        def steps(count: int, per_row: int, first: int, live: Vec | None) -> None:
            def step(number: Vec) -> None:
                act(self._of_step(number, per_row, all_, first), live)

            if unrolled:
                for number in range(count):
                    self.emitter.do(IN_ORDER)
                    step(self.emitter.integer(number))
            else:
                each(self.emitter, count, step)

        if whole:
            steps(rows * whole, whole, 0, None)
        if all_ > whole:
            live = self.emitter.lanes_of("i32", width) < length % width
            steps(rows, 1, whole, live)

    def _of_step(self, step: Vec, per_row: int, in_row: int, first: int) -> Place:
        """Where the group of a step stands: a known number, or that of a loop."""
        if step.name.startswith("%"):
            row = step.binary("udiv", per_row)
            along = step.binary("urem", per_row) + first
            group = row * in_row + along
        else:
            above, beside = divmod(int(step.name), per_row)
            numbers = (above, beside + first, above * in_row + beside + first)
            row, along, group = map(self.emitter.integer, numbers)
        return self._place(row, along * self.plan.width, group)

    def _place(self, row: Vec, along: Vec, group: Vec) -> Place:
        """Where the threads of a group stand; `along` is the first one's number in its row."""
        width, height, _ = self.plan.func.signature.block_dims
        number = self.first + row * self.cooperation.length + along
        if self.cooperation.by_rows:
            thread = [along, row.binary("urem", height), row.binary("udiv", height)]
        else:
            thread = self._in_warp(along, width, height)
        first = self.emitter.splat(self.ids[0] * width, thread[0].lanes)
        return Place(number, first + thread[0], thread, self.ids, self.sizes, group)

    def _in_warp(self, first: Vec, width: int, height: int) -> list[Vec]:
        """Where the threads of a warp stand: scalars if all are in one row, else one per lane."""
        lanes = self.plan.width
        in_one_row = width % lanes == 0 or height == self.cooperation.length // width == 1
        numbers = first
        if not in_one_row:
            numbers = self.emitter.splat(first, lanes) + self.emitter.lanes_of("i64", lanes)
        above = numbers.binary("udiv", width)
        return [numbers.binary("urem", width), above.binary("urem", height),
                above.binary("udiv", height)]  # fmt: skip


def each(emitter: Emitter, count: int, act: Callable[[Vec], None]) -> None:
    """A loop that is not there for one step."""
    body = emitter.body
    if count == 1:
        act(emitter.integer(0))
        return
    counter = emitter.slot("i64")
    emitter.store(emitter.integer(0), counter)
    head, inside, done = (emitter.label(word) for word in ("each", "inside", "done"))
    body.jump(head)
    body.label(head)
    at = emitter.load(counter, "i64")
    emitter.branch(at < count, inside, done)
    body.label(inside)
    act(at)
    emitter.store(emitter.load(counter, "i64") + 1, counter)
    body.jump(head)
    body.label(done)
