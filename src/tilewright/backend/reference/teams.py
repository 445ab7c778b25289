"""Runs the threads of a block from one barrier to the next, in an order drawn anew each time.

A thread runs until it gets to an op at which threads meet. Once all are there, or have returned,
the lanes of a warp that wait for each other go on, or the whole block does. Where nobody can, the
barrier is not reached by all, which is reported, and the block is given up.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod

import numpy as np

from ...ir.attrs import WARP_SIZE
from ...ir.core import Op, Value
from ...ir.opdef import Effect
from .machine import Data, Frame, Jump, Launch, Results
from .storage import SharedMemory
from .warps import TOGETHER
from .watch import Actor, place_of


def has_teams(launch: Launch) -> bool:
    """Whether the threads of a block have anything to do with each other."""
    return any(
        op.defn.effects & Effect.SYNC or op.name in ("shared", "dynamic_shared")
        for op in launch.func.walk()
    )


@dataclass(eq=False, slots=True)
class _Thread:
    """A thread: what it does, the op it waits at, and what it gets there."""

    number: int
    frame: Frame
    steps: Generator[Op, Results, Jump]
    waits: Op | None = None
    answer: Results | None = None
    done: bool = False

    @property
    def lane(self) -> int:
        return self.number % WARP_SIZE

    def go(self) -> None:
        """Run to the next op at which threads meet, or to the end."""
        self.frame.launch.memory.watch.resume(self.frame.actor)
        try:
            answer, self.answer, self.waits = self.answer, None, None
            self.waits = next(self.steps) if answer is None else self.steps.send(answer)
        except StopIteration:
            self.done = True


def run_team(
    launch: Launch,
    number: int,
    place: tuple[int, ...],
    values: Mapping[Value, Data],
    rng: np.random.Generator,
) -> None:
    """Run one block; its threads are numbered from `number` on, x fastest."""
    team = _Team(launch, number, place, values)
    ready = team.threads
    while ready and launch.failure is None:
        order: list[int] = rng.permutation(len(ready)).tolist()
        for k in order:
            if launch.failure is None:
                ready[k].go()
        ready = team.meet()


@dataclass(slots=True)
class _Team:
    """The threads of a block."""

    launch: Launch
    number: int
    place: tuple[int, ...]
    values: Mapping[Value, Data]
    threads: list[_Thread] = field(default_factory=list[_Thread])

    def __post_init__(self) -> None:
        dims, shared = self.launch.func.signature.block_dims, SharedMemory()
        for k in range(prod(dims)):
            thread = (k % dims[0], k // dims[0] % dims[1], k // (dims[0] * dims[1]))
            actor = Actor(self.place, thread, k // WARP_SIZE)
            frame = Frame(
                self.launch, self.number + k, self.place, dict(self.values), thread, shared, actor
            )
            steps = frame.steps(self.launch.func.body)
            self.threads.append(_Thread(k, frame, steps))

    def meet(self) -> list[_Thread]:
        """The threads that can go on, with what they get; none if all is over."""
        waiting = [t for t in self.threads if not t.done]
        going = self.warps(waiting)
        if going or not waiting:
            return going
        if len({t.waits for t in waiting}) > 1 or not _is_barrier(waiting[0]):
            self.stuck(waiting)
            return []
        for thread in waiting:
            blocks, warps = thread.frame.actor.rounds
            thread.frame.actor.rounds = blocks + 1, warps
            thread.answer = ()
        return waiting

    def warps(self, waiting: Sequence[_Thread]) -> list[_Thread]:
        """The lanes whose warp is where they wait for it."""
        groups: dict[tuple[int, Op], list[_Thread]] = defaultdict(list)
        alive: dict[int, set[int]] = defaultdict(set)
        for t in waiting:
            assert t.waits is not None, "a thread that goes on waits for something"
            groups[t.number // WARP_SIZE, t.waits].append(t)
            alive[t.number // WARP_SIZE].add(t.lane)
        going: list[_Thread] = []
        for (warp, op), group in groups.items():
            if op.name in TOGETHER and self.is_complete(op, group, alive[warp]):
                answers = TOGETHER[op.name](op, {t.lane: t.frame for t in group})
                for t in group:
                    t.answer = answers[t.lane]
                going += group
        return going

    def is_complete(self, op: Op, group: Sequence[_Thread], alive: set[int]) -> bool:
        """Whether all lanes are here that each of these waits for."""
        mask, here = op.maybe("mask"), {t.lane for t in group}
        if mask is None:
            return alive <= here
        masks = {t.frame.integer(mask) for t in group}
        for t in group:
            if not t.frame.integer(mask) >> t.lane & 1:
                t.frame.launch.memory.watch.resume(t.frame.actor)
                text = "a warp operation by a lane that its mask excludes, by"
                t.frame.launch.memory.watch.complain("mask", op, text)
        return all(k in here for m in masks for k in alive if m >> k & 1)

    def stuck(self, waiting: Sequence[_Thread]) -> None:
        """Report that threads wait for each other at different places."""
        first = waiting[0]
        assert first.waits is not None, "it waits"
        other = next((t for t in waiting if t.waits is not first.waits), None)
        watch = self.launch.memory.watch
        watch.resume(first.frame.actor)
        rest = "others are not there"
        if other is not None and other.waits is not None:
            rest = f"{other.frame.actor.text} waits at {place_of(other.waits)}"
        watch.complain(
            "stuck",
            first.waits,
            f"threads that never reach the same barrier: {rest}; waited for by",
        )


def _is_barrier(thread: _Thread) -> bool:
    return thread.waits is not None and thread.waits.name == "sync_threads"
